package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cabra-run/sandbox/gateway/price"
)

// ask gets an answer from the provider. It absorbs failures within the retry
// budget, during which the agent sees nothing at all. All three results are
// empty when the agent has gone.
func (s *Session) ask(ctx context.Context, x *exchange) (*answer, *ProviderFailure) {
	deadline := x.Started.Add(s.retry.Within)
	if f := s.afford(ctx, x, deadline); f != nil || ended(ctx) {
		return nil, s.unanswered(x, time.Now(), f)
	}
	tries := &tries{}
	for {
		p, f := s.turn(ctx, x, tries.next, deadline)
		if f != nil || ended(ctx) {
			return nil, s.unanswered(x, time.Now(), f)
		}
		if f := s.announce(x); f != nil {
			p.end(0)
			return nil, s.unanswered(x, time.Now(), f)
		}
		sent := time.Now()
		x.Tries++
		s.queue.sent()
		ans, f := s.try(ctx, x)
		if f == nil && !ended(ctx) {
			s.queue.answered(readRateHints(ans.resp.Header, time.Now()))
			x.Waited = s.waits.end(x.id, sent)
			x.pass = p
			return ans, nil
		}
		p.end(0)
		if ended(ctx) {
			s.queue.gone()
			ans.discard()
			x.inFlight = true
			return nil, s.unanswered(x, time.Now(), nil)
		}
		if f.Permanent {
			s.queue.gone()
			return nil, s.unanswered(x, sent, f)
		}
		s.waits.begin(x.id, sent)
		s.queue.failed(x, sent, f)
		x.lost = x.lost || f.Kind == FailureTransport && !f.unsent
		if tries.spent(f, s.retry) || !time.Now().Before(deadline) {
			x.exhausted = true
			return nil, s.unanswered(x, time.Now(), f)
		}
		policy := s.queue.policy
		tries.next = time.Now().Add(policy.spread(policy.doubled(tries.failed, policy.OwnMax)))
	}
}

// announce puts a request into the books before it is first sent. What cannot
// be booked is not sent: it would be paid for and forgotten.
func (s *Session) announce(x *exchange) *ProviderFailure {
	if x.Tries > 0 || x.req.counts || s.o.OnSend == nil {
		return nil
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	err := s.o.OnSend(x.Exchange)
	if err == nil {
		return nil
	}
	s.note(func(st *Stats) { st.StoreErr = errors.Join(st.StoreErr, err) })
	return &ProviderFailure{Kind: FailureTransport, At: time.Now(), Scripted: s.scripted, unsent: true, Permanent: true,
		Message: "not sent, because it could not be recorded: " + oneLine(s.maskString(err.Error()))}
}

// unanswered ends the waiting of a request that gets no answer. Unless it was
// on its way to the provider when the agent left, it has cost nothing; what a
// broken connection has cost nobody knows, that of an earlier try included.
func (s *Session) unanswered(x *exchange, until time.Time, f *ProviderFailure) *ProviderFailure {
	x.Waited = s.waits.end(x.id, until)
	if !x.lost && (x.Tries == 0 || f == nil && !x.inFlight || f != nil && f.unsent) {
		x.Usage = noUsage()
	}
	return f
}

// tries counts the failures of one request.
type tries struct {
	failed, slower int
	next           time.Time // nothing is sent before
}

// spent counts a failure and reports whether it was the last one allowed.
func (t *tries) spent(f *ProviderFailure, budget RetryBudget) bool {
	t.failed++
	if f.Kind == FailureRateLimit {
		t.slower++
		return budget.Slower > 0 && t.slower >= budget.Slower
	}
	return t.failed-t.slower >= budget.Tries
}

// turn waits until the request may be sent.
func (s *Session) turn(ctx context.Context, x *exchange, own, deadline time.Time) (*pass, *ProviderFailure) {
	q, tokens := s.queue, x.size().Input()
	for {
		if q.pause(own, deadline) > 0 {
			s.waits.begin(x.id, time.Now())
		}
		if q.wait(ctx, own, deadline) != nil || q.gate == nil {
			return nil, nil
		}
		free := q.gate.free(tokens)
		if !free {
			s.waits.begin(x.id, time.Now())
		}
		p, err := q.gate.enter(ctx, x.Started, tokens, deadline)
		if errors.Is(err, errGate) {
			x.exhausted = true
			return nil, &ProviderFailure{Kind: FailureRateLimit, Message: err.Error(), At: time.Now(), Scripted: s.scripted}
		}
		if err != nil || free || q.pause(own, deadline) <= 0 {
			return p, nil
		}
		p.cancel() // the provider has asked for a pause meanwhile
	}
}

// size is what is known of a request before it is sent.
func (x *exchange) size() price.Request {
	return price.Request{Bytes: x.req.size, MaxOutput: x.req.maxOutput, Choices: x.req.choices}
}

// afford sets the worst cost of a request aside.
func (s *Session) afford(ctx context.Context, x *exchange, deadline time.Time) *ProviderFailure {
	if x.req.counts {
		return nil
	}
	if s.replay != nil {
		x.WorstUSD = new(float64)
		return nil
	}
	x.WorstTokens = s.o.Price.Tokens(x.size())
	if s.o.Price != nil {
		worst := s.o.Price.Worst(x.size())
		x.WorstUSD = &worst
	}
	if s.wallet == nil {
		return nil
	}
	worst := amount{tokens: min(x.WorstTokens, maxTokens)}
	if x.WorstUSD != nil {
		worst.nano = nanos(*x.WorstUSD)
	}
	bounded, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	held, err := s.wallet.reserve(bounded, worst, func() { s.waits.begin(x.id, time.Now()) })
	x.reserved = held
	if err == nil || ended(ctx) {
		return nil
	}
	f := &ProviderFailure{Kind: FailureBudget, Message: err.Error(), Permanent: true, At: time.Now(), Scripted: s.scripted}
	var over *budgetError
	var waited *waitError
	switch {
	case errors.As(err, &over):
		f.Scope = over.scope
	case errors.As(err, &waited): // our own budget's doing, not the provider's
		f.Scope = waited.scope
		f.Message = fmt.Sprintf("waited too long for the budget of the %s: it is set aside for requests in flight; "+
			"a higher budget or fewer --jobs help", f.Scope)
	}
	s.note(func(st *Stats) { st.OverBudget = f.Scope })
	return f
}

// settle books what a request has cost, now that it has ended.
func (s *Session) settle(x *exchange) {
	told := x.Usage.Known() && !x.partial
	used := int64(-1)
	if told {
		used = *x.Usage.Input + *x.Usage.Output
		x.CostUSD = s.costOf(x)
	}
	x.pass.end(used)
	switch {
	case x.reserved == nil:
	case !told:
		x.reserved.unknown()
	case x.CostUSD != nil:
		x.reserved.settle(*x.CostUSD, used)
	default: // without a price nothing is set aside in money
		x.reserved.settle(0, used)
	}
}

// costOf is the cost of an answer whose usage is known: what the provider says
// itself, or else by the table.
func (s *Session) costOf(x *exchange) *float64 {
	if s.replay != nil {
		return new(float64)
	}
	if x.req.counts || x.Usage.ToldUSD != nil {
		return x.Usage.ToldUSD
	}
	if usd, ok := s.o.Price.Cost(x.Usage.priced()); ok {
		return &usd
	}
	return nil
}

// priced is the usage as prices read it.
func (u Usage) priced() price.Usage {
	return price.Usage{
		Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, CacheWriteLong: u.CacheWriteLong, Output: u.Output,
	}
}
