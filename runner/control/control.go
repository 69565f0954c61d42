// Package control lets another terminal see and steer a sweep while it runs.
// The process that works on a run listens on a unix socket; one line of JSON
// asks, one line answers. It owns the protocol, the socket's place and the
// question who may ask; it must not know what a sweep is made of.
package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// Op is what is asked.
type Op string

// What can be asked. Each is answered with the state after it.
const (
	OpStatus Op = "status"
	OpDrain  Op = "drain" // start nothing new, let what runs finish
	OpHalt   Op = "halt"  // end what runs in order, keeping what it did
	OpJobs   Op = "jobs"  // change how many attempts run at the same time
)

// Request is one question.
type Request struct {
	Op   Op  `json:"op"`
	Jobs int `json:"jobs,omitempty"` // with OpJobs
}

// State is what a live sweep is doing.
type State struct {
	Run     string `json:"run"`
	PID     int    `json:"pid"`
	Jobs    int    `json:"jobs"`  // attempts at the same time, at most
	Taken   int    `json:"taken"` // trials that are being worked on
	Level   string `json:"level"` // "running", "draining", "halting" or "aborting"
	Why     string `json:"why,omitempty"`
	Waiting string `json:"waiting,omitempty"` // why nothing new is started just now
	Planned int    `json:"planned"`
	Done    int    `json:"done"`
	// CostUSD is what the run has spent, nil when nothing of it is known; at
	// least that much where CostUnknown requests have no cost.
	CostUSD     *float64  `json:"cost_usd"`
	CostUnknown int       `json:"cost_unknown"`
	Attempts    []Attempt `json:"attempts"` // in flight, the oldest first
}

// Attempt is one that is in flight.
type Attempt struct {
	Task       string  `json:"task"`
	Repetition int     `json:"repetition"`
	Number     int     `json:"attempt"`
	Who        string  `json:"who,omitempty"` // agent and model, where the run has several
	Seconds    float64 `json:"seconds"`       // since its start
}

// answer is what goes back: a state, or why there is none.
type answer struct {
	Error string `json:"error,omitempty"`
	State *State `json:"state,omitempty"`
}

// Bounds of one conversation.
const (
	maxRequest = 4 << 10
	maxAnswer  = 1 << 20
	maxTime    = 10 * time.Second
	maxClients = 8
)

// folder holds the sockets, in the state folder.
const folder = "control"

// NotRunningError says that no process answers for a run.
type NotRunningError struct{ Run string }

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("run %q is not being worked on here", e.Run)
}

// RefusedError is a sweep's own word on why it does not do what was asked.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the sweep refuses: " + e.Reason }

// socketName is the name of a run's socket: of its folder's real path, so that
// every way to the folder leads to the same one, and short.
func socketName(runDir string) (string, error) {
	dir, err := filepath.Abs(runDir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:])[:16] + ".sock", nil
}

// Ask asks the process that works on the run. It fails with *NotRunningError
// where there is none, and with *RefusedError when that one says no.
func Ask(ctx context.Context, stateDir, runDir string, r Request) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	name, err := socketName(runDir)
	if err != nil {
		return State{}, fmt.Errorf("finding the run's folder: %w", err)
	}
	conn, err := dial(ctx, filepath.Join(stateDir, folder), name)
	switch {
	case errors.Is(err, fs.ErrNotExist), isRefused(err):
		return State{}, &NotRunningError{Run: filepath.Base(runDir)}
	case err != nil:
		return State{}, fmt.Errorf("asking the sweep: %w", err)
	}
	defer conn.Close()
	s, err := converse(ctx, conn, r)
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		return s, fmt.Errorf("asking the sweep: %w", err)
	}
	return s, err
}
