package model

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// messages asks in Anthropic's messages.
type messages struct{ service anthropic.MessageService }

func newMessages(root string, client *http.Client) *messages {
	return &messages{anthropic.NewMessageService(option.WithBaseURL(root+"/"), option.WithAPIKey(noKey),
		option.WithHTTPClient(client), option.WithMaxRetries(0), option.WithHeader("anthropic-version", "2023-06-01"))}
}

// Ask implements Asker.
func (m *messages) Ask(ctx context.Context, q Question) (*Answer, error) {
	params := anthropic.MessageNewParams{
		Model: anthropic.Model(q.Model), MaxTokens: mostTokens(q.Model),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(q.Prompt))},
	}
	if q.Effort != "" {
		params.OutputConfig = anthropic.OutputConfigParam{Effort: anthropic.OutputConfigEffort(q.Effort)}
	}
	l := listen()
	err := follow(m.service.NewStreaming(ctx, params), l.message)
	var refused *anthropic.Error
	if errors.As(err, &refused) {
		err = &StatusError{refused.StatusCode, clip(anthropicMessage(refused), maxMessage)}
	}
	return l.end(err)
}

// message takes an event of a message.
func (l *listener) message(e anthropic.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		l.Model = clip(string(e.Message.Model), maxName)
		l.used(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_delta":
		return l.hear(e.Delta.Text, e.Delta.Thinking)
	case "message_delta":
		if r := e.Delta.StopReason; r != "" {
			l.Finish = clip(string(r), maxName)
			l.Cut = r == "max_tokens" || r == "model_context_window_exceeded"
		}
		u := e.Usage
		if u.JSON.InputTokens.Valid() {
			l.used(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
		} else if u.JSON.OutputTokens.Valid() {
			l.Usage.Output = &u.OutputTokens
		}
	}
	return nil
}

// used takes the figures of a message, whose input is told in three parts.
func (l *listener) used(input, cached, written, output int64) {
	input += cached + written
	l.Usage = Usage{Input: &input, Cached: &cached, CacheWrite: &written, Output: &output}
}

// anthropicMessage is what the provider said, else the library's own text.
func anthropicMessage(e *anthropic.Error) string {
	text := e.Error()
	if i := strings.IndexByte(text, '{'); i >= 0 {
		text = text[i:]
	}
	return strings.TrimSpace(text)
}
