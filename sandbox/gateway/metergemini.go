package gateway

import "encoding/json"

// geminiAnswer is the part of a GenerateContentResponse, whole or one of a
// stream, that matters here.
type geminiAnswer struct {
	Candidates []struct {
		Content struct {
			Parts []geminiPart `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		Blocked string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     *figure `json:"promptTokenCount"` // includes cached
		Tools      *figure `json:"toolUsePromptTokenCount"`
		Cached     *figure `json:"cachedContentTokenCount"`
		Candidates *figure `json:"candidatesTokenCount"`
		Thoughts   *figure `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

type geminiPart struct {
	Text    string          `json:"text"`
	Thought bool            `json:"thought"`
	Call    json.RawMessage `json:"functionCall"`
}

func (p *geminiPart) says() bool {
	return p.Text != "" && !p.Thought || len(p.Call) > 0 && string(p.Call) != "null"
}

// readGemini reads a part of a stream, a whole answer, or a stream that comes
// as one list.
func readGemini(m *meter, data []byte) {
	if list, ok := geminiList(m, data); ok {
		for _, one := range list {
			m.geminiAnswer(one)
		}
		return
	}
	m.geminiAnswer(data)
}

func geminiList(m *meter, data []byte) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if m.stream || len(data) == 0 || data[0] != '[' || json.Unmarshal(data, &list) != nil {
		return nil, false
	}
	return list, true
}

func (m *meter) geminiAnswer(data []byte) {
	var a geminiAnswer
	if !decode(data, &a) {
		return
	}
	for _, c := range a.Candidates {
		for i := range c.Content.Parts {
			m.content = m.content || c.Content.Parts[i].says()
		}
		m.finished = m.finished || c.FinishReason != ""
	}
	m.fail(a.Error)
	if a.Feedback.Blocked != "" {
		m.failWith("the prompt was blocked: " + a.Feedback.Blocked)
	}
	u := a.Usage
	if u == nil || tokens(u.Prompt) == nil {
		return
	}
	input := *tokens(u.Prompt) + value(tokens(u.Tools))
	m.usage = Usage{Input: &input, Cached: tokens(u.Cached)}
	// Figures of output grow with the stream and are final at its end. Zeros
	// are left out in this wire, so there what is not told is none.
	if m.finished || !m.stream || m.failure != "" {
		cached, thoughts := value(tokens(u.Cached)), value(tokens(u.Thoughts))
		output := value(tokens(u.Candidates)) + thoughts
		m.usage.Cached, m.usage.Output, m.usage.Reasoning = &cached, &output, &thoughts
	}
}
