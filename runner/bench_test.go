package runner_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// nop is an agent that does nothing.
type nop struct{}

func (nop) Name() string    { return "nop" }
func (nop) Version() string { return "1" }
func (nop) Recipe() string  { return "base" }

func (nop) Launch(agent.Job) (agent.Launch, error) {
	return agent.Launch{Args: []string{"/bin/true"}, Signal: "TERM", Sessions: []string{"session"}}, nil
}

func (nop) Traits() agent.Traits { return agent.Traits{Wires: []string{"chat"}} }

func (nop) ReadTrace(*os.Root, string, agent.Job) (*trace.Trace, error) { return nil, nil }

// BenchmarkRealTrial is a whole trial of an agent that does nothing on the real
// engine: rows, box, relay, gateway, exec, end, collecting, artefacts. Compare
// with the benchmarks of sandbox/docker, which make the engine calls alone.
func BenchmarkRealTrial(b *testing.B) {
	engine := sandboxtest.RealEngine(b)
	img := imagestest.Ensure(b, "base")
	grid, err := tasks.ParseGrid("traversal/add-parameter/math/n005/01")
	if err != nil {
		b.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		b.Fatal(err)
	}
	up, err := gateway.NewScripted("idle")
	if err != nil {
		b.Fatal(err)
	}
	set := runner.Settings{Jobs: 1, Repetitions: b.N, Timeout: time.Minute, Grace: time.Second, OutputBytes: 1 << 20,
		Limits: sandbox.DefaultLimits(), Network: sandbox.NetworkNone, BreakAfter: 1}
	store, err := results.Create(filepath.Join(b.TempDir(), "run"), results.Lock{Run: "bench", Retry: results.Retry{Attempts: 1},
		Scorer: results.Scorer{Verdicts: []string{"strict"}}})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	s := runner.Sweep{Source: src, Store: store, Scorer: equal{}, Engine: engine,
		Pairings: []runner.Pairing{{Agent: nop{}, Image: img.ID,
			Model: runner.Model{Name: "none", Agent: "none", Wire: "none", Upstream: up}}},
		Gateway: gateway.New(gateway.Options{}), Settings: set, Stop: runner.NewStopper(),
		Connect: func(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
			return relay.Accept(ctx, stdio, relay.Bounds{})
		}}
	b.ResetTimer()
	sum, err := s.Run(context.Background())
	if err != nil || sum.Done != b.N {
		b.Fatal(sum, err)
	}
}
