package bench

import (
	"context"
	"io"
	"os"

	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
)

// nop is an agent that runs one program, and leaves no session. Its wire is
// there so that every attempt has its gateway session, asked or not.
type nop struct{ program string }

func (nop) Name() string    { return "nop" }
func (nop) Version() string { return "1" }
func (nop) Recipe() string  { return "base" }

func (n nop) Launch(j agent.Job) (agent.Launch, error) {
	return agent.Launch{Args: []string{n.program, j.BaseURL}, Stdin: j.Prompt, Signal: "TERM",
		Sessions: []string{"session"}}, nil
}

func (nop) Traits() agent.Traits { return agent.Traits{Wires: []string{"chat"}} }

func (nop) ReadTrace(*os.Root, string, agent.Job) (*trace.Trace, error) { return nil, nil }

// equal is a scorer that costs nothing.
type equal struct{}

func (equal) ScoreBy(_ context.Context, t *tasks.Task, code tasks.Files, names ...string) ([]results.Verdict, error) {
	var verdicts []results.Verdict
	for _, name := range names {
		verdicts = append(verdicts, results.Verdict{Scorer: name, Version: "1", Solved: code.Equal(t.Reference), Reason: "compared"})
	}
	return verdicts, nil
}

func connect(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
	conn, err := relay.Accept(ctx, stdio, relay.Bounds{})
	if err != nil {
		return nil, err
	}
	return conn, nil
}
