package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"cabra-run/sandbox"
)

// Box is one container with its workspace.
type Box struct {
	e         *Engine
	image     imageFacts
	env       []string
	workspace workspace // nil without one
	creation  string    // names it by its label
	id        string
	uid       int
	created   time.Time
	files     []string // what the workspace was filled with
	limits    sandbox.Limits
	home      bool
	noScratch bool
	notes     []string // the engine's warnings at the creation

	mu       sync.Mutex
	started  bool
	removed  bool
	killed   bool // by us
	stdio    *stdio
	cgroup   *cgroup               // nil until found
	oomKills int64                 // as last read
	commands map[*process]struct{} // those whose output may still come
	ended    chan struct{}         // closed when the watch has ended
	stop     context.CancelFunc
	exit     sandbox.Exit
	watch    error // why the watch ended without an exit
}

func newBox(e *Engine, p *plan) *Box {
	return &Box{
		e: e, creation: p.creation, image: p.image, env: p.spec.Env, created: time.Now(),
		files:  slices.Sorted(maps.Keys(p.spec.Workspace)),
		limits: p.limits, home: p.spec.Home, noScratch: p.spec.NoScratch,
		commands: map[*process]struct{}{},
	}
}

// ID is the container's ID.
func (b *Box) ID() string { return b.id }

// GuestUID is the uid of Exec'd commands.
func (b *Box) GuestUID() int { return b.uid }

var errRemoved = errors.New("the box was removed")

// check is the error of a method that comes after Remove.
func (b *Box) check(op string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removed {
		return &sandbox.Fault{Op: op, Kind: sandbox.FaultGone, Err: errRemoved}
	}
	return nil
}

// Start attaches to the container's streams, asks to be told of its end, and
// only then starts it.
func (b *Box) Start(ctx context.Context) error {
	const op = "starting box"
	if err := b.check(op); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		return &sandbox.Fault{Op: op, Kind: sandbox.FaultBadSpec, Err: errors.New("started already")}
	}
	err := b.e.call(ctx, op, func(ctx context.Context) error {
		conn, err := b.e.api.ContainerAttach(ctx, b.id, container.AttachOptions{
			Stream: true, Stdin: true, Stdout: true, Stderr: true,
		})
		if err != nil {
			return err
		}
		if err := lift(conn); err != nil {
			return err
		}
		b.stdio = newStdio(conn)
		return nil
	})
	if err != nil {
		return err
	}
	b.startWatch()
	// Not cancelled with the caller: an unknown state helps nobody.
	err = b.e.finish(ctx, op, func(ctx context.Context) error {
		return b.e.api.ContainerStart(ctx, b.id, container.StartOptions{})
	})
	if err != nil {
		b.stop()
		b.stdio.shut()
		return err
	}
	b.started = true
	return nil
}

// startWatch waits for the container's end in the background, from before its
// start and until Remove.
func (b *Box) startWatch() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop, b.ended = stop, make(chan struct{})
	// The call returns when the engine has taken the order, which has to be in
	// time; the answer may then take for ever.
	late := time.AfterFunc(b.e.opts.CallTimeout, stop)
	result, failed := b.e.api.ContainerWait(ctx, b.id, container.WaitConditionNextExit)
	late.Stop()
	go func() {
		defer close(b.ended)
		defer stop()
		code, err := waited(ctx, result, failed)
		if err != nil {
			b.watch = err
			return
		}
		if b.exit, b.watch = b.lastState(ctx, code); b.watch == nil {
			b.watch = b.killedOutside(b.exit, killCode)
		}
	}()
}

// waited takes the answer of the engine's wait call.
func waited(ctx context.Context, result <-chan container.WaitResponse, failed <-chan error) (int, error) {
	select {
	case r := <-result:
		if r.Error != nil {
			return 0, errors.New(r.Error.Message)
		}
		return int(r.StatusCode), nil
	case err := <-failed:
		return 0, err
	case <-ctx.Done():
		// The client hands its answer to somebody, or waits for ever, where it
		// came at this very moment.
		go func() {
			select {
			case <-result:
			case <-failed:
			}
		}()
		return 0, ctx.Err()
	}
}

