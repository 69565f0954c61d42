package gateway

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Session is the model connection of one attempt. Serve it on the listener
// that leads out of the box, and Close it when the box is dead.
type Session struct {
	o        SessionOptions
	limits   Limits
	retry    RetryBudget
	upstream Upstream
	queue    *queue
	wallet   *wallet // nil without a budget
	masks    []*Mask
	swap     *swap  // nil without a login
	root     string // "/<token>"
	scripted bool
	replay   *Replay // the upstream, where it is one: it costs nothing

	sessions *atomic.Int64 // the gateway's count of open ones

	server *http.Server
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  *semaphore.Weighted // requests at one time
	buffer *semaphore.Weighted // bytes held
	waits  waits
	// tunnels counts the connections through the proxy at one time, guestToken
	// is what the box shows there.
	tunnels    *semaphore.Weighted
	guestToken string

	mu       sync.Mutex // guards what follows
	stats    Stats
	admitted int
	begun    int // model requests, those that only count tokens included
	closed   bool
	handlers sync.WaitGroup

	storing sync.Mutex // one OnExchange at a time
}

// manySessions is from how many open ones on a connection is closed after each
// answer. One at rest takes 20 KB of ours, a new one costs a box next to nothing.
const manySessions = 1000

func newSession(g *Gateway, o SessionOptions, token string) *Session {
	s := &Session{
		o: o, limits: g.o.Limits, retry: g.o.Retry,
		upstream: o.Upstream, queue: g.queue(o.Upstream, o.Model),
		root:   "/" + token,
		slots:  semaphore.NewWeighted(int64(g.o.Limits.Concurrent)),
		buffer: semaphore.NewWeighted(g.o.Limits.BufferBytes), tunnels: semaphore.NewWeighted(maxTunnels),
	}
	if u, ok := o.Upstream.(perAttempt); ok {
		s.upstream = u.For(o.Script)
		s.scripted, s.stats.Scripted = true, true
		// Its failures are meant for the agent, at once.
		s.retry.Tries, s.retry.Slower, s.queue = 1, 1, &queue{}
	}
	s.replay, _ = s.upstream.(*Replay)
	if o.Budget != nil && s.replay == nil {
		s.wallet = o.Budget.open(o.Trial)
	}
	if u, ok := o.Upstream.(masked); ok {
		s.masks = append(s.masks, u.Mask())
	}
	if o.Mask != nil {
		s.masks = append(s.masks, o.Mask)
	}
	s.stats.LastActivity = time.Now()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.server = s.newServer()
	s.sessions = &g.sessions
	s.server.SetKeepAlivesEnabled(s.sessions.Add(1) <= manySessions)
	return s
}

func (s *Session) newServer() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           s,
		Protocols:         &protocols,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       10 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// "OPTIONS *" would be answered before it is counted.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
		// What a box can provoke there is counted in Stats where it matters.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// Root is the attempt's address on the listener, "/<token>". Below it lie
// /v1/chat/completions, /v1/responses, /v1/messages and
// /v1beta/models/NAME:METHOD, with and without their version segments.
func (s *Session) Root() string { return s.root }

// BasePath is Root with "/v1": the path of an OpenAI-compatible base URL.
func (s *Session) BasePath() string { return s.root + "/v1" }

// Serve answers requests until ctx or the session ends, which is no error, or
// until the listener fails. It may be called for several listeners.
func (s *Session) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { s.stop() })
	defer stop()
	err := s.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving model connection: %w", err)
}

// stop refuses new requests and cancels those in flight.
func (s *Session) stop() {
	s.mu.Lock()
	if !s.closed {
		s.sessions.Add(-1)
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	_ = s.server.Close() // closes listeners and connections; there is nothing to save
}

// Close ends the session and returns when every request in flight has been
// recorded, or with ctx.
func (s *Session) Close(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.handlers.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing model connection: %w", ctx.Err())
	}
}

// Stats returns what the session has seen so far; it may be called at any time.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	st := s.stats
	s.mu.Unlock()
	st.Waited = s.waits.total(time.Now())
	return st
}

// enter counts a handler in, unless the session is closed.
func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// note changes the statistics.
func (s *Session) note(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

func (s *Session) touch() {
	s.note(func(st *Stats) { st.LastActivity = time.Now() })
}

// path returns the request's path below the attempt's address.
func (s *Session) path(r *http.Request) (string, bool) {
	p := r.URL.Path
	if len(p) < len(s.root) || subtle.ConstantTimeCompare([]byte(p[:len(s.root)]), []byte(s.root)) != 1 {
		return "", false
	}
	rest := p[len(s.root):]
	return rest, rest == "" || strings.HasPrefix(rest, "/")
}

func (s *Session) mask(b []byte) []byte {
	for _, m := range s.masks {
		b = m.Bytes(b)
	}
	return b
}

func (s *Session) maskString(text string) string {
	for _, m := range s.masks {
		text = m.String(text)
	}
	return text
}
