package gateway

import "encoding/json"

func (c *conversation) readChat(body []byte) error {
	var doc struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string   `json:"role"`
			Content contents `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"function"`
			Custom struct {
				Name string `json:"name"`
			} `json:"custom"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return err
	}
	c.model, c.stream = doc.Model, doc.Stream
	var said []speaker
	for _, m := range doc.Messages {
		said = append(said, speaker{m.Role == "assistant", m.Role == "user", m.Content.summary})
	}
	c.follow(said)
	for _, t := range doc.Tools {
		if t.Custom.Name != "" {
			c.tools = append(c.tools, toolOffer{name: t.Custom.Name, free: true})
		} else {
			c.tools = append(c.tools, toolOffer{name: t.Function.Name, parameters: t.Function.Parameters.Properties})
		}
	}
	return nil
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
		Index    int           `json:"index"`
		ID       string        `json:"id,omitempty"`
		Type     string        `json:"type,omitempty"`
		Function *wireFunction `json:"function,omitempty"`
		Custom   *wireCustom   `json:"custom,omitempty"`
	}
	wireFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	wireCustom struct {
		Name  string `json:"name,omitempty"`
		Input string `json:"input"`
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

func (t *turn) chatUsage(c *conversation) *wireUsage {
	f := t.figures(c)
	u := &wireUsage{Prompt: f.input, Completion: f.output, Total: f.input + f.output}
	u.PromptDetails.Cached, u.CompletionDetails.Reasoning = f.cached, f.reasoning
	return u
}

func (t *turn) chatFinish() *string {
	reason := "stop"
	if t.call != nil {
		reason = "tool_calls"
	}
	return &reason
}

// chatFrame is the part that all chunks of an answer share.
func (t *turn) chatFrame(c *conversation, kind string) wireCompletion {
	return wireCompletion{ID: t.id(c, "chatcmpl"), Object: kind, Model: c.model}
}

// chatCall is the call with that part of its argument.
func (t *turn) chatCall(argument string) wireToolCall {
	if t.call.free != "" {
		return wireToolCall{Custom: &wireCustom{Input: argument}}
	}
	return wireToolCall{Function: &wireFunction{Arguments: argument}}
}

// chatCallNamed is chatCall with what names the call, as its first piece has it.
func (t *turn) chatCallNamed(c *conversation, argument string) wireToolCall {
	call := t.chatCall(argument)
	call.ID, call.Type = c.callID("call"), "function"
	if call.Custom != nil {
		call.Type, call.Custom.Name = "custom", t.call.name
	} else {
		call.Function.Name = t.call.name
	}
	return call
}

// argument is what the call is made with.
func (c *toolCall) argument() string {
	if c.free != "" {
		return c.free
	}
	return c.arguments()
}

func (t *turn) completion(c *conversation) wireCompletion {
	doc := t.chatFrame(c, "chat.completion")
	msg := &wireMessage{Role: "assistant", Content: &t.text, Reasoning: t.thought}
	if t.call != nil {
		msg.ToolCalls = []wireToolCall{t.chatCallNamed(c, t.call.argument())}
	}
	doc.Choices = []wireChoice{{Message: msg, FinishReason: t.chatFinish()}}
	doc.Usage = t.chatUsage(c)
	return doc
}

func (t *turn) streamChat(c *conversation) [][]byte {
	var out [][]byte
	send := func(delta *wireMessage, reason *string) {
		doc := t.chatFrame(c, "chat.completion.chunk")
		doc.Choices = []wireChoice{{Delta: delta, FinishReason: reason}}
		out = append(out, event("", doc))
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
		send(&wireMessage{ToolCalls: []wireToolCall{t.chatCallNamed(c, "")}}, nil)
		for _, piece := range pieces(t.call.argument(), 2000) {
			send(&wireMessage{ToolCalls: []wireToolCall{t.chatCall(piece)}}, nil)
		}
	}
	send(&wireMessage{}, t.chatFinish())
	last := t.chatFrame(c, "chat.completion.chunk")
	last.Choices, last.Usage = []wireChoice{}, t.chatUsage(c)
	return append(out, event("", last), []byte("data: [DONE]\n\n"))
}
