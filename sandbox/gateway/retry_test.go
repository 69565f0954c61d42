package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory is a listen without a network, for bubbles with their own time.
func inMemory() (net.Listener, func(context.Context, string, string) (net.Conn, error)) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return l, func(ctx context.Context, _, _ string) (net.Conn, error) {
		agent, gateway := net.Pipe()
		select {
		case l.conns <- gateway:
			return agent, nil
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// moody is a provider whose answers a test gives one by one.
type moody struct {
	name  string
	mu    sync.Mutex
	calls []time.Duration // since start
	start time.Time
	next  func(call int) (*http.Response, error)
}

func (m *moody) Name() string { return m.name }

func (m *moody) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	m.mu.Lock()
	m.calls = append(m.calls, time.Since(m.start))
	n := len(m.calls)
	m.mu.Unlock()
	return m.next(n)
}

func replied(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader([]byte(body)))}
}

// bubble runs a test with its own time and a gateway without jitter.
func bubble(t *testing.T, o Options, f func(t *testing.T, g *Gateway, m *moody)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Backoff.Jitter = fixed(0)
		f(t, New(o), &moody{name: "p", start: time.Now()})
	})
}

func wantCalls(t *testing.T, m *moody, want ...time.Duration) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) != len(want) {
		t.Fatalf("calls at %v, want %v", m.calls, want)
	}
	for i := range want {
		if m.calls[i] != want[i] {
			t.Errorf("calls at %v, want %v", m.calls, want)
			return
		}
	}
}

func TestRetriesTakeTheirTime(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		m.next = func(call int) (*http.Response, error) {
			switch call {
			case 1:
				time.Sleep(10 * time.Second) // the provider takes its time to fail
				return replied(503, "busy"), nil
			case 2:
				return nil, errors.New("connection reset by peer")
			case 3:
				return replied(429, "", "Retry-After", "20"), nil
			}
			time.Sleep(5 * time.Second) // and to think
			return replied(200, streamText), nil
		}
		b := openBox(t, g, m, inMemory)
		if status, text, err := b.ask(`{"stream":true}`); status != 200 || text != streamText ||
			err != nil {
			t.Fatalf("%d %q %v", status, text, err)
		}
		wantCalls(t, m, 0, 11*time.Second, 13*time.Second, 33*time.Second)
		x, rec := b.one()
		// Thinking about the answer that was passed on is no waiting.
		if x.Tries != 4 || x.Waited != 33*time.Second || rec.WaitedMS != 33000 ||
			b.Stats().Waited != 33*time.Second {
			t.Errorf("exchange %+v, stats %+v", x, b.Stats())
		}
		if got := x.Ended.Sub(x.Started); got != 38*time.Second {
			t.Errorf("took %v", got)
		}
	})
}

// While the gateway waits the agent sees not even a status line.
func TestNothingIsSentWhileWaiting(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		m.next = func(call int) (*http.Response, error) {
			if call == 1 {
				return replied(429, "", "Retry-After", "100"), nil
			}
			return replied(200, streamText), nil
		}
		b := openBox(t, g, m, inMemory)
		done := make(chan time.Time, 1)
		go func() {
			resp, err := b.post(context.Background(), `{"stream":true}`)
			if err != nil {
				t.Error(err)
			} else {
				resp.Body.Close()
			}
			done <- time.Now()
		}()
		time.Sleep(99 * time.Second)
		if st := b.Stats(); st.Waited != 99*time.Second || st.InFlight != 1 ||
			time.Since(st.LastActivity) != 99*time.Second {
			t.Errorf("while waiting: %+v", st)
		}
		if at := <-done; at.Sub(m.start) != 100*time.Second {
			t.Errorf("the head came after %v", at.Sub(m.start))
		}
	})
}

func TestRetryBudget(t *testing.T) {
	always := func(status int, header ...string) func(int) (*http.Response, error) {
		return func(int) (*http.Response, error) { return replied(status, "no", header...), nil }
	}
	t.Run("tries", func(t *testing.T) {
		bubble(t, Options{Retry: RetryBudget{Tries: 3}}, func(t *testing.T, g *Gateway, m *moody) {
			m.next = always(500)
			b := openBox(t, g, m, inMemory)
			if status, _, err := b.ask(`{}`); status != 500 || err != nil {
				t.Errorf("%d, %v", status, err)
			}
			wantCalls(t, m, 0, time.Second, 3*time.Second)
		})
	})
	t.Run("time", func(t *testing.T) {
		bubble(t, Options{Retry: RetryBudget{Within: 50 * time.Second}}, func(t *testing.T, g *Gateway, m *moody) {
			m.next = always(429, "Retry-After", "40")
			b := openBox(t, g, m, inMemory)
			if status, _, err := b.ask(`{}`); status != 429 || err != nil {
				t.Errorf("%d, %v", status, err)
			}
			wantCalls(t, m, 0, 40*time.Second, 50*time.Second)
			b.end()
			if st := b.Stats(); st.Exhausted != 1 || st.Waited != 50*time.Second ||
				!strings.Contains(st.LastError.Error(), "429") {
				t.Errorf("%+v", st)
			}
		})
	})
}

// What one attempt is told, all attempts at that provider obey, and no others.
func TestSessionsShareTheBackoff(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		m.next = func(call int) (*http.Response, error) {
			if call == 1 {
				return replied(429, "", "Retry-After", "30"), nil
			}
			return replied(200, streamText), nil
		}
		other := &moody{name: "q", start: time.Now(), next: func(int) (*http.Response, error) { return replied(200, streamText), nil }}
		first, second, third := openBox(t, g, m, inMemory), openBox(t, g, m, inMemory), openBox(t, g, other, inMemory)
		var wg sync.WaitGroup
		ask := func(b *box) {
			wg.Go(func() {
				if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil {
					t.Errorf("%d, %v", status, err)
				}
			})
		}
		ask(first)
		time.Sleep(10 * time.Second)
		ask(second)
		ask(third)
		wg.Wait()
		wantCalls(t, m, 0, 30*time.Second, 30*time.Second)
		wantCalls(t, other, 10*time.Second)
		second.end()
		if x, st := second.exchanges[0], second.Stats(); x.Tries != 1 || x.Waited != 20*time.Second ||
			st.Waited != 20*time.Second {
			t.Errorf("%+v", x)
		}
	})
}

// An agent that goes away while the gateway waits ends the waiting.
func TestAgentGoesAwayWhileWaiting(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		m.next = func(int) (*http.Response, error) { return replied(429, "", "Retry-After", "60"), nil }
		b := openBox(t, g, m, inMemory)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := b.post(ctx, `{}`); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		x, _ := b.one()
		if x.Status != 0 || x.Waited != 5*time.Second || time.Since(m.start) != 5*time.Second {
			t.Errorf("%+v after %v", x, time.Since(m.start))
		}
	})
}

// Closing a session whose provider is silent takes no time.
func TestCloseWhileWaiting(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		up, err := NewScripted("idle")
		if err != nil {
			t.Fatal(err)
		}
		b := openBox(t, g, up, inMemory)
		go func() { _, _, _ = b.ask(`{"stream":true}`) }()
		time.Sleep(time.Hour)
		if st := b.Stats(); st.Requests != 1 || st.InFlight != 1 ||
			time.Since(st.LastActivity) != time.Hour || st.Waited != 0 {
			t.Errorf("%+v", st)
		}
		if x, _ := b.one(); x.Status != 0 || time.Since(m.start) != time.Hour {
			t.Errorf("%+v after %v", x, time.Since(m.start))
		}
	})
}
