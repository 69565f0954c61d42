package bench

import (
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
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// Memory is what an orchestrator with many attempts in flight at once takes.
type Memory struct {
	Boxes      int     `json:"boxes"`
	PeakRSS    int64   `json:"peak_rss_bytes"` // of the process, its start included
	RSS        int64   `json:"rss_bytes"`      // while all attempts were in flight
	Heap       int64   `json:"heap_bytes"`     // alive then
	Stacks     int64   `json:"stack_bytes"`
	Goroutines int     `json:"goroutines"`
	Files      int     `json:"open_files"`
	Before     int     `json:"goroutines_before"`
	After      int     `json:"goroutines_after"`
	Seconds    float64 `json:"seconds"` // of the whole run
	Done       int     `json:"done"`    // trials, in the end

	atPeak func() // for tests
}

// answeredOnce is a model that gives every conversation the same short answer.
type answeredOnce struct {
	answers atomic.Int64
	body    []byte
}

func newAnsweredOnce() (*answeredOnce, error) {
	body, err := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop",
			"message": map[string]string{"role": "assistant", "content": strings.Repeat("A word of the model. ", 100)}}},
		"usage": map[string]int{"prompt_tokens": 20_000, "completion_tokens": 500, "total_tokens": 20_500},
	})
	return &answeredOnce{body: body}, err
}

func (m *answeredOnce) Name() string { return "bench" }

func (m *answeredOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	m.answers.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(m.body)), ContentLength: int64(len(m.body)), Request: r}, nil
}

// MeasureMemory has n boxes simulated by other processes, and adds what the one of
// the orchestrator takes. command is the program that calls Orchestrate with a
// number and a folder, and prints its result as JSON.
func MeasureMemory(ctx context.Context, r *Report, n int, dir string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], fmt.Sprint(n), dir)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("orchestrating %d boxes: %w", n, err)
	}
	var m Memory
	if err := json.Unmarshal(out, &m); err != nil {
		return fmt.Errorf("orchestrating %d boxes: %w", n, err)
	}
	how := fmt.Sprintf("%d attempts in flight at once in a process of its own; the boxes in another one, with the real "+
		"protocol of the relay, a gateway session each, one request of 64 KiB asked and answered, then waiting", n)
	mib := func(bytes int64) []float64 { return []float64{float64(bytes) / (1 << 20)} }
	r.aim(Figure{Part: "memory", Name: fmt.Sprintf("orchestrator, %d boxes: peak resident", n), Unit: "MiB", How: how,
		Aim: "< 1024 MiB"}, memoryAim, mib(m.PeakRSS))
	r.add(Figure{Part: "memory", Name: "  resident with all in flight", Unit: "MiB"}, mib(m.RSS))
	r.add(Figure{Part: "memory", Name: "  heap alive then", Unit: "MiB"}, mib(m.Heap))
	r.add(Figure{Part: "memory", Name: "  stacks then", Unit: "MiB"}, mib(m.Stacks))
	r.add(Figure{Part: "memory", Name: "  goroutines then", Unit: ""}, []float64{float64(m.Goroutines)})
	r.add(Figure{Part: "memory", Name: "  open files then", Unit: ""}, []float64{float64(m.Files)})
	r.aim(Figure{Part: "memory", Name: "  goroutines left, beyond those before", Unit: "", Aim: "0"}, 0,
		[]float64{float64(m.After - m.Before)})
	r.add(Figure{Part: "memory", Name: "  whole run", Unit: "s"}, []float64{m.Seconds})
	return nil
}

const memoryAim = 1023.999 // MiB

// Orchestrate runs n attempts at once in simulated boxes, which the command
// serves on its standard streams, and measures this process meanwhile. It is
// meant for a process of its own. dir takes the run and the boxes' folders.
func Orchestrate(ctx context.Context, n int, dir string, command []string) (*Memory, error) {
	m := &Memory{Boxes: n, Before: runtime.NumGoroutine()}
	return m, m.orchestrate(ctx, n, dir, command)
}

