package gateway

import (
	"encoding/json"
	"strings"
)

// completion is the part of a chat completion, whole or chunk, that matters here.
type completion struct {
	Choices []struct {
		Delta        message `json:"delta"`
		Message      message `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input        *figure `json:"prompt_tokens"`
		Output       *figure `json:"completion_tokens"`
		Total        *figure `json:"total_tokens"`
		InputDetails *struct {
			Cached *figure `json:"cached_tokens"`
			Write  *figure `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		OutputDetails *struct {
			Reasoning *figure `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		chatCharge
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// chatCharge is what OpenRouter tells about the cost of an answer, in dollars.
type chatCharge struct {
	Cost    json.RawMessage `json:"cost"`
	Own     bool            `json:"is_byok"` // then the vendor charges besides
	Details struct {
		Vendor json.RawMessage `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// told is the cost of the answer, nil without a believable one.
func (c chatCharge) told() *float64 {
	parts := []json.RawMessage{c.Cost}
	if c.Own {
		parts = append(parts, c.Details.Vendor)
	}
	var sum float64
	for _, raw := range parts {
		var usd *float64
		if json.Unmarshal(raw, &usd) != nil || usd == nil || *usd < 0 || *usd > 1e4 {
			return nil
		}
		sum += *usd
	}
	return &sum
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

// readChat reads a chunk of a chat completion or a whole one.
func readChat(m *meter, data []byte) {
	if string(data) == "[DONE]" {
		m.finished = true
		return
	}
	var c completion
	if !decode(data, &c) {
		return
	}
	for _, choice := range c.Choices {
		m.content = m.content || choice.Delta.says() || choice.Message.says()
		m.finished = m.finished || choice.FinishReason != nil && *choice.FinishReason != ""
	}
	m.fail(c.Error)
	if u := c.Usage; u != nil {
		m.usage = Usage{Input: tokens(u.Input), Output: tokens(u.Output), ToldUSD: u.told()}
		if u.InputDetails != nil {
			m.usage.Cached = tokens(u.InputDetails.Cached)
			m.usage.CacheWrite = tokens(u.InputDetails.Write)
		}
		if u.OutputDetails != nil {
			m.usage.Reasoning = tokens(u.OutputDetails.Reasoning)
		}
		m.usage.withThoughts(tokens(u.Total))
	}
}

// withThoughts counts reasoning into the output where the provider has not: xAI
// and Gemini's chat completions tell it beside the completion, in the total only.
func (u *Usage) withThoughts(total *int64) {
	if !u.Known() || total == nil {
		return
	}
	rest := *total - *u.Input - *u.Output
	if rest <= 0 || u.Reasoning != nil && rest != *u.Reasoning {
		return
	}
	output := *u.Output + rest
	u.Output = &output
}
