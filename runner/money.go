package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cabra-run/results/trace"
	"cabra-run/sandbox/gateway"
)

// lastMoments is what attempts in flight get when the budget is used up: time
// to end what has been answered already. One that asks again ends at once.
const lastMoments = 10 * time.Second

// heedBudget ends the sweep in order when the run's budget is used up. The
// function that it returns stops watching.
func (s *Sweep) heedBudget() (stop func()) {
	if s.Budget == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.Budget.Exhausted():
			s.Stop.Raise(Drain, "the budget is used up")
			if sleep(ctx, lastMoments) == nil {
				s.Stop.Raise(Halt, "the budget is used up")
			}
		case <-ctx.Done():
		}
	}()
	return cancel
}

// overBudget says what was spent, when the budget is used up.
func (s *Sweep) overBudget() string {
	if s.Budget == nil {
		return ""
	}
	select {
	case <-s.Budget.Exhausted():
		return spent(s.Budget.Spent())
	default:
		return ""
	}
}

func spent(p gateway.Spending) string {
	text := fmt.Sprintf("$%.4f and %d tokens", p.USD, p.Tokens)
	if p.Unknown > 0 {
		text += fmt.Sprintf(", and for %d requests of unknown cost up to $%.4f and %d tokens more",
			p.Unknown, p.WorstUSD, p.WorstTokens)
	}
	return text + " spent"
}

// overBudget notes that a budget had no room for a request: the run's ends the
// sweep, so that the attempt is one that was cut off; the attempt's own or its
// trial's is a limit that the agent ran into.
func (a *attempt) overBudget(f *gateway.ProviderFailure) {
	if f.Scope == gateway.BudgetRun {
		a.evidence.Ended, a.evidence.Detail = endedCancelled, f.Message
		return
	}
	a.strike(strike{endedLimit, LimitBudget, f.Message})
}

// metered is what the gateway has counted for one attempt, to be held against
// the agent's own count.
type metered struct {
	mu    sync.Mutex
	usage []trace.Usage
}

func (a *attempt) noteUsage(u gateway.Usage) {
	a.metered.mu.Lock()
	defer a.metered.mu.Unlock()
	a.metered.usage = append(a.metered.usage, trace.Usage{
		Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning,
	})
}

// compareUsage holds the agent's own count against the wire's, and says so when
// a session file has a form that its reader does not know.
func (a *attempt) compareUsage() {
	t := a.evidence.Trace
	if t == nil {
		return
	}
	if why := t.FormatChanged(); why != "" {
		a.notice("the agent's session file: " + why)
	}
	a.metered.mu.Lock()
	defer a.metered.mu.Unlock()
	if c := t.CompareUsage(a.metered.usage); c.Comparable && len(c.Differences) > 0 {
		a.record.UsageNote = plainLine(c.String())
	}
}
