package results_test

import (
	"context"
	"math"
	"os"
	"testing"

	"cabra-run/results"

	"pgregory.net/rapid"
)

// TestBooksAreTheSums records requests in every order and form, also late ones,
// and compares what the store says with sums over the list of exchanges.
func TestBooksAreTheSums(t *testing.T) {
	dir := memoryDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		run, err := os.MkdirTemp(dir, "r")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(run)
		s, err := results.Create(run, testLock())
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		trials := testTrials(2)
		if err := s.Plan(ctx, trials); err != nil {
			rt.Fatal(err)
		}
		want := map[string]results.Spending{}
		exchanges := map[string][]results.Exchange{}
		for _, trial := range trials {
			list := drawExchanges(rt, s, trial.Key)
			exchanges[trial.Key] = list
			if len(list) > 0 {
				want[trial.Key] = spendingOf(list)
			}
		}
		checkUsage(rt, s, exchanges)
		total, by, err := s.Spending(ctx)
		if err != nil || len(by) != len(want) {
			rt.Fatalf("%d trials have spent, want %d, %v", len(by), len(want), err)
		}
		var sum results.Spending
		for key, w := range want {
			if !sameSpending(by[key], w) {
				rt.Errorf("trial %s: %+v, want %+v", key, by[key], w)
			}
			sum = results.Spending{USD: sum.USD + w.USD, Tokens: sum.Tokens + w.Tokens, Unknown: sum.Unknown + w.Unknown,
				WorstUSD: sum.WorstUSD + w.WorstUSD, WorstTokens: sum.WorstTokens + w.WorstTokens}
		}
		if !sameSpending(total, sum) {
			rt.Errorf("run: %+v, want %+v", total, sum)
		}
		if err := s.CheckBooks(ctx); err != nil {
			rt.Error(err)
		}
	})
}

// drawExchanges gives a trial up to two attempts with requests, some of them
// booked when they were sent, some never ended, some recorded late, and returns
// what was recorded.
func drawExchanges(rt *rapid.T, s *results.Store, key string) []results.Exchange {
	ctx := context.Background()
	var list []results.Exchange
	for n := range rapid.IntRange(0, 2).Draw(rt, "attempts") {
		a, err := s.StartAttempt(ctx, key)
		if err != nil {
			rt.Fatal(err)
		}
		closeAt := rapid.IntRange(0, 5).Draw(rt, "closed after")
		count := rapid.IntRange(0, 5).Draw(rt, "requests")
		for seq := 1; seq <= count; seq++ {
			if seq == closeAt {
				collectIt(rt, s, a)
			}
			e := drawExchange(rt, seq)
			fate := rapid.SampledFrom([]string{"open and end", "end", "open"}).Draw(rt, "fate")
			if fate != "end" {
				if err := s.OpenExchange(ctx, key, a.Number, e); err != nil {
					rt.Fatal(err)
				}
			}
			if fate == "open" {
				e.Usage, e.Complete = results.Usage{}, false
			} else if err := s.AddExchange(ctx, key, a.Number, e); err != nil {
				rt.Fatal(err)
			}
			list = append(list, e)
		}
		if n == 0 && (closeAt == 0 || closeAt > count) {
			collectIt(rt, s, a)
		} else if closeAt == 0 || closeAt > count {
			break // left open, as by a crash
		}
	}
	return list
}

func collectIt(rt *rapid.T, s *results.Store, a results.Attempt) {
	if err := s.Collected(context.Background(), ended(a, results.AgentError)); err != nil {
		rt.Fatal(err)
	}
}

