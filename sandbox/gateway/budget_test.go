package gateway

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"cabra-run/sandbox/gateway/price"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// dollars is an amount of money alone.
func dollars(usd float64) amount { return amount{nano: nanos(usd)} }

// mustReserve fails where a request is refused or has to wait.
func mustReserve(t *testing.T, w *wallet, a amount) *reservation {
	t.Helper()
	r, err := w.reserve(t.Context(), a, func() { t.Error("it waits") })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func scopeOf(err error) BudgetScope {
	var over *budgetError
	if errors.As(err, &over) {
		return over.scope
	}
	return ""
}

func TestBudgetScopes(t *testing.T) {
	b := NewBudget(BudgetOptions{Run: Caps{USD: 10}, Trial: Caps{USD: 4}, Attempt: Caps{Tokens: 100}})
	first := b.open("t1")
	mustReserve(t, first, amount{nanos(3), 60}).settle(3, 60)
	if _, err := first.reserve(t.Context(), amount{nanos(0.5), 41}, nil); scopeOf(err) != BudgetAttempt {
		t.Errorf("101 of 100 tokens: %v", err)
	}
	mustReserve(t, first, amount{nanos(0.5), 40}).settle(0.5, 40)
	second := b.open("t1") // another attempt has its own cap, but the trial's is shared
	_, err := second.reserve(t.Context(), dollars(0.75), nil)
	if scopeOf(err) != BudgetTrial || !strings.Contains(err.Error(), "budget of the trial") ||
		!strings.Contains(err.Error(), "up to $0.7500 and $0.5000 is left") {
		t.Errorf("%v", err)
	}
	mustReserve(t, second, dollars(0.5)).free()
	other := b.open("t2")
	mustReserve(t, other, dollars(4)).settle(4, 0)
	if closed(b.Exhausted()) {
		t.Error("exhausted at 7.5 of 10")
	}
	third := b.open("t3")
	if _, err := third.reserve(t.Context(), dollars(2.51), nil); scopeOf(err) != BudgetRun || !closed(b.Exhausted()) {
		t.Errorf("beyond the run's cap: %v", err)
	}
	if got := b.Spent(); got != (Spending{USD: 7.5, Tokens: 100}) {
		t.Errorf("spent %+v", got)
	}
}

func TestBudgetIsExhaustedWhenReached(t *testing.T) {
	b := NewBudget(BudgetOptions{Run: Caps{Tokens: 100}})
	r := mustReserve(t, b.open("t"), amount{tokens: 90})
	if closed(b.Exhausted()) {
		t.Error("exhausted by what is only set aside")
	}
	r.settle(0, 120) // a provider may use more than seemed possible
	if !closed(b.Exhausted()) || b.Spent().Tokens != 120 {
		t.Errorf("%+v", b.Spent())
	}
}

func TestUnknownCostKeepsItsWorst(t *testing.T) {
	b := NewBudget(BudgetOptions{Run: Caps{USD: 1}})
	w := b.open("t")
	mustReserve(t, w, amount{nanos(0.75), 10}).unknown()
	if got := b.Spent(); got != (Spending{Unknown: 1, WorstUSD: 0.75, WorstTokens: 10}) {
		t.Errorf("%+v", got)
	}
	if _, err := w.reserve(t.Context(), dollars(0.26), nil); scopeOf(err) != BudgetRun {
		t.Errorf("%v", err)
	}
}

func TestBudgetOnResume(t *testing.T) {
	before := Spending{USD: 2, Tokens: 50, Unknown: 1, WorstUSD: 1, WorstTokens: 5}
	b := NewBudget(BudgetOptions{
		Run: Caps{USD: 5}, Trial: Caps{USD: 2}, Spent: before, Trials: map[string]Spending{"t": {USD: 1.5}},
	})
	if closed(b.Exhausted()) || b.Spent() != before {
		t.Errorf("%+v", b.Spent())
	}
	if _, err := b.open("t").reserve(t.Context(), dollars(0.6), nil); scopeOf(err) != BudgetTrial {
		t.Errorf("the trial's: %v", err)
	}
	if _, err := b.open("u").reserve(t.Context(), dollars(2.001), nil); scopeOf(err) != BudgetTrial {
		t.Errorf("%v", err)
	}
	mustReserve(t, b.open("u"), dollars(2))
	if !closed(NewBudget(BudgetOptions{Run: Caps{USD: 3}, Spent: before}).Exhausted()) {
		t.Error("a budget that is spent is not exhausted")
	}
}

// What is only set aside for others is waited for.
func TestBudgetWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{Run: Caps{USD: 10}})
		first := mustReserve(t, b.open("a"), dollars(6))
		waited := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			r, err := b.open("b").reserve(t.Context(), dollars(6), func() { waited++ })
			if err != nil {
				t.Error(err)
				return
			}
			r.free()
		})
		synctest.Wait()
		if waited != 1 {
			t.Errorf("waits %d times", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.open("c").reserve(ctx, dollars(5), func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		first.settle(1, 0)
		wg.Wait()
		if closed(b.Exhausted()) {
			t.Error("exhausted by waiting")
		}
	})
}

