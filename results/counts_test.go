package results_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cabra-run/results"
)

// Whatever happens to a run, the quick ways to count it and to find what is
// left to do say what reading all of it says. Two pairings have other rules for
// trying again; trials get one verdict, two, or one too many; they are opened
// again, and folders get lost.
func TestQuickWaysAgree(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWanderer(t, rand.New(rand.NewPCG(seed, 5)))
			for range 150 {
				w.step()
				if w.rng.IntN(5) == 0 {
					w.compare()
				}
			}
			w.compare()
		})
	}
}

type wanderer struct {
	t    *testing.T
	rng  *rand.Rand
	s    *results.Store
	keys []string
	open map[string]results.Attempt
}

func newWanderer(t *testing.T, rng *rand.Rand) *wanderer {
	lock := testLock()
	lock.Scorer.Verdicts = []string{"strict", "lenient"}[:1+rng.IntN(2)]
	other := results.Agent{Name: "other", Version: "1"}
	lock.Pairings = []results.Pairing{
		{Agent: lock.Agent, Model: lock.Model, Retry: lock.Retry},
		{Agent: other, Model: lock.Model, Retry: results.Retry{Attempts: 1, Classes: []results.Outcome{results.Timeout}}},
	}
	s, err := results.Create(filepath.Join(memoryDir(t), "r"), lock)
	if err != nil {
		t.Fatal(err)
	}
	w := &wanderer{t: t, rng: rng, s: s, open: map[string]results.Attempt{}}
	t.Cleanup(func() { w.s.Close() })
	trials := testTrials(6)
	for _, trial := range testTrials(6) {
		trial.Agent, trial.Version, trial.Seq = other.Name, other.Version, trial.Seq+6
		trial.Key = results.TrialKey(trial)
		trials = append(trials, trial)
	}
	if err := s.Plan(t.Context(), trials); err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials {
		w.keys = append(w.keys, trial.Key)
	}
	return w
}

// step does one thing that a store may be asked for; that it refuses is its
// right, other errors are not.
func (w *wanderer) step() {
	ctx := w.t.Context()
	key := w.keys[w.rng.IntN(len(w.keys))]
	var err error
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		if _, running := w.open[key]; !running {
			var a results.Attempt
			if a, err = w.s.StartAttempt(ctx, key); err == nil {
				w.open[key] = a
			}
		}
	case 3, 4, 5, 6:
		w.end(key)
	case 7, 8, 9:
		names := []string{"strict", "lenient", "third"}
		err = w.s.SetVerdict(ctx, key, 1+w.rng.IntN(4), results.Verdict{
			Scorer: names[w.rng.IntN(3)], Version: "1", Solved: w.rng.IntN(2) == 0})
	case 10:
		err = w.s.Reopen(ctx, []string{key})
	case 11:
		if w.rng.IntN(4) == 0 {
			w.again()
		}
	}
	var state *results.StateError
	if err != nil && !errors.As(err, &state) {
		w.t.Fatal(err)
	}
}

func (w *wanderer) end(key string) {
	a, running := w.open[key]
	if !running {
		return
	}
	delete(w.open, key)
	all := results.Outcomes()
	a = ended(a, all[w.rng.IntN(len(all))])
	a.Unscored = !a.Outcome.HasCode()
	collect(w.t, w.s, a)
}

// again closes the run, loses a folder, and opens the run.
func (w *wanderer) again() {
	dir := w.s.Dir()
	if err := w.s.Close(); err != nil {
		w.t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(dir, "trials", "*", "*", "*", "*", "*", "*", "*", "attempt-*"))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(folders) > 0 {
		if err := os.RemoveAll(folders[w.rng.IntN(len(folders))]); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.s, err = results.Open(dir, results.ReadWrite); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.s.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	clear(w.open)
}

func (w *wanderer) compare() {
	w.t.Helper()
	ctx := context.Background()
	var want results.Counts
	var left, got []results.TrialResult
	for r, err := range w.s.Results(ctx) {
		if err != nil {
			w.t.Fatal(err)
		}
		want.Planned++
		switch r.State {
		case results.StatePending:
			want.Pending++
		case results.StateRunning:
			want.Running++
		case results.StateUnscored:
			want.Unscored++
		case results.StateDone:
			want.Done++
			if f := r.Final(); f == nil || !f.Outcome.OfAgent() {
				want.WithoutOutcome++
			}
			continue
		}
		left = append(left, r)
	}
	for r, err := range w.s.Unfinished(ctx) {
		if err != nil {
			w.t.Fatal(err)
		}
		got = append(got, r)
	}
	counts, err := w.s.Counts(ctx)
	if err != nil || counts != want {
		w.t.Fatalf("%+v, %v; want %+v", counts, err, want)
	}
	if !reflect.DeepEqual(got, left) {
		w.t.Fatalf("unfinished %+v\nwant %+v", got, left)
	}
}
