package runner_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox/fake"
	"cabra-run/sandbox/gateway"
)

// Two sweeps work side by side on one engine, on which a third one has died and
// left its boxes. Whoever comes next removes those and touches nothing of the
// living; the run of the dead one is then made whole.
func TestSweepsSideBySide(t *testing.T) {
	dead := newRig(t, filepath.Join(t.TempDir(), "dead"))
	host, engine := dead.host, dead.sweep.Engine.(*fake.Engine)
	solve := dead.model.answer
	dead.model.answer = func(call int, prompt string) (int, string) {
		if call == 3 {
			engine.Die()
		}
		return solve(call, prompt)
	}
	if _, err := dead.sweep.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	left := len(host.Boxes())
	if left == 0 {
		t.Fatal("the dead sweep has left no box, so the test shows nothing")
	}

	var living []*rig
	var reap sync.Once
	for _, name := range []string{"one", "two"} {
		r := newRig(t, filepath.Join(t.TempDir(), name))
		r.host, r.sweep.Engine = host, host.Connect()
		living = append(living, r)
	}
	dead.world.before = func(*fake.Box) { // all boxes of the host run in its world
		reap.Do(func() {
			found, err := host.Connect().Reap(context.Background())
			if err != nil || found.Boxes != left || found.Workspaces != left {
				t.Errorf("reaped %+v, %v; the dead sweep has left %d boxes", found, err, left)
			}
		})
	}
	var both sync.WaitGroup
	for _, r := range living {
		both.Go(func() {
			if sum, err := r.sweep.Run(context.Background()); err != nil || sum.Done != 10 {
				t.Errorf("%+v %v", sum, err)
			}
		})
	}
	both.Wait()
	for _, r := range living {
		if n := r.outcomes(t); n[results.Answered] != 10 || len(n) != 1 {
			t.Errorf("outcomes %v of a sweep that nobody was to touch", n)
		}
	}
	if err := dead.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dead.store.Dir())
	again.host, again.sweep.Engine = host, host.Connect()
	if sum := again.run(t); sum.Done != 10 {
		t.Errorf("the dead one's run: %+v", sum)
	}
}

// A second process on a run is refused by the name of the first, and by that
// alone: once the first is dead the run is free, whatever its lock file says.
func TestSecondProcessOnARun(t *testing.T) {
	j := newJob(t, 1, 1, 2)
	k := kill{lines: 20, before: func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var locked *results.LockedError
		if _, err := results.Open(j.Dir, results.ReadWrite); !errors.As(err, &locked) || locked.PID != pid {
			t.Errorf("opening the run of process %d: %v", pid, err)
		}
		reader, err := results.Open(j.Dir, results.ReadOnly)
		if err != nil {
			t.Fatalf("a reader beside the writer: %v", err)
		}
		_ = reader.Close()
	}}
	if e := j.start(t, &k); e.done {
		t.Fatal("the first process was not killed")
	}
	if e := j.start(t, nil); !e.done {
		t.Fatal(e.stderr)
	}
	j.checkWhole(t, 1)
}

// A provider that fails everybody pauses the sweep: it says so once, nothing is
// taken for done, and with the provider back the run goes on without having
// charged an agent for it.
func TestBreakerSaysItOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	r.sweep.Settings.Jobs = 4
	r.sweep.Gateway = gateway.New(gateway.Options{Retry: gateway.RetryBudget{Tries: 1},
		Backoff: gateway.Backoff{Base: time.Millisecond, Max: time.Millisecond, OwnMax: time.Millisecond}})
	r.model.answer = func(int, string) (int, string) { return http.StatusInternalServerError, "overloaded" }
	sum := r.run(t)
	if !strings.Contains(sum.Paused, "attempts in a row failed outside of the agent") ||
		!strings.Contains(sum.Paused, "overloaded") || sum.Done != 0 || sum.Pending != 10 {
		t.Errorf("summary %+v", sum)
	}
	said := 0
	for _, e := range r.events {
		if e.Kind == runner.Notice {
			said++
		}
		if e.Kind == runner.TrialDone {
			t.Errorf("%s is done", e.Task)
		}
	}
	if n := r.outcomes(t); said != 1 || n[results.ProviderError] < 5 || n[results.ProviderError] > 8 || len(n) != 1 {
		t.Errorf("%d notices after %v, want one after five failures and those in flight", said, n)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	if sum := again.run(t); sum.Done != 10 || sum.Paused != "" {
		t.Errorf("after the pause: %+v", sum)
	}
	wantWords(t, again, map[string]int{results.Solved: 5, results.Failed: 5})
}
