package runner_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

func TestMain(m *testing.M) {
	if j, ok := childJob(); ok {
		child(j)
		return
	}
	goleak.VerifyTestMain(m)
}

func (r *rig) run(t *testing.T) runner.Summary {
	t.Helper()
	sum, err := r.sweep.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if left := r.host.Boxes(); len(left) != 0 {
		t.Errorf("%d boxes left behind", len(left))
	}
	return sum
}

func wantWords(t *testing.T, r *rig, want map[string]int) {
	t.Helper()
	if got := r.words(t); !maps.Equal(got, want) {
		t.Errorf("words %v, want %v", got, want)
	}
}

// Ten tasks; the model answers both instances of a cell with the reference of
// the first, so half of the trials are solved.
func TestSweep(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	sum := r.run(t)
	if sum.Planned != 10 || sum.Done != 10 || sum.Pending != 0 || sum.WithoutOutcome != 0 {
		t.Errorf("summary %+v", sum)
	}
	wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
	if r.model.calls != 10 {
		t.Errorf("%d model calls, want 10", r.model.calls)
	}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		a := tr.Final()
		if len(tr.Attempts) != 1 || a.Outcome != results.Answered || a.TraceState != "complete" || a.Answers != 1 || *a.Usage.Input != 100 {
			t.Errorf("%s: attempt %+v", tr.TaskID, a)
		}
		root, err := r.store.OpenAttempt(a.Attempt)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{results.StdoutFile: "finished\n", "trace/session": "done"} {
			if text, err := root.ReadFile(name); string(text) != want || err != nil {
				t.Errorf("%s: %q %v", name, text, err)
			}
		}
		if patch, err := root.ReadFile(results.PatchFile); err != nil || !strings.HasPrefix(string(patch), "diff a/solution.py b/solution.py\n") {
			t.Errorf("patch %.80q %v", patch, err)
		}
		root.Close()
	}
}

// What is planned and done is counted in trials, not in tasks.
func TestSweepPlannedCounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	r.sweep.Settings.Repetitions, r.sweep.Settings.Jobs = 3, 1
	solve := r.model.answer
	r.model.answer = func(call int, prompt string) (int, string) {
		if call == 4 {
			r.sweep.Stop.Raise(runner.Drain, "stopped")
		}
		return solve(call, prompt)
	}
	r.run(t)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	again.sweep.Settings.Repetitions = 3
	again.sweep.Stop.Raise(runner.Drain, "only the plan is of interest")
	again.run(t)
	if e := again.events[0]; e.Kind != runner.SweepPlanned || e.Planned != 30 || e.Done != 4 {
		t.Errorf("event %+v, want 4 of 30 done", e)
	}
}

// silentModel answers nothing until the request is given up.
type silentModel struct{ asked chan struct{} }

func (silentModel) Name() string { return "silent" }

func (m silentModel) RoundTrip(r *http.Request) (*http.Response, error) {
	m.asked <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A request that is in flight when the box dies is in the recording, too.
func TestSweepRecordsCutRequests(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	m := silentModel{make(chan struct{}, 10)}
	r.sweep.Pairings[0].Model.Upstream = m
	r.sweep.Settings.Jobs = 1
	go func() {
		<-m.asked
		r.sweep.Stop.Raise(runner.Abort, "stopped")
	}()
	r.run(t)
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			if n := recorded(t, r.store, a.Attempt); n != 1 || a.Usage.Exchanges != 1 {
				t.Errorf("%d requests in the recording, %d in the store, want 1 and 1", n, a.Usage.Exchanges)
			}
		}
	}
}

func recorded(t *testing.T, store *results.Store, a results.Attempt) int {
	t.Helper()
	root, err := store.OpenAttempt(a)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := root.Open(results.RecordingFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for _, err := range gateway.ReadRecording(f) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// A second run over a finished store does nothing.
func TestSweepRepeatsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	r.run(t)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	again.run(t)
	if again.model.calls != 0 || again.host.Calls(fake.OpCreate) != 0 {
		t.Errorf("%d model calls, %d boxes", again.model.calls, again.host.Calls(fake.OpCreate))
	}
	wantWords(t, again, map[string]int{results.Solved: 5, results.Failed: 5})
}

// Faults of the engine are never the agent's and cost it no attempt.
func TestSweepEngineFaults(t *testing.T) {
	tests := []struct {
		name    string
		trouble fake.Trouble
	}{
		{"create fails", fake.Trouble{Op: fake.OpCreate, Nth: 3, Kind: sandbox.FaultEngine}},
		{"create succeeds but says it failed", fake.Trouble{Op: fake.OpCreate, Nth: 3, Kind: sandbox.FaultTimeout, Done: true}},
		{"start fails", fake.Trouble{Op: fake.OpStart, Nth: 4, Kind: sandbox.FaultEngine}},
		{"exec of the agent fails", fake.Trouble{Op: fake.OpExec, Nth: 1, Kind: sandbox.FaultEngine}},
		{"the box vanishes at the kill", fake.Trouble{Op: fake.OpKill, Nth: 2, Kind: sandbox.FaultGone}},
		{"collecting fails", fake.Trouble{Op: fake.OpCollect, Nth: 5, Kind: sandbox.FaultEngine}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, filepath.Join(t.TempDir(), "run"))
			r.host.Script(tt.trouble)
			r.run(t)
			wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
			if n := r.outcomes(t)[results.InfraError]; n != 1 {
				t.Errorf("%d attempts are infra errors, want 1", n)
			}
		})
	}
}

