package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"cabra-run/sandbox/gateway/price"
)

// Caps bound what may be spent; a zero field bounds nothing.
type Caps struct {
	USD    float64
	Tokens int64 // input and output together
}

func (c Caps) none() bool { return c == Caps{} }

// BudgetScope says whose cap it is.
type BudgetScope string

// The scopes of caps.
const (
	BudgetRun     BudgetScope = "run"
	BudgetTrial   BudgetScope = "trial"
	BudgetAttempt BudgetScope = "attempt"
)

// Spending is what has been spent. Requests whose cost is unknown, those of
// cut answers for one, count with the most that they can have cost.
type Spending struct {
	USD     float64 // known cost
	Tokens  int64   // known tokens
	Unknown int     // requests whose cost or tokens are unknown
	// WorstUSD and WorstTokens are the most that those can have cost.
	WorstUSD    float64
	WorstTokens int64
}

// BudgetOptions describe a budget.
type BudgetOptions struct {
	Run, Trial, Attempt Caps
	// Spent is what the run has spent before, on resuming it, and Trials what
	// each of its trials has.
	Spent  Spending
	Trials map[string]Spending
}

// Budget bounds what the sessions of a run may spend. Before a request is sent
// on, the most that it can cost is set aside; when its answer has ended, the
// real cost takes the place of that. So the spending never passes a cap by
// more than what a request costs beyond its own worst case.
//
// A request that would pass a cap is refused. One that would pass it only
// together with what is set aside for others waits for their end.
type Budget struct {
	attempt, trial budgetCaps

	mu        sync.Mutex
	run       account
	trials    map[string]*account
	total     Spending
	line      []*place      // who waits for the run's cap, the oldest first
	freed     chan struct{} // closed and made anew whenever something ends
	exhausted chan struct{} // closed once
	over      bool
}

// amount is money in billionths of a dollar and tokens. Whole numbers, so that
// what was set aside is given back to the last bit.
type amount struct{ nano, tokens int64 }

func (a amount) plus(b amount) amount { return amount{add(a.nano, b.nano), add(a.tokens, b.tokens)} }

func (a amount) minus(b amount) amount { return amount{a.nano - b.nano, a.tokens - b.tokens} }

// add adds without overflow; neither is negative.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

const nanosPerUSD = 1e9

// nanos rounds up, so that nothing is ever counted as less than it is. Beyond
// a million dollars it makes no difference how much it is.
func nanos(usd float64) int64 {
	if math.IsNaN(usd) || usd <= 0 {
		return 0
	}
	return int64(math.Ceil(min(usd, 1e6) * nanosPerUSD))
}

// budgetCaps are caps in the units of amount; noCap stands for none.
type budgetCaps struct{ nano, tokens int64 }

const noCap = math.MaxInt64

func capsOf(c Caps) budgetCaps {
	caps := budgetCaps{noCap, noCap}
	if c.USD > 0 {
		caps.nano = int64(min(c.USD, 1e6) * nanosPerUSD)
	}
	if c.Tokens > 0 {
		caps.tokens = c.Tokens
	}
	return caps
}

func (c budgetCaps) hold(a amount) bool { return a.nano <= c.nano && a.tokens <= c.tokens }

// account is what one cap has to bear.
type account struct {
	scope       BudgetScope
	caps        budgetCaps
	spent, held amount
}

func amountOf(s Spending) amount {
	return amount{add(nanos(s.USD), nanos(s.WorstUSD)), add(max(s.Tokens, 0), max(s.WorstTokens, 0))}
}

// NewBudget returns a budget. What was spent before counts from the beginning,
// so a budget may be exhausted at once.
func NewBudget(o BudgetOptions) *Budget {
	b := &Budget{
		attempt: capsOf(o.Attempt), trial: capsOf(o.Trial), total: o.Spent,
		run:    account{scope: BudgetRun, caps: capsOf(o.Run), spent: amountOf(o.Spent)},
		trials: map[string]*account{}, freed: make(chan struct{}), exhausted: make(chan struct{}),
	}
	for key, s := range o.Trials {
		b.trials[key] = &account{scope: BudgetTrial, caps: b.trial, spent: amountOf(s)}
	}
	b.look()
	return b
}

// Money reports whether any cap is in money.
func (b *Budget) Money() bool {
	return b.run.caps.nano != noCap || b.trial.nano != noCap || b.attempt.nano != noCap
}

// ErrUnknownPrice is wrapped by the refusal of a model whose price is unknown
// where there is a budget in money.
var ErrUnknownPrice = errors.New("price unknown")

// Check refuses a model whose spending a budget in money could not bound. The
// budget may be nil. It is meant to be called before anything is paid for.
func (b *Budget) Check(model string, p *price.Model) error {
	if b == nil || p != nil || !b.Money() {
		return nil
	}
	return fmt.Errorf("%w: a budget in money needs the price of model %q; "+
		"give it by --prices FILE, or a budget in tokens", ErrUnknownPrice, model)
}

// Exhausted is closed when a request had to be refused because of the run's
// cap, or when that has been reached.
func (b *Budget) Exhausted() <-chan struct{} { return b.exhausted }

