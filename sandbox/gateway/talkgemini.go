package gateway

import (
	"encoding/json"
	"fmt"
)

func (c *conversation) readGemini(body []byte) error {
	var doc struct {
		Contents []struct {
			Role  string   `json:"role"`
			Parts contents `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
				JSONSchema schema `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			MIME string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return err
	}
	c.json = doc.Config.MIME == "application/json"
	var said []speaker
	for _, m := range doc.Contents {
		said = append(said, speaker{m.Role == "model", m.Role == "user", m.Parts.summary})
	}
	c.follow(said)
	for _, group := range doc.Tools {
		for _, f := range group.Functions {
			parameters := f.JSONSchema.Properties
			if parameters == nil {
				parameters = f.Parameters.Properties
			}
			c.tools = append(c.tools, toolOffer{name: f.Name, parameters: parameters})
		}
	}
	return nil
}

// geminiParts are the parts of an answer's content.
func (t *turn) geminiParts(c *conversation) []object {
	var parts []object
	for _, piece := range pieces(t.thought, 400) {
		parts = append(parts, object{"text": piece, "thought": true})
	}
	for _, piece := range pieces(t.text, 100) {
		parts = append(parts, object{"text": piece})
	}
	if t.call != nil {
		parts = append(parts, object{"thoughtSignature": "c2NyaXB0ZWQ=", "functionCall": object{
			"id": c.callID("call"), "name": t.call.name, "args": json.RawMessage(t.call.arguments())}})
	}
	return parts
}

// geminiAnswer is an answer with these parts, the last of a stream or one
// before it.
func (t *turn) geminiAnswer(c *conversation, parts []object, last bool) object {
	f := t.figures(c)
	usage := object{"promptTokenCount": f.input, "totalTokenCount": f.input}
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if last {
		candidate["finishReason"] = "STOP"
		usage = object{
			"promptTokenCount": f.input, "cachedContentTokenCount": f.cached,
			"candidatesTokenCount": f.output - f.reasoning, "thoughtsTokenCount": f.reasoning,
			"totalTokenCount": f.input + f.output,
		}
	}
	return object{"candidates": []object{candidate}, "usageMetadata": usage,
		"modelVersion": c.model, "responseId": t.id(c, "gemini")}
}

func (t *turn) streamGemini(c *conversation) [][]byte {
	var out [][]byte
	parts := t.geminiParts(c)
	for i := range parts {
		doc := t.geminiAnswer(c, parts[i:i+1], i == len(parts)-1)
		switch {
		case !c.list:
			out = append(out, fmt.Appendf(nil, "data: %s\r\n\r\n", encode(doc)))
		case i == 0:
			out = append(out, fmt.Appendf(nil, "[%s", encode(doc)))
		default:
			out = append(out, fmt.Appendf(nil, ",\r\n%s", encode(doc)))
		}
	}
	if c.list {
		out = append(out, []byte("]"))
	}
	return out
}
