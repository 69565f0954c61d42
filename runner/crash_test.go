package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cabra-run/results"
	"cabra-run/runner"
)

const childVar = "CABRA_TEST_CHILD_RUN"

// childRun is the run folder that this process was started to work on, if it
// was: the test binary runs itself again to be killed.
func childRun() string { return os.Getenv(childVar) }

// child works off the run and prints a line at every model call and event, so
// that the parent can kill it at any of them.
func child(dir string) {
	t := &inChild{}
	r := newRig(t, dir)
	solve := r.model.answer
	r.model.answer = func(call int, prompt string) (int, string) {
		fmt.Println("call")
		return solve(call, prompt)
	}
	r.sweep.Observer = func(e runner.Event) { fmt.Println(e.Kind) }
	if sum, err := r.sweep.Run(context.Background()); err != nil || sum.Pending > 0 {
		t.Fatal(sum, err)
	}
	t.clean()
}

// inChild is enough of a testing.TB for newRig outside of a test.
type inChild struct {
	testing.TB
	cleanups []func()
}

func (*inChild) Helper()            {}
func (c *inChild) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }
func (*inChild) Fatal(args ...any)  { fmt.Fprintln(os.Stderr, args...); os.Exit(1) }

func (*inChild) TempDir() string {
	dir, err := os.MkdirTemp(os.Getenv("CABRA_TEST_TMP"), "child")
	if err != nil {
		panic(err)
	}
	return dir
}

func (c *inChild) clean() {
	for _, f := range c.cleanups {
		f()
	}
}

// The process is killed after random numbers of its lines and started again
// until the run is done. Every trial then has exactly one verdict, no trial that
// was finished was run again, and every answered call is in the books.
func TestSweepKilledAndResumed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for range 10 {
		dir := filepath.Join(t.TempDir(), "run")
		finished := map[string]int{} // attempts of each done trial
		for {
			done := startChild(t, self, dir, 1+rng.IntN(15))
			checkFinished(t, dir, finished)
			if done {
				break
			}
			kills++
		}
		checkBooks(t, dir)
	}
	// An uninterrupted run prints more than forty lines, so each is cut off.
	if kills < 10 {
		t.Errorf("only %d kills: the test has shown too little", kills)
	}
	t.Logf("%d kills", kills)
}

// startChild runs the sweep and kills it after so many lines; it reports
// whether the sweep came to its end before.
func startChild(t *testing.T, self, dir string, lines int) bool {
	t.Helper()
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVar+"="+dir, "CABRA_TEST_TMP="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for line := bufio.NewScanner(stdout); line.Scan(); {
		if lines--; lines == 0 {
			killed = cmd.Process.Kill() == nil
		}
	}
	err = cmd.Wait()
	if err != nil && !killed {
		t.Fatalf("the child failed by itself: %v\n%s", err, stderr.Bytes())
	}
	return err == nil
}

// checkFinished looks at the run between two processes: what was done stays
// as it was.
func checkFinished(t *testing.T, dir string, finished map[string]int) {
	t.Helper()
	store, err := results.Open(dir, results.ReadOnly)
	if err != nil {
		return // killed before the run existed
	}
	defer store.Close()
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		was, known := finished[tr.Key]
		if known && (tr.State != results.StateDone || len(tr.Attempts) != was) {
			t.Errorf("%s was done after %d attempts and is now %s after %d", tr.TaskID, was, tr.State, len(tr.Attempts))
		}
		if tr.State == results.StateDone {
			finished[tr.Key] = len(tr.Attempts)
		}
	}
}

func checkBooks(t *testing.T, dir string) {
	t.Helper()
	store, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	trials := 0
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		trials++
		if tr.State != results.StateDone || len(tr.Verdicts) != 1 {
			t.Errorf("%s: %s with %d verdicts", tr.TaskID, tr.State, len(tr.Verdicts))
		}
		for _, a := range tr.Attempts {
			if a.Outcome == results.Answered && (a.Usage.Exchanges != 1 || *a.Usage.Input != 100) {
				t.Errorf("%s attempt %d: usage %+v", tr.TaskID, a.Number, a.Usage)
			}
		}
	}
	if trials != 10 {
		t.Errorf("%d trials", trials)
	}
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary folders left: %v %v", left, err)
	}
}

var _ runner.Scorer = equal{}
