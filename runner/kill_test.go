package runner_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cabra-run/results/resultstest"
	"cabra-run/runner"
)

// A process kills itself at each step of an attempt, and the next one at the
// same step of its own first attempt; the third makes the run whole.
func TestKilledAtEveryStep(t *testing.T) {
	nths, pairs := []int{1, 2, 7}, 2
	if torture(t) == 0 {
		nths, pairs = nths[1:2], 1
	}
	kills := 0
	for _, step := range runner.Steps() {
		for _, nth := range nths {
			t.Run(fmt.Sprintf("%s %d", step, nth), func(t *testing.T) {
				kills += killAt(t, pairs, step, nth)
			})
		}
	}
	t.Logf("%d fault points, %d kills", len(runner.Steps())*len(nths), kills)
}

func killAt(t *testing.T, pairs int, step runner.Step, nth int) (kills int) {
	j := newJob(t, pairs, 1, 2)
	seen := resultstest.History{}
	if step == runner.StepPlanned { // passed once
		nth = 1
	}
	for _, n := range []int{nth, 1} {
		k := j
		k.Step, k.Nth = step, n
		if e := k.start(t, nil); e.done {
			t.Errorf("the step was not passed for the %d. time", n)
		}
		kills++
		seen.Look(t, j.Dir)
	}
	if e := j.start(t, nil); !e.done {
		t.Fatalf("killed by nobody: %s", e.stderr)
	}
	seen.Look(t, j.Dir)
	j.checkWhole(t, kills)
	return kills
}

// A process is killed at random and started again until the run is done: while
// it makes the run, recovers it, plans, works, scores and closes.
func TestKilledAnywhere(t *testing.T) {
	want, pairs, reps := 40, 2, 1
	if n := torture(t); n > 0 {
		want, pairs, reps = 300*n, 3, 2
	}
	seed := uint64(torture(t))
	rng := rand.New(rand.NewPCG(1, seed))
	after := map[string]int{}
	kills, runs := 0, 0
	for ; kills < want; runs++ {
		kills += killUntilDone(t, rng, newJob(t, 1+rng.IntN(pairs), 1+rng.IntN(reps), 1+rng.IntN(4)), after)
		if t.Failed() {
			t.Fatalf("run %d with seed 1, %d", runs, seed)
		}
	}
	t.Logf("%d kills of %d runs, by the last line that was said:", kills, runs)
	for _, line := range slices.Sorted(maps.Keys(after)) {
		t.Logf("%5d %s", after[line], line)
	}
}

func killUntilDone(t *testing.T, rng *rand.Rand, j job, after map[string]int) (kills int) {
	t.Helper()
	seen := resultstest.History{}
	for {
		k := randomKill(rng, j)
		e := j.start(t, &k)
		seen.Look(t, j.Dir)
		if e.done {
			break
		}
		kills++
		line, _, _ := strings.Cut(e.last, ":")
		after[strings.TrimSpace(line)]++
	}
	j.checkWhole(t, kills)
	return kills
}

// randomKill comes early more often than late, so that what happens before the
// first attempt is hit as well.
func randomKill(rng *rand.Rand, j job) kill {
	lines := 1 + rng.IntN(4)
	if rng.IntN(4) > 0 {
		lines = 1 + rng.IntN(20*j.trials())
	}
	return kill{lines: lines, after: time.Duration(rng.IntN(4000)) * time.Microsecond}
}
