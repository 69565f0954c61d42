package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Backoff says how long a provider is left alone after a failure. All sessions
// of a gateway that use the provider wait together.
type Backoff struct {
	Base time.Duration // 1 s; doubled with every failure in a row
	Max  time.Duration // 60 s
	// RetryAfterMax (2 min) is the longest wait that a provider may ask for.
	RetryAfterMax time.Duration
	// Jitter returns numbers in [0,1) that spread the waiting; nil is random.
	Jitter func() float64
}

// provider is the state that sessions share per upstream name.
type provider struct {
	policy Backoff

	mu       sync.Mutex
	failures int       // in a row
	raised   time.Time // when failures last grew
	until    time.Time // nothing is sent before
}

// wait returns when the provider may be asked, at the latest at the deadline.
// The error is the context's.
func (p *provider) wait(ctx context.Context, deadline time.Time) error {
	for {
		d := p.pause(deadline)
		if d <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// pause is how long to wait now. Up to a quarter is added so that not all
// waiters go off at once.
func (p *provider) pause(deadline time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	d := p.until.Sub(now)
	if d <= 0 {
		return 0
	}
	d += time.Duration(float64(d) / 4 * p.policy.Jitter())
	return min(d, deadline.Sub(now))
}

// failed notes the failure of a request that was sent at that time. Failures
// of requests that were on their way together count as one.
func (p *provider) failed(sent time.Time, retryAfter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if sent.After(p.raised) || p.failures == 0 {
		p.failures++
		p.raised = now
	}
	d := p.policy.Max
	if shift := p.failures - 1; shift < 20 {
		d = min(d, p.policy.Base<<shift)
	}
	d = max(d, min(retryAfter, p.policy.RetryAfterMax))
	if until := now.Add(d); until.After(p.until) {
		p.until = until
	}
}

// answered notes that a request sent at that time was accepted.
func (p *provider) answered(sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sent.After(p.raised) {
		p.failures = 0
	}
}

// retryAfter reads the header in both of its forms, and the milliseconds that
// some providers send; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e6 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
