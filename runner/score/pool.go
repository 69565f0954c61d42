package score

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"cabra-run/sandbox"
)

// role is what a box may see. Boxes never change their role.
type role string

const (
	roleReference role = "reference" // runs references
	roleCandidate role = "candidate" // runs candidates; never sees a reference
	roleParser    role = "parser"    // reads source texts and runs none
)

// A worker is retired after so many jobs or so long, so that whatever gathers
// in a box does not gather for ever.
const (
	maxJobs = 1000
	maxAge  = time.Hour
)

var errClosed = errors.New("the scorer is closed")

// pool lends workers of one role. It grows as far as it is asked to, up to its
// size, and discards what was lost or is old.
type pool struct {
	start func(context.Context) (*worker, error)
	slots chan struct{} // one for each worker that is lent

	mu     sync.Mutex
	idle   []*worker
	closed bool
}

func newPool(size int, start func(context.Context) (*worker, error)) *pool {
	return &pool{start: start, slots: make(chan struct{}, size)}
}

// borrow returns an idle worker or a new one; with fresh always one that has
// seen no job.
func (p *pool) borrow(ctx context.Context, fresh bool) (*worker, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w, stale, err := p.take(fresh)
	if stale != nil {
		err = errors.Join(err, stale.discard())
	}
	if err == nil && w == nil {
		w, err = p.start(ctx)
	}
	if err != nil {
		<-p.slots
		return nil, err
	}
	return w, nil
}

// take pops an idle worker for use or, when it may not be used, for discarding.
func (p *pool) take(fresh bool) (use, discard *worker, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	if len(p.idle) == 0 {
		return nil, nil, nil
	}
	w := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	if fresh || w.jobs >= maxJobs || time.Since(w.born) > maxAge {
		return nil, w, nil
	}
	return w, nil, nil
}

// giveBack ends a loan. What cannot be used again is discarded.
func (p *pool) giveBack(w *worker, usable bool) error {
	defer func() { <-p.slots }()
	p.mu.Lock()
	if usable && !p.closed {
		p.idle = append(p.idle, w)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return w.discard()
}

func (p *pool) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, w := range idle {
		errs = append(errs, w.discard())
	}
	return errors.Join(errs...)
}

// run has a job done by the pool. A lost worker costs one retry in a fresh
// one; errLost is returned when that is lost too. A failing engine is tried
// again once, in a new box, before its error is returned.
func (p *pool) run(ctx context.Context, job any, limits wireLimits) (jobReply, error) {
	body, err := json.Marshal(job)
	if err != nil {
		return jobReply{}, err
	}
	for attempt := 0; ; attempt++ {
		reply, err := p.once(ctx, body, limits, attempt > 0)
		if err == nil || attempt > 0 || ctx.Err() != nil || errors.Is(err, errClosed) {
			return reply, err
		}
	}
}

// once has a job done by one worker, with fresh by one that has seen no other.
func (p *pool) once(ctx context.Context, body []byte, limits wireLimits, fresh bool) (jobReply, error) {
	w, err := p.borrow(ctx, fresh)
	if err != nil {
		return jobReply{}, err
	}
	job := jobHeader{Job: nonce(), Body: len(body), Limits: limits}
	reply, err := w.do(ctx, job, body)
	usable := err == nil && !reply.Tainted
	if backErr := p.giveBack(w, usable); backErr != nil && err == nil {
		return jobReply{}, backErr
	}
	return reply, err
}

// nonce names a job so that no box can answer another one than it was given.
func nonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// boxSpec describes the boxes of a role.
func boxSpec(o Options, r role) sandbox.Spec {
	labels := o.Labels
	labels.Trial = "scorer-" + string(r)
	labels.Deadline = time.Now().Add(maxAge + 3*time.Hour)
	return sandbox.Spec{
		Image:     o.Image,
		Command:   []string{"python3", "-I", "-B", "-u", "-c", executorText},
		Env:       []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "OPENBLAS_NUM_THREADS=1"},
		NoScratch: true,
		Limits: sandbox.Limits{
			// Beside the child: the executor, and one answer in its buffer.
			MemoryBytes: o.Limits.MemoryBytes + 256<<20,
			Pids:        64, CPUs: 1, OpenFiles: 256,
		},
		Labels: labels,
	}
}

func (r role) start(o Options) func(context.Context) (*worker, error) {
	return func(ctx context.Context) (*worker, error) {
		standins := standinsText
		if r == roleParser {
			standins = ""
		}
		w, err := startWorker(ctx, o.Engine, boxSpec(o, r), standins)
		if err != nil {
			return nil, fmt.Errorf("%s worker: %w", r, err)
		}
		return w, nil
	}
}
