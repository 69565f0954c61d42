package report

import (
	"fmt"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
)

// maxReason is the longest reason of a verdict in data, in characters.
const maxReason = 500

// Both is a run under two of its verdicts.
type Both struct {
	// Reports holds a report by each verdict, the first one's first.
	Reports   []*Report `json:"reports"`
	Agreement Agreement `json:"agreement"`
	// Differing lists the trials on which the verdicts differ, in plan order.
	Differing []Differing `json:"differing"`
	// Pairings holds the same for each agent and model of a run that has
	// several.
	Pairings []*Both `json:"pairings,omitempty"`
}

// Agreement counts the trials by what both verdicts say, whatever the outcome
// of the attempt.
type Agreement struct {
	BothSolved int `json:"both_solved"`
	BothFailed int `json:"both_failed"`
	// Only holds, in the order of the reports, those that one verdict alone
	// calls solved.
	Only []OnlySolved `json:"solved_by_one"`
	// NotBoth counts the trials that have one verdict and lack the other.
	NotBoth int `json:"one_verdict_missing"`
}

// OnlySolved counts the trials that are solved by one verdict alone, by the
// check that they fail under the other one.
type OnlySolved struct {
	Scorer   string         `json:"scorer"`
	Trials   int            `json:"trials"`
	FailedAt map[string]int `json:"failed_at"`
}

// Differing is a trial on which two verdicts differ.
type Differing struct {
	TaskID     tasks.ID `json:"task_id"`
	Repetition int      `json:"repetition"`
	Agent      string   `json:"agent"`
	Model      string   `json:"model"`
	Attempt    int      `json:"attempt"`
	Outcome    string   `json:"attempt_outcome"`
	// Sides are the verdicts in the order of the reports.
	Sides []Side `json:"verdicts"`
}

// Side is what one verdict says of a trial.
type Side struct {
	Scorer  string `json:"scorer"`
	Version string `json:"version"`
	Solved  bool   `json:"solved"`
	// FailedAt is the first check that decided against the code.
	FailedAt string `json:"failed_at,omitempty"`
	// Reason is why, in one line of at most 500 characters; of code that is
	// solved, the first check that failed without deciding.
	Reason string `json:"reason"`
}

// BuildBoth reduces results to a report by each of two verdicts, and says where
// these differ. Options.Scorer has no meaning here.
func BuildBoth(all Results, lock results.Lock, opts Options, first, second string) (*Both, error) {
	fresh := func() *bothBuilder { return newBothBuilder(lock, first, second) }
	s, err := newSplit(lock, opts, fresh)
	if err != nil {
		return nil, err
	}
	var t results.TrialResult
	for next, err := range all {
		if err != nil {
			return nil, fmt.Errorf("building the report: %w", err)
		}
		t = next
		s.add(&t)
	}
	both := s.total.both(s.chosen(), opts)
	for _, i := range s.parts() {
		both.Pairings = append(both.Pairings, s.each[i].both(s.pairings.list[i:i+1], opts))
	}
	return both, nil
}

// bothBuilder gathers the trials of a Both.
type bothBuilder struct {
	Both
	lock     results.Lock
	scorers  [2]string
	builders [2]*builder
	view     results.TrialResult // as one verdict has the trial; kept, so that none is made for each
}

func newBothBuilder(lock results.Lock, first, second string) *bothBuilder {
	b := &bothBuilder{lock: lock, scorers: [2]string{first, second}, builders: [2]*builder{newBuilder(), newBuilder()}}
	b.Differing = []Differing{}
	for _, name := range b.scorers {
		b.Agreement.Only = append(b.Agreement.Only, OnlySolved{Scorer: name, FailedAt: map[string]int{}})
	}
	return b
}

func (b *bothBuilder) add(t *results.TrialResult) {
	for i, name := range b.scorers {
		b.view = t.By(name, b.lock.RetryOf(t.Trial))
		b.builders[i].add(&b.view)
	}
	b.compare(t, b.scorers[0], b.scorers[1])
}

func (b *bothBuilder) both(pairs []results.Pairing, opts Options) *Both {
	for i, name := range b.scorers {
		opts.Scorer = name
		b.Reports = append(b.Reports, b.builders[i].report(b.lock, pairs, opts))
	}
	return &b.Both
}

// compare counts a trial, and lists it where its verdicts differ.
func (b *Both) compare(t *results.TrialResult, first, second string) {
	v, w := t.VerdictOf(first), t.VerdictOf(second)
	switch {
	case v == nil && w == nil:
		return
	case v == nil || w == nil:
		b.Agreement.NotBoth++
		return
	case v.Solved && w.Solved:
		b.Agreement.BothSolved++
		return
	case !v.Solved && !w.Solved:
		b.Agreement.BothFailed++
		return
	}
	d := Differing{TaskID: t.TaskID, Repetition: t.Repetition, Agent: t.Agent, Model: t.Model,
		Attempt: v.Attempt, Sides: []Side{newSide(v), newSide(w)}}
	for _, a := range t.Attempts {
		if a.Number == v.Attempt {
			d.Outcome = string(a.Outcome)
		}
	}
	b.Differing = append(b.Differing, d)
	only, failed := 0, 1
	if w.Solved {
		only, failed = 1, 0
	}
	b.Agreement.Only[only].Trials++
	b.Agreement.Only[only].FailedAt[d.Sides[failed].FailedAt]++
}

func newSide(v *results.AttemptVerdict) Side {
	s := Side{Scorer: v.Scorer, Version: v.Version, Solved: v.Solved, Reason: v.Reason}
	for _, c := range v.Checks {
		if v.Solved && !c.Pass {
			s.Reason = fmt.Sprintf("%s fails and does not count: %s", c.Name, c.Detail)
			break
		}
	}
	if !v.Solved {
		// A scorer's reason begins with the name of the check that decided.
		name, _, named := strings.Cut(v.Reason, ": ")
		if !named || strings.ContainsAny(name, " \t\n") {
			name = "unknown"
		}
		s.FailedAt = shorten(oneLine(name), 40)
	}
	s.Reason = shorten(oneLine(s.Reason), maxReason)
	return s
}
