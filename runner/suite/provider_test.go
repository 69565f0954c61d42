package suite

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/price"
	"cabra-run/sandbox/gateway/providertest"
	"cabra-run/tasks"
)

// provider is a provider over HTTP that plays the solution of the rig's task.
type provider struct {
	*providertest.Provider
	heard    *witness
	upstream *gateway.HTTP
}

const providerKey = "sk-provider-0123456789abcdefghijklmnop"

func newProvider(t *testing.T, r *rig, rateLimited, broken int) *provider {
	t.Helper()
	scripted, err := gateway.NewScripted("solve")
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{heard: &witness{Scripted: scripted}}
	script := gateway.Script{Starter: r.task.Starter[tasks.SolutionFile], Reference: r.task.Reference[tasks.SolutionFile],
		Edited: r.task.Check.Edited}
	p.Provider = providertest.New(providertest.Options{Key: providerKey, Upstream: p.heard.For(script),
		RateLimited: rateLimited, Broken: broken, Seed: 1})
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Setenv("CABRA_SUITE_KEY", providerKey)
	p.upstream, err = gateway.NewHTTP(gateway.HTTPOptions{Name: "suite", Endpoints: providertest.Endpoints(server.URL),
		Key: gateway.KeySource{Env: "CABRA_SUITE_KEY"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.upstream.Close)
	return p
}

// order is a sweep of an agent over the provider's model.
func (p *provider) order(t *testing.T, r *rig, name string) order {
	t.Helper()
	ag, err := agent.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	wires := wordsOf(p.upstream.Wires())
	wire, err := agent.PickWire(ag, wires)
	if err != nil {
		t.Fatal(err)
	}
	return order{agent: &tapped{Agent: ag}, image: imagestest.Ensure(t, ag.Recipe()).ID, task: r.task,
		model:    runner.Model{Name: "suite/model", Agent: "model", Wire: "model", Upstream: p.upstream, Wires: wires},
		ask:      runner.Ask{Wire: wire},
		settings: settings(),
	}
}

// hurried waits no longer for the provider than a test has to.
func hurried() *gateway.Gateway {
	return gateway.New(gateway.Options{Backoff: gateway.Backoff{
		Base: 10 * time.Millisecond, Max: 100 * time.Millisecond, OwnMax: 100 * time.Millisecond}})
}

// A provider that refuses three of ten requests and breaks on another one costs
// time; no trial and no agent has to pay for it.
func TestFailuresOfTheProvider(t *testing.T) {
	r := newRig(t)
	p := newProvider(t, r, 30, 10)
	each := 5 // of two agents
	if os.Getenv(TortureEnv) != "" {
		each = 30
	}
	shared := hurried()
	var mu sync.Mutex
	var stored results.UsageTotal
	t.Run("agents", func(t *testing.T) {
		for _, name := range []string{"claude", "codex"} {
			t.Run(name, func(t *testing.T) {
				o := p.order(t, r, name)
				t.Parallel()
				o.gateway, o.settings.Repetitions = shared, each
				out := r.run(t, o)
				checkUnharmed(t, out, each)
				mu.Lock()
				defer mu.Unlock()
				stored.Add(out.usage())
			})
		}
	})
	good, limited := p.Sent(http.StatusOK), p.Sent(http.StatusTooManyRequests)
	broken := p.Sent(http.StatusInternalServerError)
	t.Logf("%d requests answered, %d refused, %d broken", good, limited, broken)
	if all := good + limited + broken; limited < all/5 || broken < all/20 || p.Sent(http.StatusUnauthorized) > 0 {
		t.Errorf("the provider did not fail as it should: %d of %d and %d, %d without the key",
			limited, all, broken, p.Sent(http.StatusUnauthorized))
	}
	told := p.heard.sums()
	if stored.Exchanges != told.answers || stored.Input == nil || *stored.Input != told.input ||
		stored.Output == nil || *stored.Output != told.output {
		t.Errorf("the stores have %+v, told was %+v", stored, told)
	}
}

// usage is what all trials have used.
func (o outcome) usage() results.UsageTotal {
	var sum results.UsageTotal
	for _, tr := range o.trials {
		sum.Add(tr.Usage)
	}
	return sum
}

func checkUnharmed(t *testing.T, out outcome, trials int) {
	t.Helper()
	if len(out.trials) != trials || out.summary.Done != trials || len(out.notices) > 0 {
		t.Errorf("%+v, notices %q", out.summary, out.notices)
	}
	for _, tr := range out.trials {
		if tr.Word != results.Solved || len(tr.Attempts) != 1 {
			t.Errorf("trial %d is %s after %d attempts: %s", tr.Repetition, tr.Word, len(tr.Attempts), tr.Reason())
		}
		for _, a := range tr.Attempts {
			if a.Requests != a.Answers {
				t.Errorf("trial %d: the agent saw %d of %d requests fail", tr.Repetition, a.Requests-a.Answers, a.Requests)
			}
		}
	}
	wantNowhere(t, out.dir, providerKey, hostKey)
}

// With half of the money the sweep ends in order, having spent no more than
// that; with the rest it comes to its end, and nothing is paid for twice.
func TestBudgetOfHalf(t *testing.T) {
	r := newRig(t)
	p := newProvider(t, r, 0, 0)
	rates := &price.Model{Name: "suite/model", MaxOutput: 2000,
		Rates: price.Rates{Input: 3, Cached: 0.3, CacheWrite: 3.75, Output: 15}}
	const trials = 6

	o := p.order(t, r, "claude")
	o.gateway, o.model.Price = hurried(), rates
	one := r.run(t, o).trials[0]
	if one.Usage.CostUSD == nil || *one.Usage.CostUSD <= 0 {
		t.Fatalf("a trial costs %v", one.Usage.CostUSD)
	}
	half := *one.Usage.CostUSD * trials / 2

	o.settings.Jobs, o.settings.Repetitions = 2, trials
	o.budget = gateway.NewBudget(gateway.BudgetOptions{Run: gateway.Caps{USD: half}})
	var worst float64
	o.between = func(s *results.Store, _ outcome) { worst = dearest(t, s) }
	out := r.run(t, o)
	spent := o.budget.Spent()
	t.Logf("a trial costs $%.4f; budget $%.4f, spent $%.4f and up to $%.4f more; a request up to $%.4f; %+v",
		*one.Usage.CostUSD, half, spent.USD, spent.WorstUSD, worst, out.summary)
	if open := float64(o.settings.Jobs); spent.USD+spent.WorstUSD > half+open*worst {
		t.Errorf("spent $%f, and up to $%f more, of a budget of $%f", spent.USD, spent.WorstUSD, half)
	}
	if out.summary.Budget == "" || out.summary.Pending == 0 || out.summary.Done == 0 {
		t.Errorf("the budget did not end the sweep half-way: %+v", out.summary)
	}
	for _, tr := range out.trials {
		if tr.State == results.StateDone && tr.Word != results.Solved {
			t.Errorf("the budget decided a trial: %s, %s", tr.Word, tr.Reason())
		}
	}
	stored := out.usage()
	if stored.CostUSD == nil || !near(*stored.CostUSD, spent.USD) || stored.Unknown.Cost != spent.Unknown {
		t.Errorf("the store has %v and %d unknown, spent was %+v", stored.CostUSD, stored.Unknown.Cost, spent)
	}

	o.budget = gateway.NewBudget(gateway.BudgetOptions{Run: gateway.Caps{USD: 10 * half}, Spent: spent})
	o.dir = out.dir
	whole := r.run(t, o)
	all := whole.usage()
	if whole.summary.Budget != "" || whole.summary.Done != trials ||
		all.CostUSD == nil || !near(*all.CostUSD, o.budget.Spent().USD) {
		t.Errorf("continued with more money: %+v, stored %v, spent %+v", whole.summary, all.CostUSD, o.budget.Spent())
	}
	for i, tr := range whole.trials {
		before := out.trials[i]
		if tr.Word != results.Solved || before.State == results.StateDone && len(tr.Attempts) != len(before.Attempts) {
			t.Errorf("trial %d is %s after %d attempts, before it was %s after %d",
				i, tr.Word, len(tr.Attempts), before.Word, len(before.Attempts))
		}
	}
}

// dearest is the most that any request of a run could have cost.
func dearest(t *testing.T, s *results.Store) float64 {
	t.Helper()
	var worst float64
	for tr, err := range s.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			list, err := s.Exchanges(context.Background(), tr.Key, a.Number)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				if e.WorstUSD != nil {
					worst = max(worst, *e.WorstUSD)
				}
			}
		}
	}
	return worst
}

// near allows for sums in another order.
func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