// outcomes counts the outcomes of all attempts.
func (r *rig) outcomes(t *testing.T) map[results.Outcome]int {
	t.Helper()
	n := map[results.Outcome]int{}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			n[a.Outcome]++
		}
	}
	return n
}

func TestSweepBoxVanishes(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	var once sync.Once
	r.world.before = func(b *fake.Box) { once.Do(b.Vanish) }
	r.run(t)
	wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
	if n := r.outcomes(t)[results.InfraError]; n != 1 {
		t.Errorf("%d infra errors, want 1", n)
	}
}

func TestSweepOutOfMemory(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	var once sync.Once
	r.world.before = func(b *fake.Box) { once.Do(b.OutOfMemory) }
	r.run(t)
	n := r.outcomes(t)
	if n[results.Limit] != 1 || n[results.Answered] != 9 {
		t.Errorf("outcomes %v, want one limit and no retry of it", n)
	}
}

// An engine that is gone pauses the sweep; what is pending stays pending, and
// the next process finishes it.
func TestSweepPauses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	r.host.Script(fake.Trouble{Op: fake.OpCreate, Kind: sandbox.FaultUnreachable})
	sum := r.run(t)
	if !strings.Contains(sum.Paused, "5 attempts in a row") || sum.Done != 0 || sum.Pending != 10 {
		t.Errorf("summary %+v", sum)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	if sum := again.run(t); sum.Pending != 0 || sum.Paused != "" {
		t.Errorf("after the pause: %+v", sum)
	}
}

func TestSweepProviderErrors(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	solve := r.model.answer
	r.model.answer = func(call int, prompt string) (int, string) {
		if call == 2 || call == 3 {
			return http.StatusInternalServerError, "overloaded"
		}
		return solve(call, prompt)
	}
	r.run(t)
	if n := r.outcomes(t); n[results.ProviderError] != 2 || n[results.Answered] != 10 {
		t.Errorf("outcomes %v", n)
	}
}

// Wrong credentials stop the sweep at once: trying again cannot help.
func TestSweepPermanentProviderError(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs = 1
	r.model.answer = func(int, string) (int, string) { return http.StatusUnauthorized, "bad key" }
	sum := r.run(t)
	if r.model.calls != 1 || sum.Pending != 10 || !strings.Contains(sum.Paused, "401") {
		t.Errorf("%d calls, summary %+v", r.model.calls, sum)
	}
}

// A drain lets what runs finish; nothing is cancelled.
func TestSweepDrain(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	solve := r.model.answer
	r.model.answer = func(call int, prompt string) (int, string) {
		if call == 4 {
			r.sweep.Stop.Raise(runner.Drain, "stopped by interrupt")
		}
		return solve(call, prompt)
	}
	sum := r.run(t)
	if sum.Done < 4 || sum.Done > 5 || sum.Pending != 10-sum.Done || sum.Stopped != "stopped by interrupt" {
		t.Errorf("summary %+v", sum)
	}
	if n := r.outcomes(t)[results.Cancelled]; n != 0 {
		t.Errorf("%d attempts cancelled", n)
	}
}

// A halt ends the boxes in order and records the attempts as cancelled, with
// their usage; an abort does not wait either.
func TestSweepHaltAndAbort(t *testing.T) {
	for _, level := range []runner.StopLevel{runner.Halt, runner.Abort} {
		dir := filepath.Join(t.TempDir(), "run")
		r := newRig(t, dir)
		r.world.linger = time.Hour // longer than any test: only the stop ends it
		solve := r.model.answer
		both := make(chan struct{})
		r.model.answer = func(call int, prompt string) (int, string) {
			if call == 2 {
				close(both)
			}
			return solve(call, prompt)
		}
		go func() {
			<-both
			r.sweep.Stop.Raise(level, "stopped")
		}()
		sum := r.run(t)
		if sum.Done != 0 || sum.Pending != 10 || r.outcomes(t)[results.Cancelled] == 0 {
			t.Errorf("level %d: summary %+v, outcomes %v", level, sum, r.outcomes(t))
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
		again := newRig(t, dir)
		again.run(t)
		wantWords(t, again, map[string]int{results.Solved: 5, results.Failed: 5})
	}
}

// An attempt that is over its time is ended and its code still scored.
func TestSweepTimeout(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.world.linger = time.Hour
	r.sweep.Settings.Timeout = 2 * time.Second
	r.sweep.Settings.Jobs = 10
	r.run(t)
	wantWords(t, r, map[string]int{string(results.Timeout): 10})
	solved := 0
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if tr.Verdict != nil && tr.Verdict.Solved {
			solved++
		}
	}
	if solved != 5 {
		t.Errorf("%d of the cut-off codes are right, want 5", solved)
	}
}

// failingScorer fails a number of times before it works.
type failingScorer struct {
	mu   sync.Mutex
	left int
}

func (f *failingScorer) ScoreBy(ctx context.Context, t *tasks.Task, code tasks.Files, names ...string) ([]results.Verdict, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left > 0 {
		f.left--
		return nil, errors.New("no scorer box")
	}
	return equal{}.ScoreBy(ctx, t, code, names...)
}

// What could not be scored is scored by a resume, without another attempt.
func TestSweepScorerFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	r.sweep.Settings.BreakAfter = 100 // more than there are trials
	r.sweep.Scorer = &failingScorer{left: 1 << 30}
	if sum := r.run(t); sum.Pending != 10 {
		t.Errorf("summary %+v", sum)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	again.sweep.Scorer = &failingScorer{left: 2}
	again.run(t)
	if again.model.calls != 0 {
		t.Errorf("%d model calls for scoring", again.model.calls)
	}
	wantWords(t, again, map[string]int{results.Solved: 5, results.Failed: 5})
}
