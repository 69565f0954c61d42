package results_test

import (
	"context"
	"testing"

	"cabra-run/results"
)

// What a resume gives to its budget: known cost, and the worst case of every
// request that told nothing.
func TestSpending(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(3)
	s := newStore(t, trials)
	told := func(in, out int64, usd *float64) results.Usage {
		return results.Usage{Input: &in, Output: &out, CostUSD: usd}
	}
	first, second, third := start(t, s, trials[0].Key), start(t, s, trials[1].Key), start(t, s, trials[2].Key)
	for _, e := range []struct {
		a results.Attempt
		x results.Exchange
	}{
		{first, results.Exchange{Seq: 1, Usage: told(100, 10, ptr(0.5)), WorstUSD: ptr(2.0), WorstTokens: 1000}},
		{first, results.Exchange{Seq: 2, WorstUSD: ptr(3.0), WorstTokens: 4000}}, // a cut answer
		{second, results.Exchange{Seq: 1, Usage: told(20, 2, nil), WorstTokens: 500}},
		{second, results.Exchange{Seq: 2, Usage: told(0, 0, nil), WorstTokens: 500, Status: 429}}, // refused, no price
		// Cut answers that had told something by then, with a price and without.
		{third, results.Exchange{Seq: 1, Usage: told(100, 1, nil), WorstUSD: ptr(4.0), WorstTokens: 2000, Status: 200}},
		{third, results.Exchange{Seq: 2, Usage: told(100, 1, nil), WorstTokens: 3000, Status: 200}},
		// One that was whole but for its formal end has its cost.
		{third, results.Exchange{Seq: 3, Usage: told(100, 10, ptr(0.25)), WorstUSD: ptr(4.0), WorstTokens: 2000, Status: 200}},
	} {
		if err := s.AddExchange(ctx, e.a.TrialKey, e.a.Number, e.x); err != nil {
			t.Fatal(err)
		}
	}
	total, by, err := s.Spending(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := results.Spending{USD: 0.75, Tokens: 242, Unknown: 3, WorstUSD: 7, WorstTokens: 9000}
	if total != want {
		t.Errorf("total %+v, want %+v", total, want)
	}
	if got := by[trials[1].Key]; got != (results.Spending{Tokens: 22}) {
		t.Errorf("second trial %+v", got)
	}
	if got := by[trials[2].Key]; got != (results.Spending{USD: 0.25, Tokens: 110, Unknown: 2, WorstUSD: 4, WorstTokens: 5000}) {
		t.Errorf("third trial %+v", got)
	}
	if got := by[trials[0].Key]; got != (results.Spending{USD: 0.5, Tokens: 110, Unknown: 1, WorstUSD: 3, WorstTokens: 4000}) {
		t.Errorf("first trial %+v", got)
	}
}

// A request is in the books from the moment it is sent; its end takes the place
// of its worst case, and a second end is an error.
func TestRequestsInFlightAreBooked(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(1)
	s := newStore(t, trials)
	a := start(t, s, trials[0].Key)
	open := results.Exchange{Seq: 1, WorstUSD: ptr(3.0), WorstTokens: 4000, Complete: true}
	if err := s.OpenExchange(ctx, a.TrialKey, 1, open); err != nil {
		t.Fatal(err)
	}
	if total, _, err := s.Spending(ctx); err != nil || total != (results.Spending{Unknown: 1, WorstUSD: 3, WorstTokens: 4000}) {
		t.Errorf("in flight: %+v, %v", total, err)
	}
	if list, err := s.Exchanges(ctx, a.TrialKey, 1); err != nil || len(list) != 1 || list[0].Complete || list[0].Error == "" {
		t.Errorf("in flight: %+v, %v", list, err)
	}
	in, out := int64(10), int64(1)
	end := results.Exchange{Seq: 1, Complete: true, Usage: results.Usage{Input: &in, Output: &out, CostUSD: ptr(0.25)}}
	if err := s.AddExchange(ctx, a.TrialKey, 1, end); err != nil {
		t.Fatal(err)
	}
	if total, _, err := s.Spending(ctx); err != nil || total != (results.Spending{USD: 0.25, Tokens: 11}) {
		t.Errorf("ended: %+v, %v", total, err)
	}
	if err := s.AddExchange(ctx, a.TrialKey, 1, end); err == nil {
		t.Error("an exchange ended twice")
	}
}
