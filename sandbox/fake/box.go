package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"cabra-run/sandbox"
)

// Box is one sandbox of the fake.
type Box struct {
	engine *Engine
	spec   sandbox.Spec
	serial int
	id     string
	uid    int
	dir    string

	ctx    context.Context // of every program in the box
	cancel context.CancelFunc
	stdin  *sandbox.Pipe // to PID 1
	stdout *sandbox.Pipe
	stderr sandbox.Tail
	ended  chan struct{} // closed when PID 1 has ended

	mu        sync.Mutex
	started   bool
	stopped   bool // no program runs or will
	removed   bool
	gone      bool // removed by somebody else
	oom       bool
	pids      int64
	usage     sandbox.Usage
	effective *sandbox.Effective // nil: as the spec says
	exit      sandbox.Exit
	running   sync.WaitGroup
}

func newBox(e *Engine, spec sandbox.Spec) *Box {
	ctx, cancel := context.WithCancel(context.Background())
	return &Box{
		engine: e, spec: spec, ctx: ctx, cancel: cancel, pids: spec.Limits.OrDefaults().Pids,
		stdin: sandbox.NewPipe(), stdout: sandbox.NewPipe(), ended: make(chan struct{}),
		usage: sandbox.Usage{MemoryBytes: 1 << 20, MemoryPeakBytes: 1 << 20, Pids: 1},
	}
}

// ID names the box.
func (b *Box) ID() string { return b.id }

// GuestUID is the uid that commands see.
func (b *Box) GuestUID() int { return b.uid }

// Spec is what the box was made from.
func (b *Box) Spec() sandbox.Spec { return b.spec }

// Workspace is the folder that stands for sandbox.WorkspaceDir.
func (b *Box) Workspace() string { return filepath.Join(b.dir, "workspace") }

// Home is the folder that stands for sandbox.HomeDir.
func (b *Box) Home() string { return filepath.Join(b.dir, "home") }

// Tmp is the folder that stands for /tmp.
func (b *Box) Tmp() string { return filepath.Join(b.dir, "tmp") }

// Pids is the process limit now.
func (b *Box) Pids() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pids
}

// SetUsage sets what Usage reports, except the workspace's size.
func (b *Box) SetUsage(u sandbox.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usage = u
}

// OutOfMemory kills the box as the kernel would. It may be called by a program
// of the box and does not wait for it.
func (b *Box) OutOfMemory() {
	b.mu.Lock()
	b.oom = true
	b.usage.OOMKills++
	b.mu.Unlock()
	b.halt()
}

// Vanish removes the box behind its owner's back.
func (b *Box) Vanish() {
	b.mu.Lock()
	b.gone = true
	b.mu.Unlock()
	b.halt()
	b.engine.host.drop(b)
}

func (b *Box) fault(op Op, kind sandbox.FaultKind, err error) error {
	return &sandbox.Fault{Op: string(op), Kind: kind, Err: err}
}

// enter begins a call on the box.
func (b *Box) enter(ctx context.Context, op Op) (func(error) error, error) {
	exit, err := b.engine.enter(ctx, op, b)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removed || b.gone {
		return nil, b.fault(op, sandbox.FaultGone, errors.New("the box was removed"))
	}
	return exit, nil
}

// Start runs PID 1.
func (b *Box) Start(ctx context.Context) error {
	exit, err := b.enter(ctx, OpStart)
	if err != nil {
		return err
	}
	program := b.engine.host.program(b.spec.Command)
	b.mu.Lock()
	switch {
	case b.started:
		err = b.fault(OpStart, sandbox.FaultBadSpec, errors.New("started already"))
	case program == nil:
		err = b.fault(OpStart, sandbox.FaultBadSpec, fmt.Errorf("no program %q", b.spec.Command[0]))
	default:
		b.started = true
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	proc := &Proc{
		Box: b, Args: b.spec.Command, Env: b.spec.Env, Dir: "/", UID: sandbox.InitUID,
		Stdin: b.stdin, Stdout: b.stdout, Stderr: &b.stderr,
	}
	if !b.begin(func(ctx context.Context) { b.initEnded(run(ctx, program, proc)) }) {
		b.initEnded(killed)
	}
	return exit(nil)
}

// initEnded notes the end of PID 1, which is the end of the box.
func (b *Box) initEnded(code int) {
	b.mu.Lock()
	b.exit = sandbox.Exit{Code: code, OOMKilled: b.oom}
	b.mu.Unlock()
	b.halt()
	b.stdout.CloseWrite(nil)
	close(b.ended)
}

// begin runs f as a program of the box, unless the box has stopped.
func (b *Box) begin(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped || !b.started {
		return false
	}
	b.running.Add(1)
	go func() {
		defer b.running.Done()
		f(b.ctx)
	}()
	return true
}

func (b *Box) isRunning() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.started && !b.stopped
}

// halt ends every program, and its streams with it.
func (b *Box) halt() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	b.stdin.CloseWrite(nil)
	b.stdin.CloseRead()
	b.stdout.Drop()
}

