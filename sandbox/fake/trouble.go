package fake

import (
	"context"
	"errors"

	"cabra-run/sandbox"
)

// Op is an operation of the contract.
type Op string

// The operations that can be troubled.
const (
	OpInfo    Op = "info"
	OpCreate  Op = "create"
	OpReap    Op = "reap"
	OpStart   Op = "start"
	OpExec    Op = "exec"
	OpAwait   Op = "await command" // Process.Wait
	OpSetPids Op = "set pids"
	OpUsage   Op = "usage"
	OpLimits  Op = "limits" // Box.Effective
	OpSpace   Op = "space"  // Engine.Capacity
	OpKill    Op = "kill"
	OpWait    Op = "wait"
	OpCollect Op = "collect"
	OpRemove  Op = "remove"
)

// Trouble is what happens at a call. With several for one call the first
// scripted one happens.
type Trouble struct {
	Op  Op
	Nth int // which call of Op on this host, from 1; 0 is every one
	// Kind makes the call fail with a Fault of this kind, before it does
	// anything, or after it with Done.
	Kind sandbox.FaultKind
	Done bool
	// Hang lets the call wait until its context ends, or the engine dies.
	Hang bool
	// Until delays the call until the channel is closed.
	Until <-chan struct{}
	// Do is called first, for anything else: a box that vanishes, a process
	// that runs out of memory. box is nil for calls of the engine.
	Do func(box *Box)
}

// Script adds troubles to come.
func (h *Host) Script(troubles ...Trouble) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.troubles = append(h.troubles, troubles...)
}

// errScripted is what a scripted fault wraps.
var errScripted = errors.New("scripted fault")

// enter counts a call, checks that the engine lives and the context is good,
// and plays the trouble of the call. The returned function ends the call: it
// passes the call's own error on or replaces it.
func (e *Engine) enter(ctx context.Context, op Op, box *Box) (func(error) error, error) {
	t := e.host.next(op)
	if err := e.alive(ctx, op); err != nil {
		return nil, err
	}
	if t.Do != nil {
		t.Do(box)
	}
	if t.Hang {
		select {
		case <-ctx.Done():
		case <-e.dead:
		}
	}
	if t.Until != nil {
		select {
		case <-t.Until:
		case <-ctx.Done():
		case <-e.dead:
		}
	}
	if err := e.alive(ctx, op); err != nil {
		return nil, err
	}
	failure := t.fault(op)
	if failure != nil && !t.Done {
		return nil, failure
	}
	return func(err error) error {
		if err == nil {
			return failure
		}
		return typed(op, err)
	}, nil
}

// typed makes a Fault of an error of this host's files.
func typed(op Op, err error) error {
	var f *sandbox.Fault
	if errors.As(err, &f) {
		return err
	}
	return &sandbox.Fault{Op: string(op), Kind: sandbox.FaultEngine, Err: err}
}

func (t Trouble) fault(op Op) error {
	if t.Kind == "" {
		return nil
	}
	return &sandbox.Fault{Op: string(op), Kind: t.Kind, Err: errScripted}
}

// next counts a call of op and returns its trouble.
func (h *Host) next(op Op) Trouble {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[op]++
	for _, t := range h.troubles {
		if t.Op == op && (t.Nth == 0 || t.Nth == h.calls[op]) {
			return t
		}
	}
	return Trouble{}
}
