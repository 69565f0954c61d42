package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox/gateway"
)

// budgetOptions bound what may be spent: USD, tokens or both, such as "200",
// "50Mtok" or "200,50Mtok".
type budgetOptions struct{ run, trial, attempt string }

func (o *budgetOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.run, "budget", "", `the most that the run may spend: USD ("200"), tokens ("50Mtok") or both ("200,50Mtok")`)
	f.StringVar(&o.trial, "trial-budget", "", "the most that a trial's attempts may spend together, in the same form")
	f.StringVar(&o.attempt, "attempt-budget", "", "the most that one attempt may spend, in the same form")
}

// noBudget lifts a budget of the lock.
const noBudget = "none"

// parse checks the budgets against what is known of the model's price.
func (o budgetOptions) parse(m runner.Model) (gateway.BudgetOptions, error) {
	if m.Login.Passthrough() && o != (budgetOptions{}) {
		return gateway.BudgetOptions{}, usagef("a budget cannot hold with --tls %s: nothing is metered then", tlsPassthrough)
	}
	var out gateway.BudgetOptions
	for _, b := range []struct {
		flag, text string
		caps       *gateway.Caps
	}{{"--budget", o.run, &out.Run}, {"--trial-budget", o.trial, &out.Trial}, {"--attempt-budget", o.attempt, &out.Attempt}} {
		var err error
		if *b.caps, err = parseCaps(b.text); err != nil {
			return out, usagef("%s %q: %w", b.flag, b.text, err)
		}
	}
	if _, free := m.Upstream.(*gateway.Scripted); free {
		return out, nil
	}
	if err := gateway.NewBudget(out).Check(m.Name, m.Price); err != nil {
		return out, &codedError{err: err, code: exitUsage}
	}
	return out, nil
}

var errCaps = errors.New(`want USD such as 200, tokens such as 50Mtok (k, M or G), or both: 200,50Mtok`)

func parseCaps(text string) (gateway.Caps, error) {
	var c gateway.Caps
	if text == "" || text == noBudget {
		return c, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		number, isTokens := strings.CutSuffix(part, "tok")
		scale := 1.0
		if isTokens {
			number, scale = scaled(number)
		}
		v, err := strconv.ParseFloat(strings.TrimPrefix(number, "$"), 64)
		switch {
		case err != nil || !(v > 0) || math.IsInf(v, 0) || v*scale > 1e15:
			return c, errCaps
		case isTokens && c.Tokens == 0:
			c.Tokens = max(1, int64(v*scale))
		case !isTokens && c.USD == 0:
			c.USD = v
		default:
			return c, errCaps
		}
	}
	return c, nil
}

// scaled takes k, M or G off a number.
func scaled(number string) (string, float64) {
	for unit, scale := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			return rest, scale
		}
	}
	return number, 1
}

// over returns the budgets with those of a lock where none is given.
func (o budgetOptions) over(l results.Budget) budgetOptions {
	return budgetOptions{orOther(o.run, l.Run), orOther(o.trial, l.Trial), orOther(o.attempt, l.Attempt)}
}

func orOther(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (o budgetOptions) locked() results.Budget {
	return results.Budget{Run: o.run, Trial: o.trial, Attempt: o.attempt}
}

// openBudget is the budget with what the run has spent before; nil without one.
func openBudget(ctx context.Context, o gateway.BudgetOptions, store *results.Store) (*gateway.Budget, error) {
	if o.Run == (gateway.Caps{}) && o.Trial == (gateway.Caps{}) && o.Attempt == (gateway.Caps{}) {
		return nil, nil
	}
	total, trials, err := store.Spending(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	o.Spent, o.Trials = gateway.Spending(total), map[string]gateway.Spending{}
	for key, s := range trials {
		o.Trials[key] = gateway.Spending(s)
	}
	return gateway.NewBudget(o), nil
}

// budgetLeft refuses to begin where nothing is left to spend.
func budgetLeft(a *app, store *results.Store, b *gateway.Budget) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.Exhausted():
		spent := b.Spent()
		return &codedError{err: fmt.Errorf("the budget of run %s is used up: $%.4f and %d tokens spent", store.Lock().Run, spent.USD, spent.Tokens),
			hint: "continue with a higher one: " + a.command("resume", store.Dir()) + " --budget …, or --budget none", code: exitBudget}
	default:
		return nil
	}
}
