package enginefault

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/runner/score"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/sandbox/sandboxtest/engineproxy"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// worker is an agent whose box is given the reference solution and which then
// stays for a moment: whatever is not solved was the harness's doing.
type worker struct {
	stays   string // seconds
	started func() // called before each start
}

func (worker) Name() string    { return "worker" }
func (worker) Version() string { return "1" }
func (worker) Recipe() string  { return "base" }

func (worker) Traits() agent.Traits {
	return agent.Traits{Image: agent.Image{Recipe: "base"}, Success: agent.Success{Exit: true}, Solution: true}
}

func (w worker) Launch(j agent.Job) (agent.Launch, error) {
	if w.started != nil {
		w.started()
	}
	return agent.Launch{
		Args: []string{"/bin/sleep", w.stays}, Env: []string{}, Workspace: j.Solution, Signal: "TERM",
	}, nil
}

func (worker) ReadTrace(*os.Root, string, agent.Job) (*trace.Trace, error) { return nil, nil }

// rig is a sweep on an engine.
type rig struct {
	t     *testing.T
	store *results.Store
	sweep *runner.Sweep

	mu     sync.Mutex
	events []runner.Event
	on     func(runner.Event) // called for every event, in its goroutine
}

// images are the IDs of what the boxes of agents and the scorer's are made from.
func images(t *testing.T) (agent, scorer string) {
	return imagestest.Ensure(t, "base").ID, imagestest.Ensure(t, "scorer").ID
}

// newRig makes a sweep over n small tasks.
func newRig(t *testing.T, e *docker.Engine, n int, w worker) *rig {
	t.Helper()
	base, scorerImage := images(t)
	grid, err := tasks.ParseGrid(fmt.Sprintf("axis=traversal; size=5; code=math; task=add-parameter; instances=%d", n))
	if err != nil {
		t.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	store, err := results.Create(filepath.Join(t.TempDir(), "run"), results.Lock{
		Run: "faults", Retry: results.DefaultRetry(), Scorer: results.Scorer{Verdicts: []string{"strict"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	t.Cleanup(func() { // what could not be removed while the engine was away
		if _, err := e.Reap(context.Background()); err != nil {
			t.Errorf("reaping: %v", err)
		}
	})
	scorer, err := score.New(score.Options{Engine: e, Image: scorerImage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := scorer.Close(ctx); err != nil {
			t.Errorf("closing the scorer: %v", err)
		}
	})
	scripted, err := gateway.NewScripted("") // asked by nobody
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: store}
	r.sweep = &runner.Sweep{
		Source: src, Store: store, Scorer: scorer, Engine: e, Stop: runner.NewStopper(),
		Pairings: []runner.Pairing{{Agent: w, Image: base,
			Model: runner.Model{Name: "none", Agent: "none", Wire: "none", Upstream: scripted}}},
		Gateway:  gateway.New(gateway.Options{}),
		Settings: runner.Settings{Jobs: 2, Repetitions: 1, Timeout: time.Minute, Grace: time.Second, OutputBytes: 1 << 20, BreakAfter: 5},
		Connect: func(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
			conn, err := relay.Accept(ctx, stdio, relay.Bounds{})
			if err != nil {
				return nil, err
			}
			return conn, nil
		},
		Observer: r.observe,
	}
	return r
}

func (r *rig) observe(e runner.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	if r.on != nil {
		r.on(e)
	}
}

func (r *rig) run() runner.Summary {
	r.t.Helper()
	sum, err := r.sweep.Run(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return sum
}

// said counts the notices that begin so.
func (r *rig) said(prefix string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if strings.HasPrefix(e.Reason, prefix) {
			n++
		}
	}
	return n
}

// outcomes counts what attempts came to, and words what trials did. A trial
// with two verdicts of a kind, or more good attempts than one, fails the test.
func (r *rig) outcomes() (attempts map[results.Outcome]int, words map[string]int) {
	r.t.Helper()
	attempts, words = map[results.Outcome]int{}, map[string]int{}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		words[tr.Word]++
		good := 0
		for _, a := range tr.Attempts {
			attempts[a.Outcome]++
			switch a.Outcome {
			case results.Answered:
				good++
			case results.InfraError:
				r.t.Logf("%s, attempt %d: %s", tr.TaskID, a.Number, a.Reason)
			}
			if a.Outcome.OfAgent() && a.Outcome != results.Answered {
				r.t.Errorf("%s, attempt %d: the agent is blamed with %s: %s", tr.TaskID, a.Number, a.Outcome, a.Reason)
			}
		}
		if good > 1 {
			r.t.Errorf("%s was answered %d times", tr.TaskID, good)
		}
	}
	r.t.Logf("attempts %v, trials %v", attempts, words)
	return attempts, words
}

// wantAllSolved checks the end of a sweep that has got over its troubles.
func (r *rig) wantAllSolved(sum runner.Summary, n int) map[results.Outcome]int {
	r.t.Helper()
	attempts, words := r.outcomes()
	if sum.Done != n || sum.Paused != "" || words[results.Solved] != n {
		r.t.Errorf("summary %+v, trials %v; want %d solved", sum, words, n)
		for _, e := range r.events {
			if e.Reason != "" {
				r.t.Logf("%s %s: %s", e.Kind, e.Task, e.Reason)
			}
		}
	}
	return attempts
}

// troubled is the default engine behind a proxy.
func troubled(t *testing.T, timeout time.Duration, seed uint64) (*docker.Engine, *engineproxy.Proxy) {
	t.Helper()
	sandboxtest.RequireReal(t)
	cli, endpoint, err := docker.Connect(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	cli.Close()
	p, err := engineproxy.New(endpoint, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	e := sandboxtest.RealEngineWith(t, docker.Options{Host: p.Endpoint(), CallTimeout: timeout})
	t.Cleanup(func() {
		p.Clear()
		p.Release()
	})
	return e, p
}

// briefly pauses as a sweep would, but not for seconds.
func briefly(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, 100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
