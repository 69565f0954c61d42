package trace

import (
	"fmt"
	"strings"
	"time"
)

// Usage is what one model call used, in tokens. Input includes cached and
// cache-write input, Output includes reasoning. nil is unknown, never zero.
type Usage struct {
	Input      *int64 `json:"input"`
	Cached     *int64 `json:"cached"`
	CacheWrite *int64 `json:"cache_write"`
	Output     *int64 `json:"output"`
	Reasoning  *int64 `json:"reasoning"`
}

// CallUsage is the agent's own count of one model call.
type CallUsage struct {
	Model string `json:"model"`
	Usage
	At time.Time `json:"at"`
}

// known reports whether a request told its usage at all.
func (u Usage) known() bool { return u.Input != nil || u.Output != nil }

// UsageSum is the sum over the requests of one side.
type UsageSum struct {
	Requests int   `json:"requests"` // those that told their usage
	Unknown  int   `json:"unknown"`  // those that did not, such as cut streams
	Sum      Usage `json:"sum"`      // a figure is nil when a request did not tell it
}

// UsageComparison holds the agent's own figures against the gateway's.
type UsageComparison struct {
	Agent   UsageSum `json:"agent"`
	Gateway UsageSum `json:"gateway"`
	// Comparable is false when the agent tells no usage per call.
	Comparable bool `json:"comparable"`
	// Differences name what differs, of that which both sides told.
	Differences []UsageDifference `json:"differences,omitempty"`
}

// UsageDifference is one figure that differs.
type UsageDifference struct {
	What    string `json:"what"` // "requests", "input", "cached", "cache_write", "output", "reasoning"
	Agent   int64  `json:"agent"`
	Gateway int64  `json:"gateway"`
}

// String is one line for a report, "" without a difference.
func (c UsageComparison) String() string {
	parts := make([]string, 0, len(c.Differences))
	for _, d := range c.Differences {
		parts = append(parts, fmt.Sprintf("%s: agent %d, gateway %d", d.What, d.Agent, d.Gateway))
	}
	return strings.Join(parts, "; ")
}

// CompareUsage holds the trace's usage against what the gateway metered, one
// entry for each request that was answered. Figures that a side did not tell
// for all its requests are not compared.
func (t *Trace) CompareUsage(requests []Usage) UsageComparison {
	own := make([]Usage, 0, len(t.Usage))
	for _, u := range t.Usage {
		own = append(own, u.Usage)
	}
	c := UsageComparison{Agent: sumUsage(own), Gateway: sumUsage(requests), Comparable: len(own) > 0}
	if !c.Comparable {
		return c
	}
	a, g := int64(c.Agent.Requests), int64(c.Gateway.Requests)
	c.differ("requests", &a, &g)
	for _, f := range usageFields {
		c.differ(f.name, f.of(&c.Agent.Sum), f.of(&c.Gateway.Sum))
	}
	return c
}

func (c *UsageComparison) differ(what string, agent, gateway *int64) {
	if agent != nil && gateway != nil && *agent != *gateway {
		c.Differences = append(c.Differences, UsageDifference{What: what, Agent: *agent, Gateway: *gateway})
	}
}

var usageFields = []struct {
	name string
	of   func(*Usage) *int64
	set  func(*Usage, *int64)
}{
	{"input", func(u *Usage) *int64 { return u.Input }, func(u *Usage, v *int64) { u.Input = v }},
	{"cached", func(u *Usage) *int64 { return u.Cached }, func(u *Usage, v *int64) { u.Cached = v }},
	{"cache_write", func(u *Usage) *int64 { return u.CacheWrite }, func(u *Usage, v *int64) { u.CacheWrite = v }},
	{"output", func(u *Usage) *int64 { return u.Output }, func(u *Usage, v *int64) { u.Output = v }},
	{"reasoning", func(u *Usage) *int64 { return u.Reasoning }, func(u *Usage, v *int64) { u.Reasoning = v }},
}

func sumUsage(list []Usage) UsageSum {
	var s UsageSum
	for _, u := range list {
		if u.known() {
			s.Requests++
		} else {
			s.Unknown++
		}
	}
	if s.Requests == 0 {
		return s
	}
	for _, f := range usageFields {
		f.set(&s.Sum, sumField(list, f.of))
	}
	return s
}

// sumField adds one figure up; nil when a request that told its usage did not
// tell this.
func sumField(list []Usage, of func(*Usage) *int64) *int64 {
	var sum int64
	for i := range list {
		v := of(&list[i])
		switch {
		case v != nil:
			sum += *v
		case list[i].known():
			return nil
		}
	}
	return &sum
}

// maxTokens bounds one figure: anything beyond is no number of tokens.
const maxTokens = 1 << 40

// count is a number of tokens out of a session file; nil when it is none.
func count(v *float64) *int64 {
	if v == nil || !(*v >= 0 && *v <= maxTokens) {
		return nil
	}
	n := int64(*v)
	return &n
}

// plus adds figures of which the missing ones count as zero; nil when all are
// missing.
func plus(list ...*int64) *int64 {
	var sum *int64
	for _, v := range list {
		if v == nil {
			continue
		}
		if sum == nil {
			sum = new(int64)
		}
		*sum += *v
	}
	return sum
}

// addUsage keeps the usage of one call, if it tells anything.
func (t *Trace) addUsage(u CallUsage) {
	if u.known() && len(t.Usage) < MaxCalls {
		u.Model = clip(u.Model, 200)
		t.Usage = append(t.Usage, u)
	}
}

// sumTokens fills the totals from the calls, for agents that tell no totals.
func (t *Trace) sumTokens() {
	if t.Tokens != nil || len(t.Usage) == 0 {
		return
	}
	t.Tokens = &Tokens{}
	for _, u := range t.Usage {
		t.Tokens.add(u.Usage)
	}
}

func (k *Tokens) add(u Usage) {
	for _, p := range []struct {
		to   *int64
		from *int64
	}{
		{&k.Input, u.Input}, {&k.Cached, u.Cached}, {&k.CacheWrite, u.CacheWrite},
		{&k.Output, u.Output}, {&k.Reasoning, u.Reasoning},
	} {
		if p.from != nil {
			*p.to += *p.from
		}
	}
}
