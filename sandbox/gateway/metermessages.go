package gateway

import "encoding/json"

// messagesEvent is the part of an event of a messages stream that matters
// here; a whole answer is the message that the first event holds, filled.
type messagesEvent struct {
	Type    string            `json:"type"`
	Message *messagesDocument `json:"message"`
	Block   *messagesBlock    `json:"content_block"`
	Delta   struct {
		Text       string  `json:"text"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage *messagesUsage  `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type messagesDocument struct {
	Content []messagesBlock `json:"content"`
	Usage   *messagesUsage  `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type messagesBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (b *messagesBlock) says() bool { return b.Type == "tool_use" || b.Type == "text" && b.Text != "" }

type messagesUsage struct {
	Input *figure `json:"input_tokens"` // without what the cache is told for
	Read  *figure `json:"cache_read_input_tokens"`
	Write *figure `json:"cache_creation_input_tokens"`
	Kept  struct {
		Long *figure `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output  *figure `json:"output_tokens"`
	Details *struct {
		Thinking *figure `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// readMessages reads an event of a messages stream or a whole message.
func readMessages(m *meter, data []byte) {
	if !m.stream {
		var doc messagesDocument
		if decode(data, &doc) {
			m.messageBegins(&doc)
			m.messageOutput(doc.Usage)
			m.fail(doc.Error)
		}
		return
	}
	var e messagesEvent
	if !decode(data, &e) {
		return
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			m.messageBegins(e.Message)
		}
	case "content_block_start":
		m.content = m.content || e.Block != nil && e.Block.says()
	case "content_block_delta":
		m.content = m.content || e.Delta.Text != ""
	case "message_delta":
		m.finished = m.finished || e.Delta.StopReason != nil && *e.Delta.StopReason != ""
		m.messageInput(e.Usage)
		m.messageOutput(e.Usage)
	case "message_stop":
		m.finished = true
	}
	m.fail(e.Error)
	if e.Type == "error" {
		m.failWith("error without a message")
	}
}

// messageBegins takes in a message. Its output figure is final only in a whole
// answer: at the beginning of a stream it counts next to nothing.
func (m *meter) messageBegins(doc *messagesDocument) {
	for i := range doc.Content {
		m.content = m.content || doc.Content[i].says()
	}
	m.messageInput(doc.Usage)
}

// messageInput adds the input figures of one event to what is known. They are
// totals, which some servers tell at the beginning, some at the end, and some
// at both with zeros in one of them.
func (m *meter) messageInput(u *messagesUsage) {
	if u == nil {
		return
	}
	plain, read, write := tokens(u.Input), tokens(u.Read), tokens(u.Write)
	known := &m.usage
	if known.Input != nil {
		before := *known.Input - value(known.Cached) - value(known.CacheWrite)
		plain = larger(plain, &before)
	}
	known.Cached, known.CacheWrite = larger(read, known.Cached), larger(write, known.CacheWrite)
	known.CacheWriteLong = larger(tokens(u.Kept.Long), known.CacheWriteLong)
	if plain != nil {
		sum := *plain + value(known.Cached) + value(known.CacheWrite)
		known.Input = &sum
	}
}

func (m *meter) messageOutput(u *messagesUsage) {
	if u == nil {
		return
	}
	m.usage.Output = larger(tokens(u.Output), m.usage.Output)
	if u.Details != nil {
		m.usage.Reasoning = larger(tokens(u.Details.Thinking), m.usage.Reasoning)
	}
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// larger is the larger of two figures of which either may be unknown.
func larger(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
