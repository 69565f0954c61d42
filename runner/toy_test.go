package runner_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

var toyImage = "sha256:" + strings.Repeat("70", 32)

// toy is an agent whose program, below, asks the model once and writes the
// answer into the solution.
type toy struct{}

func (toy) Name() string    { return "toy" }
func (toy) Version() string { return "1" }
func (toy) Recipe() string  { return "toy" }

func (toy) Launch(j agent.Job) (agent.Launch, error) {
	return agent.Launch{Args: []string{"toy", j.BaseURL}, Stdin: j.Prompt, Signal: "TERM", Sessions: []string{"session"}}, nil
}

func (toy) Traits() agent.Traits { return agent.Traits{Wires: []string{"chat"}} }

func (toy) ReadTrace(home *os.Root, _ string, _ agent.Job) (*trace.Trace, error) {
	text, err := home.ReadFile("session")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return &trace.Trace{Agent: "toy", Turns: 1, Completed: string(text) == "done", Shutdown: "routine"}, err
}

// world is the inside of all boxes of a test: what the relay program and the
// toy do, and the model that answers.
type world struct {
	mu     sync.Mutex
	muxes  map[*fake.Box]*yamux.Session
	stops  map[*fake.Box]context.CancelFunc
	before func(box *fake.Box) // called by every toy before it asks
	linger time.Duration       // how long a toy works after it has answered
	asks   int                 // how often it asks, 0 is once
	// during is what a toy does after it has answered; it ends without a
	// session file when that returns false.
	during func(ctx context.Context, p *fake.Proc) bool
	deaf   bool // toys end with their box alone, whatever signal comes
	alive  int  // toys that run
}

func newWorld() *world {
	return &world{muxes: map[*fake.Box]*yamux.Session{}, stops: map[*fake.Box]context.CancelFunc{}}
}

func (w *world) options(dir string) fake.Options {
	return fake.Options{Dir: dir, Images: []string{toyImage}, Program: w.program}
}

// program knows the relay, and the killing command whatever it is wrapped in.
func (w *world) program(args []string) fake.Program {
	switch {
	case args[0] == relay.Path:
		return w.relay
	case slices.Equal(args, relay.KillCommand()):
		return func(_ context.Context, p *fake.Proc) int { return w.stop(p) }
	}
	return nil
}

// stop ends the toy of a box, as a signal would.
func (w *world) stop(p *fake.Proc) int {
	w.mu.Lock()
	stop := w.stops[p.Box]
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
	return 0
}

// relay stands in for the relay program with all of its subcommands.
func (w *world) relay(ctx context.Context, p *fake.Proc) int {
	switch p.Args[1] {
	case "serve":
		return w.serve(ctx, p)
	case "guest":
		i := slices.Index(p.Args, "--") + 1
		if p.Args[i] == "/bin/true" {
			return 0
		}
		return w.toy(ctx, p, p.Args[i:])
	case "unpack":
		return unpack(p)
	case "signal", "kill":
		return w.stop(p)
	case "archive":
		return archive(p)
	}
	return 64
}

type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }

// serve is PID 1: it multiplexes like the real one, without a port.
func (w *world) serve(ctx context.Context, p *fake.Proc) int {
	cfg := yamux.DefaultConfig()
	cfg.EnableKeepAlive, cfg.LogOutput = false, io.Discard
	mux, err := yamux.Client(stream{p.Stdin, p.Stdout}, cfg)
	if err != nil {
		return 1
	}
	defer mux.Close()
	w.mu.Lock()
	w.muxes[p.Box] = mux // before the hello: after it the toy may start
	w.mu.Unlock()
	hello, err := mux.OpenStream()
	if err != nil {
		return 1
	}
	fmt.Fprintf(hello, "cabra-relay 1 %d\n", relay.Port)
	select {
	case <-ctx.Done():
	case <-mux.CloseChan():
	}
	return 0
}

// toy asks the model, writes what it says and leaves a session file.
func (w *world) toy(ctx context.Context, p *fake.Proc, args []string) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	mux := w.muxes[p.Box]
	if w.alive++; !w.deaf {
		w.stops[p.Box] = cancel
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.alive--
		w.mu.Unlock()
	}()
	if w.before != nil {
		w.before(p.Box)
	}
	prompt, _ := io.ReadAll(p.Stdin)
	var answer string
	for range max(1, w.asks) {
		var err error
		if answer, err = ask(ctx, mux, args[1], string(prompt)); err != nil {
			fmt.Fprintln(p.Stderr, err)
			return 1
		}
	}
	if answer != "" {
		if err := os.WriteFile(filepath.Join(p.Box.Workspace(), tasks.SolutionFile), []byte(answer), 0o600); err != nil {
			return 1
		}
	}
	if w.during != nil && !w.during(ctx, p) {
		return 1
	}
	if w.linger > 0 {
		select {
		case <-time.After(w.linger):
		case <-ctx.Done():
			return 0
		}
	}
	if err := os.WriteFile(filepath.Join(p.Box.Home(), "session"), []byte("done"), 0o600); err != nil {
		return 1
	}
	fmt.Fprintln(p.Stdout, "finished")
	return 0
}

