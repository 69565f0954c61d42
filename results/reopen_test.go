package results_test

import (
	"context"
	"errors"
	"testing"

	"cabra-run/results"
)

// A trial that is opened again is pending until its next attempt, also after a
// crash in between; what it used before stays in its books.
func TestReopen(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(3)
	s := newStore(t, trials)
	key := trials[0].Key
	use := results.Exchange{Seq: 1, Complete: true, Usage: results.Usage{Input: ptr(int64(5)), Output: ptr(int64(1))}}
	for range 3 { // all the tries that there are
		a := start(t, s, key)
		if err := s.AddExchange(ctx, key, a.Number, use); err != nil {
			t.Fatal(err)
		}
		collect(t, s, ended(a, results.AgentError))
	}
	judged := start(t, s, trials[1].Key)
	collect(t, s, ended(judged, results.Timeout))
	if err := s.SetVerdict(ctx, judged.TrialKey, 1, results.Verdict{Scorer: "strict"}); err != nil {
		t.Fatal(err)
	}
	if got, want := words(t, s), "agent_error/done timeout/done pending/pending"; got != want {
		t.Fatalf("before: %q", got)
	}
	keys := []string{key, judged.TrialKey, trials[2].Key}
	for range 2 { // the second time changes nothing
		if err := s.Reopen(ctx, keys); err != nil {
			t.Fatal(err)
		}
		if got, want := words(t, s), "agent_error/pending timeout/pending pending/pending"; got != want {
			t.Fatalf("opened again: %q, want %q", got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s.Dir())
	if rec, err := s.Recover(ctx); err != nil || len(rec.ToScore) > 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if err := s.SetVerdict(ctx, judged.TrialKey, 1, results.Verdict{Scorer: "strict"}); err == nil {
		t.Error("an attempt of before got a verdict")
	}
	for _, k := range keys[:2] {
		a := start(t, s, k)
		if err := s.Reopen(ctx, []string{trials[2].Key, k}); !isState(err) {
			t.Errorf("a running trial was opened again: %v", err)
		}
		collect(t, s, ended(a, results.AgentError)) // the first of three tries again
	}
	if got, want := words(t, s), "agent_error/pending agent_error/pending pending/pending"; got != want {
		t.Errorf("after the next attempt: %q, want %q", got, want)
	}
	first := all(t, s)[0]
	if len(first.Attempts) != 4 || first.Reopened != 3 || *first.Usage.Input != 15 {
		t.Errorf("%d attempts, reopened %d, %d tokens", len(first.Attempts), first.Reopened, *first.Usage.Input)
	}
}

func isState(err error) bool {
	var state *results.StateError
	return errors.As(err, &state)
}