// hangUp is what the death of the owner does to PID 1's streams.
func (b *Box) hangUp() {
	b.stdin.CloseWrite(nil)
	b.stdout.CloseRead()
}

// Stdio is PID 1's streams.
func (b *Box) Stdio() io.ReadWriteCloser { return stdio{b} }

type stdio struct{ b *Box }

func (s stdio) Read(p []byte) (int, error)  { return s.b.stdout.Read(p) }
func (s stdio) Write(p []byte) (int, error) { return s.b.stdin.Write(p) }
func (s stdio) Close() error                { s.b.stdin.CloseWrite(nil); return nil }

// Stderr is the last of PID 1's standard error.
func (b *Box) Stderr() []byte { return b.stderr.Bytes() }

// SetPids notes the new limit.
func (b *Box) SetPids(ctx context.Context, pids int64) error {
	exit, err := b.enter(ctx, OpSetPids)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.pids = pids
	b.mu.Unlock()
	return exit(nil)
}

// Usage reports what SetUsage has set and the size of the workspace.
func (b *Box) Usage(ctx context.Context) (sandbox.Usage, error) {
	exit, err := b.enter(ctx, OpUsage)
	if err != nil {
		return sandbox.Usage{}, err
	}
	b.mu.Lock()
	u, running := b.usage, b.started && !b.stopped
	b.mu.Unlock()
	if !running {
		return sandbox.Usage{}, b.fault(OpUsage, sandbox.FaultNotRunning, errors.New("the box is not running"))
	}
	root, err := os.OpenRoot(b.Workspace())
	if err != nil {
		return u, exit(err)
	}
	defer root.Close()
	u.WorkspaceBytes, err = sandbox.TreeBytes(root)
	return u, exit(err)
}

// SetEffective sets what Effective reports instead of the limits of the spec.
func (b *Box) SetEffective(e sandbox.Effective) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effective = &e
}

// Effective reports the limits of the spec, or what SetEffective has set.
func (b *Box) Effective(ctx context.Context) (sandbox.Effective, error) {
	exit, err := b.enter(ctx, OpLimits)
	if err != nil {
		return sandbox.Effective{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started || b.stopped {
		return sandbox.Effective{}, b.fault(OpLimits, sandbox.FaultNotRunning, errors.New("the box is not running"))
	}
	if b.effective != nil {
		return *b.effective, exit(nil)
	}
	limits := b.spec.Limits.OrDefaults()
	limits.Pids = b.pids
	return sandbox.Effective{
		Limits: limits, WorkspaceDiskBytes: sandbox.NotTold, Source: sandbox.EffectiveEngine,
	}, exit(nil)
}

// Kill ends every program and waits for them.
func (b *Box) Kill(ctx context.Context) error {
	exit, err := b.enter(ctx, OpKill)
	if err != nil {
		return err
	}
	b.halt()
	b.running.Wait()
	return exit(nil)
}

// Wait returns when PID 1 has ended.
func (b *Box) Wait(ctx context.Context) (sandbox.Exit, error) {
	exit, err := b.enter(ctx, OpWait)
	if err != nil {
		return sandbox.Exit{}, err
	}
	b.mu.Lock()
	started := b.started
	b.mu.Unlock()
	if !started {
		return sandbox.Exit{}, b.fault(OpWait, sandbox.FaultNotRunning, errors.New("the box was not started"))
	}
	select {
	case <-b.ended:
	case <-b.engine.dead:
		return sandbox.Exit{}, b.engine.alive(ctx, OpWait)
	case <-ctx.Done():
		return sandbox.Exit{}, ended(ctx, OpWait)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return sandbox.Exit{}, b.fault(OpWait, sandbox.FaultGone, errors.New("the box was removed"))
	}
	return b.exit, exit(nil)
}

// Collect reads the workspace folder.
func (b *Box) Collect(
	ctx context.Context, dst *os.Root, l sandbox.CollectLimits,
) (sandbox.Collection, error) {
	exit, err := b.enter(ctx, OpCollect)
	if err != nil {
		return sandbox.Collection{}, err
	}
	if b.spec.Workspace == nil {
		err := errors.New("the box has no workspace")
		return sandbox.Collection{}, b.fault(OpCollect, sandbox.FaultBadSpec, err)
	}
	root, err := os.OpenRoot(b.Workspace())
	if err != nil {
		return sandbox.Collection{}, exit(err)
	}
	defer root.Close()
	if l.First == nil {
		l.First = slices.Sorted(maps.Keys(b.spec.Workspace))
	}
	c, err := sandbox.ReadTree(root, dst, l)
	return c, exit(err)
}

// Remove removes the box.
func (b *Box) Remove(ctx context.Context) error {
	exit, err := b.engine.enter(context.WithoutCancel(ctx), OpRemove, b)
	if err != nil {
		return err
	}
	return exit(b.remove(ctx))
}

func (b *Box) remove(context.Context) error {
	b.mu.Lock()
	b.removed = true
	b.mu.Unlock()
	b.halt()
	b.running.Wait()
	b.stdout.CloseRead()
	return b.engine.host.drop(b)
}
