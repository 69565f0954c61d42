package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cabra-run/results"
)

const (
	startAim = 1000.0 // milliseconds
	// startGrid is one task, and no model is asked: what is measured is the way
	// from the command to the first attempt.
	startGrid = "traversal/add-parameter/math/n005/01"
)

// Program is the program under measurement: its path and the flags that name
// the engine and the state folder.
type Program struct {
	Path  string
	Flags []string
}

// run runs a command of the program and returns how long it took.
func (p Program) run(ctx context.Context, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, p.Path, append(args, p.Flags...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%v: %w: %s", args, err, bytes.TrimSpace(said.Bytes()))
	}
	return time.Since(began), nil
}

// MeasureStart adds the time from the start of the program to the first
// attempt. dir takes the runs.
func MeasureStart(ctx context.Context, r *Report, p Program, dir string, n int) error {
	var first, before, after, whole []float64
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("start-%d", i))
		began := time.Now()
		took, err := p.run(ctx, "--agent", "reference", "--grid", startGrid, "--jobs", "1", "--run", name)
		if err != nil {
			return err
		}
		lock, attempt, err := firstAttempt(ctx, name)
		if err != nil {
			return err
		}
		first = append(first, milliseconds(attempt.Sub(began)))
		before = append(before, milliseconds(lock.Sub(began)))
		after = append(after, milliseconds(attempt.Sub(lock)))
		whole = append(whole, milliseconds(took))
	}
	how := "the program itself, started with --agent reference --grid " + startGrid + " --jobs 1, images there; " +
		"until the first attempt's row"
	r.aim(Figure{Part: "start", Name: "first attempt after the command", Unit: "ms", How: how}, startAim, first)
	r.add(Figure{Part: "start", Name: "  until the run's lock: tasks, engine, reaper, images", Unit: "ms"}, before)
	r.add(Figure{Part: "start", Name: "  after it: store, plan", Unit: "ms"}, after)
	r.add(Figure{Part: "start", Name: "whole command of one trial, scored", Unit: "ms"}, whole)
	return nil
}

// firstAttempt returns when a run's lock was made and its first attempt began.
func firstAttempt(ctx context.Context, dir string) (lock, attempt time.Time, err error) {
	store, err := results.Open(dir, results.ReadOnly)
	if err != nil {
		return lock, attempt, err
	}
	defer store.Close()
	info, err := os.Stat(filepath.Join(dir, "run.json"))
	if err != nil {
		return lock, attempt, err
	}
	for t, err := range store.Results(ctx) {
		if err != nil {
			return lock, attempt, err
		}
		if len(t.Attempts) > 0 {
			return info.ModTime(), t.Attempts[0].Started, nil
		}
	}
	return lock, attempt, errors.New("the run has no attempt")
}
