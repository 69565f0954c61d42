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

func testQueue(jitter float64) *queue {
	return &queue{policy: Backoff{
		Base: time.Second, Max: time.Minute, OwnMax: 15 * time.Second, RetryAfterMax: 2 * time.Minute, Jitter: fixed(jitter),
	}}
}

var never time.Time

// busy is a failure that asks for a wait, which may be none.
func busy(wait time.Duration) *ProviderFailure {
	return &ProviderFailure{Kind: FailureServer, retryAfter: wait}
}

func TestBackoffGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(0)
		far := time.Now().Add(time.Hour)
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(time.Millisecond)
			q.failed(nil, time.Now(), busy(0))
			if got := q.pause(never, far); got != want*time.Second {
				t.Errorf("pause %v, want %v s", got, want)
			}
			if err := q.wait(t.Context(), never, far); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Millisecond)
		q.answered(rateHints{})
		q.failed(nil, time.Now(), busy(0))
		if got := q.pause(never, far); got != 0 {
			t.Errorf("one failure after an answer pauses all for %v", got)
		}
		time.Sleep(time.Millisecond)
		q.failed(nil, time.Now(), busy(0))
		if got := q.pause(never, far); got != time.Second {
			t.Errorf("pause after two failures %v", got)
		}
	})
}

// Sixteen requests that fail together are one failure.
func TestBackoffCountsABurstOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(0)
		sent := time.Now()
		time.Sleep(time.Millisecond)
		for range 16 {
			q.failed(nil, sent, busy(0))
		}
		if got := q.pause(never, sent.Add(time.Hour)); got != time.Second || q.failures != 1 {
			t.Errorf("pause %v after %d failures", got, q.failures)
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
			q := testQueue(c.jitter)
			q.failed(nil, time.Now(), busy(c.asked))
			deadline := far
			if c.deadline > 0 {
				deadline = time.Now().Add(c.deadline)
			}
			if got := q.pause(never, deadline); got != c.want {
				t.Errorf("asked for %v: pause %v, want %v", c.asked, got, c.want)
			}
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(0)
		q.failed(nil, time.Now(), busy(time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := q.wait(ctx, never, start.Add(time.Hour)); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// All waiters go on when the pause is over, and none before.
func TestWaitersShareThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(0)
		q.failed(nil, time.Now(), busy(20*time.Second))
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := q.wait(t.Context(), never, start.Add(time.Hour)); err != nil ||
					time.Since(start) != 25*time.Second {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		}
		time.Sleep(5 * time.Second)
		q.failed(nil, time.Now(), busy(20*time.Second)) // prolongs it
		wg.Wait()
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "soon": 0, "1e30": maxWait, "NaN": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:05 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, nil, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
	h := http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}
	if got := retryAfter(h, nil, now); got != 250*time.Millisecond {
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
