package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"cabra-run/results"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
)

// DebugLife is how long a box for a person lives at most.
const DebugLife = 12 * time.Hour

// DebugOptions say whose box is made again.
type DebugOptions struct {
	Trial results.Trial
	Task  *tasks.Task
	// Number is the attempt's, for the box's labels.
	Number int
	// Code replaces the starter in the workspace; nil leaves it.
	Code tasks.Files
	// Offline refuses every model request; else the pairing's model answers.
	Offline bool
}

// DebugBox is a box like that of an attempt, in which a person looks about. The
// agent is not started, and nothing is recorded.
type DebugBox struct{ a *attempt }

// Debug makes a box as an attempt of the pairing gets it: image, limits,
// network, workspace, and the agent's uid, home and environment. It lives for
// DebugLife at most. The store is only read. Close has to be called.
func (s *Sweep) Debug(ctx context.Context, p *Pairing, o DebugOptions) (_ *DebugBox, err error) {
	if s.Pause == nil {
		s.Pause = sleep
	}
	s.Settings.Timeout = DebugLife
	task := *o.Task
	if o.Code != nil {
		task.Starter = o.Code
	}
	b := &DebugBox{a: &attempt{sweep: s, pair: p, trial: o.Trial, task: &task, record: results.Attempt{Number: o.Number}}}
	defer func() {
		if err != nil {
			b.Close(ctx)
		}
	}()
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	return b, b.open(opening, o.Offline)
}

func (b *DebugBox) open(ctx context.Context, offline bool) (err error) {
	a := b.a
	if a.box, err = a.create(ctx); err != nil {
		return err
	}
	if err := a.box.Start(ctx); err != nil {
		return err
	}
	if a.conn, err = a.sweep.Connect(ctx, a.box.Stdio()); err != nil {
		return fmt.Errorf("connecting to the relay: %w (it said: %.200q)", err, a.box.Stderr())
	}
	if err := b.serve(offline); err != nil {
		return err
	}
	a.job = a.newJob()
	if a.job.Wire == agent.WireLogin && a.job.Login.Token == "" {
		a.job.Login = agent.Login{Proxy: fmt.Sprintf("http://box:none@127.0.0.1:%d", relay.Port), Token: "none"}
	}
	if a.launch, err = a.pair.Agent.Launch(a.job); err != nil {
		return fmt.Errorf("readying the agent's environment: %w", err)
	}
	a.launch.Workspace = nil // what it would do to the task's files is not done yet
	return a.unpack(ctx)
}

// serve opens the gateway without a recording.
func (b *DebugBox) serve(offline bool) (err error) {
	a := b.a
	up := a.pair.Model.Upstream
	if offline {
		up = noModel{}
	}
	a.gate, err = a.sweep.Gateway.Open(gateway.SessionOptions{
		Upstream: up, Model: a.pair.Model.Wire, Wires: a.wires(),
		Script: gateway.Script{
			Place: a.trial.Seq, File: tasks.SolutionFile,
			Starter: a.task.Starter[tasks.SolutionFile], Reference: a.task.Reference[tasks.SolutionFile],
			Edited: a.task.Check.Edited,
		},
	})
	if err != nil {
		return err
	}
	a.served = make(chan struct{})
	go func() {
		defer close(a.served)
		_ = a.gate.Serve(context.Background(), a.conn) // ends with the connection
	}()
	return nil
}

// noModel refuses what it is asked.
type noModel struct{}

func (noModel) Name() string { return "none" }

func (noModel) RoundTrip(r *http.Request) (*http.Response, error) {
	const text = `{"error":{"message":"this box has no model: cabra-run debug --model scripted gives it one"}}`
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(text))), ContentLength: int64(len(text)), Request: r}, nil
}

// Launch is how an attempt would start the agent in this box.
func (b *DebugBox) Launch() agent.Launch { return b.a.launch }

const usualPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Run runs a command as the agent would be run, in the workspace, with the
// agent's environment and cmd.Env beside it, and returns its exit code.
func (b *DebugBox) Run(ctx context.Context, cmd sandbox.Command) (int, error) {
	limits := b.a.sweep.Settings.Limits.OrDefaults()
	cmd.Args = relay.GuestCommand(limits.Pids-guestRoom, cmd.Args)
	cmd.Env = slices.Concat(b.a.launch.Env, cmd.Env)
	if !slices.ContainsFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		cmd.Env = append(cmd.Env, usualPath) // of an agent that needs none
	}
	cmd.Dir = sandbox.WorkspaceDir
	p, err := b.a.box.Exec(ctx, cmd)
	if err != nil {
		return 0, err
	}
	return p.Wait(ctx)
}

// CopyOut ends everything in the box and copies its workspace into dst, an
// empty folder. Nothing can be run after it.
func (b *DebugBox) CopyOut(ctx context.Context, dst *os.Root) (sandbox.Collection, error) {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	if err := b.a.box.Kill(ctx); err != nil {
		return sandbox.Collection{}, err
	}
	return b.a.box.Collect(ctx, dst, sandbox.DefaultCollectLimits())
}

// Close removes the box, in its own time whatever ctx says.
func (b *DebugBox) Close(ctx context.Context) error {
	a := b.a
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	if a.gate != nil {
		errs = append(errs, a.gate.Close(ctx))
	}
	if a.conn != nil {
		_ = a.conn.Close() // it ends by being closed
	}
	if a.box != nil {
		errs = append(errs, a.box.Remove(ctx))
	}
	if a.served != nil {
		<-a.served
	}
	return errors.Join(errs...)
}
