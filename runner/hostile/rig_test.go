package hostile

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/score"
	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/providertest"
	"cabra-run/sandbox/relay"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// rig is what all fights share: an engine for the agents' boxes, another one
// for the scorer's, a provider with a key, and a port of the host that nobody
// may reach.
type rig struct {
	engine   *watched
	state    string // the engine's state folder
	scorer   *score.Scorer
	task     tasks.Task
	image    string
	model    runner.Model
	gateway  *gateway.Gateway
	dir      string // for the runs
	port     int    // of the host, open
	visitors atomic.Int64
}

// Keys that lie where a user's do: in the environment of this program, and with
// the provider.
const (
	hostKey     = "sk-hostile-0123456789abcdefghijklmnopqrstuv"
	providerKey = "sk-hostile-provider-0123456789abcdefghijklm"
	keyVariable = "CABRA_HOSTILE_KEY"
)

// remainsOf is a sandbox engine that can tell what its boxes have left.
type remainsOf interface {
	sandbox.Engine
	Remains(ctx context.Context) ([]string, error)
}

// watched remembers the boxes that it made.
type watched struct {
	remainsOf

	mu  sync.Mutex
	ids []string
}

func (w *watched) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	box, err := w.remainsOf.Create(ctx, spec)
	if err == nil {
		w.mu.Lock()
		w.ids = append(w.ids, box.ID())
		w.mu.Unlock()
	}
	return box, err
}

// boxes are the IDs of all boxes that were made since the last call.
func (w *watched) boxes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := w.ids
	w.ids = nil
	return ids
}

// newRig makes one whose workspaces travel by transport, "" for what the engine chooses.
func newRig(t *testing.T, transport string) *rig {
	t.Helper()
	sandboxtest.RequireReal(t)
	noRoutines(t)
	r := &rig{state: t.TempDir(), dir: t.TempDir(), gateway: gateway.New(gateway.Options{}), task: oneTask(t)}
	r.image = imagestest.Ensure(t, "base").ID
	scorerImage := imagestest.Ensure(t, "scorer").ID
	// What is made by mistake among temporary files lies there alone.
	temp := filepath.Join(t.TempDir(), "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	engine, ok := sandbox.Engine(sandboxtest.RealEngineWith(t, docker.Options{StateDir: r.state, Transport: transport})).(remainsOf)
	if !ok {
		t.Fatal("the engine does not tell what is left")
	}
	r.engine = &watched{remainsOf: engine}
	r.scorer = newScorer(t, scorerImage)
	r.model = newModel(t, &r.task)
	r.listen(t)
	return r
}

func newScorer(t *testing.T, image string) *score.Scorer {
	t.Helper()
	s, err := score.New(score.Options{Engine: sandboxtest.RealEngine(t), Image: image})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("closing the scorer: %v", err)
		}
	})
	return s
}

// newModel is a provider over HTTP that wants a key and plays the solution.
func newModel(t *testing.T, task *tasks.Task) runner.Model {
	t.Helper()
	scripted, err := gateway.NewScripted("solve")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(providertest.New(providertest.Options{Key: providerKey, Seed: 1,
		Upstream: scripted.For(gateway.Script{Starter: task.Starter[tasks.SolutionFile],
			Reference: task.Reference[tasks.SolutionFile], Edited: task.Check.Edited})}))
	t.Cleanup(server.Close)
	t.Setenv(keyVariable, providerKey)
	t.Setenv("CABRA_API_KEY", hostKey)
	up, err := gateway.NewHTTP(gateway.HTTPOptions{Name: "hostile", Endpoints: providertest.Endpoints(server.URL),
		Key: gateway.KeySource{Env: keyVariable}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	return runner.Model{Name: "hostile/model", Agent: "model", Wire: "model", Upstream: up, Wires: []string{"chat"}}
}

// listen opens a port on every address of the host and counts who comes.
func (r *rig) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	r.port = l.Addr().(*net.TCPAddr).Port
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.visitors.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

// addresses are those of the host, for agents that look for it.
func addresses(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			hosts = append(hosts, n.IP.String())
		}
	}
	return strings.Join(hosts, ",")
}

func oneTask(t *testing.T) tasks.Task {
	t.Helper()
	grid, err := tasks.ParseGrid("traversal/add-parameter/math/n005/01")
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

// settings are those of a sweep of two agents side by side.
func settings() runner.Settings {
	return runner.Settings{
		Jobs: 2, Repetitions: 1, Timeout: 3 * time.Minute, MaxWait: time.Minute, Grace: 2 * time.Second,
		OutputBytes: 8 << 20, Network: sandbox.NetworkNone, BreakAfter: 5,
		Limits: sandbox.Limits{MemoryBytes: 1 << 30},
	}
}

// fought is what a sweep left.
type fought struct {
	dir     string // of the run
	summary runner.Summary
	trials  map[string]results.TrialResult // by the agent's name
	notices []string
}

// sweep runs the agents beside one another.
func (r *rig) sweep(t *testing.T, name string, set runner.Settings, agents ...file) fought {
	t.Helper()
	out := fought{dir: filepath.Join(r.dir, name), trials: map[string]results.TrialResult{}}
	lock := results.Lock{Run: "hostile", Retry: results.Retry{Attempts: 1}, Scorer: results.Scorer{Verdicts: score.Verdicts()}}
	var mu sync.Mutex
	s := runner.Sweep{
		Source: list{r.task}, Scorer: r.scorer, Verdicts: score.Verdicts(), Engine: r.engine, Gateway: r.gateway,
		Settings: set, Stop: runner.NewStopper(),
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
	for _, f := range agents {
		ag := f.load(t, r)
		s.Pairings = append(s.Pairings, runner.Pairing{Agent: ag, Model: r.model, Ask: runner.Ask{Wire: "chat"}, Image: r.image})
		lock.Pairings = append(lock.Pairings, results.Pairing{
			Agent: results.Agent{Name: ag.Name(), Version: ag.Version()}, Model: r.model.Name, Retry: lock.Retry})
	}
	store, err := results.Create(out.dir, lock)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s.Store = store
	if out.summary, err = s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out.trials[tr.Agent] = tr
	}
	return out
}

// only is the one attempt of an agent.
func (f fought) only(t *testing.T, agent string) results.AttemptResult {
	t.Helper()
	tr, ok := f.trials[agent]
	if !ok || len(tr.Attempts) != 1 {
		t.Fatalf("%s has %d attempts; %+v, %q", agent, len(tr.Attempts), f.summary, f.notices)
	}
	return tr.Attempts[0]
}

// environment is what the agents are told of the host.
func (r *rig) environment(t *testing.T) map[string]string {
	return map[string]string{"HOSTILE_HOSTS": addresses(t), "HOSTILE_PORT": strconv.Itoa(r.port)}
}

// seconds is a duration for tables.
func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
