package enginefault

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/sandbox/sandboxtest/engineproxy"
)

// TestEngineAway takes the engine away in mid-sweep and gives it back once the
// sweep has said that it waits.
func TestEngineAway(t *testing.T) {
	sandboxtest.RequireReal(t)
	base, scorer := images(t)
	own := sandboxtest.OwnEngine(t, base, scorer)
	for _, tc := range []struct {
		name string
		end  func()
	}{{"stopped", own.Stop}, {"killed", own.Kill}} {
		t.Run(tc.name, func(t *testing.T) {
			const n = 8
			r := newRig(t, own.Engine(docker.Options{}), n, worker{stays: "1"})
			waits := make(chan struct{})
			var took, said sync.Once
			var away sync.WaitGroup
			r.on = func(e runner.Event) {
				if e.Kind == runner.TrialDone { // while the other job's box works
					took.Do(func() {
						away.Go(func() {
							tc.end()
							<-waits
							own.Start()
						})
					})
				}
				if strings.HasPrefix(e.Reason, "waiting for the engine") {
					said.Do(func() { close(waits) })
				}
			}
			sum := r.run()
			said.Do(func() { close(waits) })
			away.Wait()
			attempts := r.wantAllSolved(sum, n)
			if attempts[results.InfraError] == 0 {
				t.Error("no attempt was hit")
			}
			if r.said("waiting for the engine") != 1 || r.said("going on: the engine") != 1 {
				t.Errorf("said %d times that it waits and %d times that it goes on, want 1 and 1",
					r.said("waiting for the engine"), r.said("going on: the engine"))
			}
		})
	}
	t.Run("box removed", func(t *testing.T) { testBoxRemoved(t, own) })
	t.Run("image removed", func(t *testing.T) { testImageRemoved(t, own, base) }) // the last one
}

// testBoxRemoved removes the box of a working agent.
func testBoxRemoved(t *testing.T, own *sandboxtest.Own) {
	var once sync.Once
	var removal sync.WaitGroup
	r := newRig(t, own.Engine(docker.Options{}), 2, worker{stays: "2", started: func() {
		once.Do(func() {
			removal.Go(func() {
				for _, id := range own.ContainersOf("traversal/") {
					own.RemoveContainer(id)
				}
			})
		})
	}})
	sum := r.run()
	removal.Wait()
	if n := r.wantAllSolved(sum, 2)[results.InfraError]; n < 1 {
		t.Errorf("%d attempts were hit", n)
	}
}

// testImageRemoved removes the agents' image between two attempts: that cannot
// be mended by trying again, and the sweep says so and pauses.
func testImageRemoved(t *testing.T, own *sandboxtest.Own, image string) {
	r := newRig(t, own.Engine(docker.Options{}), 4, worker{stays: "0"})
	r.sweep.Settings.Jobs = 1
	var once sync.Once
	r.on = func(e runner.Event) {
		if e.Kind == runner.TrialDone {
			once.Do(func() { own.RemoveImage(image) })
		}
	}
	sum := r.run()
	attempts, words := r.outcomes()
	if sum.Done != 1 || sum.Pending != 3 || !strings.Contains(sum.Paused, "no image") || strings.Contains(sum.Paused, "\n") {
		t.Errorf("summary %+v", sum)
	}
	if attempts[results.InfraError] != 1 || words[results.Solved] != 1 {
		t.Errorf("attempts %v, trials %v", attempts, words)
	}
}

// TestCreateHangs has a creation that is never answered: its deadline ends it,
// and the trial is tried again.
func TestCreateHangs(t *testing.T) {
	for _, fate := range []engineproxy.Fate{engineproxy.Hang, engineproxy.Stall} {
		t.Run(string(fate), func(t *testing.T) {
			e, p := troubled(t, 8*time.Second, 1)
			r := newRig(t, e, 3, worker{stays: "0"})
			p.Script(engineproxy.Rule{Call: "create", Nth: 2, Fate: fate})
			attempts := r.wantAllSolved(r.run(), 3)
			if attempts[results.InfraError] > 1 || len(p.Struck()) != 1 {
				t.Errorf("attempts %v, troubled %v", attempts, p.Struck())
			}
		})
	}
}

// TestAttachBreaks cuts the streams of all boxes while agents work.
func TestAttachBreaks(t *testing.T) {
	e, p := troubled(t, 0, 1)
	var r *rig
	var once sync.Once
	var cut sync.WaitGroup
	r = newRig(t, e, 4, worker{stays: "2", started: func() {
		once.Do(func() {
			cut.Go(func() { p.CutStreams("attach") })
		})
	}})
	sum := r.run()
	cut.Wait()
	if n := r.wantAllSolved(sum, 4)[results.InfraError]; n < 1 {
		t.Errorf("%d attempts were hit", n)
	}
}

// TestOnePercent fails one engine call in a hundred, in three ways.
func TestOnePercent(t *testing.T) {
	e, p := troubled(t, 0, 3)
	n, repeat := 20, 2
	if os.Getenv("CABRA_TEST_TORTURE") != "" {
		n, repeat = 200, 20
	}
	r := newRig(t, e, n/repeat, worker{stays: "0"})
	r.sweep.Settings.Jobs, r.sweep.Settings.Repetitions = 4, repeat
	r.sweep.Pause = briefly
	for _, fate := range []engineproxy.Fate{engineproxy.Refuse, engineproxy.Drop, engineproxy.Lose} {
		p.Script(engineproxy.Rule{Share: 0.01 / 3, Fate: fate})
	}
	sum := r.run()
	p.Clear()
	r.wantAllSolved(sum, n)
	calls := 0
	for _, c := range p.Counts() {
		calls += c
	}
	t.Logf("%d of %d engine calls troubled (%.1f calls a trial): %v", len(p.Struck()), calls, float64(calls)/float64(n), p.Struck())
	if len(p.Struck()) == 0 {
		t.Error("no call was troubled")
	}
}

// TestSideBySide runs two sweeps of two owners on one engine and one state
// folder; each reaps while the other has boxes.
func TestSideBySide(t *testing.T) {
	sandboxtest.RequireReal(t)
	dir := t.TempDir()
	var rigs []*rig
	for range 2 {
		e := sandboxtest.RealEngineWith(t, docker.Options{StateDir: dir})
		rigs = append(rigs, newRig(t, e, 4, worker{stays: "1"}))
	}
	other := sandboxtest.RealEngineWith(t, docker.Options{StateDir: dir})
	reap := func(e runner.Event) {
		if e.Kind == runner.AttemptStarted || e.Kind == runner.TrialDone {
			// What it finds may be anybody's; that it spares the two is seen in
			// their attempts.
			if _, err := other.Reap(t.Context()); err != nil {
				t.Errorf("reaping: %v", err)
			}
		}
	}
	var both sync.WaitGroup
	for _, r := range rigs {
		r.on = reap
		both.Go(func() {
			if n := r.wantAllSolved(r.run(), 4); n[results.Answered] != 4 || len(n) != 1 {
				t.Errorf("attempts %v, want 4 answered", n)
			}
		})
	}
	both.Wait()
}
