package suite

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/runner/score"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// rig is what all cases share: a real engine and a scorer.
type rig struct {
	engine sandbox.Engine
	scorer *score.Scorer
	task   tasks.Task
	places chan struct{} // one for each case that runs
}

// atOnce is how many cases run at the same time, whatever the machine.
const atOnce = 2

// newRig fails the test at its end when boxes, volumes or workspaces are left.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{engine: sandboxtest.RealEngine(t), places: make(chan struct{}, atOnce)}
	var err error
	r.scorer, err = score.New(score.Options{Engine: r.engine, Image: imagestest.Ensure(t, "scorer").ID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.scorer.Close(ctx); err != nil {
			t.Errorf("closing the scorer: %v", err)
		}
	})
	r.task = oneTask(t)
	return r
}

func oneTask(t *testing.T) tasks.Task { return taskOf(t, "traversal/add-parameter/math/n005/01") }

// taskOf generates the task of that name.
func taskOf(t *testing.T, id string) tasks.Task {
	t.Helper()
	grid, err := tasks.ParseGrid(id)
	if err != nil {
		t.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	t.Fatal("no task")
	return tasks.Task{}
}

// list is a source of given tasks.
type list []tasks.Task

func (l list) Len() int { return len(l) }

func (l list) Tasks(context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for _, t := range l {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// tapped is an agent whose attempts are remembered.
type tapped struct {
	agent.Agent

	mu   sync.Mutex
	jobs []agent.Job
}

func (a *tapped) Launch(j agent.Job) (agent.Launch, error) {
	a.mu.Lock()
	a.jobs = append(a.jobs, j)
	a.mu.Unlock()
	return a.Agent.Launch(j)
}

// order is a sweep to be made.
type order struct {
	agent    *tapped
	image    string
	task     tasks.Task
	model    runner.Model
	ask      runner.Ask
	gateway  *gateway.Gateway
	budget   *gateway.Budget
	settings runner.Settings
	dir      string // of a run to be continued, "" for a new one
	replay   *runner.Replays
	// between is called when the sweep has ended, with its store still open.
	between func(*results.Store, outcome)
}

func settings() runner.Settings {
	return runner.Settings{
		Jobs: 1, Repetitions: 1, Timeout: 5 * time.Minute, MaxWait: time.Minute, Grace: 10 * time.Second,
		OutputBytes: 64 << 20, Network: sandbox.NetworkNone, Limits: sandbox.DefaultLimits(),
		BreakAfter: 5,
	}
}

// outcome is what a sweep left.
type outcome struct {
	dir     string
	summary runner.Summary
	trials  []results.TrialResult
	notices []string
}

// store makes a run's folder, or opens the one that is continued.
func (o order) store(t *testing.T) (*results.Store, string) {
	t.Helper()
	dir := o.dir
	var store *results.Store
	var err error
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "run")
		store, err = results.Create(dir, results.Lock{
			Run: "suite", Retry: results.Retry{Attempts: 1}, Scorer: results.Scorer{Verdicts: score.Verdicts()}})
	} else if store, err = results.Open(dir, results.ReadWrite); err == nil {
		_, err = store.Recover(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, dir
}

// run makes the sweep.
func (r *rig) run(t *testing.T, o order) outcome {
	t.Helper()
	store, dir := o.store(t)
	defer store.Close()
	out := outcome{dir: dir}
	var err error
	var mu sync.Mutex
	s := runner.Sweep{
		Source: list{o.task}, Store: store,
		Pairings: []runner.Pairing{{Agent: o.agent, Model: o.model, Ask: o.ask, Image: o.image}},
		Scorer:   r.scorer, Verdicts: score.Verdicts(), Engine: r.engine, Replay: o.replay,
		Gateway: o.gateway, Budget: o.budget, Settings: o.settings, Stop: runner.NewStopper(),
		Connect: func(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
			return relay.Accept(ctx, stdio, relay.Bounds{})
		},
		Observer: func(e runner.Event) {
			if e.Kind == runner.Notice {
				mu.Lock()
				defer mu.Unlock()
				out.notices = append(out.notices, e.Reason)
			}
		},
	}
	if out.summary, err = s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out.trials = append(out.trials, tr)
	}
	if o.between != nil {
		o.between(store, out)
	}
	return out
}

// attempt is the only attempt of the only trial.
func (o outcome) attempt(t *testing.T) results.AttemptResult {
	t.Helper()
	if len(o.trials) != 1 || len(o.trials[0].Attempts) != 1 {
		t.Fatalf("trials %+v, %v", o.trials, o.notices)
	}
	return o.trials[0].Attempts[0]
}

// trace reads the session files of an attempt again, as they were kept.
func (o outcome) trace(t *testing.T, a *tapped) *trace.Trace {
	t.Helper()
	dir := filepath.Join(o.dir, o.attempt(t).Path)
	home, err := os.OpenRoot(filepath.Join(dir, results.TraceDir))
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	tr, err := a.ReadTrace(home, filepath.Join(dir, results.StdoutFile), a.jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// wantNowhere looks for secrets in every file of a run, also in what is
// compressed, as they are and in base64 at any offset.
func wantNowhere(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	var needles [][]byte
	for _, s := range secrets {
		needles = append(needles, []byte(s))
		for shift := range 3 {
			coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
			needles = append(needles, []byte(coded[4:len(coded)-4]))
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := readPlain(path)
		if err != nil {
			return err
		}
		for _, n := range needles {
			if i := bytes.Index(text, n); i >= 0 {
				t.Errorf("%s holds a secret: %q", strings.TrimPrefix(path, dir), text[max(0, i-80):i])
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readPlain(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".zst") {
		return text, err
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(text, nil)
	if err != nil && len(plain) == 0 {
		return nil, errors.Join(errors.New(path), err)
	}
	return plain, nil
}
