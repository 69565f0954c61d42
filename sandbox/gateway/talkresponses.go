package gateway

import "encoding/json"

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters schema          `json:"parameters"`
	Tools      []responsesTool `json:"tools"` // of a namespace
}

func (c *conversation) readResponses(body []byte) error {
	var doc struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"` // a text or a list
		Tools  []responsesTool `json:"tools"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return err
	}
	c.model, c.stream = doc.Model, doc.Stream
	c.offer(doc.Tools)
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content contents        `json:"content"`
		Tools   []responsesTool `json:"tools"`
	}
	if len(doc.Input) == 0 || doc.Input[0] != '[' {
		return nil
	}
	if err := json.Unmarshal(doc.Input, &items); err != nil {
		return err
	}
	var said []speaker
	for _, item := range items {
		if item.Type == "additional_tools" {
			c.codeMode = true
			c.offer(item.Tools)
		}
		model := item.Role == "assistant" || item.Type == "reasoning" ||
			item.Type == "function_call" || item.Type == "custom_tool_call" || item.Type == "local_shell_call"
		said = append(said, speaker{model, item.Role == "user", item.Content.summary})
	}
	c.follow(said)
	return nil
}

// offer takes in tools, those of namespaces under their plain names.
func (c *conversation) offer(tools []responsesTool) {
	for _, t := range tools {
		if len(t.Tools) > 0 {
			c.offer(t.Tools)
			continue
		}
		c.tools = append(c.tools, toolOffer{t.Name, t.Type == "custom", t.Parameters.Properties})
	}
}

// responseItems are the items of an answer's output.
func (t *turn) responseItems(c *conversation) []object {
	var items []object
	if t.thought != "" {
		items = append(items, object{"type": "reasoning", "id": c.callID("rs"),
			"summary": []object{{"type": "summary_text", "text": t.thought}}})
	}
	if t.text != "" {
		items = append(items, object{"type": "message", "id": c.callID("msg"), "role": "assistant",
			"status":  "completed",
			"content": []object{{"type": "output_text", "text": t.text, "annotations": []object{}}}})
	}
	switch call := t.call; {
	case call == nil:
	case call.free != "":
		items = append(items, object{"type": "custom_tool_call", "id": c.callID("ctc"), "status": "completed",
			"call_id": c.callID("call"), "name": call.name, "input": call.free})
	default:
		items = append(items, object{"type": "function_call", "id": c.callID("fc"), "status": "completed",
			"call_id": c.callID("call"), "name": call.name, "arguments": call.arguments()})
	}
	return items
}

// response is the response object, at its end or at its beginning.
func (t *turn) response(c *conversation, done bool) object {
	doc := object{"id": t.id(c, "resp"), "object": "response", "created_at": 0, "model": c.model, "error": nil,
		"status": "in_progress", "output": []object{}, "usage": nil}
	if !done {
		return doc
	}
	f := t.figures(c)
	doc["status"], doc["output"] = "completed", t.responseItems(c)
	doc["usage"] = object{
		"input_tokens": f.input, "input_tokens_details": object{"cached_tokens": f.cached},
		"output_tokens": f.output, "output_tokens_details": object{"reasoning_tokens": f.reasoning},
		"total_tokens": f.input + f.output,
	}
	return doc
}

// responsesStream numbers the events of a stream.
type responsesStream struct{ events [][]byte }

func (s *responsesStream) send(kind string, doc object) {
	doc["type"], doc["sequence_number"] = kind, len(s.events)
	s.events = append(s.events, event(kind, doc))
}

func (t *turn) streamResponses(c *conversation) [][]byte {
	s := &responsesStream{}
	s.send("response.created", object{"response": t.response(c, false)})
	for i, item := range t.responseItems(c) {
		s.item(i, item, t)
	}
	s.send("response.completed", object{"response": t.response(c, true)})
	return s.events
}

// item sends one item with all that leads to it.
func (s *responsesStream) item(index int, item object, t *turn) {
	begun := object{}
	for name, v := range item {
		begun[name] = v
	}
	part, texts := "", []string(nil)
	place := object{}
	switch item["type"] {
	case "reasoning":
		begun["summary"] = []object{}
		part, texts = "reasoning_summary", pieces(t.thought, 400)
		place = object{"summary_index": 0}
	case "message":
		begun["content"], begun["status"] = []object{}, "in_progress"
		part, texts = "content", pieces(t.text, 100)
		place = object{"content_index": 0}
	case "custom_tool_call":
		begun["input"], begun["status"] = "", "in_progress"
	default:
		begun["arguments"], begun["status"] = "", "in_progress"
	}
	at := func(more object) object {
		doc := object{"item_id": item["id"], "output_index": index}
		for _, members := range []object{place, more} {
			for name, v := range members {
				doc[name] = v
			}
		}
		return doc
	}
	s.send("response.output_item.added", object{"output_index": index, "item": begun})
	switch part {
	case "reasoning_summary":
		s.part("response.reasoning_summary_part", "response.reasoning_summary_text", texts,
			func(text string) object { return object{"type": "summary_text", "text": text} }, at)
	case "content":
		s.part("response.content_part", "response.output_text", texts,
			func(text string) object {
				return object{"type": "output_text", "text": text, "annotations": []object{}}
			}, at)
	default:
		s.callArgument(t.call, at)
	}
	s.send("response.output_item.done", object{"output_index": index, "item": item})
}

// part sends a part of an item that holds a text.
func (s *responsesStream) part(
	partKind, textKind string, texts []string, doc func(string) object, at func(object) object,
) {
	whole := ""
	s.send(partKind+".added", at(object{"part": doc("")}))
	for _, text := range texts {
		whole += text
		s.send(textKind+".delta", at(object{"delta": text}))
	}
	s.send(textKind+".done", at(object{"text": whole}))
	s.send(partKind+".done", at(object{"part": doc(whole)}))
}

func (s *responsesStream) callArgument(call *toolCall, at func(object) object) {
	kind, name := "response.function_call_arguments", "arguments"
	if call.free != "" {
		kind, name = "response.custom_tool_call_input", "input"
	}
	for _, piece := range pieces(call.argument(), 2000) {
		s.send(kind+".delta", at(object{"delta": piece}))
	}
	s.send(kind+".done", at(object{name: call.argument()}))
}
