package main

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
)

// newReferencePlace is a place for runs of the agent that knows the answer.
func newReferencePlace(t *testing.T) place {
	t.Helper()
	imagestest.Ensure(t, "base") // skips without an engine to be used
	imagestest.Ensure(t, "scorer")
	return place{filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "state")}
}

// program is the program as another process.
func (p place) program(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", p.args(args...)...)
	cmd.Env = append(os.Environ(), programVar+"=1")
	return cmd
}

// written is what processes have written so far.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// A sweep is watched, slowed, drained and halted from elsewhere, and continued;
// nothing of it is made twice.
func TestRealControlAndWatch(t *testing.T) {
	p := newReferencePlace(t)
	var out, watched written
	sweep := p.program("--agent", "reference", "--run", "steered", "--jobs", "2", "--grid", "axis=traversal; size=5; code=math; instances=3")
	sweep.Stdout, sweep.Stderr = &out, &out
	if err := sweep.Start(); err != nil {
		t.Fatal(err)
	}
	p.waitForDone(t, "steered", 2, sweep)
	watch := p.program("status", "steered", "--watch", "--every", "100ms")
	watch.Stdout, watch.Stderr = &watched, &watched
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	if text, errOut, code := p.cabra(t, "control", "steered", "--jobs", "1"); code != 0 || !strings.Contains(text, "of at most 1 attempts at the same time") {
		t.Errorf("jobs: code %d\n%s%s", code, text, errOut)
	}
	if text, errOut, code := p.cabra(t, "control", "steered", "--drain"); code != 0 || !strings.Contains(text, "draining (told to by cabra-run control)") {
		t.Errorf("drain: code %d\n%s%s", code, text, errOut)
	}
	if err := sweep.Wait(); sweep.ProcessState.ExitCode() != exitInterrupt {
		t.Errorf("the drained sweep: %v\n%s", err, out.String())
	}
	if err := watch.Wait(); err != nil || !strings.Contains(watched.String(), "nobody works on the run; continue: cabra-run resume ") {
		t.Errorf("watching: %v\n%s", err, watched.String())
	}
	for _, text := range []string{"told to run 1 attempts at the same time, not 2", "told to drain", "trials to do: told to by cabra-run control"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the sweep does not say %q\n%s", text, out.String())
		}
	}
	before := p.attemptsOfDone(t, "steered")
	if len(before) < 2 || len(before) >= 15 {
		t.Errorf("%d of 15 trials done at the drain", len(before))
	}
	if left, err := os.ReadDir(filepath.Join(p.state, "control")); err != nil || len(left) != 0 {
		t.Errorf("control sockets: %v %v", left, err)
	}
	if _, errOut, code := p.cabra(t, "control", "steered"); code != exitError || !strings.Contains(errOut, "is not being worked on here") {
		t.Errorf("control of an ended sweep: code %d\n%s", code, errOut)
	}
	if _, errOut, code := p.cabra(t, "resume", "steered"); code != exitOK {
		t.Errorf("resume: code %d\n%s", code, errOut)
	}
	rows := p.rows(t, "steered")
	for _, r := range rows {
		if r.Outcome != results.Solved || r.Attempts != 1 {
			t.Errorf("%s: %s after %d attempts", r.TaskID, r.Outcome, r.Attempts)
		}
	}
	if len(rows) != 15 {
		t.Errorf("%d rows", len(rows))
	}
	p.wantNothingLeft(t)
}

