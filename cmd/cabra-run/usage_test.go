package main

import (
	"context"
	"errors"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cabra-run/results"
	"cabra-run/tasks"
)

// makeUsedRun makes a run with one trial: a first attempt without output, and a
// second one that is solved, of whose two answers one was cut and whose agent
// counts otherwise: usedrun RUN.
func makeUsedRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: usedrun RUN")
	}
	ts.Check(usedRun(ts.MkAbs("runs/" + args[0])))
}

func usedRun(dir string) (err error) {
	ctx := context.Background()
	agent := results.Agent{Name: "copilot", Version: "1", Wire: "chat"}
	store, err := results.Create(dir, results.Lock{Run: "r", Agent: agent, Model: "m",
		Scorer: results.Scorer{Verdicts: []string{"strict"}}, Retry: results.DefaultRetry()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	t := results.Trial{TaskID: "traversal/add-return/math/n005/01", Agent: "copilot", Version: "1", Model: "m", Repetition: 1,
		Cell: tasks.Cell{Axis: tasks.Traversal, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}}
	t.Key = results.TrialKey(t)
	if err := store.Plan(ctx, []results.Trial{t}); err != nil {
		return err
	}
	worst := 2.0
	first := results.Exchange{Seq: 1, Usage: tokensUsed(1000, 500, 100, 0.25)}
	write := int64(500)
	first.Usage.CacheWrite = &write
	second := results.Exchange{Seq: 1, Usage: tokensUsed(2000, 1500, 200, 0.5)}
	cut := results.Exchange{Seq: 2, Error: "cut", WorstUSD: &worst, WorstTokens: 5000}
	if err := usedAttempt(ctx, store, t.Key, results.NoOutput, "", first); err != nil {
		return err
	}
	note := "the agent counts 3 requests\x1b[2J, the wire 2"
	if err := usedAttempt(ctx, store, t.Key, results.Answered, note, second, cut); err != nil {
		return err
	}
	return store.SetVerdict(ctx, t.Key, 2, results.Verdict{Scorer: "strict", Version: "strict/2", Solved: true})
}

func tokensUsed(in, cached, out int64, usd float64) results.Usage {
	return results.Usage{Input: &in, Cached: &cached, Output: &out, CostUSD: &usd}
}

func usedAttempt(
	ctx context.Context, s *results.Store, key string, o results.Outcome, note string, used ...results.Exchange,
) error {
	a, err := s.StartAttempt(ctx, key)
	if err != nil {
		return err
	}
	for _, e := range used {
		if err := s.AddExchange(ctx, key, a.Number, e); err != nil {
			return err
		}
	}
	a.Outcome, a.Ended, a.UsageNote = o, a.Started.Add(time.Second), note
	if o.HasCode() {
		if err := saveFiles(ctx, s, a, tasks.Files{tasks.SolutionFile: "x = 1\n"}); err != nil {
			return err
		}
	}
	return s.Collected(ctx, a)
}
