package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// RateLimits are what a provider may be asked, as its user has set it. A zero
// field bounds nothing.
type RateLimits struct {
	RequestsPerMinute int64
	// TokensPerMinute counts what answers have used, and an estimate for
	// requests without an answer yet.
	TokensPerMinute int64
	Concurrent      int // requests without the end of their answer
	// Shared says that the provider's limits, these and its own, are shared by
	// all of its models; otherwise each model has its own.
	Shared bool
}

func (l RateLimits) none() bool {
	return l.RequestsPerMinute <= 0 && l.TokensPerMinute <= 0 && l.Concurrent <= 0
}

// errGate is why a request was not sent: it waited too long for its turn.
var errGate = errors.New("waited too long for its turn under the configured limits of the provider")

// gate lets requests through within limits, the oldest first.
type gate struct {
	limits RateLimits

	mu      sync.Mutex
	waiting []*ticket // by age of their requests
	open    int       // let through and not ended
	recent  []*pass   // let through within the last minute, in order
}

// ticket is a place in the line.
type ticket struct {
	since time.Time
	turn  chan struct{} // gets an element when something may have changed for it
}

// pass is a request that was let through.
type pass struct {
	g      *gate
	at     time.Time
	tokens int64
	ended  bool
}

// window is what per-minute limits look back on.
const window = time.Minute

// enter waits until the request may be sent, at the latest until the deadline.
// Its errors are errGate and the context's.
func (g *gate) enter(ctx context.Context, since time.Time, tokens int64, deadline time.Time) (*pass, error) {
	t := g.join(since)
	defer g.leave(t)
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for {
		p, d := g.try(t, tokens)
		if p != nil {
			return p, nil
		}
		if !time.Now().Before(deadline) {
			return nil, errGate
		}
		timer.Reset(min(d, time.Until(deadline)))
		select {
		case <-t.turn:
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// free reports whether a request would be let through at once.
func (g *gate) free(tokens int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) == 0 && g.delay(time.Now(), tokens) == 0
}

func (g *gate) join(since time.Time) *ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &ticket{since: since, turn: make(chan struct{}, 1)}
	i := len(g.waiting)
	for i > 0 && g.waiting[i-1].since.After(since) {
		i--
	}
	g.waiting = slices.Insert(g.waiting, i, t)
	return t
}

// leave takes a ticket out of the line, if it still is in it.
func (g *gate) leave(t *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, t); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	g.wake()
}

// wake lets the first in the line look again.
func (g *gate) wake() {
	if len(g.waiting) > 0 {
		select {
		case g.waiting[0].turn <- struct{}{}:
		default:
		}
	}
}

// try lets the ticket's request through, or says when to try again; only the
// first in the line has to do so by itself.
func (g *gate) try(t *ticket, tokens int64) (*pass, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 || g.waiting[0] != t {
		return nil, window
	}
	now := time.Now()
	if d := g.delay(now, tokens); d > 0 {
		return nil, d
	}
	p := &pass{g: g, at: now, tokens: tokens}
	g.open++
	if g.limits.RequestsPerMinute > 0 || g.limits.TokensPerMinute > 0 {
		g.recent = append(g.recent, p)
	}
	g.waiting = g.waiting[1:]
	g.wake()
	return p, 0
}

// delay is how long the next request has to wait; 0 lets it through. Where
// only the end of another request helps it is the window's length, and the
// line is woken by that end.
func (g *gate) delay(now time.Time, tokens int64) time.Duration {
	if g.limits.Concurrent > 0 && g.open >= g.limits.Concurrent {
		return window
	}
	g.recent = slices.DeleteFunc(g.recent, func(p *pass) bool { return !p.at.After(now.Add(-window)) })
	var d time.Duration
	if n := g.limits.RequestsPerMinute; n > 0 && int64(len(g.recent)) >= n {
		oldest := g.recent[int64(len(g.recent))-n]
		d = oldest.at.Add(window).Sub(now)
	}
	if n := g.limits.TokensPerMinute; n > 0 {
		d = max(d, g.tokenDelay(now, tokens, n))
	}
	return d
}

// tokenDelay is how long it takes until enough of the tokens used lie more
// than a minute back. A request larger than the whole limit goes alone.
func (g *gate) tokenDelay(now time.Time, tokens, limit int64) time.Duration {
	var used int64
	for _, p := range g.recent {
		used = add(used, p.tokens)
	}
	var d time.Duration
	for _, p := range g.recent {
		if add(used, tokens) <= limit {
			break
		}
		used -= p.tokens
		d = p.at.Add(window).Sub(now)
	}
	return d
}

// end notes that the answer has ended, with what it has used where that is
// known (at least 0). A nil pass, of a model without limits, takes it too.
func (p *pass) end(tokens int64) {
	if p == nil {
		return
	}
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.g.open--
	if tokens >= 0 {
		p.tokens = tokens
	}
	p.g.wake()
}

// cancel takes a pass back that was not used.
func (p *pass) cancel() {
	p.g.mu.Lock()
	p.g.recent = slices.DeleteFunc(p.g.recent, func(q *pass) bool { return q == p })
	p.g.mu.Unlock()
	p.end(0)
}
