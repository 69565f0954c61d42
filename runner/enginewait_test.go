package runner_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
)

// noticed counts the notices that begin so.
func (r *rig) noticed(prefix string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == runner.Notice && strings.HasPrefix(e.Reason, prefix) {
			n++
		}
	}
	return n
}

// An engine that is away hits what runs, and nothing new starts until it
// answers again. However many attempts it hits, the breaker sees one failure.
func TestEngineAway(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs, r.sweep.Settings.BreakAfter = 4, 2
	together(r, 4) // or the engine might be back before the last of them begins
	for n := range 4 {
		r.host.Script(fake.Trouble{Op: fake.OpCreate, Nth: n + 1, Kind: sandbox.FaultUnreachable})
	}
	for n := range 6 {
		r.host.Script(fake.Trouble{Op: fake.OpInfo, Nth: n + 1, Kind: sandbox.FaultUnreachable})
	}
	sum := r.run(t)
	if sum.Done != 10 || sum.Paused != "" {
		t.Errorf("summary %+v", sum)
	}
	if n := r.outcomes(t); n[results.Answered] != 10 || n[results.InfraError] != 4 || len(n) != 2 {
		t.Errorf("outcomes %v", n)
	}
	if waits, on := r.noticed("waiting for the engine"), r.noticed("going on: the engine"); waits != 1 || on != 1 {
		t.Errorf("told %d times that it waits and %d times that it goes on, want 1 and 1", waits, on)
	}
}

// together makes the first n attempts of a sweep begin before any of them goes
// on, and lets none of their trials go on before all of them have ended.
func together(r *rig, n int32) {
	var begun, ended atomic.Int32
	all, over, observe := make(chan struct{}), make(chan struct{}), r.sweep.Observer
	r.sweep.Observer = func(e runner.Event) {
		observe(e)
		switch e.Kind {
		case runner.AttemptStarted:
			switch k := begun.Add(1); {
			case k == n:
				close(all)
			case k < n:
				<-all
			}
		case runner.AttemptEnded:
			if ended.Add(1) == n {
				close(over)
			}
		}
	}
	r.sweep.Pause = func(context.Context, time.Duration) error {
		<-over
		return nil
	}
}

// An engine that never comes back pauses the sweep; what is pending stays so.
func TestEngineGone(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs = 1
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Kind: sandbox.FaultTimeout}, fake.Trouble{Op: fake.OpInfo, Kind: sandbox.FaultTimeout})
	var waited time.Duration
	r.sweep.Pause = func(_ context.Context, d time.Duration) error {
		waited += d
		return nil
	}
	sum := r.run(t)
	if sum.Pending != 10 || !strings.HasPrefix(sum.Paused, "no engine has answered for 30m0s: ") {
		t.Errorf("summary %+v", sum)
	}
	if n := r.outcomes(t); n[results.InfraError] != 1 || len(n) != 1 {
		t.Errorf("outcomes %v", n)
	}
	// 1, 2, 4, 8 and 16 seconds, then half minutes up to thirty minutes, after the
	// trial's own pause of two seconds.
	if waited < 30*time.Minute || waited > 31*time.Minute {
		t.Errorf("waited %v", waited)
	}
}

// Who drains a sweep does not have to wait for the engine.
func TestEngineAwayDrain(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Kind: sandbox.FaultUnreachable}, fake.Trouble{Op: fake.OpInfo, Kind: sandbox.FaultUnreachable})
	r.sweep.Pause = func(ctx context.Context, d time.Duration) error {
		if r.noticed("waiting for the engine") == 0 {
			return nil
		}
		r.sweep.Stop.Raise(runner.Drain, "enough")
		<-ctx.Done()
		return ctx.Err()
	}
	sum := r.run(t)
	if sum.Pending != 10 || sum.Stopped != "enough" || sum.Paused != "" {
		t.Errorf("summary %+v", sum)
	}
}

// One call in many that fails for its own reasons pauses nothing, and an
// engine that fails whenever it is asked is not tried for ever.
func TestEngineFlaps(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs, r.sweep.Settings.BreakAfter = 1, 3
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Kind: sandbox.FaultUnreachable}) // but it answers when asked
	sum := r.run(t)
	if sum.Pending != 10 || !strings.HasPrefix(sum.Paused, "3 attempts in a row failed outside of the agent") {
		t.Errorf("summary %+v", sum)
	}
}