func drawExchange(rt *rapid.T, seq int) results.Exchange {
	tokens := rapid.Ptr(rapid.Int64Range(0, 1<<40), true)
	money := rapid.Ptr(rapid.Float64Range(0, 50), true)
	return results.Exchange{Seq: seq, Status: rapid.SampledFrom([]int{0, 200, 429}).Draw(rt, "status"),
		Complete: rapid.Bool().Draw(rt, "complete"), WorstUSD: money.Draw(rt, "worst"),
		WorstTokens: rapid.Int64Range(0, 1<<30).Draw(rt, "worst tokens"),
		Usage: results.Usage{Input: tokens.Draw(rt, "input"), Cached: tokens.Draw(rt, "cached"),
			CacheWrite: tokens.Draw(rt, "write"), Output: tokens.Draw(rt, "output"),
			Reasoning: tokens.Draw(rt, "reasoning"), CostUSD: money.Draw(rt, "cost")}}
}

// checkUsage holds trials and run against sums over the exchanges.
func checkUsage(rt *rapid.T, s *results.Store, exchanges map[string][]results.Exchange) {
	var whole []results.Exchange
	for r, err := range s.Results(context.Background()) {
		if err != nil {
			rt.Fatal(err)
		}
		sameUsage(rt, r.Usage, exchanges[r.Key])
		whole = append(whole, exchanges[r.Key]...)
	}
	spent, err := s.Spent(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	sameUsage(rt, spent, whole)
}

func sameUsage(rt *rapid.T, got results.UsageTotal, list []results.Exchange) {
	if got.Exchanges != len(list) {
		rt.Errorf("%d exchanges, want %d", got.Exchanges, len(list))
	}
	sameFigure(rt, list, got.Input, got.Unknown.Input, func(u results.Usage) *int64 { return u.Input })
	sameFigure(rt, list, got.Cached, got.Unknown.Cached, func(u results.Usage) *int64 { return u.Cached })
	sameFigure(rt, list, got.CacheWrite, got.Unknown.CacheWrite, func(u results.Usage) *int64 { return u.CacheWrite })
	sameFigure(rt, list, got.Output, got.Unknown.Output, func(u results.Usage) *int64 { return u.Output })
	sameFigure(rt, list, got.Reasoning, got.Unknown.Reasoning, func(u results.Usage) *int64 { return u.Reasoning })
	sameFigure(rt, list, got.CostUSD, got.Unknown.Cost, func(u results.Usage) *float64 { return u.CostUSD })
}

func sameFigure[T int64 | float64](rt *rapid.T, list []results.Exchange, got *T, gaps int, of func(results.Usage) *T) {
	var sum T
	unknown := 0
	for _, e := range list {
		if v := of(e.Usage); v != nil {
			sum += *v
		} else {
			unknown++
		}
	}
	if got == nil && len(list) == 0 { // a trial that was never tried
		return
	}
	none := len(list) > 0 && unknown == len(list)
	if gaps != unknown || (got == nil) != none || got != nil && math.Abs(float64(*got-sum)) > 1e-9 {
		rt.Errorf("figure %v with %d unknown, want %v with %d", got, gaps, sum, unknown)
	}
}

// spendingOf is what a budget counts, by its words: what is known, and the worst
// of what nobody told.
func spendingOf(list []results.Exchange) results.Spending {
	var p results.Spending
	for _, e := range list {
		u := e.Usage
		cut := u.CostUSD == nil && !e.Complete && e.Status >= 200 && e.Status < 300
		untold := u.Input == nil || u.Output == nil || cut
		if !untold {
			p.Tokens += *u.Input + *u.Output
		} else {
			p.WorstTokens += e.WorstTokens
		}
		switch {
		case u.CostUSD != nil:
			p.USD += *u.CostUSD
		case e.WorstUSD != nil:
			p.Unknown++
			p.WorstUSD += *e.WorstUSD
		case untold:
			p.Unknown++
		}
	}
	return p
}

func sameSpending(a, b results.Spending) bool {
	return a.Tokens == b.Tokens && a.Unknown == b.Unknown && a.WorstTokens == b.WorstTokens &&
		math.Abs(a.USD-b.USD) < 1e-9 && math.Abs(a.WorstUSD-b.WorstUSD) < 1e-9
}