// Those who wait for the run's cap are served in their order, and one that waits
// for its own attempt's keeps nobody.
func TestBudgetLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{Run: Caps{USD: 10}, Attempt: Caps{USD: 9}})
		alone := b.open("own")
		held, own := mustReserve(t, b.open("a"), dollars(4)), mustReserve(t, alone, dollars(4))
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		enter := func(name string, w *wallet, usd float64) {
			wg.Go(func() {
				r, err := w.reserve(t.Context(), dollars(usd), func() {})
				if err != nil {
					t.Error(name, err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				r.settle(0, 0)
			})
			synctest.Wait()
		}
		enter("itself", alone, 6) // its attempt's cap has no room before its first request has ended
		enter("large", b.open("b"), 7)
		enter("small", b.open("c"), 1)
		enter("last", b.open("d"), 1)
		if len(order) != 0 {
			t.Errorf("%v went past the first in the line", order)
		}
		held.settle(0, 0)
		synctest.Wait()
		if len(order) != 0 { // 4 are set aside, 7 have no room
			t.Errorf("%v went past the first in the line", order)
		}
		own.settle(0, 0)
		wg.Wait()
		if len(order) != 4 || slices.Index(order, "large") > slices.Index(order, "small") {
			t.Errorf("%v", order)
		}
		if len(b.line) != 0 || b.run.held != (amount{}) {
			t.Errorf("left behind: %d in the line, %+v", len(b.line), b.run.held)
		}
	})
}

func TestBudgetNeedsPrices(t *testing.T) {
	var none *Budget
	tokens := NewBudget(BudgetOptions{Run: Caps{Tokens: 5}})
	money := NewBudget(BudgetOptions{Attempt: Caps{USD: 5}})
	if none.Check("p/m", nil) != nil || tokens.Check("p/m", nil) != nil || money.Check("p/m", &price.Model{}) != nil {
		t.Error("refused without a reason")
	}
	err := money.Check("p/m", nil)
	if !errors.Is(err, ErrUnknownPrice) || !strings.Contains(err.Error(), `"p/m"`) || !strings.Contains(err.Error(), "--prices") {
		t.Errorf("%v", err)
	}
	g := New(Options{})
	if _, err := g.Open(SessionOptions{Upstream: &moody{name: "p"}, Model: "m", Budget: money}); !errors.Is(err, ErrUnknownPrice) {
		t.Errorf("a session: %v", err)
	}
	up, err := NewScripted("solve")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Open(SessionOptions{Upstream: up, Model: "m", Budget: money}); err != nil {
		t.Errorf("the scripted upstream is free: %v", err)
	}
}

// However requests come and go, what has been spent and set aside never passes
// a cap while no answer costs more than its worst case, and in the end all that
// was set aside is given back.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		caps := Caps{USD: rapid.Float64Range(0.01, 20).Draw(t, "usd"), Tokens: rapid.Int64Range(1, 5000).Draw(t, "tokens")}
		b := NewBudget(BudgetOptions{Run: caps, Trial: Caps{USD: caps.USD / 2}, Attempt: Caps{Tokens: caps.Tokens/2 + 1}})
		wallets := []*wallet{b.open("a"), b.open("a"), b.open("b"), b.open("c")}
		type held struct {
			r     *reservation
			worst float64
		}
		var open []held
		spent := 0.0
		check := func() {
			for _, w := range wallets {
				for _, a := range w.accounts {
					if !a.caps.hold(a.spent.plus(a.held)) || a.held.nano < 0 || a.held.tokens < 0 {
						t.Fatalf("%s: spent %+v, held %+v, caps %+v", a.scope, a.spent, a.held, a.caps)
					}
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				h := open[i]
				open = append(open[:i], open[i+1:]...)
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					usd := h.worst * rapid.Float64Range(0, 1).Draw(t, "share")
					h.r.settle(usd, rapid.Int64Range(0, h.r.worst.tokens).Draw(t, "used"))
					spent += usd
				case 1:
					h.r.unknown()
					spent += h.worst
				default:
					h.r.free()
				}
				check()
				continue
			}
			worst := rapid.Float64Range(0, 5).Draw(t, "worst")
			w := rapid.SampledFrom(wallets).Draw(t, "wallet")
			a := amount{nanos(worst), rapid.Int64Range(0, 2000).Draw(t, "worst tokens")}
			ctx, cancel := context.WithCancel(context.Background())
			r, err := w.reserve(ctx, a, cancel) // what would wait gives up
			cancel()
			if err == nil {
				open = append(open, held{r, worst})
			}
			check()
		}
		for _, h := range open {
			h.r.free()
		}
		for _, w := range wallets {
			for _, a := range w.accounts {
				if a.held != (amount{}) {
					t.Fatalf("%s: %+v is still set aside", a.scope, a.held)
				}
			}
		}
		if got := b.Spent(); math.Abs(got.USD+got.WorstUSD-spent) > 1e-6 || spent > caps.USD+1e-6 {
			t.Fatalf("spent %+v, counted %v of %v", got, spent, caps.USD)
		}
	})
}
