package results

import "slices"

// Retry says when a trial gets another attempt.
type Retry struct {
	Attempts int       `json:"attempts"` // attempts that count against the agent
	Classes  []Outcome `json:"classes"`  // outcomes that are tried again within Attempts
	// Infra and Provider are extra attempts after infra_error and
	// provider_error; none of them is charged to the agent.
	Infra    int `json:"infra"`
	Provider int `json:"provider"`
}

// DefaultRetry tries what says little about the agent again, and nothing that
// it did itself.
func DefaultRetry() Retry {
	return Retry{Attempts: 3, Classes: []Outcome{AgentError, NoOutput}, Infra: 5, Provider: 5}
}

// Again reports whether a trial with these attempts, in their order, is due
// another one. Cancelled attempts never count against it.
func (r Retry) Again(attempts []Attempt) bool {
	if len(attempts) == 0 {
		return true
	}
	charged, infra, provider := 0, 0, 0
	for _, a := range attempts {
		switch {
		case a.Outcome == InfraError:
			infra++
		case a.Outcome == ProviderError:
			provider++
		case a.Outcome.OfAgent():
			charged++
		}
	}
	last := attempts[len(attempts)-1]
	switch last.Outcome {
	case "":
		return false
	case Cancelled:
		return true
	case InfraError:
		return infra <= r.Infra
	case ProviderError:
		return provider <= r.Provider
	case Answered:
		return last.Unscored // its code was lost, which is not the agent's doing
	}
	return slices.Contains(r.Classes, last.Outcome) && charged < r.Attempts
}

// State is how far a trial is.
type State string

// The states of a trial.
const (
	StatePending  State = "pending"  // needs an attempt, its first or another one
	StateRunning  State = "running"  // an attempt is started and not recorded
	StateUnscored State = "unscored" // its last attempt's code waits for a verdict
	StateDone     State = "done"
)

// Pending is the word of a trial without any recorded attempt.
const Pending = "pending"

// AttemptResult is an attempt with what it used.
type AttemptResult struct {
	Attempt
	Usage UsageTotal `json:"usage"`
}

// AttemptVerdict is a verdict with the attempt whose code it judges.
type AttemptVerdict struct {
	Attempt int `json:"attempt"`
	Verdict
}

// TrialResult is everything that is known about a trial.
type TrialResult struct {
	Trial
	State    State            `json:"state"`
	Word     string           `json:"word"`
	Attempts []AttemptResult  `json:"attempts"`
	Verdicts []AttemptVerdict `json:"verdicts"` // the current ones, one for each scorer

	// Reopened is the number of the last attempt that was made before the trial
	// was opened again; 0 when it never was. Those attempts no longer count.
	Reopened int `json:"reopened,omitempty"`

	// Verdict is the one that Word goes by, nil when there is none.
	Verdict *AttemptVerdict `json:"verdict"`
	// Usage and WallSeconds are over all attempts.
	Usage       UsageTotal `json:"usage_total"`
	WallSeconds float64    `json:"wall_seconds_total"`
}

// Final is the attempt that the trial's word comes from: the judged one, else
// the last that has an outcome. Nil when there is none.
func (t *TrialResult) Final() *AttemptResult {
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := &t.Attempts[i]
		if t.Verdict != nil && a.Number == t.Verdict.Attempt || t.Verdict == nil && a.Outcome != "" {
			return a
		}
	}
	return nil
}

// Reason is the line that explains the trial's word: the verdict's for an
// answered attempt, else the attempt's.
func (t *TrialResult) Reason() string {
	final := t.Final()
	switch {
	case t.Verdict != nil && (final == nil || final.Outcome == Answered):
		return t.Verdict.Reason
	case final != nil:
		return final.Reason
	}
	return ""
}

// sum fills in the totals.
func (t *TrialResult) sum() {
	for _, a := range t.Attempts {
		t.Usage.Add(a.Usage)
		t.WallSeconds += a.WallSeconds
	}
}

// By returns the trial as the named verdict alone has it, like Store.ResultsBy.
func (t TrialResult) By(scorer string, retry Retry) TrialResult {
	t.judge(retry, scorer, []string{scorer})
	return t
}

// VerdictOf returns the current verdict of a scorer, nil when there is none.
func (t *TrialResult) VerdictOf(scorer string) *AttemptVerdict {
	for i := range t.Verdicts {
		if t.Verdicts[i].Scorer == scorer {
			return &t.Verdicts[i]
		}
	}
	return nil
}

// judge fills in Verdict, State and Word: scorer names the verdict that they go
// by, needed those without which the trial is not done.
func (t *TrialResult) judge(retry Retry, scorer string, needed []string) {
	t.Verdict = t.VerdictOf(scorer)
	t.State = t.state(retry, needed)
	t.Word = t.word()
}

func (t *TrialResult) state(retry Retry, needed []string) State {
	missing := slices.ContainsFunc(needed, func(name string) bool { return t.VerdictOf(name) == nil })
	switch {
	case t.running():
		return StateRunning
	case !missing:
		return StateDone // whatever follows a verdict cannot change it
	case len(t.Verdicts) == 0 && retry.Again(t.counting()):
		return StatePending
	case t.Scorable() != nil:
		return StateUnscored
	}
	return StateDone
}

// running holds when the last attempt that counts has not ended.
func (t *TrialResult) running() bool {
	n := len(t.Attempts)
	return n > 0 && t.Attempts[n-1].Number > t.Reopened && t.Attempts[n-1].Outcome == ""
}

// counting are the attempts since the trial was opened again, in their order.
func (t *TrialResult) counting() []Attempt {
	var list []Attempt
	for _, a := range t.Attempts {
		if a.Number > t.Reopened {
			list = append(list, a.Attempt)
		}
	}
	return list
}

// Scorable is the attempt whose code a scorer is given: the one that has a
// verdict already, so that all verdicts are on the same code, else the last
// one. Nil when that one left no code, or was made before the trial was opened
// again.
func (t *TrialResult) Scorable() *Attempt {
	if len(t.Attempts) == 0 {
		return nil
	}
	a := &t.Attempts[len(t.Attempts)-1].Attempt
	for i := range t.Attempts {
		if len(t.Verdicts) > 0 && t.Attempts[i].Number == t.Verdicts[0].Attempt {
			a = &t.Attempts[i].Attempt
		}
	}
	if !a.Outcome.HasCode() || a.Unscored || a.Number <= t.Reopened {
		return nil
	}
	return a
}

func (t *TrialResult) word() string {
	final := t.Final()
	switch {
	case final == nil:
		return Pending
	case t.Verdict != nil && final.Outcome == Answered && t.Verdict.Solved:
		return Solved
	case t.Verdict != nil && final.Outcome == Answered:
		return Failed
	}
	return string(final.Outcome)
}
