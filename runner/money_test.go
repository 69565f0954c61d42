package runner_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/price"
)

// tenDollars makes each request of a toy cost ten dollars, at worst and in
// fact: ten tokens of output at a million dollars a million.
func tenDollars(r *rig) {
	r.sweep.Pairings[0].Model.Price = &price.Model{Name: "toy-model/toy-model", MaxOutput: 10, Rates: price.Rates{Output: 1e6}}
}

// spendingOf is what the run's books say, as a resume gives it to its budget.
func spendingOf(t *testing.T, s *results.Store) gateway.BudgetOptions {
	t.Helper()
	total, trials, err := s.Spending(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	o := gateway.BudgetOptions{Spent: gateway.Spending(total), Trials: map[string]gateway.Spending{}}
	for key, p := range trials {
		o.Trials[key] = gateway.Spending(p)
	}
	return o
}

// A budget ends the sweep in order: what it paid for is kept, the rest stays
// pending, and a resume with more money finishes it without asking again.
func TestSweepBudget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir)
	tenDollars(r)
	r.sweep.Settings.Jobs = 1
	r.sweep.Budget = gateway.NewBudget(gateway.BudgetOptions{Run: gateway.Caps{USD: 45}})
	sum := r.run(t)
	if sum.Done != 4 || sum.Pending != 6 || !strings.Contains(sum.Budget, "$40.0000") || sum.Paused != "" {
		t.Errorf("summary %+v, want four trials for $40", sum)
	}
	if r.model.calls != 4 {
		t.Errorf("the model was asked %d times, want 4", r.model.calls)
	}
	r.logExchanges(t)
	if n := r.outcomes(t); n[results.Answered] != 4 || n[results.Cancelled] != 1 {
		t.Errorf("outcomes %v", n)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}

	again := newRig(t, dir)
	tenDollars(again)
	o := spendingOf(t, again.store)
	if o.Spent != (gateway.Spending{USD: 40, Tokens: 440}) {
		t.Errorf("the books say %+v", o.Spent)
	}
	o.Run.USD = 100
	again.sweep.Budget = gateway.NewBudget(o)
	if sum := again.run(t); sum.Done != 10 || again.model.calls != 6 {
		t.Errorf("resumed: %+v after %d calls, want all with 6", sum, again.model.calls)
	}
	again.logExchanges(t)
	if spent := again.sweep.Budget.Spent().USD; spent != 100 {
		t.Errorf("$%g spent, want 100", spent)
	}
}

// logExchanges shows what came of every request that does not tell its cost.
func (r *rig) logExchanges(t *testing.T) {
	t.Helper()
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			list, err := r.store.Exchanges(context.Background(), tr.Key, a.Number)
			for _, e := range list {
				if e.Usage.CostUSD == nil {
					t.Logf("%s %s %q: %+v %v", tr.TaskID, a.Outcome, a.Reason, e, err)
				}
			}
		}
	}
}

// The budget of an attempt, and that of a trial, is a limit of that attempt
// alone; the sweep goes on.
func TestSweepAttemptAndTrialBudget(t *testing.T) {
	for name, caps := range map[string]gateway.BudgetOptions{
		"attempt": {Attempt: gateway.Caps{USD: 5}}, "trial": {Trial: gateway.Caps{USD: 5}},
	} {
		r := newRig(t, filepath.Join(t.TempDir(), "run"))
		tenDollars(r)
		r.sweep.Budget = gateway.NewBudget(caps)
		sum := r.run(t)
		if n := r.outcomes(t); n[results.Limit] != 10 || sum.Budget != "" || r.model.calls != 0 {
			t.Errorf("%s: outcomes %v, summary %+v, %d calls", name, n, sum, r.model.calls)
		}
		for tr, err := range r.store.Results(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if a := tr.Attempts[0]; a.LimitHit != runner.LimitBudget || !strings.Contains(a.Reason, "budget of the "+name) {
				t.Errorf("%s: %q %q", name, a.LimitHit, a.Reason)
			}
		}
	}
}
