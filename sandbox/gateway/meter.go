package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
)

// Usage is tokens as a provider told them. Nil means unknown, which is never
// the same as zero.
type Usage struct {
	Input      *int64 `json:"input"` // includes input read from and written to a cache
	Cached     *int64 `json:"cached"`
	CacheWrite *int64 `json:"cache_write,omitempty"` // only where writing has a price of its own
	// CacheWriteLong is the part of CacheWrite that is kept for longer, at a
	// higher price.
	CacheWriteLong *int64 `json:"cache_write_long,omitempty"`
	Output         *int64 `json:"output"` // includes reasoning
	Reasoning      *int64 `json:"reasoning"`
	// NanoAIU is what GitHub tells that it charges, in billionths of a unit.
	NanoAIU *int64 `json:"nano_aiu,omitempty"`
	// ToldUSD is the cost as the provider itself told it, which few do.
	ToldUSD *float64 `json:"told_usd,omitempty"`
}

// Known reports whether input and output are known.
func (u Usage) Known() bool { return u.Input != nil && u.Output != nil }

const (
	maxMeterLine = 1 << 20 // longest line of a stream that is looked at
	maxMeterJSON = 8 << 20 // longest whole answer that is looked at
	maxTokens    = 1 << 40 // anything beyond is no number of tokens
)

// meter reads an answer on its way to the agent.
type meter struct {
	stream bool   // server-sent events, else one document
	event  reader // of the wire
	buf    []byte // a line so far, or the whole answer
	skip   bool   // the present line (or the answer) is too long to look at

	usage    Usage
	content  bool   // some text or tool call was seen
	finished bool   // a finish reason or the wire's end mark was seen
	failure  string // an error told within the answer, as it was told
}

// reader takes in one event of a stream, or a whole answer.
type reader func(m *meter, data []byte)

// newMeter returns a meter for an answer to that call.
func newMeter(c modelCall, stream bool) *meter {
	m := &meter{stream: stream}
	switch {
	case c.counts:
		m.event = readCount
		m.usage = noUsage()
	case c.wire == WireResponses:
		m.event = readResponses
	case c.wire == WireMessages:
		m.event = readMessages
	case c.wire == WireGemini:
		m.event = readGemini
	default:
		m.event = readChat
	}
	if c.host != "" {
		m.event = withCharge(m.event)
	}
	return m
}

// noUsage is that of a request that costs nothing.
func noUsage() Usage {
	zero := func() *int64 { return new(int64) }
	return Usage{Input: zero(), Cached: zero(), CacheWrite: zero(), Output: zero(), Reasoning: zero()}
}

// readCount reads the answer to a question of how many tokens a request has.
func readCount(*meter, []byte) {}

// decode reads an event, as far as its members have the expected types.
func decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	var mistyped *json.UnmarshalTypeError // the rest has been read all the same
	return err == nil || errors.As(err, &mistyped)
}

// fail notes an error told within the answer.
func (m *meter) fail(raw json.RawMessage) {
	if text := errorText(raw); text != "" {
		m.failure = text
	}
}

// Write looks at a piece of the answer; it never fails.
func (m *meter) Write(p []byte) (int, error) {
	if !m.stream {
		m.keep(p, maxMeterJSON)
		return len(p), nil
	}
	rest := p
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			m.keep(rest, maxMeterLine)
			return len(p), nil
		}
		m.keep(rest[:i], maxMeterLine)
		m.endLine()
		rest = rest[i+1:]
	}
}

func (m *meter) keep(p []byte, limit int) {
	if m.skip || len(m.buf)+len(p) > limit {
		m.skip, m.buf = true, nil
		return
	}
	m.buf = append(m.buf, p...)
}

// end is called when the answer has ended without an error, and reports
// whether it was whole.
func (m *meter) end() bool {
	if m.stream {
		m.endLine()
		return m.finished && m.failure == ""
	}
	if !m.skip {
		m.event(m, m.buf)
		// A whole answer needs no finish reason.
		m.finished = m.finished || json.Valid(m.buf)
	}
	return m.finished && m.failure == ""
}

func (m *meter) endLine() {
	line := bytes.TrimSuffix(m.buf, []byte("\r"))
	skip := m.skip
	m.buf, m.skip = m.buf[:0], false
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if skip || !ok {
		return
	}
	data = bytes.TrimSpace(data)
	if len(data) > 0 {
		m.event(m, data)
	}
}

// figure is a number of an answer. What is no number in its place is unknown,
// and not the zero that a decoder would leave there.
type figure float64

func (f *figure) UnmarshalJSON(raw []byte) error {
	var v float64
	if json.Unmarshal(raw, &v) != nil {
		v = math.NaN()
	}
	*f = figure(v)
	return nil
}

// tokens takes a count that a provider may have written as 12 or 12.0.
func tokens(f *figure) *int64 {
	if f == nil {
		return nil
	}
	v := float64(*f)
	if !(v >= 0 && v <= maxTokens && v == math.Trunc(v)) {
		return nil
	}
	n := int64(v)
	return &n
}
