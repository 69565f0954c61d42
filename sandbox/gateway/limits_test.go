package gateway

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fickle is a provider that refuses 30 % of the requests with 429, fails at
// 10 % with 500 and at 5 % by breaking the connection, in an order that a seed
// fixes.
type fickle struct {
	mu    sync.Mutex
	r     *rand.Rand
	calls map[int]int // by status
	hint  func(n int) []string
}

func (f *fickle) next() (status int, header []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch p := f.r.Float64(); {
	case p < 0.30:
		status = 429
		header = f.hint(f.calls[429])
	case p < 0.40:
		status = 500
	case p < 0.45:
		status = 0
	default:
		status = 200
	}
	f.calls[status]++
	return status, header
}

// Sixty attempts of six requests each: no failure reaches an agent, whether
// the provider says how long to wait or not.
func TestNoFailureReachesAgents(t *testing.T) {
	for name, hint := range map[string]func(int) []string{
		"told":   func(n int) []string { return []string{"Retry-After", fmt.Sprint(1 + n%3)} },
		"untold": func(int) []string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fickle{r: rand.New(rand.NewPCG(1, 2)), calls: map[int]int{}, hint: hint}
				g := New(Options{Backoff: Backoff{Jitter: fixed(0.5)}})
				m := &moody{name: "p", start: time.Now(), next: func(int) (*http.Response, error) {
					status, header := f.next()
					if status == 0 {
						return nil, errors.New("connection reset by peer")
					}
					if status == 200 {
						time.Sleep(3 * time.Second) // it thinks
						return replied(200, streamText), nil
					}
					return replied(status, "no", header...), nil
				}}
				var boxes []*box
				var wg sync.WaitGroup
				for range 60 {
					b := openBox(t, g, m, inMemory)
					boxes = append(boxes, b)
					wg.Go(func() {
						for range 6 {
							if status, text, err := b.ask(`{"stream":true}`); status != 200 || text != streamText || err != nil {
								t.Errorf("%d %q %v", status, text, err)
							}
						}
					})
				}
				wg.Wait()
				for _, b := range boxes {
					b.end()
					if st := b.Stats(); st.Answers != 6 || st.Exhausted != 0 || st.LastError != nil {
						t.Errorf("%+v", st)
					}
				}
				if f.calls[200] != 360 || f.calls[429] < 100 || f.calls[500] < 20 {
					t.Errorf("the provider answered %v", f.calls)
				}
				t.Logf("%v in %v", f.calls, time.Since(m.start))
			})
		})
	}
}

// The same over real connections, where the waits are too short to notice.
func TestNoFailureReachesAgentsOverTCP(t *testing.T) {
	f := &fickle{r: rand.New(rand.NewPCG(3, 4)), calls: map[int]int{}, hint: func(int) []string { return []string{"Retry-After", "1"} }}
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		status, header := f.next()
		switch status {
		case 0:
			cut()
		case 200:
			sendStream(w, streamText)
		default:
			if header != nil {
				w.Header().Set(header[0], header[1])
			}
			http.Error(w, "no", status)
		}
	})
	g := New(Options{
		Retry:   RetryBudget{Tries: 64},
		Backoff: Backoff{Base: time.Microsecond, Max: time.Microsecond, OwnMax: time.Microsecond, RetryAfterMax: time.Microsecond},
	})
	var wg sync.WaitGroup
	for range 60 {
		b := openBox(t, g, up, overTCP(t))
		wg.Go(func() {
			for range 3 {
				if status, text, err := b.ask(`{"stream":true}`); status != 200 || text != streamText || err != nil {
					t.Errorf("%d %q %v", status, text, err)
				}
			}
		})
	}
	wg.Wait()
	if f.calls[200] != 180 {
		t.Errorf("the provider answered %v", f.calls)
	}
}

// A request that always fails keeps nobody else waiting.
func TestPoisonedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Backoff: Backoff{Jitter: fixed(0)}})
		bad := &pick{name: "p", answer: func(body string) (*http.Response, error) {
			if strings.Contains(body, "poison") {
				return replied(500, "no"), nil
			}
			time.Sleep(time.Second)
			return replied(200, streamText), nil
		}}
		poisoned, other := openBox(t, g, bad, inMemory), openBox(t, g, bad, inMemory)
		start := time.Now()
		done := make(chan time.Duration, 1)
		if _, _, err := other.ask(`{"stream":true}`); err != nil {
			t.Fatal(err)
		}
		go func() {
			if status, _, err := poisoned.ask(`{"user":"poison"}`); status != 500 || err != nil {
				t.Errorf("%d %v", status, err)
			}
			done <- time.Since(start)
		}()
		for range 70 {
			if status, _, err := other.ask(`{"stream":true}`); status != 200 || err != nil {
				t.Errorf("%d %v", status, err)
			}
		}
		// 71 s of thinking, and the first failure, before any answer came after
		// it, holds everybody up for at most a second.
		if took := time.Since(start); took > 72*time.Second {
			t.Errorf("the others took %v", took)
		}
		if at := <-done; at > 65*time.Second {
			t.Errorf("given up after %v", at)
		}
	})
}

// pick is a provider that looks at the request.
type pick struct {
	name   string
	limits RateLimits
	answer func(body string) (*http.Response, error)
}

