package gateway

import (
	"encoding/json"
	"strings"
)

// responsesEvent is the part of an event of a responses stream that matters
// here; a whole answer is the object that the last event holds.
type responsesEvent struct {
	Type     string             `json:"type"`
	Delta    json.RawMessage    `json:"delta"`
	Item     *responsesItem     `json:"item"`
	Response *responsesDocument `json:"response"`
	Error    json.RawMessage    `json:"error"`
	Message  string             `json:"message"` // of an error
}

type responsesDocument struct {
	Status string          `json:"status"`
	Output []responsesItem `json:"output"`
	Error  json.RawMessage `json:"error"`
	Usage  *struct {
		Input        *figure `json:"input_tokens"`
		Output       *figure `json:"output_tokens"`
		InputDetails *struct {
			Cached *figure `json:"cached_tokens"`
			Write  *figure `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails *struct {
			Reasoning *figure `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

type responsesItem struct {
	Type    string `json:"type"`
	Content []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

// says reports whether the item is more than a thought.
func (i *responsesItem) says() bool {
	if i.Type != "message" {
		return strings.HasSuffix(i.Type, "_call")
	}
	for _, c := range i.Content {
		if c.Text != "" || c.Refusal != "" {
			return true
		}
	}
	return false
}

// spokenDeltas are the events whose deltas are for the agent to act on.
var spokenDeltas = map[string]bool{
	"response.output_text.delta": true, "response.refusal.delta": true,
	"response.function_call_arguments.delta": true, "response.custom_tool_call_input.delta": true,
}

// readResponses reads an event of a responses stream or a whole response.
func readResponses(m *meter, data []byte) {
	var e responsesEvent
	if !m.stream {
		var doc responsesDocument
		if decode(data, &doc) {
			m.response(&doc)
		}
		return
	}
	if !decode(data, &e) {
		return
	}
	if e.Item != nil && e.Item.says() || spokenDeltas[e.Type] && len(e.Delta) > len(`""`) {
		m.content = true
	}
	if e.Response != nil {
		m.response(e.Response)
	}
	switch e.Type {
	case "response.completed", "response.incomplete": // the latter cut short by a limit
		m.finished = true
	case "response.failed", "response.cancelled":
		m.failWith("the response failed")
	case "error":
		m.fail(e.Error)
		m.failWith(e.Message)
		m.failWith("error without a message")
	}
	if e.Type == "" {
		m.fail(e.Error)
	}
}

func (m *meter) response(doc *responsesDocument) {
	for i := range doc.Output {
		m.content = m.content || doc.Output[i].says()
	}
	m.fail(doc.Error)
	if doc.Status == "failed" || doc.Status == "cancelled" {
		m.failWith("the response failed")
	}
	u := doc.Usage
	if u == nil {
		return
	}
	m.usage = Usage{Input: tokens(u.Input), Output: tokens(u.Output)}
	if u.InputDetails != nil {
		m.usage.Cached = tokens(u.InputDetails.Cached)
		m.usage.CacheWrite = tokens(u.InputDetails.Write)
	}
	if u.OutputDetails != nil {
		m.usage.Reasoning = tokens(u.OutputDetails.Reasoning)
	}
}

// failWith notes a failure that was told without a text of its own.
func (m *meter) failWith(text string) {
	if m.failure == "" {
		m.failure = text
	}
}
