// Package price owns what tokens cost: a dated table of published prices, files
// that add to it or override it, the cost of an answer and the worst cost of a
// request. It must not know gateways, agents or runs.
//
// A price that is not in the table is unknown, which is never the same as zero.
package price

import (
	"math"
)

// Rates are prices in USD per million tokens.
type Rates struct {
	Input  float64 `json:"input"`
	Cached float64 `json:"cached"` // input read from the provider's cache
	// CacheWrite is for input written to the provider's cache for the usual
	// time, CacheWriteLong for the longer one that some providers sell.
	CacheWrite     float64 `json:"cache_write"`
	CacheWriteLong float64 `json:"cache_write_long"`
	Output         float64 `json:"output"` // reasoning included
}

// dearestInput is the highest price that a token of input can have.
func (r Rates) dearestInput() float64 {
	return max(r.Input, r.Cached, r.CacheWrite, r.CacheWriteLong)
}

// Tier is what a whole request costs whose input has more than Above tokens.
type Tier struct {
	Above int64 `json:"above"`
	Rates
}

// Model is one line of the table.
type Model struct {
	Name      string `json:"name"`       // "provider/name" as it was looked up
	Date      string `json:"date"`       // as of when the source says so, "2026-11-05"
	Source    string `json:"source"`     // where it was read
	MaxOutput int64  `json:"max_output"` // most tokens that an answer can have
	Rates
	Tiers []Tier `json:"tiers,omitempty"` // ascending
}

// Usage is the tokens of one answer. Nil means that the provider did not say.
type Usage struct {
	Input          *int64 // cached and cache-write input included
	Cached         *int64
	CacheWrite     *int64 // long ones included
	CacheWriteLong *int64
	Output         *int64 // reasoning included
}

// at returns the rates for a request with that much input.
func (m *Model) at(input int64) Rates {
	r := m.Rates
	for _, t := range m.Tiers {
		if input > t.Above {
			r = t.Rates
		}
	}
	return r
}

// Cost is what an answer has cost, in USD, or false when input or output are
// unknown. Providers that say nothing about their cache have used none: all
// input is then charged in full.
func (m *Model) Cost(u Usage) (float64, bool) {
	if m == nil || u.Input == nil || u.Output == nil {
		return 0, false
	}
	input := count(u.Input)
	cached := min(count(u.Cached), input)
	write := min(count(u.CacheWrite), input-cached)
	long := min(count(u.CacheWriteLong), write)
	r := m.at(input)
	usd := perMillion(input-cached-write, r.Input) + perMillion(cached, r.Cached) +
		perMillion(write-long, r.CacheWrite) + perMillion(long, r.CacheWriteLong) +
		perMillion(count(u.Output), r.Output)
	return usd, true
}

func count(v *int64) int64 {
	if v == nil {
		return 0
	}
	return max(*v, 0)
}

func perMillion(tokens int64, price float64) float64 {
	return float64(float64(tokens)*price) / 1e6
}

// Request is what is known of a request before it is sent.
type Request struct {
	Bytes     int64 // of the body
	MaxOutput int64 // most tokens of one answer that it asks for, 0 when it does not say
	Choices   int64 // answers that it asks for; 0 is one
}

// Estimates of a request's tokens.
const (
	// BytesPerToken is what a token of input has at least. Texts and code have
	// between three and five; the quotes and names of JSON come on top.
	BytesPerToken = 2
	// Overhead is the tokens that providers put around a request.
	Overhead = 512
	// UnknownMaxOutput is taken for models whose limit is unknown: no provider
	// had a higher one when this was written.
	UnknownMaxOutput = 128_000
)

// Input is an upper estimate of the request's input, in tokens.
func (q Request) Input() int64 {
	bytes := max(q.Bytes, 0)
	return bytes/BytesPerToken + bytes%BytesPerToken + Overhead
}

// Tokens is the most that the request can use, input and output together. The
// model may be nil.
func (m *Model) Tokens(q Request) int64 {
	return addSaturated(q.Input(), m.output(q))
}

// output is the most output that the request can lead to. What a request asks
// for beyond the model's limit cannot be had.
func (m *Model) output(q Request) int64 {
	limit := int64(UnknownMaxOutput)
	if m != nil && m.MaxOutput > 0 {
		limit = m.MaxOutput
	}
	if q.MaxOutput > 0 {
		if limit = min(limit, q.MaxOutput); m == nil || m.MaxOutput <= 0 {
			limit = q.MaxOutput
		}
	}
	choices := max(q.Choices, 1)
	if limit > math.MaxInt64/choices {
		return math.MaxInt64
	}
	return limit * choices
}

func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Worst is the most that the request can cost, in USD: all of its input at the
// dearest price for input and the longest answer, in the dearest tier that so
// much input can reach.
func (m *Model) Worst(q Request) float64 {
	input := q.Input()
	worst := cost(m.Rates, input, m.output(q))
	for _, t := range m.Tiers {
		if input > t.Above {
			worst = max(worst, cost(t.Rates, input, m.output(q)))
		}
	}
	return worst
}

func cost(r Rates, input, output int64) float64 {
	return perMillion(input, r.dearestInput()) + perMillion(output, r.Output)
}
