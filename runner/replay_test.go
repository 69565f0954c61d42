package runner_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/tasks"
)

// named is a toy that remembers the names of its sessions.
type named struct {
	toy
	mu       sync.Mutex
	sessions map[string]bool
}

func (n *named) Launch(j agent.Job) (agent.Launch, error) {
	n.mu.Lock()
	n.sessions[j.SessionID] = true
	n.mu.Unlock()
	return n.toy.Launch(j)
}

func (r *rig) name() *named {
	n := &named{sessions: map[string]bool{}}
	r.sweep.Pairings[0].Agent = n
	return n
}

// replaying is a rig that replays the run in that folder and must not ask.
func replaying(t *testing.T, original string) *rig {
	t.Helper()
	store, err := results.Open(original, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r := newRig(t, filepath.Join(t.TempDir(), "replay"))
	r.model.answer = func(int, string) (int, string) {
		t.Error("the model was asked")
		return http.StatusTeapot, ""
	}
	r.sweep.Replay = runner.ReplayFrom(store)
	return r
}

// recordedRun is the folder of a finished run.
func recordedRun(t *testing.T, change func(*rig)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "original")
	r := newRig(t, dir)
	if change != nil {
		change(r)
	}
	r.run(t)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replays reads what came of every attempt of a run, by task and attempt.
func (r *rig) replays(t *testing.T) map[string]runner.ReplayResult {
	t.Helper()
	all := map[string]runner.ReplayResult{}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			var result runner.ReplayResult
			text, err := os.ReadFile(filepath.Join(r.store.AttemptDir(a.Attempt), runner.ReplayFile))
			if err == nil {
				err = json.Unmarshal(text, &result)
			}
			if err != nil {
				t.Fatal(err)
			}
			all[string(tr.TaskID)+strings.Repeat("'", a.Number-1)] = result
		}
	}
	return all
}

// A run is made again from what is recorded alone: the same sessions, the same
// code, the same words, and nothing asked or paid.
func TestReplay(t *testing.T) {
	var first *named
	dir := recordedRun(t, func(r *rig) { first = r.name() })
	r := replaying(t, dir)
	second := r.name()
	r.sweep.Pairings[0].Model.Upstream = nil
	if sum := r.run(t); sum.Done != 10 || sum.WithoutOutcome != 0 {
		t.Errorf("summary %+v", sum)
	}
	wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
	for id := range first.sessions {
		if u, err := uuid.Parse(id); !second.sessions[id] || err != nil || u.Version() != 5 {
			t.Errorf("session %s, then %v", id, second.sessions)
		}
	}
	if len(first.sessions) != 10 || len(second.sessions) != 10 {
		t.Errorf("%d sessions, then %d", len(first.sessions), len(second.sessions))
	}
	for task, got := range r.replays(t) {
		if got.Run != "toy" || got.Attempt != 1 || got.Outcome != results.Answered || got.Matched != 1 || got.Unused != 0 ||
			len(got.Drifts) != 0 || got.Divergence != nil || got.SameCode == nil || !*got.SameCode {
			t.Errorf("%s: %+v", task, got)
		}
	}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if a := tr.Attempts[0]; a.Reason != "replay of attempt 1: same code" || a.Answers != 1 {
			t.Errorf("%+v", a)
		}
		spoke, err := r.store.Exchanges(context.Background(), tr.Key, 1)
		if err != nil || len(spoke) != 1 || spoke[0].Usage.CostUSD == nil || *spoke[0].Usage.CostUSD != 0 || *spoke[0].Usage.Output != 10 {
			t.Errorf("%+v, %v", spoke, err)
		}
	}
}

// A request that does not fit ends the attempt with a difference to read. It is
// nobody's failure, so nothing is tried again and the sweep goes on.
func TestReplayDiverges(t *testing.T) {
	r := replaying(t, recordedRun(t, nil))
	r.sweep.Pairings[0].Model.Wire = "another"
	if sum := r.run(t); sum.Paused != "" || len(r.replays(t)) != 10 {
		t.Errorf("summary %+v, %d attempts", sum, len(r.replays(t)))
	}
	wantWords(t, r, map[string]int{string(results.ProviderError): 10})
	const want = "replay: request 1: no recorded request has its structure (nearest: recorded request 1); see replay.json"
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Attempts[0].Reason; got != want {
			t.Errorf("reason %q", got)
		}
	}
	for task, got := range r.replays(t) {
		if d := got.Divergence; d == nil || !strings.Contains(d.Diff, "model another, stream") || got.SameCode != nil || got.Unused != 1 {
			t.Errorf("%s: %+v", task, got)
		}
	}
}

