package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/tasks"
)

// someRun makes a run without trials.
func someRun(t *testing.T, dir string) {
	t.Helper()
	store, err := results.Create(dir, results.Lock{Run: filepath.Base(dir), Agent: results.Agent{Name: "copilot"}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// cabra runs the program in this process.
func cabra(args ...string) (stdout, stderr string, code int) {
	var out, errOut bytes.Buffer
	code = run(args, &out, &errOut)
	return out.String(), errOut.String(), code
}

// The lines to type work as they stand: with another runs folder, and for names
// that a shell would take apart.
func TestCommandLines(t *testing.T) {
	tests := []struct{ runs, run, want string }{
		{"runs", "smoke", "cabra-run resume smoke"},
		{"runs", "/data/smoke", "cabra-run resume /data/smoke"},
		{"runs", "two words", "cabra-run resume 'two words'"},
		{"runs", "it's", `cabra-run resume 'it'\''s'`},
		{"runs", "größe", "cabra-run resume 'größe'"},
		{"/data/runs", "smoke", "cabra-run resume /data/runs/smoke"},
		{".", "smoke", "cabra-run resume ./smoke"},
		{"/data/runs", "/other/smoke", "cabra-run resume /other/smoke"},
	}
	for _, tt := range tests {
		a := &app{runsDir: tt.runs}
		if got := a.command("resume", tt.run); got != tt.want {
			t.Errorf("--runs %s, run %s: %s, want %s", tt.runs, tt.run, got, tt.want)
		}
	}
}

// A damaged run says what to do about it; only where there is none does the
// list of those that exist help.
func TestOpenRunHints(t *testing.T) {
	dir := t.TempDir()
	someRun(t, filepath.Join(dir, "changed"))
	someRun(t, filepath.Join(dir, "halved"))
	if err := os.WriteFile(filepath.Join(dir, "changed", "run.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "halved", "run.db")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ run, what, todo string }{
		{"changed", "run.json was changed", "  put the original back, or remove run.json"},
		{"halved", "run.db is missing", "  put run.db back from a copy"},
		{"none", `no run "none": there is no such folder`, "changed, halved"},
	}
	for _, tt := range tests {
		_, stderr, code := cabra("--runs", dir, "report", tt.run)
		if code != exitError || !strings.Contains(stderr, tt.what) || !strings.Contains(stderr, tt.todo) {
			t.Errorf("%s: code %d\n%s", tt.run, code, stderr)
		}
	}
}

func TestStatusListsRuns(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		someRun(t, filepath.Join(dir, name))
	}
	if err := os.WriteFile(filepath.Join(dir, "b", "run.db"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := cabra("--runs", dir, "status")
	if lines := strings.Count(stdout, "\n"); code != exitOK || lines != 2 || !strings.Contains(stdout, "c ") || !strings.Contains(stderr, "run.db is not a database") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
	stdout, _, code = cabra("--runs", dir, "status", "--json")
	first, _, _ := strings.Cut(stdout, "\n")
	var s struct{ Run string }
	if err := json.Unmarshal([]byte(first), &s); err != nil || s.Run != "a" || code != exitOK {
		t.Errorf("code %d, %v\n%s", code, err, stdout)
	}
}

// What determines outcomes comes from the lock, the pace from the flags.
func TestResumeKeepsSettings(t *testing.T) {
	lock := results.Lock{Repetitions: 2, TimeoutSeconds: 90}
	s := settingsOf(lock, runner.Settings{Jobs: 7})
	if s.Jobs != 7 || s.Timeout != 90*time.Second || s.Repetitions != 2 {
		t.Errorf("settings %+v", s)
	}
}

// noScorer must not be asked.
type noScorer struct{ t *testing.T }

func (n noScorer) ScoreBy(context.Context, *tasks.Task, tasks.Files, ...string) ([]results.Verdict, error) {
	n.t.Error("scored against another task than the agent was given")
	return nil, errors.New("no")
}

// Code is never scored against another task than the one it was written for,
// however alike their ids are.
func TestScoreRefusesOtherTasks(t *testing.T) {
	grid, err := tasks.ParseGrid("traversal/add-return/math/n005/01")
	if err != nil {
		t.Fatal(err)
	}
	src, err := source(grid, generation{seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	r := &rescoring{app: &app{}, scorer: noScorer{t}, todo: map[tasks.ID][]scored{
		"traversal/add-return/math/n005/01": {{key: "k", digest: "sha256:other+sha256:statement"}},
	}}
	if err := r.run(t.Context(), src, 1); err == nil || !strings.Contains(err.Error(), "another task") {
		t.Errorf("got %v", err)
	}
}

// What an agent's code says in an exception stays on its line and in its colours.
func TestPrintableLine(t *testing.T) {
	if got := printableLine("x\x1b[2J\nresult      solved"); got != "x?[2J result solved" {
		t.Errorf("%q", got)
	}
	if got := printableText("a\u202eb\u2066\tc\u200f\né"); got != "a?b?\tc?\né" {
		t.Errorf("%q", got)
	}
}

func TestChartNamesItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no", "chart.png")
	err := writeFile(file, nil)
	if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), ".cabra-run-") {
		t.Errorf("%v", err)
	}
}

// The list of runs is as wide as their names; the status of one that nobody works
// on says how it goes on.
func TestStatusOfRuns(t *testing.T) {
	a := testApp(t)
	store, _ := openNew(t, a, "short")
	someRun(t, filepath.Join(a.runsDir, "a-longer-name"))
	list := newStatus(a)
	out, err := command(a, list)
	if want := "a-longer-name  0 of 0 trials done  copilot m\nshort          0 of 1 trials done  copilot m\n"; out != want || err != nil {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	status := func() string {
		_, errs, code := cabra("status", "short", "--runs", a.runsDir)
		if code != exitOK {
			t.Errorf("exit code %d", code)
		}
		return errs
	}
	if errs := status(); errs != "" {
		t.Errorf("while it is worked on: %q", errs)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if errs := status(); !strings.Contains(errs, "nobody works on the run; continue: cabra-run resume "+filepath.Join(a.runsDir, "short")) {
		t.Errorf("afterwards: %q", errs)
	}
}