// A run on a disk that is full waits and says so, is not touched, and goes on
// when there is room.
func TestRealFullDisk(t *testing.T) {
	p := newReferencePlace(t)
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("only who may mount can have a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	p.runs = small
	filler := filepath.Join(small, "filler")
	if err := os.WriteFile(filler, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--agent", "reference", "--run", "full", "--grid", "traversal/add-parameter/math/n005/01", "--min-free-disk", "8MiB"}
	_, errOut, code := p.cabra(t, append(args, "--max-room-wait", "1s")...)
	if code != exitPaused || !strings.Contains(errOut, "are free on the disk of the run folder, less than 8MiB (--min-free-disk)") {
		t.Errorf("code %d, want %d\n%s", code, exitPaused, errOut)
	}
	if rows := p.rows(t, "full"); len(rows) != 1 || rows[0].Attempts != 0 {
		t.Errorf("rows %+v", rows)
	}
	var out written
	resume := p.program("resume", "full", "--min-free-disk", "8MiB")
	resume.Stdout, resume.Stderr = &out, &out
	if err := resume.Start(); err != nil {
		t.Fatal(err)
	}
	waitForText(t, &out, "nothing new is started", resume)
	if text, errOut, code := p.cabra(t, "control", "full"); code != 0 || !strings.Contains(text, "nothing new is started: only ") {
		t.Errorf("control: code %d\n%s%s", code, text, errOut)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := resume.Wait(); err != nil || !strings.Contains(out.String(), "going on with the next attempt") {
		t.Errorf("%v\n%s", err, out.String())
	}
	p.wantNothingLeft(t)
}

// waitForText polls what a process writes, which is the only event there is.
func waitForText(t *testing.T, w *written, text string, cmd *exec.Cmd) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if strings.Contains(w.String(), text) {
			return
		}
	}
	_ = cmd.Process.Kill()
	t.Fatalf("%q was not said in time\n%s", text, w.String())
}

// A shell in a box like that of a trial: the starter or an attempt's code, the
// agent's uid, the lock-down, and the workspace to keep.
func TestRealDebug(t *testing.T) {
	p := newReferencePlace(t)
	const task = "traversal/add-parameter/math/n005/01"
	if _, errOut, code := p.cabra(t, "--agent", "reference", "--run", "r", "--grid", task); code != exitOK {
		t.Fatalf("code %d\n%s", code, errOut)
	}
	solution, err := os.ReadFile(filepath.Join(p.runs, "r", "trials", filepath.FromSlash(task), "1", "attempt-1", "files", "solution.py"))
	if err != nil {
		t.Fatal(err)
	}
	sum := md5.Sum(solution)
	kept := filepath.Join(t.TempDir(), "kept")
	script := `id -u; pwd; md5sum solution.py; ls -A ~; touch /x; ls /sys/class/net; echo new > new.txt; ln -s /etc/passwd link`
	debug := func(args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := p.program(append([]string{"debug", "r", task}, args...)...)
		var out, errOut bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(script), &out, &errOut
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, errOut.String())
		}
		return out.String(), errOut.String()
	}
	out, errOut := debug("--attempt", "1", "--keep-output", kept)
	var uid int
	if n, err := fmt.Sscanf(out, "%d\n/workspace\n"+hex.EncodeToString(sum[:])+"  solution.py\nlo\n", &uid); n != 1 || err != nil || uid < 20000 {
		t.Errorf("%v\n%s", err, out)
	}
	for _, text := range []string{"Read-only file system", "kept 2 files of the workspace", "left out: link"} {
		if !strings.Contains(errOut, text) {
			t.Errorf("no %q in\n%s", text, errOut)
		}
	}
	if text, err := os.ReadFile(filepath.Join(kept, "new.txt")); err != nil || string(text) != "new\n" {
		t.Errorf("kept %q, %v", text, err)
	}
	if out, _ := debug(); strings.Contains(out, hex.EncodeToString(sum[:])) {
		t.Error("without --attempt the box holds the solution")
	}
	p.killedDebug(t, task)
	if rows := p.rows(t, "r"); rows[0].Attempts != 1 {
		t.Errorf("debugging was recorded: %d attempts", rows[0].Attempts)
	}
	p.wantNothingLeft(t)
}

// killedDebug ends the program in the middle: at a termination it removes the
// box itself, what a kill leaves is removed by the next start.
func (p place) killedDebug(t *testing.T, task string) {
	t.Helper()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cmd := p.program("debug", "r", task)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out written
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdin.Write([]byte("echo here\n")); err != nil {
			t.Fatal(err)
		}
		waitForText(t, &out, "here", cmd)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		want := map[syscall.Signal]string{
			syscall.SIGTERM: "removed 0 boxes, 0 volumes, 0 workspaces\n", syscall.SIGKILL: "removed 1 boxes, 0 volumes, 1 workspaces\n"}[sig]
		if out, errOut, code := p.cabra(t, "clean"); code != 0 || out != want {
			t.Errorf("after %v: code %d, %q, want %q\n%s", sig, code, out, want, errOut)
		}
	}
}
