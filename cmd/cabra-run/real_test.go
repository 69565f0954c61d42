package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/sandbox/docker"
)

// programVar makes the test binary be the program, so that tests can kill it.
const programVar = "CABRA_TEST_AS_PROGRAM"

// place is where a test has its runs and its state.
type place struct{ runs, state string }

func newPlace(t *testing.T) place {
	t.Helper()
	imagestest.Ensure(t, "copilot") // skips without an engine to be used
	imagestest.Ensure(t, "scorer")
	return place{filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "state")}
}

func (p place) args(args ...string) []string {
	return append(args, "--runs", p.runs, "--state-dir", p.state)
}

// cabra calls the program in this process.
func (p place) cabra(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = run(p.args(args...), &out, &errOut)
	return out.String(), errOut.String(), code
}

// rows exports a run.
func (p place) rows(t *testing.T, run string) []report.Row {
	t.Helper()
	out, errOut, code := p.cabra(t, "export", run, "--jsonl")
	if code != 0 {
		t.Fatalf("export: code %d\n%s", code, errOut)
	}
	var rows []report.Row
	for line := bufio.NewScanner(strings.NewReader(out)); line.Scan(); {
		var r report.Row
		if err := json.Unmarshal(line.Bytes(), &r); err != nil {
			t.Fatalf("export line %q: %v", line.Text(), err)
		}
		rows = append(rows, r)
	}
	return rows
}