func (p *pick) Name() string       { return p.name }
func (p *pick) Limits() RateLimits { return p.limits }

func (p *pick) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return p.answer(string(body))
}

// A pause is a model's own affair, unless the provider's models share limits.
func TestPauseIsPerModel(t *testing.T) {
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			up := &pick{name: "p", limits: RateLimits{Shared: shared}}
			first := true
			up.answer = func(body string) (*http.Response, error) {
				if strings.Contains(body, `"wire-model"`) && first {
					first = false
					return replied(429, "", "Retry-After", "30"), nil
				}
				return replied(200, streamText), nil
			}
			g := New(Options{Backoff: Backoff{Jitter: fixed(0)}})
			b := openBox(t, g, up, inMemory)
			other, err := g.Open(SessionOptions{Upstream: up, Model: "other"})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			done := make(chan bool)
			go func() {
				defer close(done)
				if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil || time.Since(start) != 30*time.Second {
					t.Errorf("%d %v after %v", status, err, time.Since(start))
				}
			}()
			time.Sleep(time.Second)
			w := httptest.NewRecorder()
			other.ServeHTTP(w, httptest.NewRequest(http.MethodPost, other.BasePath()+"/chat/completions", strings.NewReader(`{"stream":true}`)))
			want := time.Second
			if shared {
				want = 30 * time.Second
			}
			if got := time.Since(start); w.Code != 200 || got != want {
				t.Errorf("shared %v: %d after %v", shared, w.Code, got)
			}
			<-done
		})
	}
}

// An answer that says that nothing is left pauses those that follow.
func TestAnswersPauseTheQueue(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		m.next = func(call int) (*http.Response, error) {
			if call == 1 {
				return replied(200, streamText, "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "4s"), nil
			}
			if call == 2 {
				return replied(200, streamText, "Anthropic-Ratelimit-Tokens-Remaining", "0",
					"Anthropic-Ratelimit-Tokens-Reset", time.Now().Add(time.Hour).Format(time.RFC3339)), nil
			}
			return replied(200, streamText), nil
		}
		b := openBox(t, g, m, inMemory)
		for range 3 {
			if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil {
				t.Errorf("%d %v", status, err)
			}
		}
		wantCalls(t, m, 0, 4*time.Second, 14*time.Second)
		b.end()
		if st := b.Stats(); st.Waited != 14*time.Second {
			t.Errorf("waited %v", st.Waited)
		}
	})
}

// Answers that say "slower" are waited for as long as the time lasts, however
// many they are.
func TestRateLimitUntilTheEnd(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
		m.next = func(int) (*http.Response, error) { return replied(429, `{"error":{"message":"slow"}}`), nil }
		b := openBox(t, g, m, inMemory)
		status, _, err := b.ask(`{"stream":true}`)
		if took := time.Since(m.start); status != 429 || err != nil || took != 4*time.Minute {
			t.Errorf("%d %v after %v", status, err, took)
		}
		b.end()
		if st := b.Stats(); st.Exhausted != 1 || st.Waited != 4*time.Minute || st.LastError.Kind != FailureRateLimit {
			t.Errorf("%+v", st)
		}
	})
}

// Configured limits hold over sessions; the waiting stops the attempts' clocks.
func TestConfiguredLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int64
		up := &pick{name: "p", limits: RateLimits{Concurrent: 2, RequestsPerMinute: 4}}
		up.answer = func(string) (*http.Response, error) {
			most.Store(max(most.Load(), open.Add(1)))
			time.Sleep(10 * time.Second)
			open.Add(-1)
			return replied(200, streamText), nil
		}
		g := New(Options{Backoff: Backoff{Jitter: fixed(0)}})
		start := time.Now()
		var wg sync.WaitGroup
		var boxes []*box
		for range 6 {
			b := openBox(t, g, up, inMemory)
			boxes = append(boxes, b)
			wg.Go(func() {
				if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil {
					t.Errorf("%d %v", status, err)
				}
			})
		}
		wg.Wait()
		// Two at 0, two at 10, and the last two a minute after the first two.
		if took := time.Since(start); took != 70*time.Second || most.Load() != 2 {
			t.Errorf("took %v with %d at one time", took, most.Load())
		}
		var waited time.Duration
		for _, b := range boxes {
			b.end()
			waited += b.Stats().Waited
		}
		if waited != (10+10+60+60)*time.Second {
			t.Errorf("waited %v in all", waited)
		}
	})
}

func TestGateGivesUpInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &pick{name: "p", limits: RateLimits{Concurrent: 1}}
		up.answer = func(string) (*http.Response, error) {
			time.Sleep(5 * time.Minute)
			return replied(200, streamText), nil
		}
		g := New(Options{})
		first, second := openBox(t, g, up, inMemory), openBox(t, g, up, inMemory)
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = first.ask(`{"stream":true}`) })
		time.Sleep(time.Second)
		status, text, err := second.ask(`{"stream":true}`)
		if status != 429 || err != nil || !strings.Contains(text, "configured limits") {
			t.Errorf("%d %s %v", status, text, err)
		}
		wg.Wait()
		x, _ := second.one()
		if st := second.Stats(); st.Exhausted != 1 || x.Tries != 0 || *x.Usage.Input != 0 || st.Waited != 4*time.Minute {
			t.Errorf("%+v %+v", x, st)
		}
	})
}
