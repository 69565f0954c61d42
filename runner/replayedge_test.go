package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/tasks"
)

// Where neither attempt left code there is nothing that could be the same.
func TestReplayWithoutCode(t *testing.T) {
	removing := func(r *rig) {
		solve := r.world.during
		r.world.during = func(ctx context.Context, p *fake.Proc) bool {
			_ = os.Remove(filepath.Join(p.Box.Workspace(), tasks.SolutionFile))
			return solve == nil || solve(ctx, p)
		}
	}
	dir := recordedRun(t, removing)
	r := replaying(t, dir)
	removing(r)
	r.run(t)
	for task, got := range r.replays(t) {
		if got.SameCode != nil || len(got.Differs) > 0 || got.Outcome != results.NoOutput {
			t.Errorf("%s: %+v", task, got)
		}
	}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Final().Reason; strings.Contains(got, "same code") || !strings.Contains(got, "neither left code") {
			t.Errorf("%q", got)
		}
	}
}

// Code of the original that is gone is not compared with, and that is said.
func TestReplayLostCode(t *testing.T) {
	dir := recordedRun(t, nil)
	removeAll(t, dir, tasks.SolutionFile)
	r := replaying(t, dir)
	r.run(t)
	for task, got := range r.replays(t) {
		if got.SameCode != nil {
			t.Errorf("%s: %+v", task, got)
		}
	}
	if n := r.noticed("the code of the original could not be compared: "); n != 10 {
		t.Errorf("said %d times", n)
	}
}

// A replay waits for an engine that is away like any other sweep, and does not
// spoil trial after trial meanwhile.
func TestReplayEngineAway(t *testing.T) {
	dir := recordedRun(t, nil)
	r := replaying(t, dir)
	r.sweep.Settings.Jobs, r.sweep.Settings.BreakAfter = 1, 2
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Nth: 1, Kind: sandbox.FaultUnreachable})
	for n := range 3 {
		r.host.Script(fake.Trouble{Op: fake.OpInfo, Nth: n + 1, Kind: sandbox.FaultUnreachable})
	}
	if sum := r.run(t); sum.Done != 10 || sum.Paused != "" || r.noticed("waiting for the engine") != 1 {
		t.Errorf("%+v, said %d times that it waits", sum, r.noticed("waiting for the engine"))
	}
	broken := replaying(t, dir)
	broken.sweep.Settings.Jobs, broken.sweep.Settings.BreakAfter = 1, 3
	broken.host.Script(fake.Trouble{Op: fake.OpCreate, Kind: sandbox.FaultEngine})
	if sum := broken.run(t); !strings.HasPrefix(sum.Paused, "3 attempts in a row failed outside of the agent") || sum.Pending != 10 {
		t.Errorf("%+v", sum)
	}
}

// A halt ends also the reading of a long recording: the attempt was stopped, and
// a resume makes it.
func TestHaltWhileReadingARecording(t *testing.T) {
	r := replaying(t, recordedRun(t, nil))
	r.sweep.Settings.Jobs = 1
	observe := r.sweep.Observer
	r.sweep.Observer = func(e runner.Event) {
		observe(e)
		if e.Kind == runner.AttemptStarted {
			r.sweep.Stop.Raise(runner.Halt, "enough")
		}
	}
	if sum := r.run(t); sum.Pending != 10 || r.host.Calls(fake.OpCreate) != 0 {
		t.Errorf("summary %+v after %d boxes", sum, r.host.Calls(fake.OpCreate))
	}
	if n := r.outcomes(t); len(n) != 1 || n[results.Cancelled] != 1 {
		t.Errorf("outcomes %v", n)
	}
}
