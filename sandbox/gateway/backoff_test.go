package gateway

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func fixed(f float64) func() float64 { return func() float64 { return f } }

func testProvider(jitter float64) *provider {
	return &provider{policy: Backoff{
		Base: time.Second, Max: time.Minute, RetryAfterMax: 2 * time.Minute, Jitter: fixed(jitter),
	}}
}

func TestBackoffGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testProvider(0)
		far := time.Now().Add(time.Hour)
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(time.Millisecond)
			p.failed(time.Now(), 0)
			if got := p.pause(far); got != want*time.Second {
				t.Errorf("pause %v, want %v s", got, want)
			}
			if err := p.wait(t.Context(), far); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Millisecond)
		p.answered(time.Now())
		p.failed(time.Now(), 0)
		if got := p.pause(far); got != time.Second {
			t.Errorf("pause after an answer %v", got)
		}
	})
}

// Sixteen requests that fail together are one failure.
func TestBackoffCountsABurstOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testProvider(0)
		sent := time.Now()
		time.Sleep(time.Millisecond)
		for range 16 {
			p.failed(sent, 0)
		}
		p.answered(sent) // sent before the failure was known
		if got := p.pause(sent.Add(time.Hour)); got != time.Second || p.failures != 1 {
			t.Errorf("pause %v after %d failures", got, p.failures)
		}
	})
}

func TestBackoffObeysRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := time.Now().Add(time.Hour)
		for _, c := range []struct {
			asked, deadline, want time.Duration
			jitter                float64
		}{
			{asked: 30 * time.Second, want: 30 * time.Second},
			{asked: 30 * time.Second, jitter: 0.5, want: 33750 * time.Millisecond},
			{asked: 10 * time.Millisecond, want: time.Second},
			{asked: time.Hour, want: 2 * time.Minute},
			{asked: time.Hour, deadline: 5 * time.Second, want: 5 * time.Second},
		} {
			p := testProvider(c.jitter)
			p.failed(time.Now(), c.asked)
			deadline := far
			if c.deadline > 0 {
				deadline = time.Now().Add(c.deadline)
			}
			if got := p.pause(deadline); got != c.want {
				t.Errorf("asked for %v: pause %v, want %v", c.asked, got, c.want)
			}
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testProvider(0)
		p.failed(time.Now(), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := p.wait(ctx, start.Add(time.Hour)); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// All waiters go on when the pause is over, and none before.
func TestWaitersShareThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testProvider(0)
		p.failed(time.Now(), 20*time.Second)
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := p.wait(t.Context(), start.Add(time.Hour)); err != nil ||
					time.Since(start) != 25*time.Second {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		}
		time.Sleep(5 * time.Second)
		p.failed(time.Now(), 20*time.Second) // prolongs it
		wg.Wait()
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "soon": 0, "1e30": 0, "NaN": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:05 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
	h := http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}
	if got := retryAfter(h, now); got != 250*time.Millisecond {
		t.Errorf("milliseconds: %v", got)
	}
}

func TestWaitedIsTheUnion(t *testing.T) {
	base := time.Unix(1000, 0)
	at := func(s int) time.Time { return base.Add(time.Duration(s) * time.Second) }
	var w waits
	w.begin(1, at(0))
	w.begin(1, at(3)) // counts from the first
	w.begin(2, at(5))
	if got := w.end(2, at(15)); got != 10*time.Second {
		t.Errorf("second waited %v", got)
	}
	if got := w.total(at(20)); got != 20*time.Second {
		t.Errorf("total while one waits: %v", got)
	}
	if got := w.end(1, at(10)); got != 10*time.Second {
		t.Errorf("first waited %v", got)
	}
	w.settle()
	w.begin(3, at(30))
	w.end(3, at(31))
	w.end(4, at(31)) // never waited
	if got := w.total(at(99)); got != 16*time.Second {
		t.Errorf("total %v, want 15 + 1 s", got)
	}
}
