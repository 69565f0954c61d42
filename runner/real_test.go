package runner_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

type equalScorer struct{}

func (equalScorer) Score(_ context.Context, t *tasks.Task, code tasks.Files) (results.Verdict, error) {
	return results.Verdict{Scorer: "strict", Version: "test", Solved: code.Equal(t.Reference), Reason: "compared with the reference"}, nil
}

func realSweep(t *testing.T, behaviour, grid string, set runner.Settings) (*runner.Sweep, *results.Store) {
	t.Helper()
	engine := sandboxtest.RealEngine(t)
	img := imagestest.Ensure(t, "copilot")
	g, err := tasks.ParseGrid(grid)
	if err != nil {
		t.Fatal(err)
	}
	src, err := refactor.NewSource(g, refactor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := results.Create(t.TempDir()+"/run", results.Lock{Run: "test", Scorer: results.Scorer{Verdicts: []string{"strict"}}, Retry: set.Retry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	up, err := gateway.NewScripted(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	return &runner.Sweep{
		Source: src, Store: store, Agent: agent.Copilot{}, Scorer: equalScorer{},
		Model:  runner.Model{Name: "scripted:" + behaviour, Agent: "scripted-1", Wire: "scripted-1", Upstream: up},
		Engine: engine, Image: img.ID, Gateway: gateway.New(gateway.Options{}), Settings: set, Stop: runner.NewStopper(),
		Connect: func(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
			return relay.Accept(ctx, stdio, relay.Bounds{})
		},
		Observer: func(e runner.Event) { t.Log(fmt.Sprintf("%+v", e)) },
	}, store
}

func quick() runner.Settings {
	return runner.Settings{Jobs: 2, Repetitions: 1, Timeout: 60 * time.Second, MaxWait: time.Minute, Stall: 0, Grace: 3 * time.Second,
		OutputBytes: 64 << 20, Limits: sandbox.DefaultLimits(), Network: sandbox.NetworkNone, Retry: results.Retry{Attempts: 1}, BreakAfter: 5}
}

func TestRealScratch(t *testing.T) {
	for _, tt := range []struct {
		b    string
		time time.Duration
	}{{"wrong", 60}, {"untouched", 60}, {"remove", 60}, {"idle", 12}, {"endless", 15}, {"flood", 60}, {"error:500", 90}} {
		t.Run(tt.b, func(t *testing.T) {
			t.Parallel()
			set := quick()
			set.Timeout = tt.time * time.Second
			s, store := realSweep(t, tt.b, "traversal/add-parameter/math/n005/01", set)
			start := time.Now()
			sum, err := s.Run(context.Background())
			t.Logf("%+v %v %s", sum, err, time.Since(start))
			for r := range store.Results(context.Background()) {
				t.Logf("WORD %s: %s %s: %+v", tt.b, r.Word, r.Reason(), r.Final().Attempt)
			}
		})
	}
}
