package runner_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/tasks"
)

// deathWatch is a scorer that looks whether any toy is still alive when it is
// asked.
type deathWatch struct {
	equal
	world *world
	t     *testing.T
}

func (d *deathWatch) ScoreBy(
	ctx context.Context, t *tasks.Task, code tasks.Files, names ...string,
) ([]results.Verdict, error) {
	d.look("scored")
	return d.equal.ScoreBy(ctx, t, code, names...)
}

func (d *deathWatch) look(what string) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	if d.world.alive > 0 {
		d.t.Errorf("code is %s while %d agents live", what, d.world.alive)
	}
}

// Each limit is a cause of its own, which record and report name. The agent is
// dead by the time its last code is read and scored, whatever it makes of signals. The
// clock is the test's, so that hours pass at once.
func TestEachLimitIsItsOwnCause(t *testing.T) {
	hour := time.Hour
	tests := []struct {
		name    string
		set     func(*runner.Settings)
		linger  time.Duration
		during  func(ctx context.Context, p *fake.Proc) bool
		outcome results.Outcome
		limit   string
		reason  string
	}{
		{name: "long work", linger: 6 * hour, set: func(s *runner.Settings) { s.Timeout = 7 * hour }, outcome: results.Answered},
		{name: "wall clock", linger: 8 * hour, set: func(s *runner.Settings) { s.Timeout = 7 * hour },
			outcome: results.Timeout, reason: "not finished after 7h0m0s"},
		{name: "stall", linger: 8 * hour, set: func(s *runner.Settings) { s.Timeout, s.Stall = 7*hour, hour },
			outcome: results.Stalled, reason: "no sign of work for 1h0m"},
		{name: "output", linger: 8 * hour, during: printing(1<<20 + 1),
			outcome: results.Limit, limit: runner.LimitOutput, reason: "output limit: more than 1 MiB of output"},
		{name: "disk", linger: 8 * hour, during: writing(2<<20 + 1),
			set:     func(s *runner.Settings) { s.Limits.WorkspaceBytes = 2 << 20 },
			outcome: results.Limit, limit: runner.LimitDisk, reason: "disk limit: more than 2 MiB in the workspace"},
		{name: "processes", during: using(sandbox.Usage{PidsLimitHits: 3}),
			set:     func(s *runner.Settings) { s.Limits.Pids = 300 },
			outcome: results.Limit, limit: runner.LimitPids, reason: "pids limit: more than 300 processes"},
		{name: "memory of one process", during: using(sandbox.Usage{OOMKills: 1}),
			outcome: results.Limit, limit: runner.LimitMemory,
			reason: "memory limit: a process was killed for using more than 2048 MiB"},
		{name: "memory of the box", during: func(_ context.Context, p *fake.Proc) bool { p.Box.OutOfMemory(); return false },
			outcome: results.Limit, limit: runner.LimitMemory, reason: "memory limit: "},
	}
	if !alone(t) {
		return
	}
	// In one bubble: yamux hands its timers on from session to session.
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range tests {
			for _, deaf := range []bool{false, true} {
				if deaf && tt.outcome == results.Answered {
					continue // nobody sends it a signal
				}
				r := newRig(t, filepath.Join(t.TempDir(), "run"))
				r.sweep.Settings.Timeout = 7 * hour
				r.sweep.Select = func(tr results.Trial) bool { return tr.Seq == 0 }
				if tt.set != nil {
					tt.set(&r.sweep.Settings)
				}
				r.world.linger, r.world.during, r.world.deaf = tt.linger, tt.during, deaf
				watch := &deathWatch{world: r.world, t: t}
				r.sweep.Scorer = watch
				r.host.Script(fake.Trouble{Op: fake.OpCollect, Do: func(*fake.Box) { watch.look("collected") }})
				r.run(t)
				if wantCause(t, r, tt.outcome, tt.limit, tt.reason); t.Failed() {
					t.Fatalf("%s, deaf: %v", tt.name, deaf)
				}
				if err := r.store.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

const aloneVar = "CABRA_TEST_ALONE"

// alone reports whether this test is the only one of its process, so that none
// has left anything behind that knows another clock. Where it is not, it is run
// in such a process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVar) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), aloneVar+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func printing(n int) func(context.Context, *fake.Proc) bool {
	return func(_ context.Context, p *fake.Proc) bool {
		_, err := p.Stdout.Write(bytes.Repeat([]byte("x"), n))
		return err == nil
	}
}

func writing(n int) func(context.Context, *fake.Proc) bool {
	return func(_ context.Context, p *fake.Proc) bool {
		return os.WriteFile(filepath.Join(p.Box.Workspace(), "big"), make([]byte, n), 0o600) == nil
	}
}

// using has the box report something, and the agent fail by it.
func using(u sandbox.Usage) func(context.Context, *fake.Proc) bool {
	return func(_ context.Context, p *fake.Proc) bool {
		p.Box.SetUsage(u)
		return false
	}
}

// wantCause looks at the only attempt of a run: in the record and in the report.
func wantCause(t *testing.T, r *rig, outcome results.Outcome, limit, reason string) {
	t.Helper()
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Attempts) != 1 {
			t.Fatalf("%d attempts", len(tr.Attempts))
		}
		a := tr.Attempts[0]
		if a.Outcome != outcome || a.LimitHit != limit || !strings.HasPrefix(a.Reason, reason) || a.Ended.Before(a.Started) {
			t.Errorf("%s %q %q, want %s %q %q", a.Outcome, a.LimitHit, a.Reason, outcome, limit, reason)
		}
		if tr.Verdict == nil || !tr.Verdict.Solved {
			t.Errorf("the last code is scored: %+v", tr.Verdict)
		}
	}
	rep, err := report.Build(r.store.Results(context.Background()), r.store.Lock(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.Text(&text, rep); err != nil {
		t.Fatal(err)
	}
	word := string(outcome)
	if outcome == results.Answered {
		word = results.Solved
	}
	if !strings.Contains(text.String(), word) || !strings.Contains(text.String(), limit) {
		t.Errorf("the report names %q %q nowhere:\n%s", word, limit, &text)
	}
}
