package gateway

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var far = time.Hour

func TestGateRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{limits: RateLimits{RequestsPerMinute: 3}}
		start := time.Now()
		var at []time.Duration
		for range 8 {
			p, err := g.enter(t.Context(), start, 0, start.Add(far))
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start))
			p.end(0)
			time.Sleep(5 * time.Second)
		}
		want := []time.Duration{0, 5, 10, 60, 65, 70, 120, 125}
		for i := range want {
			if at[i] != want[i]*time.Second {
				t.Fatalf("let through at %v, want %v s", at, want)
			}
		}
	})
}

// The oldest request goes first, whenever it came to the line.
func TestGateOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{limits: RateLimits{Concurrent: 1}}
		start := time.Now()
		first, err := g.enter(t.Context(), start, 0, start.Add(far))
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for _, age := range []int{3, 1, 2} {
			wg.Go(func() {
				p, err := g.enter(t.Context(), start.Add(time.Duration(age)), 0, start.Add(far))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, age)
				mu.Unlock()
				p.end(-1)
			})
			synctest.Wait()
		}
		first.end(0)
		first.end(0) // counts once
		wg.Wait()
		if len(order) != 3 || order[0] != 1 || order[1] != 2 || order[2] != 3 || g.open != 0 {
			t.Errorf("order %v, open %d", order, g.open)
		}
	})
}

func TestGateTokensPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{limits: RateLimits{TokensPerMinute: 1000}}
		start := time.Now()
		enter := func(tokens int64) (*pass, time.Duration) {
			p, err := g.enter(t.Context(), start, tokens, start.Add(far))
			if err != nil {
				t.Fatal(err)
			}
			return p, time.Since(start)
		}
		first, _ := enter(800) // an estimate
		first.end(300)         // what it was
		second, at := enter(700)
		if at != 0 {
			t.Errorf("300 + 700 of 1000 at %v", at)
		}
		second.end(-1) // nobody told: the estimate stays
		time.Sleep(10 * time.Second)
		if _, at := enter(300); at != time.Minute {
			t.Errorf("beyond the limit at %v", at)
		}
		if _, at := enter(5000); at != 2*time.Minute {
			t.Errorf("more than the whole limit at %v", at)
		}
	})
}

func TestGateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{limits: RateLimits{Concurrent: 1}}
		start := time.Now()
		p, _ := g.enter(t.Context(), start, 0, start.Add(far))
		if g.free(0) {
			t.Error("a full gate is free")
		}
		if _, err := g.enter(t.Context(), start, 0, start.Add(time.Minute)); !errors.Is(err, errGate) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.enter(ctx, start, 0, start.Add(far)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		p.cancel()
		if !g.free(0) || len(g.waiting) != 0 || len(g.recent) != 0 {
			t.Errorf("%+v", g)
		}
	})
}

// In no minute more is let through than the limits allow, and nobody is
// forgotten.
func TestGateHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := RateLimits{
			RequestsPerMinute: rapid.Int64Range(0, 5).Draw(rt, "requests"), Concurrent: rapid.IntRange(0, 3).Draw(rt, "concurrent"),
			TokensPerMinute: rapid.Int64Range(0, 50).Draw(rt, "tokens"),
		}
		delays := rapid.SliceOfN(rapid.IntRange(0, 90), 1, 12).Draw(rt, "delays")
		times := rapid.SliceOfN(rapid.IntRange(0, 40), len(delays), len(delays)).Draw(rt, "times")
		synctest.Test(t, func(t *testing.T) {
			g := &gate{limits: limits}
			start := time.Now()
			var mu sync.Mutex
			var let []time.Duration
			open, most := 0, 0
			var wg sync.WaitGroup
			for i := range delays {
				wg.Go(func() {
					time.Sleep(time.Duration(delays[i])*time.Second + time.Duration(i))
					p, err := g.enter(context.Background(), time.Now(), 10, start.Add(24*far))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					let = append(let, time.Since(start))
					open++
					most = max(most, open)
					mu.Unlock()
					time.Sleep(time.Duration(times[i]) * time.Second)
					mu.Lock()
					open--
					mu.Unlock()
					p.end(10)
				})
			}
			wg.Wait()
			if limits.Concurrent > 0 && most > limits.Concurrent {
				t.Errorf("%d at one time, %+v", most, limits)
			}
			for i := range let {
				n := int64(0)
				for j := i; j < len(let) && let[j] < let[i]+window; j++ {
					n++
				}
				if limits.RequestsPerMinute > 0 && n > limits.RequestsPerMinute ||
					limits.TokensPerMinute > 0 && n > 1 && n*10 > limits.TokensPerMinute {
					t.Errorf("%d within a minute: %v, %+v", n, let, limits)
				}
			}
		})
	})
}
