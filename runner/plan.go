package runner

import (
	"context"
	"fmt"

	"cabra-run/results"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

// plan is what is left to do of a run.
type plan struct {
	planned int
	done    int
	open    map[tasks.ID][]openTrial
}

// openTrial is a trial that is not done, with the attempts it has had and the
// verdicts that it has already.
type openTrial struct {
	trial    results.Trial
	pair     *Pairing
	attempts []results.Attempt
	verdicts []results.Verdict
	toScore  *results.Attempt // set when verdicts are all that it lacks
}

// take hands out the open trials of a task, once.
func (p *plan) take(id tasks.ID) []openTrial {
	trials := p.open[id]
	delete(p.open, id)
	return trials
}

// plan records the trials of the source and subtracts the finished ones.
func (s *Sweep) plan(ctx context.Context) (*plan, error) {
	counts, err := s.Store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	if !s.SameTasks || s.Select != nil || counts.Planned != s.Source.Len()*s.Settings.Repetitions*len(s.Pairings) {
		if counts, err = s.record(ctx); err != nil {
			return nil, err
		}
	}
	s.passed(StepPlanned)
	pairs := s.pairsByName()
	p := &plan{planned: counts.Planned, done: counts.Done, open: map[tasks.ID][]openTrial{}}
	for t, err := range s.Store.Unfinished(ctx) {
		if err != nil {
			return nil, err
		}
		open := openTrial{trial: t.Trial, pair: pairs[pairName{t.Agent, t.Version, t.Model}]}
		if open.pair == nil {
			return nil, fmt.Errorf("the plan has a trial of %s@%s with %s, which this sweep has not", t.Agent, t.Version, t.Model)
		}
		for _, a := range t.Attempts {
			if a.Number <= t.Reopened {
				continue // before the trial was opened again
			}
			open.attempts = append(open.attempts, a.Attempt)
		}
		for _, v := range t.Verdicts {
			open.verdicts = append(open.verdicts, v.Verdict)
		}
		if t.State == results.StateUnscored {
			open.toScore = t.Scorable()
		}
		p.open[t.TaskID] = append(p.open[t.TaskID], open)
	}
	return p, nil
}

// record writes the plan into the store and counts what it has then.
func (s *Sweep) record(ctx context.Context) (results.Counts, error) {
	trials, err := s.trials(ctx)
	if err != nil {
		return results.Counts{}, err
	}
	if err := s.Store.Plan(ctx, trials); err != nil {
		return results.Counts{}, err
	}
	return s.Store.Counts(ctx)
}

// pairName is what tells pairings apart in the records of trials.
type pairName struct{ agent, version, model string }

func (s *Sweep) pairsByName() map[pairName]*Pairing {
	pairs := map[pairName]*Pairing{}
	for i := range s.Pairings {
		p := &s.Pairings[i]
		pairs[pairName{p.Agent.Name(), p.Agent.Version(), p.Model.Name}] = p
	}
	return pairs
}

// trials are those of the source that this run has: task by task, so that what
// is done of an unfinished run is the same for all pairings.
func (s *Sweep) trials(ctx context.Context) ([]results.Trial, error) {
	var trials []results.Trial
	seq, settings := 0, s.settingsOfPairs()
	if len(settings) != len(s.Pairings) {
		return nil, fmt.Errorf("the run has %d agents and models, and the sweep %d", len(settings), len(s.Pairings))
	}
	for task, err := range tasks.Heads(ctx, s.Source) {
		if err != nil {
			return nil, fmt.Errorf("generating tasks: %w", err)
		}
		digest := task.Digest + "+" + task.StatementDigest
		for rep := 1; rep <= s.Settings.Repetitions; rep++ {
			for i := range s.Pairings {
				p := &s.Pairings[i]
				t := results.Trial{
					TaskID: task.ID, TaskDigest: digest, Cell: task.Cell,
					Instance: task.Instance, SampleID: task.SampleID, Agent: p.Agent.Name(), Version: p.Agent.Version(),
					Model: p.Model.Name, Repetition: rep, Settings: settings[i], Seq: seq,
				}
				seq++
				t.Key = results.TrialKey(t)
				if s.Select == nil || s.Select(t) {
					trials = append(trials, t)
				}
			}
		}
	}
	return trials, nil
}

// settingsOfPairs are the digests of what each pairing's trials are made under.
func (s *Sweep) settingsOfPairs() []string {
	lock := s.Store.Lock()
	digests := []string{lock.Settings}
	for i, p := range lock.Pairings {
		if i == 0 {
			digests = digests[:0]
		}
		digests = append(digests, lock.SettingsOf(p.Agent))
	}
	return digests
}

// exchangeRecord is a gateway's exchange in the words of the store.
func (a *attempt) exchangeRecord(e gateway.Exchange) results.Exchange {
	return results.Exchange{
		Seq: e.Seq, Wire: string(e.Wire), Started: a.at(e.Started), Ended: a.at(e.Ended), Model: e.Model, Status: e.Status,
		Complete: e.Complete, Error: e.Error, WorstUSD: e.WorstUSD, WorstTokens: e.WorstTokens,
		Usage: results.Usage{Input: e.Usage.Input, Cached: e.Usage.Cached, CacheWrite: e.Usage.CacheWrite,
			Output: e.Usage.Output, Reasoning: e.Usage.Reasoning, CostUSD: e.CostUSD},
	}
}