// wantNothingLeft checks that no box, volume, workspace, mount or owner's lock
// of the state folder remains, whichever process has made it.
func (p place) wantNothingLeft(t *testing.T) {
	t.Helper()
	if locks, err := filepath.Glob(filepath.Join(p.state, "owners", "*")); err != nil || len(locks) > 0 {
		t.Errorf("owners' locks left: %v %v", locks, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := docker.New(ctx, docker.Options{StateDir: p.state})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	left, err := e.RemainsHere(ctx)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(p.state)) {
		t.Errorf("mounts left, %v:\n%s", err, mounts)
	}
}

// The real Copilot CLI under every behaviour of the scripted model.
func TestRealCopilotBehaviours(t *testing.T) {
	p := newPlace(t)
	tests := []struct {
		behaviour string
		flags     []string
		outcome   string
		code      int
		check     func(report.Row) error
	}{
		{"solve", nil, "solved", exitOK, nil},
		{"wrong", nil, "failed", exitOK, nil},
		{"untouched", nil, "failed", exitOK, func(r report.Row) error { return wantTrue("unchanged", r.Unchanged) }},
		{"remove", []string{"--attempts", "2"}, "no_output", exitOK, func(r report.Row) error { return wantTrue("two attempts", r.Attempts == 2) }},
		{"idle", []string{"--timeout", "20s"}, "timeout", exitOK, nil},
		{"idle", []string{"--stall", "15s"}, "stalled", exitOK, nil},
		{"endless", []string{"--timeout", "20s"}, "timeout", exitOK, nil},
		{"flood", []string{"--disk", "64MiB"}, "limit", exitOK, nil},
		{"error:500", nil, "provider_error", exitIncomplete, nil},
	}
	for i, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("run%d", i)
			args := append([]string{"--agent", "copilot", "--model", "scripted:" + tt.behaviour, "--run", name,
				"--grid", "traversal/add-parameter/math/n005/01"}, tt.flags...)
			out, errOut, code := p.cabra(t, args...)
			if code != tt.code || !strings.Contains(out, "SCRIPTED MODEL") {
				t.Fatalf("code %d, want %d\n%s\n%s", code, tt.code, out, errOut)
			}
			rows := p.rows(t, name)
			if len(rows) != 1 || rows[0].Outcome != tt.outcome {
				t.Fatalf("rows %+v, want %s", rows, tt.outcome)
			}
			if tt.check != nil {
				if err := tt.check(rows[0]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Cleanup(func() { p.wantNothingLeft(t) })
}

func wantTrue(what string, ok bool) error {
	if !ok {
		return fmt.Errorf("want %s", what)
	}
	return nil
}

// The main job: the smoke grid solved by the real CLI, its verdicts and its tables.
func TestRealSmoke(t *testing.T) {
	p := newPlace(t)
	out, errOut, code := p.cabra(t, "--agent", "copilot", "--model", "scripted", "--grid", "smoke", "--run", "smoke")
	if code != exitOK {
		t.Fatalf("code %d\n%s", code, errOut)
	}
	rows := p.rows(t, "smoke")
	if len(rows) != 30 {
		t.Fatalf("%d rows, want 30", len(rows))
	}
	for _, r := range rows {
		if r.OfficialSolved == nil || !*r.OfficialSolved || r.StrictSolved == nil || !*r.StrictSolved {
			t.Errorf("%s: verdicts %+v", r.TaskID, r)
		}
		if r.Outcome != results.Solved || r.Attempts != 1 || r.Input == nil || *r.Input == 0 {
			t.Errorf("%s: %s after %d attempts: %s", r.TaskID, r.Outcome, r.Attempts, r.Reason)
		}
	}
	if table := readmeTable(t); !strings.Contains(out, table) {
		t.Errorf("the README shows\n%s\nbut the program prints\n%s", table, out)
	}
	again, _, _ := p.cabra(t, "report", "smoke")
	if again != out {
		t.Errorf("report prints something else than the run did:\n%s", again)
	}
	both, errOut, code := p.cabra(t, "report", "smoke", "--scorer", "both")
	if code != 0 || !strings.Contains(both, "\nboth                30\n") || strings.Contains(both, "Trials on which the verdicts differ") {
		t.Errorf("both verdicts: %s\n%s", errOut, both)
	}
	chart := filepath.Join(t.TempDir(), "accuracy.png")
	if _, errOut, code := p.cabra(t, "report", "smoke", "--chart", chart); code != 0 {
		t.Errorf("chart: %s", errOut)
	}
	if text, err := os.ReadFile(chart); err != nil || !bytes.HasPrefix(text, []byte("\x89PNG")) {
		t.Errorf("chart: %v", err)
	}
	scored, errOut, code := p.cabra(t, "score", "smoke")
	if code != 0 || !strings.Contains(scored, "scored 30 trials, 0 verdicts changed") {
		t.Errorf("score: %s %s", scored, errOut)
	}
	p.wantNothingLeft(t)
}

// readmeTable is the table that the README shows.
func readmeTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "<!-- table -->\n")
	table, _, ok2 := strings.Cut(after, "<!-- end of table -->")
	if !ok || !ok2 {
		t.Fatal("the README has no marked table")
	}
	var b strings.Builder
	for line := range strings.Lines(table) {
		b.WriteString(strings.TrimPrefix(line, "    "))
	}
	return b.String()
}

// The orchestrator is killed in the middle of a sweep; a resume makes it whole.
func TestRealKillAndResume(t *testing.T) {
	p := newPlace(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, p.args("--agent", "copilot", "--model", "scripted", "--run", "killed",
		"--grid", "axis=search; size=5; instances=1; code=math,string", "--jobs", "2")...)
	cmd.Env = append(os.Environ(), programVar+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.waitForDone(t, "killed", 3, cmd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	before := p.attemptsOfDone(t, "killed")
	_, errOut, code := p.cabra(t, "resume", "killed")
	if code != exitOK {
		t.Fatalf("resume: code %d\n%s\nbefore: %s", code, errOut, out.String())
	}
	rows := p.rows(t, "killed")
	solved := 0
	for _, r := range rows {
		if r.Outcome == results.Solved && r.OfficialSolved != nil {
			solved++
		}
		if n, ok := before[string(r.TaskID)]; ok && r.Attempts != n {
			t.Errorf("%s was done after %d attempts and has %d now", r.TaskID, n, r.Attempts)
		}
	}
	if len(rows) != 10 || solved != 10 {
		t.Errorf("%d of %d solved, want 10 of 10", solved, len(rows))
	}
	if left, err := os.ReadDir(filepath.Join(p.runs, "killed", "tmp")); err != nil || len(left) > 0 {
		t.Errorf("temporary folders: %v %v", left, err)
	}
	p.wantNothingLeft(t)
	// A second process on a run that is being worked on is refused.
	store, err := results.Open(filepath.Join(p.runs, "killed"), results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, errOut, code := p.cabra(t, "resume", "killed"); code != exitError || !strings.Contains(errOut, fmt.Sprint(os.Getpid())) {
		t.Errorf("a second process: code %d, %s", code, errOut)
	}
}

// waitForDone polls the run until so many trials are done; the run's own
// files are the only event there is.
func (p place) waitForDone(t *testing.T, run string, n int, cmd *exec.Cmd) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		if len(p.attemptsOfDone(t, run)) >= n {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	t.Fatalf("not %d trials done in time", n)
}

func (p place) attemptsOfDone(t *testing.T, run string) map[string]int {
	t.Helper()
	done := map[string]int{}
	store, err := results.Open(filepath.Join(p.runs, run), results.ReadOnly)
	if err != nil {
		return done
	}
	defer store.Close()
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if tr.State == results.StateDone {
			done[string(tr.TaskID)] = len(tr.Attempts)
		}
	}
	return done
}
