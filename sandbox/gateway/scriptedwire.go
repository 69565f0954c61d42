package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"unicode/utf8"
)

// conversation is what the scripted upstream looks at in a chat completion
// request.
type conversation struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string   `json:"role"`
		Content contents `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function toolOffer `json:"function"`
	} `json:"tools"`

	size int // of the request
}

// contents is what matters of a message's content, which may be long.
type contents struct{ summary bool }

func (c *contents) UnmarshalJSON(text []byte) error {
	c.summary = bytes.Contains(text, []byte("summary of the conversation"))
	return nil
}

// toolOffer is a tool that the agent has, with the names of its parameters.
type toolOffer struct {
	Name       string `json:"name"`
	Parameters struct {
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"parameters"`
}

func (t *toolOffer) takes(parameter string) bool {
	_, ok := t.Parameters.Properties[parameter]
	return ok
}

func readConversation(body []byte) (*conversation, error) {
	var c conversation
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, fmt.Errorf("reading chat completion request: %w", err)
	}
	c.size = len(body)
	return &c, nil
}

// step is how many turns the model has had.
func (c *conversation) step() int {
	n := 0
	for _, m := range c.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// wantsSummary reports whether the agent asks for a summary with which to go
// on, as agents do when their context is nearly full.
func (c *conversation) wantsSummary() bool {
	if c.step() == 0 {
		return false
	}
	last := c.Messages[len(c.Messages)-1]
	return last.Role == "user" && last.Content.summary
}

// tool finds an offered tool by the first of the names that exists.
func (c *conversation) tool(names ...string) *toolOffer {
	for _, name := range names {
		for i := range c.Tools {
			if c.Tools[i].Function.Name == name {
				return &c.Tools[i].Function
			}
		}
	}
	return nil
}

// turn is what the scripted model says: a thought, a text, and at most one call.
type turn struct {
	thought string
	text    string
	call    *toolCall
}

type toolCall struct {
	name string
	args map[string]any
}

func (c *toolCall) arguments() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(c.args) != nil { // texts and numbers only
		return "{}"
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// The wire forms of a chat completion.
type (
	wireCompletion struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Model   string       `json:"model"`
		Choices []wireChoice `json:"choices"`
		Usage   *wireUsage   `json:"usage,omitempty"`
	}
	wireChoice struct {
		Index        int          `json:"index"`
		Delta        *wireMessage `json:"delta,omitempty"`
		Message      *wireMessage `json:"message,omitempty"`
		FinishReason *string      `json:"finish_reason"`
	}
	wireMessage struct {
		Role      string         `json:"role,omitempty"`
		Content   *string        `json:"content,omitempty"`
		Reasoning string         `json:"reasoning_content,omitempty"`
		ToolCalls []wireToolCall `json:"tool_calls,omitempty"`
	}
	wireToolCall struct {
		Index    int          `json:"index"`
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function wireFunction `json:"function"`
	}
	wireFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	wireUsage struct {
		Prompt        int `json:"prompt_tokens"`
		Completion    int `json:"completion_tokens"`
		Total         int `json:"total_tokens"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// usage invents plausible figures: four bytes a token, and from the second
// turn on most of the prompt cached.
func (t *turn) usage(c *conversation) *wireUsage {
	u := &wireUsage{Prompt: c.size/4 + 1}
	if c.step() > 0 {
		u.PromptDetails.Cached = u.Prompt * 9 / 10 / 128 * 128
	}
	u.CompletionDetails.Reasoning = len(t.thought) / 4
	spoken := len(t.text)
	if t.call != nil {
		spoken += len(t.call.name) + len(t.call.arguments())
	}
	u.Completion = u.CompletionDetails.Reasoning + spoken/4 + 1
	u.Total = u.Prompt + u.Completion
	return u
}

func (t *turn) finishReason() string {
	if t.call != nil {
		return "tool_calls"
	}
	return "stop"
}

// frame is the part that all chunks of an answer share. The ids come from the
// request's shape, so that equal conversations give equal bytes.
func (t *turn) frame(c *conversation, object string) wireCompletion {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s", c.step(), c.size, t.text)
	return wireCompletion{ID: fmt.Sprintf("chatcmpl-scripted-%016x", h.Sum64()), Object: object, Model: c.Model}
}

func (t *turn) toolCallID(c *conversation) string { return fmt.Sprintf("call_scripted_%d", c.step()) }

// whole is the answer to a request without stream.
func (t *turn) whole(c *conversation) []byte {
	doc := t.frame(c, "chat.completion")
	msg := &wireMessage{Role: "assistant", Content: &t.text, Reasoning: t.thought}
	if t.call != nil {
		msg.ToolCalls = []wireToolCall{{
			ID: t.toolCallID(c), Type: "function",
			Function: wireFunction{Name: t.call.name, Arguments: t.call.arguments()},
		}}
	}
	reason := t.finishReason()
	doc.Choices = []wireChoice{{Message: msg, FinishReason: &reason}}
	doc.Usage = t.usage(c)
	body, err := json.Marshal(doc)
	if err != nil { // texts and numbers only
		return []byte("{}")
	}
	return body
}

// stream is the answer as server-sent events, in several pieces as models
// send it.
func (t *turn) stream(c *conversation) []byte {
	var b bytes.Buffer
	send := func(delta *wireMessage, reason *string) {
		doc := t.frame(c, "chat.completion.chunk")
		doc.Choices = []wireChoice{{Delta: delta, FinishReason: reason}}
		writeEvent(&b, doc)
	}
	empty := ""
	send(&wireMessage{Role: "assistant", Content: &empty}, nil)
	for _, piece := range pieces(t.thought, 400) {
		send(&wireMessage{Reasoning: piece}, nil)
	}
	for _, piece := range pieces(t.text, 100) {
		send(&wireMessage{Content: &piece}, nil)
	}
	if t.call != nil {
		send(&wireMessage{ToolCalls: []wireToolCall{{
			ID: t.toolCallID(c), Type: "function", Function: wireFunction{Name: t.call.name},
		}}}, nil)
		for _, piece := range pieces(t.call.arguments(), 2000) {
			send(&wireMessage{ToolCalls: []wireToolCall{{Function: wireFunction{Arguments: piece}}}}, nil)
		}
	}
	reason := t.finishReason()
	send(&wireMessage{}, &reason)
	last := t.frame(c, "chat.completion.chunk")
	last.Choices, last.Usage = []wireChoice{}, t.usage(c)
	writeEvent(&b, last)
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

func writeEvent(b *bytes.Buffer, doc any) {
	body, err := json.Marshal(doc)
	if err != nil { // texts and numbers only
		return
	}
	fmt.Fprintf(b, "data: %s\n\n", body)
}

// pieces cuts a text into parts of about n bytes, between characters.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > n {
		cut := n
		for cut > 1 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		out, text = append(out, text[:cut]), text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

func errorBody(status int, message string) []byte {
	kind := "invalid_request_error"
	switch {
	case status == 401:
		kind = "authentication_error"
	case status == 429:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	told := map[string]string{"message": message, "type": kind, "code": kind}
	body, err := json.Marshal(map[string]any{"error": told})
	if err != nil { // texts only
		return []byte("{}")
	}
	return body
}
