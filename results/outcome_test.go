package results_test

import (
	"context"
	"errors"
	"testing"

	"cabra-run/results"
)

// step is one attempt of a trial, with the verdict that its code got, if any.
type step struct {
	outcome results.Outcome
	solved  *bool
}

// TestWordsAndStates is the table of DESIGN's section on outcomes.
func TestWordsAndStates(t *testing.T) {
	yes, no := ptr(true), ptr(false)
	cases := []struct {
		name  string
		steps []step
		word  string
		state results.State
	}{
		{"none", nil, "pending", results.StatePending},
		{"solved", []step{{results.Answered, yes}}, "solved", results.StateDone},
		{"failed", []step{{results.Answered, no}}, "failed", results.StateDone},
		{"not scored yet", []step{{results.Answered, nil}}, "answered", results.StateUnscored},
		{"timed out with right code", []step{{results.Timeout, yes}}, "timeout", results.StateDone},
		{"timed out, not scored", []step{{results.Timeout, nil}}, "timeout", results.StateUnscored},
		{"stalled with wrong code", []step{{results.Stalled, no}}, "stalled", results.StateDone},
		{"limit, not scored", []step{{results.Limit, nil}}, "limit", results.StateUnscored},
		{"one agent error", []step{{results.AgentError, nil}}, "agent_error", results.StatePending},
		{"three agent errors", []step{{results.AgentError, nil}, {results.AgentError, nil}, {results.AgentError, nil}},
			"agent_error", results.StateDone},
		{"no output, then solved", []step{{results.NoOutput, nil}, {results.Answered, yes}}, "solved", results.StateDone},
		{"two kinds count together", []step{{results.NoOutput, nil}, {results.AgentError, nil}, {results.NoOutput, nil}},
			"no_output", results.StateDone},
		{"faults are not charged", []step{{results.InfraError, nil}, {results.ProviderError, nil},
			{results.InfraError, nil}, {results.AgentError, nil}}, "agent_error", results.StatePending},
		{"cancelled", []step{{results.Cancelled, nil}}, "cancelled", results.StatePending},
		{"provider error", []step{{results.ProviderError, nil}}, "provider_error", results.StatePending},
		{"too many provider errors", []step{{results.ProviderError, nil}, {results.ProviderError, nil}, {results.ProviderError, nil},
			{results.ProviderError, nil}, {results.ProviderError, nil}, {results.ProviderError, nil}},
			"provider_error", results.StateDone},
		{"each kind of fault has its own bound", []step{{results.ProviderError, nil}, {results.ProviderError, nil}, {results.InfraError, nil},
			{results.InfraError, nil}, {results.InfraError, nil}, {results.ProviderError, nil}},
			"provider_error", results.StatePending},
		{"running", []step{{"", nil}}, "pending", results.StateRunning},
		{"running again", []step{{results.NoOutput, nil}, {"", nil}}, "no_output", results.StateRunning},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			trials := testTrials(1)
			s := newStore(t, trials)
			for _, st := range c.steps {
				a := start(t, s, trials[0].Key)
				if st.outcome == "" {
					continue
				}
				collect(t, s, ended(a, st.outcome))
				if st.solved != nil {
					v := results.Verdict{Scorer: "strict", Solved: *st.solved}
					if err := s.SetVerdict(context.Background(), a.TrialKey, a.Number, v); err != nil {
						t.Fatal(err)
					}
				}
			}
			r := all(t, s)[0]
			if r.Word != c.word || r.State != c.state {
				t.Errorf("%q, %q; want %q, %q", r.Word, r.State, c.word, c.state)
			}
		})
	}
}

// An answered attempt whose code could not be kept is due again; a timed-out
// one is not.
func TestUnscored(t *testing.T) {
	for outcome, want := range map[results.Outcome]results.State{
		results.Answered: results.StatePending, results.Timeout: results.StateDone,
	} {
		trials := testTrials(1)
		s := newStore(t, trials)
		a := ended(start(t, s, trials[0].Key), outcome)
		if err := s.Collected(context.Background(), a); err != nil { // nothing committed
			t.Fatal(err)
		}
		r := all(t, s)[0]
		if r.State != want || !r.Attempts[0].Unscored || r.Attempts[0].HasArtefacts {
			t.Errorf("%s: state %q, want %q; %+v", outcome, r.State, want, r.Attempts[0].Attempt)
		}
	}
}

