package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Usage is tokens as a provider told them. Nil means unknown, which is never
// the same as zero.
type Usage struct {
	Input     *int64 `json:"input"` // includes cached input
	Cached    *int64 `json:"cached"`
	Output    *int64 `json:"output"` // includes reasoning
	Reasoning *int64 `json:"reasoning"`
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
	stream bool
	buf    []byte // a line so far, or the whole answer
	skip   bool   // the present line (or the answer) is too long to look at

	usage    Usage
	content  bool   // some text or tool call was seen
	finished bool   // a finish reason or the end mark was seen
	failure  string // an error told within the answer, as it was told
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
		m.chunk(m.buf)
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
	if string(data) == "[DONE]" {
		m.finished = true
		return
	}
	m.chunk(data)
}

// completion is the part of a chat completion, whole or chunk, that matters here.
type completion struct {
	Choices []struct {
		Delta        message `json:"delta"`
		Message      message `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input        *float64 `json:"prompt_tokens"`
		Output       *float64 `json:"completion_tokens"`
		InputDetails *struct {
			Cached *float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		OutputDetails *struct {
			Reasoning *float64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type message struct {
	Content   json.RawMessage   `json:"content"` // a text, or a list of parts
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

func (m message) says() bool {
	content := strings.TrimSpace(string(m.Content))
	empty := content == "" || content == "null" || content == `""` || content == "[]"
	return !empty || len(m.ToolCalls) > 0
}

func (m *meter) chunk(data []byte) {
	var c completion
	var mistyped *json.UnmarshalTypeError // the rest of the chunk has been read all the same
	if err := json.Unmarshal(data, &c); err != nil && !errors.As(err, &mistyped) {
		return
	}
	for _, choice := range c.Choices {
		m.content = m.content || choice.Delta.says() || choice.Message.says()
		m.finished = m.finished || choice.FinishReason != nil && *choice.FinishReason != ""
	}
	if text := errorText(c.Error); text != "" {
		m.failure = text
	}
	if u := c.Usage; u != nil {
		m.usage = Usage{Input: tokens(u.Input), Output: tokens(u.Output)}
		if u.InputDetails != nil {
			m.usage.Cached = tokens(u.InputDetails.Cached)
		}
		if u.OutputDetails != nil {
			m.usage.Reasoning = tokens(u.OutputDetails.Reasoning)
		}
	}
}

// tokens takes a count that a provider may have written as 12 or 12.0.
func tokens(v *float64) *int64 {
	if v == nil || *v < 0 || *v > maxTokens || *v != float64(int64(*v)) {
		return nil
	}
	n := int64(*v)
	return &n
}
