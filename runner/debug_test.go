package runner_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// firstTrial is the first of the plan with its task.
func (r *rig) firstTrial(t *testing.T) (results.Trial, *tasks.Task) {
	t.Helper()
	for task, err := range r.sweep.Source.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return results.Trial{Key: "k", TaskID: task.ID, Repetition: 1}, &task
	}
	t.Fatal("no tasks")
	return results.Trial{}, nil
}

// A box for a person holds what it is to hold, has a model only when it is
// given one, leaves nothing behind and records nothing.
func TestDebugBox(t *testing.T) {
	for _, tt := range []struct {
		name    string
		offline bool
		code    tasks.Files
		exit    int
		says    string
		calls   int
	}{
		{"starter without model", true, nil, 1, "status 400", 0},
		{"an attempt's code without model", true, tasks.Files{tasks.SolutionFile: "pass\n"}, 1, "status 400", 0},
		{"starter with model", false, nil, 0, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, filepath.Join(t.TempDir(), "run"))
			trial, task := r.firstTrial(t)
			starter := task.Starter[tasks.SolutionFile]
			ctx := context.Background()
			box, err := r.sweep.Debug(ctx, &r.sweep.Pairings[0], runner.DebugOptions{
				Trial: trial, Task: task, Number: 2, Code: tt.code, Offline: tt.offline})
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			code, err := box.Run(ctx, sandbox.Command{Args: box.Launch().Args, Stdin: strings.NewReader(task.Statement), Stderr: &said})
			if err != nil || code != tt.exit || !strings.Contains(said.String(), tt.says) || r.model.calls != tt.calls {
				t.Errorf("code %d, %v, %q, %d model calls", code, err, said.String(), r.model.calls)
			}
			dir := t.TempDir()
			dst, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer dst.Close()
			if _, err := box.CopyOut(ctx, dst); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: starter, false: task.Reference[tasks.SolutionFile]}[tt.offline]
			if tt.code != nil {
				want = tt.code[tasks.SolutionFile]
			}
			if text, err := os.ReadFile(filepath.Join(dir, tasks.SolutionFile)); err != nil || string(text) != want {
				t.Errorf("copied %q, %v; want %q", text, err, want)
			}
			if err := box.Close(ctx); err != nil {
				t.Error(err)
			}
			if left := r.host.Boxes(); len(left) != 0 || task.Starter[tasks.SolutionFile] != starter {
				t.Errorf("%d boxes left, starter %q", len(left), task.Starter[tasks.SolutionFile])
			}
			if words := r.words(t); len(words) != 0 {
				t.Errorf("recorded: %v", words)
			}
		})
	}
}

// A box that cannot be made whole is removed again.
func TestDebugBoxFails(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	trial, task := r.firstTrial(t)
	p := r.sweep.Pairings[0]
	p.Agent = prepared{files: map[string]string{"no/such/folder": "x"}}
	if _, err := r.sweep.Debug(t.Context(), &p, runner.DebugOptions{Trial: trial, Task: task, Offline: true}); err == nil ||
		!strings.Contains(err.Error(), "writing files of the agent") {
		t.Errorf("%v", err)
	}
	if left := r.host.Boxes(); len(left) != 0 {
		t.Errorf("%d boxes left", len(left))
	}
}
