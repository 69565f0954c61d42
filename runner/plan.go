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
	trials, err := s.trials(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Store.Plan(ctx, trials); err != nil {
		return nil, err
	}
	p := &plan{open: map[tasks.ID][]openTrial{}}
	for t, err := range s.Store.Results(ctx) {
		if err != nil {
			return nil, err
		}
		p.planned++
		if t.State == results.StateDone {
			p.done++
			continue
		}
		open := openTrial{trial: t.Trial}
		for _, a := range t.Attempts {
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

func (s *Sweep) trials(ctx context.Context) ([]results.Trial, error) {
	var trials []results.Trial
	lock := s.Store.Lock()
	for task, err := range s.Source.Tasks(ctx) {
		if err != nil {
			return nil, fmt.Errorf("generating tasks: %w", err)
		}
		for rep := 1; rep <= s.Settings.Repetitions; rep++ {
			t := results.Trial{
				TaskID: task.ID, TaskDigest: task.Digest() + "+" + task.StatementDigest(), Cell: task.Cell,
				Instance: task.Instance, SampleID: task.SampleID, Agent: s.Agent.Name(), Version: s.Agent.Version(),
				Model: s.Model.Name, Repetition: rep, Settings: lock.Settings, Seq: len(trials),
			}
			t.Key = results.TrialKey(t)
			trials = append(trials, t)
		}
	}
	return trials, nil
}

// exchangeRecord is a gateway's exchange in the words of the store.
func exchangeRecord(e gateway.Exchange) results.Exchange {
	return results.Exchange{
		Seq: e.Seq, Wire: string(e.Wire), Started: e.Started, Ended: e.Ended, Model: e.Model, Status: e.Status,
		Complete: e.Complete, Error: e.Error, WorstUSD: e.WorstUSD, WorstTokens: e.WorstTokens,
		Usage: results.Usage{Input: e.Usage.Input, Cached: e.Usage.Cached, CacheWrite: e.Usage.CacheWrite,
			Output: e.Usage.Output, Reasoning: e.Usage.Reasoning, CostUSD: e.CostUSD},
	}
}
