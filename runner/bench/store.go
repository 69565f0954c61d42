package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cabra-run/results"
	"cabra-run/results/resultsbench"
)

// exchangesEach is how many requests a trial has that is written.
const exchangesEach = 6

// MeasureStore adds how many trials a second the store takes with every step
// synced, with one and with eight writers. dir must lie on the disk that counts.
func MeasureStore(ctx context.Context, r *Report, dir string, trials int) error {
	for _, writers := range []int{1, 8} {
		rate, steps, err := throughput(ctx, filepath.Join(dir, fmt.Sprintf("store-%d", writers)), trials, writers)
		if err != nil {
			return err
		}
		how := fmt.Sprintf("%d trials: attempt started, %d requests booked and ended, five artefacts committed, "+
			"attempt collected, two verdicts; each step in the order of a sweep, with full sync", trials, exchangesEach)
		r.add(Figure{Part: "store", Name: fmt.Sprintf("trials per second, writers %d", writers), Unit: "trials/s", How: how}, []float64{rate})
		r.add(Figure{Part: "store", Name: fmt.Sprintf("  one trial's steps, writers %d", writers), Unit: "ms"}, steps)
	}
	return nil
}

// throughput writes a run and returns the trials per second and how long the
// steps of each trial took together.
func throughput(ctx context.Context, dir string, n, writers int) (float64, []float64, error) {
	store, err := results.Create(dir, resultsbench.Lock())
	if err != nil {
		return 0, nil, err
	}
	defer store.Close()
	trials := resultsbench.Trials(n)
	if err := store.Plan(ctx, trials); err != nil {
		return 0, nil, err
	}
	var g errgroup.Group
	g.SetLimit(writers)
	took := make([]float64, n)
	began := time.Now()
	for i, t := range trials {
		g.Go(func() error {
			from := time.Now()
			err := writeTrial(ctx, store, t)
			took[i] = milliseconds(time.Since(from))
			return err
		})
	}
	err = g.Wait()
	return float64(n) / time.Since(began).Seconds(), took, err
}

// writeTrial takes the steps of one trial.
func writeTrial(ctx context.Context, store *results.Store, t results.Trial) error {
	a, err := store.StartAttempt(ctx, t.Key)
	if err != nil {
		return err
	}
	art, err := store.BeginArtefacts(t.Key, a.Number)
	if err != nil {
		return err
	}
	defer art.Discard()
	for seq := 1; seq <= exchangesEach; seq++ {
		if err := writeExchange(ctx, store, a, seq); err != nil {
			return err
		}
	}
	if err := writeArtefacts(art.Root()); err != nil {
		return err
	}
	a.Outcome, a.Reason, a.Ended = results.Answered, "the agent finished its task", time.Now()
	a.Requests, a.Answers, a.TraceState = exchangesEach, exchangesEach, "complete"
	if err := art.Commit(ctx, a); err != nil {
		return err
	}
	if err := store.Collected(ctx, a); err != nil {
		return err
	}
	for _, scorer := range []string{results.Strict, results.Official} {
		v := results.Verdict{Scorer: scorer, Version: "1", Solved: true, Reason: "all as it should be",
			Checks: []results.Check{{Name: "compiles", Pass: true}, {Name: "behaviour", Pass: true}}}
		if err := store.SetVerdict(ctx, t.Key, a.Number, v); err != nil {
			return err
		}
	}
	return nil
}

func writeExchange(ctx context.Context, store *results.Store, a results.Attempt, seq int) error {
	tokens, worst := int64(20_000), 0.5
	e := results.Exchange{Seq: seq, Wire: "chat", Started: time.Now(), Model: "bench", WorstUSD: &worst, WorstTokens: 200_000}
	if err := store.OpenExchange(ctx, a.TrialKey, a.Number, e); err != nil {
		return err
	}
	e.Ended, e.Status, e.Complete = time.Now(), 200, true
	e.Usage = results.Usage{Input: &tokens, Cached: &tokens, Output: &tokens, CostUSD: &worst}
	return store.AddExchange(ctx, a.TrialKey, a.Number, e)
}

// writeArtefacts writes what an attempt leaves, in the sizes of a small one.
func writeArtefacts(root *os.Root) error {
	for _, dir := range []string{results.FilesDir, results.TraceDir} {
		if err := root.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	for name, size := range map[string]int{
		results.FilesDir + "/solution.py": 8 << 10, results.TraceDir + "/session.jsonl": 64 << 10,
		results.RecordingFile: 16 << 10, results.StdoutFile: 2 << 10, results.StderrFile: 0, results.PatchFile: 1 << 10,
	} {
		if err := root.WriteFile(name, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// MeasureDisk adds the bytes on disk per trial of a small real sweep with the
// scripted model.
func MeasureDisk(ctx context.Context, r *Report, p Program, dir, agent string, trials int) error {
	name := filepath.Join(dir, "disk")
	_, err := p.run(ctx, "--agent", agent, "--model", "scripted", "--grid", "smoke", "--limit", fmt.Sprint(trials),
		"--jobs", "2", "--run", name)
	if err != nil {
		return err
	}
	sizes, err := sizesOf(name)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("a run of the program with --agent %s --model scripted --grid smoke --limit %d; "+
		"file sizes over trials", agent, trials)
	total := 0.0
	for _, kind := range []string{kindDatabase, kindRecording, kindArtefacts} {
		per := float64(sizes[kind]) / float64(trials)
		total += per
		r.add(Figure{Part: "store", Name: "  " + kind + " per trial", Unit: "KiB"}, []float64{per / 1024})
	}
	r.add(Figure{Part: "store", Name: "bytes on disk per trial, " + agent, Unit: "KiB", How: how}, []float64{total / 1024})
	return nil
}

const (
	kindDatabase  = "database"
	kindRecording = "recording of the model traffic"
	kindArtefacts = "other artefacts"
)

// sizesOf sums the sizes of a run's files by their kind.
func sizesOf(dir string) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		kind := kindArtefacts
		switch {
		case filepath.Dir(name) == dir:
			kind = kindDatabase
		case d.Name() == results.RecordingFile:
			kind = kindRecording
		}
		sizes[kind] += info.Size()
		return nil
	})
	return sizes, err
}
