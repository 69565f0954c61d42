package runner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
)

// said are the reasons of the events of a kind.
func (r *rig) said(kind runner.EventKind) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, e := range r.events {
		if e.Kind == kind {
			list = append(list, e.Reason)
		}
	}
	return list
}

// Why nothing is started is said once for all who wait, and once that it goes on.
func TestRoomSaidOnce(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs = 4
	var mu sync.Mutex
	asked := 0
	r.sweep.Room = func(context.Context) string {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked <= 20 {
			return fmt.Sprintf("no room, look %d", asked)
		}
		return ""
	}
	sum := r.run(t)
	if sum.Done != 10 || sum.Paused != "" {
		t.Errorf("summary %+v", sum)
	}
	waiting, resuming := r.said(runner.Waiting), r.said(runner.Resuming)
	if len(waiting) != 1 || waiting[0] != "nothing new is started: no room, look 1" ||
		len(resuming) != 1 || resuming[0] != "going on with the next attempt" {
		t.Errorf("said %q and %q", waiting, resuming)
	}
}

// A disk that stays full pauses the sweep before anything is made.
func TestFullDiskPauses(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.host.SetCapacity(sandbox.Capacity{MemoryBytes: 8 << 30, EngineBytes: 1 << 20, StateBytes: 100 << 30})
	r.sweep.Settings.MinFreeDisk, r.sweep.Settings.MaxRoomWait = 2<<20, time.Nanosecond
	sum := r.run(t)
	want := "no room for an attempt in 1ns: only 1MiB are free on the disk of the engine, less than 2MiB (--min-free-disk)"
	if sum.Paused != want || sum.Pending != 10 || r.host.Calls(fake.OpCreate) != 0 {
		t.Errorf("summary %+v after %d boxes, want paused: %s", sum, r.host.Calls(fake.OpCreate), want)
	}
}

// Whoever waits can be drained.
func TestDrainWhileWaiting(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.host.SetCapacity(sandbox.Capacity{MemoryBytes: 8 << 30, EngineBytes: 1, StateBytes: 1})
	r.sweep.Settings.MinFreeDisk = 1 << 20
	r.sweep.Pause = func(ctx context.Context, _ time.Duration) error {
		r.sweep.Stop.Raise(runner.Drain, "enough")
		<-ctx.Done()
		return ctx.Err()
	}
	if sum := r.run(t); sum.Pending != 10 || sum.Stopped != "enough" || sum.Paused != "" {
		t.Errorf("summary %+v", sum)
	}
	if l := r.sweep.Live(); l.Waiting != "" || l.Taken != 0 {
		t.Errorf("afterwards: %+v", l)
	}
}

// With hardly any memory the attempts are made one by one, and all of them.
func TestScarceMemory(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.host.SetCapacity(sandbox.Capacity{MemoryBytes: 1 << 20, EngineBytes: 1 << 30, StateBytes: 1 << 30})
	r.sweep.Settings.Jobs, r.sweep.Settings.MinFreeMemory = 4, 512<<20
	most := 0
	var mu sync.Mutex
	r.world.before = func(*fake.Box) {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, len(r.sweep.Live().InFlight))
	}
	if sum := r.run(t); sum.Done != 10 || most != 1 {
		t.Errorf("summary %+v, %d at once", sum, most)
	}
	if waiting := r.said(runner.Waiting); len(waiting) == 0 || !strings.Contains(waiting[0], "--min-free-memory") {
		t.Errorf("said %q", waiting)
	}
}

// An engine without a free place is waited for; nothing is held against anybody.
func TestNoPlaceOnTheEngine(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Nth: 1, Kind: sandbox.FaultNoCapacity},
		fake.Trouble{Op: fake.OpCreate, Nth: 2, Kind: sandbox.FaultNoCapacity})
	if sum := r.run(t); sum.Done != 10 {
		t.Errorf("summary %+v", sum)
	}
	if n := r.outcomes(t); len(n) != 1 || n[results.Answered] != 10 {
		t.Errorf("outcomes %v", n)
	}
}

// A live sweep tells what it does, and its jobs can be changed.
func TestLive(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs = 1
	wanted, _ := r.firstTrial(t)
	var toys atomic.Int32
	both, second := make(chan struct{}), make(chan struct{}, 10)
	r.world.before = func(*fake.Box) {
		if toys.Add(1) > 1 {
			second <- struct{}{}
			<-both
			return
		}
		l := r.sweep.Live()
		if l.Jobs != 1 || l.Taken != 1 || l.Planned != 10 || l.Done != 0 || l.Level != runner.Running || len(l.InFlight) != 1 {
			t.Errorf("%+v", l)
		} else if f := l.InFlight[0]; f.Task != wanted.TaskID || f.Repetition != 1 || f.Number != 1 || f.Started.IsZero() {
			t.Errorf("in flight: %+v", f)
		}
		r.sweep.SetJobs(2)
		<-second // which starts while this one is kept
		if l := r.sweep.Live(); l.Jobs != 2 || l.Taken != 2 || len(l.InFlight) != 2 {
			t.Errorf("with two jobs: %+v", l)
		}
		close(both)
	}
	r.run(t)
	if l := r.sweep.Live(); l.Done != 10 || l.Planned != 10 || len(l.InFlight) != 0 || l.Taken != 0 {
		t.Errorf("afterwards: %+v", l)
	}
}

// Limits that are not in force as wanted are on the record.
func TestEffectiveLimits(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.host.Script(fake.Trouble{Op: fake.OpLimits, Nth: 1, Do: func(box *fake.Box) {
		l := sandbox.DefaultLimits()
		l.MemoryBytes, l.Pids = sandbox.Unlimited, 1000
		box.SetEffective(sandbox.Effective{Limits: l, WorkspaceDiskBytes: sandbox.NotTold})
	}}, fake.Trouble{Op: fake.OpLimits, Nth: 2, Kind: sandbox.FaultEngine})
	r.run(t)
	texts := map[string]int{}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		texts[tr.Attempts[0].Effective]++
	}
	if len(texts) != 2 || texts[""] != 9 || texts["memory: wanted 2147483648, in effect no limit; pids: wanted 256, in effect 1000"] != 1 {
		t.Errorf("%v", texts)
	}
}