func TestRetryClasses(t *testing.T) {
	paper := results.Retry{Attempts: 3, Classes: []results.Outcome{results.AgentError, results.NoOutput,
		results.Timeout, results.Stalled, results.Limit}}
	tried := []results.Attempt{{Outcome: results.Timeout}, {Outcome: results.Timeout}}
	if !paper.Again(tried) {
		t.Error("a second time-out ends the trial under the paper's rules")
	}
	if paper.Again(append(tried, results.Attempt{Outcome: results.Timeout})) {
		t.Error("a third time-out does not end it")
	}
	if results.DefaultRetry().Again(tried[:1]) {
		t.Error("a time-out is tried again by default")
	}
	if paper.Again([]results.Attempt{{Outcome: results.InfraError}}) {
		t.Error("no faults allowed, and one is tried again")
	}
}

func TestOneVerdict(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(2)
	s := newStore(t, trials)
	key := trials[0].Key
	collect(t, s, ended(start(t, s, key), results.Timeout))
	collect(t, s, ended(start(t, s, key), results.Answered))
	first := results.Verdict{Scorer: "strict", Version: "s1", Solved: true, Reason: "ok"}
	other := results.Verdict{Scorer: "strict", Version: "s2", Solved: false, Reason: "no"}
	official := results.Verdict{Scorer: "official", Version: "o1", Solved: false}
	set := s.SetVerdict
	for _, c := range []struct {
		name    string
		err     error
		refused bool
	}{
		{"first", set(ctx, key, 2, first), false},
		{"the same again", set(ctx, key, 2, first), false},
		{"another answer", set(ctx, key, 2, other), true},
		{"another attempt", set(ctx, key, 1, first), true},
		{"another scorer", set(ctx, key, 2, official), false},
		{"no such attempt", set(ctx, key, 7, official), true},
		{"no such trial", set(ctx, "nothing", 1, official), true},
	} {
		var state *results.StateError
		if errors.As(c.err, &state) != c.refused || (c.err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	if r := all(t, s)[0]; r.Word != results.Solved || len(r.Verdicts) != 2 {
		t.Errorf("word %q of %+v", r.Word, r.Verdicts)
	}
	for r, err := range s.ResultsBy(ctx, "official") {
		if err != nil || r.Word != results.Failed {
			t.Errorf("official word %q, %v", r.Word, err)
		}
		break
	}
	if err := s.ReplaceVerdict(ctx, key, 2, other); err != nil {
		t.Fatal(err)
	}
	if r := all(t, s)[0]; r.Word != results.Failed || r.Verdict.Version != "s2" || len(r.Verdicts) != 2 {
		t.Errorf("after replacing: %q, %+v", r.Word, r.Verdicts)
	}
}

func TestRefusedSteps(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(1)
	s := newStore(t, trials)
	key := trials[0].Key
	a := start(t, s, key)
	done := ended(a, results.AgentError)
	again := func() error { _, err := s.StartAttempt(ctx, key); return err }
	bad := done
	bad.Outcome = "tired"
	steps := []struct {
		name string
		err  error
	}{
		{"a second open attempt", again()},
		{"an unknown outcome", s.Collected(ctx, bad)},
		{"an attempt without end", s.Collected(ctx, results.Attempt{TrialKey: key, Number: 1, Outcome: results.Timeout})},
		{"a verdict of an open attempt", s.SetVerdict(ctx, key, 1, results.Verdict{Scorer: "strict"})},
		{"an exchange of no attempt", s.AddExchange(ctx, key, 5, results.Exchange{Seq: 1})},
	}
	if err := s.Collected(ctx, done); err != nil {
		t.Fatal(err)
	}
	steps = append(steps, struct {
		name string
		err  error
	}{"the same end again", s.Collected(ctx, done)}, struct {
		name string
		err  error
	}{"a verdict without code", s.SetVerdict(ctx, key, 1, results.Verdict{Scorer: "strict"})})
	for _, c := range steps {
		var state *results.StateError
		if !errors.As(c.err, &state) {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	if err := s.AddExchange(ctx, key, 1, results.Exchange{Seq: 1}); err != nil {
		t.Errorf("a late exchange was refused: %v", err)
	}
	if err := s.AddExchange(ctx, key, 1, results.Exchange{Seq: 1}); err == nil {
		t.Error("the same exchange twice was accepted")
	}
}
