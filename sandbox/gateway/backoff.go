package gateway

import (
	"context"
	"sync"
	"time"
)

// Backoff says how long a model is left alone after a failure. All sessions of
// a gateway that use the model wait together.
type Backoff struct {
	Base time.Duration // 1 s; doubled with every failure in a row
	Max  time.Duration // 60 s
	// OwnMax (15 s) is the longest that a request waits because of its own
	// failures while others are answered.
	OwnMax time.Duration
	// RetryAfterMax (2 min) is the longest wait that a provider may ask for.
	RetryAfterMax time.Duration
	// Jitter returns numbers in [0,1) that spread the waiting; nil is random.
	Jitter func() float64
}

// queue is what sessions share that ask one model of a provider, or any of its
// models where the provider's limits are shared by all of them.
type queue struct {
	policy Backoff
	gate   *gate // limits of our own; nil without any

	mu       sync.Mutex
	asking   int       // requests without an answer or a failure
	failures int       // in a row, with no answer in between
	raised   time.Time // when the last failure counted
	last     *exchange // whose it was
	answers  time.Time // when the last answer came
	until    time.Time // nothing is sent before
	held     time.Time // when until was set
}

// wait returns when the model may be asked, at the latest at the deadline; own
// is a time before which this request waits in any case. The error is the
// context's.
//
// All who wait for the same moment go on then, whatever the first of them meet
// at once: were they stopped by that, some would be stopped again and again.
func (q *queue) wait(ctx context.Context, own, deadline time.Time) error {
	for {
		d := q.pause(own, deadline)
		if d <= 0 {
			return ctx.Err()
		}
		end := time.Now().Add(d)
		if err := sleep(ctx, d); err != nil {
			return err
		}
		if q.heldSince(end) {
			return nil
		}
	}
}

// heldSince reports whether the present pause began at that time or later.
func (q *queue) heldSince(at time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.held.Before(at)
}

// sleep waits unless the context ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause is how long to wait now.
func (q *queue) pause(own, deadline time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	until := q.until
	if own.After(until) {
		until = own
	}
	if !until.After(now) {
		return 0
	}
	return min(until.Sub(now), deadline.Sub(now))
}

// sent notes that a request is on its way; it is followed by answered, failed
// or gone.
func (q *queue) sent() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asking++
}

// gone notes that a request came back with something that says nothing about
// the provider's health.
func (q *queue) gone() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asking--
}

// failed notes the failure of a request that was sent at that time. While
// others are answered, or may yet be, it is that request's own affair, but for
// what the provider asks of all; a provider that answers nobody is left alone
// by all, for longer each time. Failures of requests that were on their way
// together count as one.
func (q *queue) failed(x *exchange, sent time.Time, f *ProviderFailure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asking--
	now := time.Now()
	answering := q.answers.After(q.raised)
	again := x == q.last && q.asking > 0
	q.last = x
	if answering || again {
		if answering {
			q.raised = now
		}
		if f.Kind == FailureRateLimit || f.retryAfter > 0 {
			q.hold(now, max(q.policy.Base, f.retryAfter))
		}
		return
	}
	if sent.After(q.raised) || q.failures == 0 {
		q.failures++
		q.raised = now
	}
	q.hold(now, max(q.policy.doubled(q.failures, q.policy.Max), f.retryAfter))
}

// hold keeps everybody waiting for that long, within the policy. Up to a
// quarter is added, so that several programs do not go off at once.
func (q *queue) hold(now time.Time, d time.Duration) {
	d = q.policy.spread(min(d, max(q.policy.RetryAfterMax, q.policy.Max)))
	if until := now.Add(d); until.After(q.until) {
		q.until, q.held = until, now
	}
}

func (b Backoff) spread(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return d + time.Duration(float64(d)/4*b.Jitter())
}

// doubled is the wait after so many failures.
func (b Backoff) doubled(failures int, limit time.Duration) time.Duration {
	if shift := failures - 1; shift >= 0 && shift < 20 {
		return min(limit, b.Base<<shift)
	}
	return limit
}

// answered notes that a request was accepted, and what the provider said about
// its limits on that occasion.
func (q *queue) answered(h rateHints) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.asking--
	q.failures, q.answers = 0, now
	if d := min(h.reset, maxHint); h.spent && d > 0 {
		q.hold(now, d)
	}
}

// maxHint bounds what is waited because an answer says that nothing is left.
// Providers tell when their limit will be back in full, long after the next
// request has room in it.
const maxHint = 10 * time.Second
