package score

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"cabra-run/sandbox"
)

const (
	startTimeout   = 60 * time.Second // creating a box until its executor answers
	discardTimeout = 30 * time.Second
	exitTimeout    = 10 * time.Second
	jobGrace       = 30 * time.Second // beyond a job's own total limit
)

// errLost says that a worker ended, fell silent or broke the protocol while it
// had a job: the job's doing, as far as anybody can tell.
var errLost = errors.New("the executor was lost")

// worker is one running scorer box with its executor.
type worker struct {
	box   sandbox.Box
	stdio io.ReadWriteCloser
	ready replyHeader
	born  time.Time
	jobs  int

	standins string
}

// startWorker makes a box and waits until its executor is ready. Its errors
// are the engine's or the image's, never a candidate's.
func startWorker(ctx context.Context, engine sandbox.Engine, spec sandbox.Spec, standins string) (*worker, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	box, err := engine.Create(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("creating a scorer box: %w", err)
	}
	w := &worker{box: box, born: time.Now(), standins: standins}
	if err := w.setUp(ctx); err != nil {
		err = fmt.Errorf("starting a scorer box: %w", err)
		if text := box.Stderr(); len(text) > 0 {
			err = fmt.Errorf("%w (it says %q)", err, lastLine(text))
		}
		return nil, errors.Join(err, w.discard())
	}
	return w, nil
}

func (w *worker) setUp(ctx context.Context) error {
	if err := w.box.Start(ctx); err != nil {
		return err
	}
	w.stdio = w.box.Stdio()
	body, err := json.Marshal(setupBody{Program: programText, Standins: w.standins})
	if err != nil {
		return err
	}
	reply, err := w.exchange(ctx, setupHeader{Body: len(body)}, body, 0)
	w.ready = reply.replyHeader
	if err == nil && w.ready.Python == "" {
		err = fmt.Errorf("%w: the executor did not introduce itself", errFrame)
	}
	return err
}

// setupHeader and setupBody are the first frame of a box. Without stand-ins it
// can parse programs, but not run them.
type setupHeader struct {
	Body int `json:"body"`
}

type setupBody struct {
	Program  string `json:"program"`
	Standins string `json:"standins"`
}

// exchange sends one frame and waits for the answer. When ctx ends first, the
// box is removed, for nothing else ends a read.
func (w *worker) exchange(ctx context.Context, header any, body []byte, limit int64) (jobReply, error) {
	var reply jobReply
	done := make(chan error, 1)
	go func() {
		err := writeFrame(w.stdio, header, body)
		if err == nil {
			reply, err = readFrame(w.stdio, limit)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return reply, err
	case <-ctx.Done():
		err := errors.Join(ctx.Err(), w.discard())
		select {
		case <-done:
		case <-time.After(discardTimeout): // an engine that does not even let go
		}
		return jobReply{}, err
	}
}

// do runs one job. errLost means that the worker is of no further use.
func (w *worker) do(ctx context.Context, job jobHeader, body []byte) (jobReply, error) {
	limit := time.Duration(job.Limits.Total*float64(time.Second)) + jobGrace
	jobCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w.jobs++
	reply, err := w.exchange(jobCtx, job, body, job.Limits.Answer)
	switch {
	case err == nil && reply.Job == job.Job && reply.End != "" && reply.At > 0:
		return reply, nil
	case ctx.Err() != nil:
		return jobReply{}, ctx.Err()
	case err == nil:
		return jobReply{}, fmt.Errorf("%w: it answered another job, or none", errLost)
	case jobCtx.Err() != nil:
		return jobReply{}, fmt.Errorf("%w: silent for %v", errLost, limit)
	}
	return jobReply{}, w.cause(ctx, err)
}

// cause tells an engine that failed from an executor that ended.
func (w *worker) cause(ctx context.Context, err error) error {
	if errors.Is(err, errFrame) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	exit, waitErr := w.box.Wait(ctx)
	if waitErr != nil && ctx.Err() == nil {
		return fmt.Errorf("waiting for a scorer box: %w", waitErr)
	}
	switch {
	case waitErr != nil:
		return fmt.Errorf("%w: its stream ended while it ran", errLost)
	case exit.OOMKilled:
		return fmt.Errorf("%w: out of memory", errLost)
	}
	return fmt.Errorf("%w: exit code %d", errLost, exit.Code)
}

// discard removes the box, whatever state it is in, and ends every read.
func (w *worker) discard() error {
	ctx, cancel := context.WithTimeout(context.Background(), discardTimeout)
	defer cancel()
	if err := w.box.Remove(ctx); err != nil {
		return fmt.Errorf("removing a scorer box: %w", err)
	}
	return nil
}

// lastLine returns the end of a Python traceback, where the reason stands.
func lastLine(text []byte) string {
	end := len(text)
	for end > 0 && text[end-1] == '\n' {
		end--
	}
	start := end
	for start > 0 && text[start-1] != '\n' {
		start--
	}
	return shorten(string(text[start:end]), 200)
}
