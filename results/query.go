package results

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// Results yields every trial of the plan in its order, with attempts, verdicts
// and usage, as of one moment, also while a sweep runs. Words go by the run's
// first verdict; a trial is done when it has all verdicts that the lock names.
// Nothing is yielded after an error.
func (s *Store) Results(ctx context.Context) iter.Seq2[TrialResult, error] {
	return s.results(ctx, s.lock.Verdict(), s.lock.Verdicts())
}

// ResultsBy is Results as the named verdict alone has it ("" is the run's
// first): words go by it, and no other one is waited for.
func (s *Store) ResultsBy(ctx context.Context, scorer string) iter.Seq2[TrialResult, error] {
	scorer = cmp.Or(scorer, s.lock.Verdict())
	return s.results(ctx, scorer, []string{scorer})
}

// Brief is Results with what is counted and summed up, at some 60 % of the cost.
// A trial has its identity but for key, digest, instance, sample id and place; an
// attempt has number, times, outcome, limit, whether it is unchanged or unscored,
// usage and the notes on it and on limits, and its reason where its trial has no
// verdict; a verdict has no reason and no checks.
func (s *Store) Brief(ctx context.Context) iter.Seq2[TrialResult, error] {
	return s.yield(ctx, reading{brief: true}, s.lock.Verdict(), s.lock.Verdicts())
}

// BriefBy is to ResultsBy what Brief is to Results.
func (s *Store) BriefBy(ctx context.Context, scorer string) iter.Seq2[TrialResult, error] {
	scorer = cmp.Or(scorer, s.lock.Verdict())
	return s.yield(ctx, reading{brief: true}, scorer, []string{scorer})
}

// Ended yields the results of the trials that have an attempt with one of the
// outcomes.
func (s *Store) Ended(ctx context.Context, outcomes ...Outcome) iter.Seq2[TrialResult, error] {
	r := reading{where: `id IN (SELECT trial_id FROM attempts WHERE outcome IN (SELECT value FROM json_each(?)))`}
	list, _ := json.Marshal(outcomes) // words cannot fail
	r.args = []any{string(list)}
	return s.yield(ctx, r, s.lock.Verdict(), s.lock.Verdicts())
}

// Unfinished yields what Results does, but only the trials that are not done.
// What is done costs next to nothing.
func (s *Store) Unfinished(ctx context.Context) iter.Seq2[TrialResult, error] {
	return func(yield func(TrialResult, error) bool) {
		for t, err := range s.yield(ctx, s.lacking(), s.lock.Verdict(), s.lock.Verdicts()) {
			if (err != nil || t.State != StateDone) && !yield(t, err) {
				return
			}
		}
	}
}

// Counts says how many trials are in which state.
type Counts struct {
	Planned  int `json:"planned"`
	Pending  int `json:"pending"`
	Running  int `json:"running"`
	Unscored int `json:"unscored"`
	Done     int `json:"done"`
	// WithoutOutcome counts the done trials whose outcome says nothing about
	// the agent.
	WithoutOutcome int `json:"without_outcome"`
}

// Counts counts the trials as of one moment, without reading those that have
// all their verdicts: such a trial is done, and its outcome the agent's.
func (s *Store) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	var left int
	r := s.lacking()
	r.brief, r.total = true, &c.Planned
	for t, err := range s.yield(ctx, r, s.lock.Verdict(), s.lock.Verdicts()) {
		if err != nil {
			return Counts{}, err
		}
		switch t.State {
		case StatePending:
			c.Pending++
		case StateRunning:
			c.Running++
		case StateUnscored:
			c.Unscored++
		case StateDone:
			if final := t.Final(); final == nil || !final.Outcome.OfAgent() {
				c.WithoutOutcome++
			}
			continue
		}
		left++
	}
	c.Done = c.Planned - left
	return c, nil
}

// lacking reads the trials that may be not done: those that lack a verdict or
// have an attempt running.
func (s *Store) lacking() reading {
	needed := s.lock.Verdicts()
	r := reading{where: fmt.Sprintf(`(id NOT IN (SELECT trial_id FROM verdicts
		WHERE superseded = 0 AND scorer IN (?%s) GROUP BY trial_id HAVING count(*) = %d)
		OR id IN (SELECT trial_id FROM attempts WHERE outcome = ''))`,
		strings.Repeat(", ?", len(needed)-1), len(needed))}
	for _, name := range needed {
		r.args = append(r.args, name)
	}
	return r
}

func (s *Store) results(ctx context.Context, scorer string, needed []string) iter.Seq2[TrialResult, error] {
	return s.yield(ctx, reading{}, scorer, needed)
}

func (s *Store) yield(ctx context.Context, r reading, scorer string, needed []string) iter.Seq2[TrialResult, error] {
	return func(yield func(TrialResult, error) bool) {
		err := s.eachResult(ctx, r, func(t TrialResult) bool {
			t.judge(s.lock.RetryOf(t.Trial), scorer, needed)
			return yield(t, nil)
		})
		if err != nil {
			yield(TrialResult{}, storageError("reading results", s.dir, err))
		}
	}
}

// Exchanges lists the requests of one attempt in their order.
func (s *Store) Exchanges(ctx context.Context, key string, n int) ([]Exchange, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT e.seq, started, ended, e.model, status, complete, error,
		input, cached, output, reasoning, cost_usd, cache_write, wire, worst_usd, worst_tokens
		FROM exchanges e JOIN trials t ON t.id = e.trial_id
		WHERE t.key = ? AND number = ? ORDER BY e.seq`, key, n)
	if err != nil {
		return nil, storageError("reading exchanges", s.dir, err)
	}
	defer rows.Close()
	var list []Exchange
	for rows.Next() {
		var e Exchange
		var started, ended string
		err := rows.Scan(&e.Seq, &started, &ended, &e.Model, &e.Status, &e.Complete, &e.Error, &e.Usage.Input,
			&e.Usage.Cached, &e.Usage.Output, &e.Usage.Reasoning, &e.Usage.CostUSD, &e.Usage.CacheWrite,
			&e.Wire, &e.WorstUSD, &e.WorstTokens)
		if err != nil {
			return nil, storageError("reading exchanges", s.dir, err)
		}
		e.Started, e.Ended = parseTime(started), parseTime(ended)
		list = append(list, e)
	}
	return list, storageError("reading exchanges", s.dir, rows.Err())
}
