package resultstest

import (
	"context"
	"math"
	"testing"

	"cabra-run/results"
)

// Calls are the requests that a provider has seen, kept outside of the run.
// Each has a number of its own, which its answer tells as the tokens of its
// input, so that the books can be held against what really happened.
type Calls struct {
	Asked    map[int64]bool
	Answered map[int64]bool // of those asked
	// Priced is set where requests have a price, so that those of unknown cost
	// are in the books at their worst.
	Priced bool
}

// money is what the exchanges of a run add up to.
type money struct {
	known   map[int64]bool
	unknown int
	usd     float64
}

// CheckMoney holds the books against the calls. An answer is in the books once
// if at all; a request whose cost they do not tell is in them as one of unknown
// cost. A kill may come between the booking of a request and its sending: of
// such requests, at most unsent, there is one too much in the books.
func CheckMoney(t testing.TB, store *results.Store, c Calls, unsent int) {
	t.Helper()
	m := money{known: map[int64]bool{}}
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			m.add(t, store, c, a)
		}
	}
	lost := len(c.Asked) - len(m.known)
	if m.unknown < lost || m.unknown > lost+unsent {
		t.Errorf("of %d calls the books have %d with their cost and %d without, and at most %d were not sent",
			len(c.Asked), len(m.known), m.unknown, unsent)
	}
	m.checkSums(t, store)
}

func (m *money) add(t testing.TB, store *results.Store, c Calls, a results.AttemptResult) {
	t.Helper()
	list, err := store.Exchanges(context.Background(), a.TrialKey, a.Number)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		if e.Seq != i+1 || e.Started.Before(a.Started) {
			t.Errorf("%s: exchange %+v at place %d of an attempt begun %v", a.Path, e, i+1, a.Started)
		}
		if e.Usage.CostUSD != nil {
			m.usd += *e.Usage.CostUSD
		}
		if e.Usage.Input == nil {
			if m.unknown++; c.Priced && e.WorstUSD == nil || e.Usage.CostUSD != nil {
				t.Errorf("%s: of unknown cost and not at its worst: %+v", a.Path, e)
			}
			continue
		}
		id := *e.Usage.Input
		if m.known[id] || !c.Answered[id] {
			t.Errorf("%s: exchange %d is in the books twice, or was never answered", a.Path, id)
		}
		m.known[id] = true
	}
	if a.Outcome == results.Answered && (a.Usage.Unknown.Input > 0 || a.Usage.Exchanges != len(list) || len(list) == 0) {
		t.Errorf("%s came to its end with %+v", a.Path, a.Usage)
	}
}

// checkSums holds the sums that the store keeps against those of the exchanges.
func (m *money) checkSums(t testing.TB, store *results.Store) {
	t.Helper()
	if err := store.CheckBooks(context.Background()); err != nil {
		t.Error(err)
	}
	spent, _, err := store.Spending(context.Background())
	if err != nil || math.Abs(spent.USD-m.usd) > 1e-6 || spent.Unknown != m.unknown {
		t.Errorf("spending %+v, %v; the exchanges make $%g and %d unknown", spent, err, m.usd, m.unknown)
	}
}
