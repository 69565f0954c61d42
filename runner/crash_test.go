package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/results/resultstest"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/runner/score"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/price"
)

// tortureVar asks for the long form of tests that kill, with so many rounds.
const tortureVar = "CABRA_TEST_TORTURE"

// torture is the number of rounds of the long form, 0 for the short one.
func torture(t *testing.T) int {
	t.Helper()
	text := os.Getenv(tortureVar)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of rounds", tortureVar, text)
	}
	return n
}

// childVar holds the job of a child: the test binary runs itself again, to be
// killed.
const childVar = "CABRA_TEST_CHILD"

// job is what a child does: it opens the run, or makes it, brings it into
// order, works it off and closes it.
type job struct {
	Dir    string // of the run
	Ledger string // gets a line for each call of a model, and outlives the child
	Pairs  int    // 1: the toy; 2: and a bare model; 3: and the toy with another model
	Reps   int
	Jobs   int

	// Step is where the child kills itself, when it passes there for the Nth
	// time; "" for nowhere. Fault is a failure of the storage that it brings
	// about at the Nth call of the model, "" for none.
	Step  runner.Step
	Fault string
	Nth   int
}

// trials is how many the job's run has.
func (j job) trials() int { return 10 * j.Pairs * j.Reps }

// childJob is the job that this process was started for, if it was.
func childJob() (job, bool) {
	var j job
	text := os.Getenv(childVar)
	if text == "" {
		return j, false
	}
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		panic(err)
	}
	return j, true
}

// child does its job and prints a line for everything that happens, so that the
// parent can kill it at any of them.
func child(j job) {
	t := &inChild{}
	if j.Fault != "" {
		workWithFault(t, j)
		t.end()
	}
	fmt.Println("opening")
	r := newChildRig(t, j)
	fmt.Println("opened")
	if sum, err := r.sweep.Run(context.Background()); err != nil || sum.Pending > 0 {
		t.Fatal(sum, err)
	}
	fmt.Println("closing")
	r.finish(t)
	fmt.Println("closed")
}

// finish closes the run and looks for what the child itself has left.
func (r *rig) finish(t *inChild) {
	if left := r.host.Boxes(); len(left) > 0 {
		t.Fatal(len(left), "boxes left")
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	t.clean()
}

// newChildRig is a rig with all that a job may ask for.
func newChildRig(t *inChild, j job) *rig {
	l := openLedger(t, j.Ledger)
	createTwo(t, j.Dir, childPairings(t, nil, l)[:max(1, j.Pairs)])
	r := newRig(t, j.Dir)
	s := r.sweep
	s.Scorer = &twoScorer{}
	s.Settings.Jobs, s.Settings.Repetitions = max(1, j.Jobs), max(1, j.Reps)
	// A row of failures is a failure of the test, and shows in the summary.
	s.Pairings = childPairings(t, r.model, l)[:max(1, j.Pairs)]
	r.world.asks = 2
	passed := atomic.Int64{}
	s.OnStep(func(step runner.Step) {
		fmt.Println(step)
		if step == j.Step && passed.Add(1) == int64(j.Nth) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more of this goroutine, whenever the signal comes
		}
	})
	s.Observer = func(e runner.Event) { fmt.Println(e.Kind, e.Reason) }
	return r
}

// childPairings are a toy, a model without tools, and a toy with another model.
// Each request of any of them costs ten dollars.
func childPairings(t *inChild, m *model, l *ledger) []runner.Pairing {
	bare, err := agent.Find("llm")
	if err != nil {
		t.Fatal(err)
	}
	scripted, err := gateway.NewScripted("solve")
	if err != nil {
		t.Fatal(err)
	}
	costs := func(name string) *price.Model {
		return &price.Model{Name: name, MaxOutput: 10, Rates: price.Rates{Output: 1e6}}
	}
	asks := func(name string, up gateway.Upstream) runner.Model {
		return runner.Model{Name: name, Agent: name, Wire: name, Upstream: up, Price: costs(name)}
	}
	return []runner.Pairing{
		{Agent: toy{}, Image: toyImage, Model: asks("toy-model", &counted{m, l})},
		{Agent: bare, Ask: runner.Ask{Wire: "chat"}, Model: asks("scripted", &countedScript{scripted, l})},
		{Agent: toy{}, Image: toyImage, Model: asks("other-model", &counted{m, l})},
	}
}