func (m *Memory) orchestrate(ctx context.Context, n int, dir string, command []string) error {
	began := time.Now()
	engine, stop, err := startBoxes(ctx, append(command, filepath.Join(dir, "boxes")))
	if err != nil {
		return err
	}
	model, err := newAnsweredOnce()
	if err != nil {
		return errors.Join(err, stop())
	}
	sweep, err := bigSweep(n, filepath.Join(dir, "run"), engine, model)
	if err != nil {
		return errors.Join(err, stop())
	}
	watching, ended := make(chan error, 1), observeEnds(sweep)
	go func() { watching <- m.watch(ctx, ended, model, engine) }()
	sum, err := sweep.Run(ctx)
	m.Done = sum.Done
	err = errors.Join(err, <-watching, sweep.Store.Close(), stop())
	m.After = settled(m.Before)
	m.PeakRSS = procField("VmHWM")
	m.Seconds = time.Since(began).Seconds()
	return err
}

// startBoxes starts the process of the simulated boxes.
func startBoxes(ctx context.Context, command []string) (*farEngine, func() error, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	engine, err := dialBoxes(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	if err != nil {
		return nil, nil, errors.Join(err, cmd.Process.Kill())
	}
	return engine, func() error {
		_ = engine.Close() // closes the pipe; what comes of it the other process does not tell
		_ = cmd.Wait()
		return nil
	}, nil
}

// bigSweep is a run of n trials of the full grid, all worked on at once.
func bigSweep(n int, dir string, engine sandbox.Engine, model gateway.Upstream) (*runner.Sweep, error) {
	grid, err := tasks.ParseGrid("full")
	if err != nil {
		return nil, err
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		return nil, err
	}
	store, err := results.Create(dir, results.Lock{Run: "bench", Retry: results.Retry{Attempts: 1},
		Scorer: results.Scorer{Verdicts: []string{results.Strict}}})
	if err != nil {
		return nil, err
	}
	return &runner.Sweep{
		Source: src, Store: store, Scorer: equal{}, Engine: engine, Connect: connectPatiently,
		Select: func(t results.Trial) bool { return t.Seq < n },
		Pairings: []runner.Pairing{{Agent: nop{"guest"}, Image: "sha256:" + strings.Repeat("0", 64),
			Ask:   runner.Ask{Wire: "chat"},
			Model: runner.Model{Name: "bench", Agent: "bench", Wire: "bench", Upstream: model}}},
		Gateway: gateway.New(gateway.Options{Limits: gateway.Limits{BodyTime: farPatience, WriteTime: farPatience}}), Stop: runner.NewStopper(),
		Settings: runner.Settings{Jobs: n, Repetitions: n/src.Len() + 1, Timeout: 6 * time.Hour, MaxWait: time.Hour,
			Grace: time.Second, OutputBytes: 1 << 20, Network: sandbox.NetworkNone, BreakAfter: 5},
	}, nil
}

// observeEnds passes on the first attempt that ends, or the first notice.
func observeEnds(s *runner.Sweep) <-chan string {
	ended := make(chan string, 1)
	s.Observer = func(e runner.Event) {
		if e.Kind == runner.AttemptEnded || e.Kind == runner.Notice {
			select {
			case ended <- fmt.Sprintf("%s %s: %s", e.Kind, e.Outcome, e.Reason):
			default:
			}
		}
	}
	return ended
}

// connectPatiently bears with a machine that has ten thousand boxes to simulate.
func connectPatiently(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
	conn, err := relay.Accept(ctx, stdio, relay.Bounds{Hello: farPatience, Stuck: farPatience})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// watch measures when every attempt has asked, and then lets all of them end.
func (m *Memory) watch(ctx context.Context, ended <-chan string, model *answeredOnce, engine *farEngine) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for model.answers.Load() < int64(m.Boxes) {
		select {
		case <-tick.C:
		case why := <-ended:
			return errors.Join(fmt.Errorf("with %d of %d in flight: %s", model.answers.Load(), m.Boxes, why), engine.release())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.RSS, m.Goroutines, m.Files = procField("VmRSS"), runtime.NumGoroutine(), openFiles()
	var st runtime.MemStats
	for range 2 { // pools are emptied by the second
		runtime.GC()
		runtime.ReadMemStats(&st)
	}
	m.Heap, m.Stacks = int64(st.HeapAlloc), int64(st.StackInuse)
	if m.atPeak != nil {
		m.atPeak()
	}
	return engine.release()
}

// settled waits until no more than the wanted goroutines are left, and returns
// how many there are; it does not wait for ever.
func settled(want int) int {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		if runtime.NumGoroutine() <= want {
			break
		}
		<-tick.C
	}
	return runtime.NumGoroutine()
}

// procField is a figure of this process's status, in bytes; 0 where there is none.
func procField(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
