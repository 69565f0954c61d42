package gateway

import "encoding/json"

func (c *conversation) readMessages(body []byte) error {
	var doc struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string   `json:"role"`
			Content contents `json:"content"`
		} `json:"messages"`
		Thinking struct {
			Type string `json:"type"`
		} `json:"thinking"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return err
	}
	c.model, c.stream = doc.Model, doc.Stream
	c.thinks = doc.Thinking.Type == "enabled" || doc.Thinking.Type == "adaptive"
	var said []speaker
	for _, m := range doc.Messages {
		said = append(said, speaker{m.Role == "assistant", m.Role == "user", m.Content.summary})
	}
	c.follow(said)
	for _, t := range doc.Tools {
		c.tools = append(c.tools, toolOffer{name: t.Name, parameters: t.Schema.Properties})
	}
	return nil
}

// blocks are the content blocks of a message.
func (t *turn) blocks(c *conversation) []object {
	blocks := []object{}
	if t.thought != "" && c.thinks {
		blocks = append(blocks, object{"type": "thinking", "thinking": t.thought, "signature": "c2NyaXB0ZWQ="})
	}
	if t.text != "" {
		blocks = append(blocks, object{"type": "text", "text": t.text})
	}
	if t.call != nil {
		blocks = append(blocks, object{"type": "tool_use", "id": c.callID("toolu"), "name": t.call.name,
			"input": json.RawMessage(t.call.arguments())})
	}
	return blocks
}

func (t *turn) messageStop() string {
	if t.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (t *turn) messageUsage(c *conversation) object {
	f := t.figures(c)
	return object{
		"input_tokens": f.input - f.cached - f.cacheWrite, "cache_read_input_tokens": f.cached,
		"cache_creation_input_tokens": f.cacheWrite, "output_tokens": f.output,
	}
}

// message is the message object, at its end or at its beginning.
func (t *turn) message(c *conversation, done bool) object {
	usage := t.messageUsage(c)
	doc := object{"id": t.id(c, "msg"), "type": "message", "role": "assistant", "model": c.model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if done {
		doc["content"], doc["stop_reason"] = t.blocks(c), t.messageStop()
	} else {
		usage["output_tokens"] = 1
	}
	return doc
}

func (t *turn) streamMessages(c *conversation) [][]byte {
	var out [][]byte
	send := func(kind string, doc object) {
		doc["type"] = kind
		out = append(out, event(kind, doc))
	}
	send("message_start", object{"message": t.message(c, false)})
	for i, block := range t.blocks(c) {
		delta := func(d object) { send("content_block_delta", object{"index": i, "delta": d}) }
		switch block["type"] {
		case "thinking":
			send("content_block_start", object{"index": i,
				"content_block": object{"type": "thinking", "thinking": "", "signature": ""}})
			for _, piece := range pieces(t.thought, 400) {
				delta(object{"type": "thinking_delta", "thinking": piece})
			}
			delta(object{"type": "signature_delta", "signature": block["signature"]})
		case "text":
			send("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
			for _, piece := range pieces(t.text, 100) {
				delta(object{"type": "text_delta", "text": piece})
			}
		default:
			send("content_block_start", object{"index": i, "content_block": object{
				"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}})
			for _, piece := range pieces(t.call.arguments(), 2000) {
				delta(object{"type": "input_json_delta", "partial_json": piece})
			}
		}
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"usage": t.messageUsage(c),
		"delta": object{"stop_reason": t.messageStop(), "stop_sequence": nil}})
	send("message_stop", object{})
	return out
}