// lastState completes an exit code with what the engine knows besides. A
// container that is not there any more was removed by somebody else.
func (b *Box) lastState(ctx context.Context, code int) (sandbox.Exit, error) {
	exit := sandbox.Exit{Code: code}
	err := b.e.call(ctx, "looking at box", func(ctx context.Context) error {
		c, err := b.e.api.ContainerInspect(ctx, b.id)
		if err == nil && c.State != nil {
			exit.OOMKilled = c.State.OOMKilled
		}
		return err
	})
	return exit, err
}

// Stdio is PID 1's streams.
func (b *Box) Stdio() io.ReadWriteCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stdio == nil {
		return noStdio{}
	}
	return b.stdio
}

// noStdio stands for the streams of a box that was not started.
type noStdio struct{}

func (noStdio) Read([]byte) (int, error)  { return 0, net.ErrClosed }
func (noStdio) Write([]byte) (int, error) { return 0, net.ErrClosed }
func (noStdio) Close() error              { return nil }

// Stderr returns the last of what PID 1 wrote to standard error.
func (b *Box) Stderr() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stdio == nil {
		return nil
	}
	return b.stdio.stderr.Bytes()
}

// SetPids changes the process limit.
func (b *Box) SetPids(ctx context.Context, pids int64) error {
	const op = "changing process limit"
	if err := b.check(op); err != nil {
		return err
	}
	return b.e.call(ctx, op, func(ctx context.Context) error {
		_, err := b.e.api.ContainerUpdate(ctx, b.id, container.UpdateConfig{
			Resources: container.Resources{PidsLimit: &pids},
		})
		return err
	})
}

// Kill ends every process of the box and returns when they are gone.
func (b *Box) Kill(ctx context.Context) error {
	const op = "killing box"
	if err := b.check(op); err != nil {
		return err
	}
	b.unblock()
	b.mu.Lock()
	b.killed = true
	b.mu.Unlock()
	err := b.e.insist(ctx, op, func(ctx context.Context) error {
		return b.e.api.ContainerKill(ctx, b.id, "KILL")
	})
	if err != nil && !sandbox.IsFault(err, sandbox.FaultNotRunning) {
		return err
	}
	return b.e.insist(ctx, op, func(ctx context.Context) error {
		// At once when it does not run; a container is not running before its
		// first start either.
		_, err := b.waitStopped(ctx)
		return err
	})
}

// unblock keeps all output flowing from now on, read or not. The engine ends a
// container only after it has got rid of the output; one that nobody reads
// would keep even its kill call waiting.
func (b *Box) unblock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stdio != nil {
		b.stdio.out.Drop()
	}
	for p := range b.commands {
		p.stdout.Drop()
		p.stderr.Drop()
	}
}

// hangUp closes the connections of commands that nobody waits for: an engine
// that hangs would never do it.
func (b *Box) hangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.commands {
		p.conn.Close()
	}
}

func (b *Box) waitStopped(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Only the taking of the order has to be in time, see startWatch.
	late := time.AfterFunc(b.e.opts.CallTimeout, func() { cancel(context.DeadlineExceeded) })
	result, failed := b.e.api.ContainerWait(ctx, b.id, container.WaitConditionNotRunning)
	late.Stop()
	code, err := waited(ctx, result, failed)
	if err != nil && context.Cause(ctx) == context.DeadlineExceeded {
		err = context.DeadlineExceeded
	}
	return code, err
}