// createTwo makes the run if there is none, with both verdicts in its lock.
func createTwo(t *inChild, dir string, pairs []runner.Pairing) {
	lock := results.Lock{Run: "toy", Retry: results.DefaultRetry(),
		Scorer: results.Scorer{Verdicts: score.Verdicts(), Versions: map[string]string{"strict": "toy", "official": "toy"}}}
	for _, p := range pairs {
		lock.Pairings = append(lock.Pairings, results.Pairing{Model: p.Model.Name, Retry: results.DefaultRetry(),
			Agent: results.Agent{Name: p.Agent.Name(), Version: p.Agent.Version()}})
	}
	store, err := results.Create(dir, lock)
	var exists *results.ExistsError
	if errors.As(err, &exists) {
		return
	}
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ledger is a list of model calls outside of the run, kept by whoever answers
// them. Each call has a number of its own, which its answer tells as the tokens
// of its input, so that the books of the run can be held against it.
type ledger struct {
	file   *os.File
	serial atomic.Int64
}

func openLedger(t *inChild, path string) *ledger {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{file: f}
	l.serial.Store(size) // higher than every number of an earlier child
	return l
}

var promptTokens = regexp.MustCompile(`"prompt_tokens":\s*\d+`)

// pass counts a call and puts its number into its answer.
func (l *ledger) pass(up gateway.Upstream, r *http.Request) (*http.Response, error) {
	id := l.serial.Add(1)
	if _, err := fmt.Fprintln(l.file, "asked", id); err != nil {
		return nil, err
	}
	resp, err := up.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	body = promptTokens.ReplaceAll(body, fmt.Appendf(nil, `"prompt_tokens":%d`, id))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	_, err = fmt.Fprintln(l.file, "answered", id)
	return resp, err
}

type counted struct {
	gateway.Upstream
	l *ledger
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) { return c.l.pass(c.Upstream, r) }

type countedScript struct {
	*gateway.Scripted
	l *ledger
}

func (c *countedScript) For(s gateway.Script) gateway.Upstream {
	return &counted{c.Scripted.For(s), c.l}
}

// inChild is enough of a testing.TB for newRig outside of a test.
type inChild struct {
	testing.TB
	cleanups []func()
	failed   bool
}

func (*inChild) Helper()            {}
func (c *inChild) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }
func (*inChild) Fatal(args ...any)  { fmt.Fprintln(os.Stderr, args...); os.Exit(1) }

func (c *inChild) Error(args ...any) { c.failed = true; fmt.Fprintln(os.Stderr, args...) }

func (c *inChild) Errorf(format string, args ...any) { c.Error(fmt.Sprintf(format, args...)) }
func (c *inChild) Fatalf(format string, args ...any) { c.Fatal(fmt.Sprintf(format, args...)) }

// end ends the child, badly where something was wrong.
func (c *inChild) end() {
	if c.failed {
		os.Exit(1)
	}
	os.Exit(0)
}

// TempDir holds the boxes of the child. With the child its daemon is dead, so
// what lies there is nobody's to remove.
func (*inChild) TempDir() string { return os.Getenv(boxesVar) }

const boxesVar = "CABRA_TEST_BOXES"

func (c *inChild) clean() {
	for _, f := range c.cleanups {
		f()
	}
}

// kill says when a child is killed: that long after so many lines of it.
type kill struct {
	lines  int
	after  time.Duration
	before func(pid int) // called before it, nil for nothing
}

// ended is how a child ended.
type ended struct {
	done   bool   // it came to its end
	last   string // the last line that it said
	stderr string
}

// start runs a child, kills it as k says (nil: not at all), and looks at the
// folder for temporary files that it was given. A child that fails by itself is
// a failure of the test.
func (j job) start(t *testing.T, k *kill) ended {
	t.Helper()
	cmd, tmp := j.command(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var e ended
	scan := bufio.NewScanner(stdout)
	for n := 1; scan.Scan(); n++ {
		e.last = scan.Text()
		if k != nil && n == k.lines {
			time.Sleep(k.after) // to hit what has no line of its own
			if k.before != nil {
				k.before(cmd.Process.Pid)
			}
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	e.done, e.stderr = err == nil, stderr.String()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !e.done && (!ok || status.Signal() != syscall.SIGKILL) {
		t.Fatalf("the child failed by itself after %q: %v\n%s", e.last, err, &stderr)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("temporary files of the program: %v, %v", left, err)
	}
	return e
}

func (j job) command(t *testing.T) (cmd *exec.Cmd, tmp string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	boxes := filepath.Join(filepath.Dir(j.Ledger), "boxes")
	if err := errors.Join(os.RemoveAll(boxes), os.MkdirAll(boxes, 0o700)); err != nil {
		t.Fatal(err)
	}
	tmp = filepath.Join(filepath.Dir(j.Ledger), "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVar+"="+string(text), boxesVar+"="+boxes, "TMPDIR="+tmp)
	return cmd, tmp
}

// newJob is a job in a folder of its own, in memory where there is such a place:
// a killed process loses nothing of the page cache, so that a disk would only
// cost time.
func newJob(t *testing.T, pairs, reps, jobs int) job {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cabra-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return job{Dir: filepath.Join(dir, "run"), Ledger: filepath.Join(dir, "ledger"), Pairs: pairs, Reps: reps, Jobs: jobs}
}

// checkWhole looks at a run that was worked off to its end after so many kills.
func (j job) checkWhole(t testing.TB, kills int) {
	t.Helper()
	store, err := results.Open(j.Dir, results.ReadWrite) // whoever was killed holds no lock
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	resultstest.CheckDone(t, store, j.trials())
	resultstest.CheckMoney(t, store, j.calls(t), kills*max(1, j.Jobs))
	resultstest.CheckFolder(t, store)
	resultstest.CheckDatabase(t, j.Dir)
}

// calls reads the ledger.
func (j job) calls(t testing.TB) resultstest.Calls {
	t.Helper()
	c := resultstest.Calls{Asked: map[int64]bool{}, Answered: map[int64]bool{}, Priced: true}
	text, err := os.ReadFile(j.Ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var word string
		var id int64
		if _, err := fmt.Sscan(line, &word, &id); err != nil {
			t.Fatalf("ledger: %q: %v", line, err)
		}
		list := map[string]map[int64]bool{"asked": c.Asked, "answered": c.Answered}[word]
		if list[id] {
			t.Fatalf("ledger: %q twice", line)
		}
		list[id] = true
	}
	return c
}
