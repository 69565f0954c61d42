package fake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"cabra-run/sandbox"
)

// Engine is one orchestrator's connection to a Host, and the owner of the
// boxes made through it.
type Engine struct {
	host *Host
	dead chan struct{} // closed by Die and Close
	once sync.Once
}

// Connect returns a new engine, a new owner, on the host.
func (h *Host) Connect() *Engine { return &Engine{host: h, dead: make(chan struct{})} }

// Host is the daemon behind the engine.
func (e *Engine) Host() *Host { return e.host }

// Die plays the sudden death of the orchestrator: every call fails from now
// on, and PID 1 of its boxes reads an end of file. The boxes stay.
func (e *Engine) Die() {
	e.once.Do(func() { close(e.dead) })
	for _, b := range e.host.Boxes() {
		if b.engine == e {
			b.hangUp()
		}
	}
}

func (e *Engine) isDead() bool {
	select {
	case <-e.dead:
		return true
	default:
		return false
	}
}

// alive is the error of a call on a dead engine or with an ended context.
func (e *Engine) alive(ctx context.Context, op Op) error {
	if e.isDead() {
		return &sandbox.Fault{Op: string(op), Kind: sandbox.FaultUnreachable,
			Err: errors.New("the connection is closed")}
	}
	return ended(ctx, op)
}

// ended wraps the error of an ended context: a deadline of the caller counts
// like a cancellation.
func ended(ctx context.Context, op Op) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// Info describes the fake.
func (e *Engine) Info(ctx context.Context) (sandbox.Info, error) {
	exit, err := e.enter(ctx, OpInfo, nil)
	if err != nil {
		return sandbox.Info{}, err
	}
	return sandbox.Info{
		Name: "fake", Version: "1", Endpoint: "memory", OS: "none", Arch: runtime.GOARCH,
		CPUs: runtime.NumCPU(), MemoryBytes: 8 << 30, RootDir: e.host.opts.Dir, Transport: "bind",
	}, exit(nil)
}

// Capacity reports the free slots, and of memory and disk what
// Host.SetCapacity has set.
func (e *Engine) Capacity(ctx context.Context) (sandbox.Capacity, error) {
	exit, err := e.enter(ctx, OpSpace, nil)
	if err != nil {
		return sandbox.Capacity{}, err
	}
	return e.host.room(), exit(nil)
}

// Create makes a box.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	exit, err := e.enter(ctx, OpCreate, nil)
	if err != nil {
		return nil, err
	}
	if err := spec.Check(); err != nil {
		return nil, &sandbox.Fault{Op: string(OpCreate), Kind: sandbox.FaultBadSpec, Err: err}
	}
	if !e.host.knows(spec.Image) {
		return nil, &sandbox.Fault{Op: string(OpCreate), Kind: sandbox.FaultNoImage,
			Err: fmt.Errorf("no such image %s", spec.Image)}
	}
	b := newBox(e, spec)
	if err := e.host.add(b); err != nil {
		return nil, err
	}
	if err := exit(b.fill()); err != nil {
		return nil, errors.Join(err, e.host.drop(b))
	}
	return b, nil
}

// fill makes the folders of a new box.
func (b *Box) fill() error {
	for _, dir := range []string{b.Workspace(), b.Home(), b.Tmp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for name, text := range b.spec.Workspace {
		path := filepath.Join(b.Workspace(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Reap removes the boxes of engines that died or were closed.
func (e *Engine) Reap(ctx context.Context) (sandbox.Reaped, error) {
	exit, err := e.enter(ctx, OpReap, nil)
	if err != nil {
		return sandbox.Reaped{}, err
	}
	var r sandbox.Reaped
	for _, b := range e.host.Boxes() {
		if !b.engine.isDead() {
			continue
		}
		if err := b.remove(ctx); err != nil {
			return r, err
		}
		r.Boxes++
		if b.spec.Workspace != nil {
			r.Workspaces++
		}
	}
	return r, exit(nil)
}

// Remains lists the boxes of this engine that exist.
func (e *Engine) Remains(context.Context) ([]string, error) {
	var left []string
	for _, b := range e.host.Boxes() {
		if b.engine == e {
			left = append(left, "box "+b.id)
		}
	}
	return left, nil
}

// Close ends the connection.
func (e *Engine) Close() error {
	e.once.Do(func() { close(e.dead) })
	return nil
}