func ask(ctx context.Context, mux *yamux.Session, base, prompt string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "x", "messages": []map[string]string{{"role": "user", "content": prompt}}})
	if err != nil {
		return "", err
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return mux.Open() }}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return "", fmt.Errorf("no answer: %v", err)
	}
	return strings.TrimSuffix(answer.Choices[0].Message.Content, "\x00"), nil
}

func archive(p *fake.Proc) int {
	tw := tar.NewWriter(p.Stdout)
	text, err := os.ReadFile(filepath.Join(p.Box.Home(), "session"))
	if err == nil {
		_ = tw.WriteHeader(&tar.Header{Name: "session", Size: int64(len(text)), Mode: 0o600})
		_, _ = tw.Write(text)
	}
	_ = tw.Close()
	return 0
}

// unpack writes plain files; the real program is tested beside its source.
func unpack(p *fake.Proc) int {
	dir := map[string]string{sandbox.HomeDir: p.Box.Home(), sandbox.WorkspaceDir: p.Box.Workspace()}[p.Args[len(p.Args)-1]]
	for tr := tar.NewReader(p.Stdin); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return 0
		}
		text, readErr := io.ReadAll(tr)
		if err != nil || readErr != nil || os.WriteFile(filepath.Join(dir, h.Name), text, fs.FileMode(h.Mode)) != nil {
			fmt.Fprintln(p.Stderr, "no room")
			return 1
		}
	}
}

// model is an upstream that says what a function tells it to.
type model struct {
	mu     sync.Mutex
	calls  int
	answer func(call int, prompt string) (status int, content string)
}

func (m *model) Name() string { return "toy-model" }

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	var body struct{ Messages []struct{ Content string } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.calls++
	call := m.calls
	m.mu.Unlock()
	status, content := m.answer(call, body.Messages[0].Content)
	reply := map[string]any{"error": map[string]string{"message": content}}
	if status == http.StatusOK {
		reply = map[string]any{
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": content}}},
			"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
		}
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r}, nil
}

// equal is a scorer that knows only the reference.
type equal struct{}

func (equal) ScoreBy(_ context.Context, t *tasks.Task, code tasks.Files, names ...string) ([]results.Verdict, error) {
	var verdicts []results.Verdict
	for _, name := range names {
		verdicts = append(verdicts, results.Verdict{Scorer: name, Version: "toy", Solved: code.Equal(t.Reference), Reason: "compared"})
	}
	return verdicts, nil
}

// rig is a sweep on a fake host.
type rig struct {
	sweep *runner.Sweep
	store *results.Store
	host  *fake.Host
	world *world
	model *model

	mu     sync.Mutex
	events []runner.Event
}

const toyGrid = "axis=traversal; size=5; code=math; instances=2" // 10 tasks

func newRig(t testing.TB, dir string) *rig {
	t.Helper()
	grid, err := tasks.ParseGrid(toyGrid)
	if err != nil {
		t.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	set := runner.Settings{Jobs: 2, Repetitions: 1, Timeout: time.Minute, MaxWait: time.Minute, Grace: time.Second,
		OutputBytes: 1 << 20, Network: sandbox.NetworkNone, BreakAfter: 5}
	store, err := openOrCreate(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r := &rig{store: store, world: newWorld(), model: &model{answer: solving(t, src)}}
	r.host = fake.NewHost(r.world.options(t.TempDir()))
	r.sweep = &runner.Sweep{
		Source: src, Store: store, Scorer: equal{},
		Pairings: []runner.Pairing{{Agent: toy{}, Image: toyImage,
			Model: runner.Model{Name: "toy-model", Agent: "toy-model", Wire: "toy-model", Upstream: r.model}}},
		Engine:   r.host.Connect(),
		Gateway:  gateway.New(gateway.Options{Retry: gateway.RetryBudget{Tries: 1}}),
		Settings: set, Stop: runner.NewStopper(),
		Connect: func(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
			return relay.Accept(ctx, stdio, relay.Bounds{})
		},
		Pause: func(context.Context, time.Duration) error { return nil },
		Observer: func(e runner.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
	}
	return r
}

func openOrCreate(dir string) (*results.Store, error) {
	store, err := results.Create(dir, results.Lock{Run: "toy", Retry: results.DefaultRetry(),
		Scorer: results.Scorer{Verdicts: []string{"strict"}}})
	var exists *results.ExistsError
	if errors.As(err, &exists) {
		if store, err = results.Open(dir, results.ReadWrite); err == nil {
			_, err = store.Recover(context.Background())
		}
	}
	return store, err
}

// solving answers every prompt with the reference; the prompts of a cell's
// instances are alike, so the toy's task is told by what the box holds: the
// answer is looked up by statement, and both instances get the first one's.
func solving(t testing.TB, src tasks.Source) func(int, string) (int, string) {
	t.Helper()
	byStatement := map[string]string{}
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if task.Instance == 1 {
			byStatement[task.Statement] = task.Reference[tasks.SolutionFile]
		}
	}
	return func(_ int, prompt string) (int, string) { return http.StatusOK, byStatement[prompt] }
}

// words returns the word of every trial, by task.
func (r *rig) words(t testing.TB) map[string]int {
	t.Helper()
	words := map[string]int{}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		words[tr.Word]++
	}
	return words
}