func TestReplayFindsOtherCode(t *testing.T) {
	dir := recordedRun(t, nil)
	changed := filepath.Join("traversal", "add-parameter", "math", "n005", "01", "1", "attempt-1", "files", tasks.SolutionFile)
	if err := os.WriteFile(filepath.Join(dir, "trials", changed), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := replaying(t, dir)
	r.run(t)
	for task, got := range r.replays(t) {
		other := task == "traversal/add-parameter/math/n005/01"
		if got.SameCode == nil || *got.SameCode == other || (len(got.Differs) == 1) != other {
			t.Errorf("%s: %+v", task, got)
		}
	}
	const want = "replay of attempt 1: code differs in solution.py"
	said := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == runner.Notice && e.Reason == want {
			said++
		}
	}
	if said != 1 {
		t.Errorf("said %d times", said)
	}
}

// failingFirst fails for every task's first attempt.
func failingFirst(r *rig) {
	var mu sync.Mutex
	seen := map[string]int{}
	solve := r.model.answer
	r.model.answer = func(call int, prompt string) (int, string) {
		mu.Lock()
		seen[prompt]++
		n := seen[prompt]
		mu.Unlock()
		if n == 1 {
			return http.StatusInternalServerError, "sorry"
		}
		return solve(call, prompt)
	}
	r.sweep.Settings.Jobs = 1 // the two tasks with one statement one after the other
}

// Attempts are replayed one for one; where nothing is tried again, the one that
// decided the trial is replayed.
func TestReplayOfSeveralAttempts(t *testing.T) {
	dir := recordedRun(t, failingFirst)
	r := replaying(t, dir)
	r.run(t)
	wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
	got := r.replays(t)
	if len(got) != 15 {
		t.Errorf("%d attempts", len(got))
	}
	for name, result := range got {
		if second := strings.HasSuffix(name, "'"); result.Attempt != 1 && !second || result.Attempt != 2 && second || result.Divergence != nil {
			t.Errorf("%s: %+v", name, result)
		}
	}
	once := filepath.Join(t.TempDir(), "once")
	store, err := results.Create(once, results.Lock{Run: "once", Retry: results.Retry{Attempts: 1},
		Scorer: results.Scorer{Verdicts: []string{results.Strict}}})
	if err != nil {
		t.Fatal(err)
	}
	one := replaying(t, dir)
	if err := one.store.Close(); err != nil {
		t.Fatal(err)
	}
	one.store, one.sweep.Store = store, store
	t.Cleanup(func() { _ = store.Close() })
	one.run(t)
	wantWords(t, one, map[string]int{results.Solved: 5, results.Failed: 5})
	if n := len(one.replays(t)); n != 10 {
		t.Errorf("%d attempts", n)
	}
}

// What cannot be replayed is said, trial by trial.
func TestNothingToReplay(t *testing.T) {
	for want, change := range map[string]func(t *testing.T, dir string, r *rig){
		"replay: attempt 1 of the original has no recording": func(t *testing.T, dir string, _ *rig) {
			removeAll(t, dir, results.RecordingFile)
		},
		"replay: the original has no such trial": func(_ *testing.T, _ string, r *rig) {
			r.sweep.Pairings[0].Model.Name = "toy-model-2"
		},
	} {
		dir := recordedRun(t, nil)
		r := replaying(t, dir)
		change(t, dir, r)
		if sum := r.run(t); sum.Paused != "" {
			t.Errorf("%s: %+v", want, sum)
		}
		for tr, err := range r.store.Results(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if a := tr.Attempts[0]; len(tr.Attempts) != 1 || a.Outcome != results.ProviderError || a.Reason != want {
				t.Errorf("%+v, want %q", a, want)
			}
		}
	}
}

func removeAll(t *testing.T, dir, name string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == name {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
