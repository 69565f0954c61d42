package resultsbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cabra-run/results"

	"golang.org/x/sync/errgroup"
)

// Reading is how long it takes to read a run.
type Reading struct {
	Trials     int           `json:"trials"`
	Open       time.Duration `json:"open_ns"`       // opening it for writing
	Recover    time.Duration `json:"recover_ns"`    // of a run that was closed properly
	PlanAgain  time.Duration `json:"plan_again_ns"` // planning what is planned already
	Unfinished time.Duration `json:"unfinished_ns"` // finding what a resume has to do
	Counts     time.Duration `json:"counts_ns"`
	Spending   time.Duration `json:"spending_ns"`
	Brief      time.Duration `json:"brief_ns"`   // every trial, without texts
	Results    time.Duration `json:"results_ns"` // every trial, whole
	CheckBooks time.Duration `json:"check_books_ns"`
	// DatabaseBytes is the size of run.db.
	DatabaseBytes int64 `json:"database_bytes"`
}

// ResumePlanning is what a resume does before its first trial.
func (r Reading) ResumePlanning() time.Duration {
	return r.Open + r.Recover + r.PlanAgain + r.Spending + r.Unfinished
}

// Measure reads a run that Build made, once in each way.
func Measure(ctx context.Context, dir string) (r Reading, err error) {
	begin := time.Now()
	s, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.Open = time.Since(begin)
	info, err := os.Stat(filepath.Join(dir, "run.db"))
	if err != nil {
		return r, err
	}
	r.DatabaseBytes = info.Size()
	counts, err := s.Counts(ctx)
	if err != nil {
		return r, err
	}
	r.Trials = counts.Planned
	trials := Trials(r.Trials)
	for _, step := range []struct {
		took *time.Duration
		do   func() error
	}{
		{&r.Recover, func() error { _, err := s.Recover(ctx); return err }},
		{&r.PlanAgain, func() error { return s.Plan(ctx, trials) }},
		{&r.Unfinished, func() error { return drain(s.Unfinished(ctx)) }},
		{&r.Counts, func() error { _, err := s.Counts(ctx); return err }},
		{&r.Spending, func() error { _, _, err := s.Spending(ctx); return err }},
		{&r.Brief, func() error { return drain(s.Brief(ctx)) }},
		{&r.Results, func() error { return drain(s.Results(ctx)) }},
		{&r.CheckBooks, func() error { return s.CheckBooks(ctx) }},
	} {
		begin := time.Now()
		if err := step.do(); err != nil {
			return r, err
		}
		*step.took = time.Since(begin)
	}
	return r, nil
}

func drain(trials func(func(results.TrialResult, error) bool)) error {
	for _, err := range trials {
		if err != nil {
			return err
		}
	}
	return nil
}

// Writing is how fast trials are recorded, every step synced.
type Writing struct {
	Trials     int           `json:"trials"`
	Parallel   int           `json:"parallel"`
	Took       time.Duration `json:"took_ns"`
	TrialBytes int64         `json:"trial_bytes"` // on disk, artefacts included
}

// PerSecond is the rate.
func (w Writing) PerSecond() float64 { return float64(w.Trials) / w.Took.Seconds() }

// Record makes a run of n trials at dir, which must not exist, as a sweep does:
// start, six requests booked and ended, artefacts, row and two verdicts each,
// so many trials at a time.
func Record(ctx context.Context, dir string, n, parallel int) (w Writing, err error) {
	s, err := results.Create(dir, Lock())
	if err != nil {
		return w, err
	}
	trials := Trials(n)
	if err := s.Plan(ctx, trials); err != nil {
		return w, errors.Join(err, s.Close())
	}
	w = Writing{Trials: n, Parallel: parallel}
	begin := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, t := range trials {
		g.Go(func() error { return record(gctx, s, t.Key) })
	}
	err = g.Wait()
	w.Took = time.Since(begin)
	if err = errors.Join(err, s.Close()); err != nil {
		return w, fmt.Errorf("recording trials: %w", err)
	}
	bytes, err := diskUsage(dir)
	if n > 0 {
		w.TrialBytes = bytes / int64(n)
	}
	return w, err
}

func record(ctx context.Context, s *results.Store, key string) error {
	a, err := s.StartAttempt(ctx, key)
	if err != nil {
		return err
	}
	art, err := s.BeginArtefacts(key, a.Number)
	if err != nil {
		return err
	}
	defer art.Discard()
	for seq := 1; seq <= exchangesEach; seq++ {
		if err := exchange(ctx, s, a, seq); err != nil {
			return err
		}
	}
	if err := writeArtefacts(art.Root()); err != nil {
		return err
	}
	a.Ended, a.Outcome, a.TraceState = a.Started.Add(time.Minute), results.Answered, "complete"
	if err := art.Commit(ctx, a); err != nil {
		return err
	}
	if err := s.Collected(ctx, a); err != nil {
		return err
	}
	checks := []results.Check{{Name: "compiles", Pass: true}, {Name: "functions", Pass: true},
		{Name: "behaviour", Pass: true}, {Name: "calls", Pass: true}, {Name: "structure", Pass: true}}
	for _, scorer := range []string{results.Strict, results.Official} {
		v := results.Verdict{Scorer: scorer, Version: "1", Solved: true, Reason: "all inputs give what they should", Checks: checks}
		if err := s.SetVerdict(ctx, key, a.Number, v); err != nil {
			return err
		}
	}
	return nil
}

func exchange(ctx context.Context, s *results.Store, a results.Attempt, seq int) error {
	tokens, cost, worst := int64(1000*seq), 0.001*float64(seq), 0.5
	e := results.Exchange{Seq: seq, Wire: "responses", Started: a.Started, Ended: a.Started.Add(time.Second),
		Model: "scripted", Status: 200, Complete: true, WorstUSD: &worst, WorstTokens: 200_000}
	if err := s.OpenExchange(ctx, a.TrialKey, a.Number, e); err != nil {
		return err
	}
	e.Usage = results.Usage{Input: &tokens, Cached: &tokens, Output: &tokens, Reasoning: &tokens, CostUSD: &cost}
	return s.AddExchange(ctx, a.TrialKey, a.Number, e)
}

// artefacts are the files of an attempt with their usual sizes.
var artefacts = []struct {
	name string
	size int
}{
	{results.FilesDir + "/solution.py", 12_000}, {results.PatchFile, 3_000}, {results.TraceDir + "/session.jsonl", 40_000},
	{results.RecordingFile, 15_000}, {results.StdoutFile, 2_000}, {results.StderrFile, 0},
}

func writeArtefacts(root *os.Root) error {
	for _, dir := range []string{results.FilesDir, results.TraceDir} {
		if err := root.Mkdir(dir, 0o777); err != nil {
			return err
		}
	}
	for _, a := range artefacts {
		if err := root.WriteFile(a.name, make([]byte, a.size), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// diskUsage is what the files below a folder take on disk.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += blocks(info)
		}
		return err
	})
	return total, err
}