// Spent returns what has been spent so far, that of earlier invocations
// included; requests in flight are not in it.
func (b *Budget) Spent() Spending {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// look closes exhausted when the run's cap is reached. The caller has the lock,
// or is the only one.
func (b *Budget) look() {
	if b.run.spent.nano >= b.run.caps.nano || b.run.spent.tokens >= b.run.caps.tokens {
		b.stop()
	}
}

func (b *Budget) stop() {
	if !b.over {
		b.over = true
		close(b.exhausted)
	}
}

// wallet is one attempt's way to a budget.
type wallet struct {
	b        *Budget
	accounts []*account // attempt, trial, run
}

// open returns the wallet of a new attempt for a trial.
func (b *Budget) open(trial string) *wallet {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.trials[trial]
	if t == nil {
		t = &account{scope: BudgetTrial, caps: b.trial}
		b.trials[trial] = t
	}
	return &wallet{b: b, accounts: []*account{{scope: BudgetAttempt, caps: b.attempt}, t, &b.run}}
}

// budgetError is the refusal of a request.
type budgetError struct {
	scope BudgetScope
	worst amount
	left  amount // math.MaxInt64 where there is no cap
}

func (e *budgetError) Error() string {
	text := fmt.Sprintf("the budget of the %s has no room for this request:", e.scope)
	if e.worst.nano > e.left.nano {
		return fmt.Sprintf("%s it can cost up to $%.4f and $%.4f is left", text, usd(e.worst.nano), usd(e.left.nano))
	}
	return fmt.Sprintf("%s it can use up to %d tokens and %d are left", text, e.worst.tokens, e.left.tokens)
}

func usd(nano int64) float64 { return float64(nano) / nanosPerUSD }

// place is a request's place among those that wait for the run's cap.
type place struct{ waits bool }

// waitError is a wait for a budget that the context has ended.
type waitError struct {
	scope BudgetScope
	err   error
}

func (e *waitError) Error() string {
	return fmt.Sprintf("waited for the budget of the %s, which is set aside for requests in flight: %v", e.scope, e.err)
}

func (e *waitError) Unwrap() error { return e.err }

// reserve sets the worst case of a request aside. Where only what others have
// set aside stands in the way it waits, until the context ends, and says so by
// calling waits. Its errors are a *budgetError or a *waitError.
func (w *wallet) reserve(ctx context.Context, worst amount, waits func()) (*reservation, error) {
	p := &place{}
	for {
		scope, freed, err := w.tryReserve(p, worst)
		if err != nil {
			return nil, err
		}
		if freed == nil {
			return &reservation{w: w, worst: worst}, nil
		}
		waits()
		select {
		case <-freed:
		case <-ctx.Done():
			w.b.mu.Lock()
			w.b.leave(p)
			w.b.mu.Unlock()
			return nil, &waitError{scope, ctx.Err()}
		}
	}
}

// tryReserve returns whose cap has no room at present, and a channel to wait
// for. For the run's cap requests wait in a line, or large ones would wait for
// ever behind small ones.
func (w *wallet) tryReserve(p *place, worst amount) (BudgetScope, <-chan struct{}, error) {
	b := w.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range w.accounts {
		if !a.caps.hold(a.spent.plus(worst)) {
			if a.scope == BudgetRun {
				b.stop()
			}
			b.leave(p)
			return "", nil, &budgetError{scope: a.scope, worst: worst, left: a.left()}
		}
	}
	for _, a := range w.accounts {
		if a.caps.hold(a.spent.plus(a.held).plus(worst)) && (a.scope != BudgetRun || b.first(p)) {
			continue
		}
		if a.scope == BudgetRun {
			b.join(p)
		} else { // whoever waits for itself keeps nobody waiting
			b.leave(p)
		}
		return a.scope, b.freed, nil
	}
	b.leave(p)
	for _, a := range w.accounts {
		a.held = a.held.plus(worst)
	}
	return "", nil, nil
}

// first reports whether nobody else comes before. The caller has the lock, as
// for the next three.
func (b *Budget) first(p *place) bool { return len(b.line) == 0 || b.line[0] == p }

func (b *Budget) join(p *place) {
	if !p.waits {
		p.waits, b.line = true, append(b.line, p)
	}
}

func (b *Budget) leave(p *place) {
	if p.waits {
		p.waits = false
		b.line = slices.DeleteFunc(b.line, func(q *place) bool { return q == p })
		b.wake()
	}
}

// wake lets all who wait look again.
func (b *Budget) wake() {
	close(b.freed)
	b.freed = make(chan struct{})
}

func (a *account) left() amount {
	left := amount{noCap, noCap}
	if a.caps.nano != noCap {
		left.nano = max(0, a.caps.nano-a.spent.nano)
	}
	if a.caps.tokens != noCap {
		left.tokens = max(0, a.caps.tokens-a.spent.tokens)
	}
	return left
}

// reservation is what has been set aside for one request. Exactly one of its
// methods is called, once.
type reservation struct {
	w     *wallet
	worst amount
}

// settle books what the request has cost.
func (r *reservation) settle(usd float64, tokens int64) {
	r.book(amount{nanos(usd), max(tokens, 0)}, func(s *Spending) {
		s.USD += usd
		s.Tokens = add(s.Tokens, max(tokens, 0))
	})
}

// unknown books the worst case of a request whose cost nobody told.
func (r *reservation) unknown() {
	r.book(r.worst, func(s *Spending) {
		s.Unknown++
		s.WorstUSD += usd(r.worst.nano)
		s.WorstTokens = add(s.WorstTokens, r.worst.tokens)
	})
}

// free gives everything back: the request has cost nothing.
func (r *reservation) free() { r.book(amount{}, func(*Spending) {}) }

func (r *reservation) book(real amount, total func(*Spending)) {
	b := r.w.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range r.w.accounts {
		a.held = a.held.minus(r.worst)
		a.spent = a.spent.plus(real)
	}
	total(&b.total)
	b.look()
	b.wake()
}
