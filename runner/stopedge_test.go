package runner_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/tasks"
)

// An attempt that is halted while it waits for a place on the engine was
// stopped; that there was none is nobody's failure.
func TestHaltWithoutPlace(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs, r.sweep.Settings.BreakAfter = 1, 1
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Kind: sandbox.FaultNoCapacity})
	r.sweep.Pause = func(context.Context, time.Duration) error {
		r.sweep.Stop.Raise(runner.Halt, "enough")
		return nil
	}
	sum := r.run(t)
	if n := r.outcomes(t); len(n) != 1 || n[results.Cancelled] != 1 || sum.Paused != "" || sum.Stopped != "enough" {
		t.Errorf("summary %+v, outcomes %v", sum, n)
	}
}

// broken is a scorer that cannot work.
type broken struct{}

func (broken) ScoreBy(context.Context, *tasks.Task, tasks.Files, ...string) ([]results.Verdict, error) {
	return nil, errors.New("no scorer")
}

// Where nothing can be scored any more the sweep pauses, before all the money is
// spent on attempts that nobody can judge; what was paid for is scored later.
func TestBrokenScorerPauses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	r.sweep.Settings.Jobs, r.sweep.Settings.BreakAfter, r.sweep.Scorer = 1, 3, broken{}
	sum := r.run(t)
	if !strings.HasPrefix(sum.Paused, "3 trials in a row could not be scored; the last one: no scorer") || r.model.calls != 3 ||
		sum.Pending != 10 {
		t.Errorf("summary %+v after %d answers", sum, r.model.calls)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	if sum := again.run(t); sum.Done != 10 || again.model.calls != 7 {
		t.Errorf("resumed: %+v after %d more answers", sum, again.model.calls)
	}
}

// However the number of jobs is changed meanwhile, every trial is done once.
func TestJobsChangeAllTheTime(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Repetitions = 4
	rng := rand.New(rand.NewPCG(7, 7))
	sizes := make(chan int, 200)
	for range cap(sizes) {
		sizes <- 1 + rng.IntN(6)
	}
	r.world.before = func(*fake.Box) { r.sweep.SetJobs(<-sizes) }
	if sum := r.run(t); sum.Done != 40 || r.model.calls != 40 {
		t.Errorf("summary %+v after %d answers", sum, r.model.calls)
	}
	if l := r.sweep.Live(); l.Taken != 0 {
		t.Errorf("%d places are taken", l.Taken)
	}
}