// Wait returns when PID 1 has ended. When the connection on which the engine
// was to tell it breaks, the engine is asked again.
func (b *Box) Wait(ctx context.Context) (sandbox.Exit, error) {
	const op = "waiting for box"
	if err := b.check(op); err != nil {
		return sandbox.Exit{}, err
	}
	b.mu.Lock()
	started, ended := b.started, b.ended
	b.mu.Unlock()
	if !started {
		return sandbox.Exit{}, &sandbox.Fault{Op: op, Kind: sandbox.FaultNotRunning,
			Err: errors.New("the box was not started")}
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return sandbox.Exit{}, fault(ctx, op, ctx.Err())
	}
	if b.watch == nil || sandbox.IsFault(b.watch, sandbox.FaultKilled) {
		return b.exit, b.watch
	}
	if err := b.check(op); err != nil {
		return sandbox.Exit{}, err
	}
	code, err := b.waitStopped(ctx)
	if err != nil {
		return sandbox.Exit{}, fault(ctx, op, err)
	}
	exit, err := b.lastState(ctx, code)
	if err != nil {
		return exit, err
	}
	// An engine that was away has ended its boxes as it went or as it came.
	return exit, b.killedOutside(exit, killCode, termCode, lostCode)
}

// The exit codes of a PID 1 that died of a signal, and of one whose end the
// engine has not seen.
const (
	killCode = 137
	termCode = 143
	lostCode = 255
)

// killedOutside is the Fault of a box that was killed by nobody who may. What
// runs in a box cannot kill its PID 1, and what a limit kills is known.
func (b *Box) killedOutside(exit sandbox.Exit, codes ...int) error {
	b.mu.Lock()
	ours := b.killed || b.removed
	group := b.oomKills
	b.mu.Unlock()
	if ours || exit.OOMKilled || group > 0 || !slices.Contains(codes, exit.Code) {
		return nil
	}
	return &sandbox.Fault{Op: "waiting for box", Kind: sandbox.FaultKilled,
		Err: fmt.Errorf("the box was killed from outside (exit code %d)", exit.Code)}
}

// Collect reads the workspace.
func (b *Box) Collect(
	ctx context.Context, dst *os.Root, l sandbox.CollectLimits,
) (sandbox.Collection, error) {
	const op = "collecting workspace"
	if err := b.check(op); err != nil {
		return sandbox.Collection{}, err
	}
	if b.workspace == nil {
		return sandbox.Collection{}, &sandbox.Fault{Op: op, Kind: sandbox.FaultBadSpec,
			Err: errors.New("the box has no workspace")}
	}
	if l.First == nil {
		l.First = b.files
	}
	c, err := b.workspace.collect(ctx, b.id, dst, l)
	return c, fault(ctx, op, err)
}

// Remove removes container, workspace and connections, each whatever becomes
// of the others.
func (b *Box) Remove(ctx context.Context) error {
	b.mu.Lock()
	b.removed = true
	stdio, stop, ended := b.stdio, b.stop, b.ended
	b.mu.Unlock()
	b.unblock()
	b.hangUp()
	if stdio != nil {
		stdio.shut()
	}
	var errs []error
	if b.id != "" {
		errs = append(errs, b.e.removeContainer(ctx, b.id))
	}
	if stop != nil {
		stop()
		<-ended
	}
	if b.workspace != nil {
		errs = append(errs, fault(context.WithoutCancel(ctx), "removing workspace", b.workspace.remove(ctx)))
	}
	err := errors.Join(errs...)
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	if err == nil {
		delete(b.e.boxes, b)
		delete(b.e.lost, b.creation)
	} else {
		b.e.lost[b.creation] = struct{}{}
	}
	return err
}

// removeContainer removes a container by force and returns when it is gone.
func (e *Engine) removeContainer(ctx context.Context, id string) error {
	const op = "removing box"
	var err error
	for range insistTries {
		err = e.insist(ctx, op, func(ctx context.Context) error {
			return e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		})
		if !sandbox.IsFault(err, sandbox.FaultNotRunning) { // as of one that is just ending
			break
		}
	}
	switch {
	case sandbox.IsFault(err, sandbox.FaultGone):
		return nil
	case removalRuns(err):
		return e.awaitRemoval(ctx, op, id) // somebody else is at it
	}
	return err
}

func (e *Engine) awaitRemoval(ctx context.Context, op, id string) error {
	err := e.finish(ctx, op, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		result, failed := e.api.ContainerWait(ctx, id, container.WaitConditionRemoved)
		_, err := waited(ctx, result, failed)
		return err
	})
	if sandbox.IsFault(err, sandbox.FaultGone) {
		return nil
	}
	return err
}
