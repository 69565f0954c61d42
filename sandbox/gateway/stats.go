package gateway

import (
	"slices"
	"sync"
	"time"
)

// Stats is what a session has seen so far.
type Stats struct {
	Requests     int       // model requests that arrived
	Answers      int       // usable answers among them
	InFlight     int       // model requests that have no end yet
	LastActivity time.Time // a request arrived or a piece of an answer passed; opening at first
	// Waited is the time in which at least one request was held up by the
	// provider's failures or by the back-off. Time in which the provider works
	// on the answer that is passed on does not count.
	Waited time.Duration
	// LastError is the last failure that was passed on to the agent, nil once
	// a usable answer came after it.
	LastError *ProviderFailure
	// Exhausted counts requests whose failure was passed on because the
	// retry budget was used up.
	Exhausted int
	Scripted  bool // the answers are the scripted upstream's, or replayed
	// OverBudget says whose budget had no room for a request, "" for none.
	OverBudget BudgetScope

	Usage         Totals
	Refused       int   // requests below the address that are no model request, or malformed
	Strays        int   // requests to any other address
	OverLimit     bool  // requests were refused because there had been too many
	StoreErr      error // first error of OnExchange
	RecordErr     error // first error of the recorder
	RecordedBytes int64 // bodies given to the recorder, uncompressed

	// Connections that the box has to itself, and what went through them.
	Tunnels             int
	TunnelOut, TunnelIn int64
}

// Totals is usage summed up over the exchanges that told theirs.
type Totals struct {
	Input, Cached, CacheWrite, Output, Reasoning int64

	Unknown int // exchanges that reached the provider and told nothing
}

func (t *Totals) add(u Usage) {
	for _, f := range []struct {
		sum *int64
		v   *int64
	}{
		{&t.Input, u.Input}, {&t.Cached, u.Cached}, {&t.CacheWrite, u.CacheWrite},
		{&t.Output, u.Output}, {&t.Reasoning, u.Reasoning},
	} {
		if f.v != nil {
			*f.sum += *f.v
		}
	}
	if !u.Known() {
		t.Unknown++
	}
}

// waits adds up the time in which at least one request was waiting.
type waits struct {
	mu     sync.Mutex
	open   map[int]time.Time // begin, by request
	closed []span
	sum    time.Duration // of spans that can meet no other any more
}

type span struct{ from, to time.Time }

// begin notes that a request has been waiting since then, which may lie in the
// past. Only the first call for a request counts.
func (w *waits) begin(id int, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[int]time.Time{}
	}
	if _, ok := w.open[id]; !ok {
		w.open[id] = since
	}
}

// end notes that the request waits no more, and returns how long it did.
func (w *waits) end(id int, until time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, ok := w.open[id]
	if !ok {
		return 0
	}
	delete(w.open, id)
	w.closed = append(w.closed, span{since, until})
	return until.Sub(since)
}

// settle folds the closed spans into the sum when nobody is waiting and nobody
// is about to say that it has been. It is called when no request is in flight.
func (w *waits) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		w.sum += union(w.closed)
		w.closed = nil
	}
}

// total is the time until now.
func (w *waits) total(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	spans := slices.Clone(w.closed)
	for _, since := range w.open {
		spans = append(spans, span{since, now})
	}
	return w.sum + union(spans)
}

// union is the length of the time that the spans cover together.
func union(spans []span) time.Duration {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var end time.Time
	for _, s := range spans {
		if s.from.After(end) {
			end = s.from
		}
		if s.to.After(end) {
			sum += s.to.Sub(end)
			end = s.to
		}
	}
	return sum
}
