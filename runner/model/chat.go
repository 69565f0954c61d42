package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// chat asks in OpenAI's chat completions.
type chat struct{ service openai.ChatCompletionService }

// openAIOptions are those of both of OpenAI's wires. The services are made
// without their client, which would read keys and addresses from the
// environment.
func openAIOptions(root string, client *http.Client) []option.RequestOption {
	return []option.RequestOption{option.WithBaseURL(root + "/v1/"), option.WithAPIKey(noKey),
		option.WithHTTPClient(client), option.WithMaxRetries(0)}
}

func newChat(root string, client *http.Client) *chat {
	return &chat{openai.NewChatCompletionService(openAIOptions(root, client)...)}
}

// Ask implements Asker.
func (c *chat) Ask(ctx context.Context, q Question) (*Answer, error) {
	params := openai.ChatCompletionNewParams{
		Model:           q.Model,
		Messages:        []openai.ChatCompletionMessageParamUnion{openai.UserMessage(q.Prompt)},
		ReasoningEffort: shared.ReasoningEffort(q.Effort),
		StreamOptions:   openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	var extra []option.RequestOption
	if thinksOnRequest(q.Model) {
		extra = append(extra, option.WithJSONSet("reasoning.enabled", true))
	}
	l := listen()
	err := follow(c.service.NewStreaming(ctx, params, extra...), l.chunk)
	return l.end(openAIError(err))
}

// chunk takes a piece of a chat completion.
func (l *listener) chunk(c openai.ChatCompletionChunk) error {
	if c.Model != "" {
		l.Model = clip(c.Model, maxName)
	}
	if u := c.Usage; c.JSON.Usage.Valid() {
		l.Usage = Usage{
			Input: known(u.PromptTokens, u.JSON.PromptTokens.Valid()), Output: known(u.CompletionTokens, u.JSON.CompletionTokens.Valid()),
			Cached:    known(u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.JSON.CachedTokens.Valid()),
			Reasoning: known(u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokensDetails.JSON.ReasoningTokens.Valid()),
		}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	if f := choice.FinishReason; f != "" {
		l.Finish, l.Cut = clip(f, maxName), f == "length"
	}
	return l.hear(choice.Delta.Content, thinking(choice.Delta))
}

// thinking is a piece of the reasoning, which is no part of the wire itself:
// providers have two names for it.
func thinking(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// openAIError is an error of the library as this package has it.
func openAIError(err error) error {
	var refused *openai.Error
	if errors.As(err, &refused) {
		return &StatusError{refused.StatusCode, clip(strings.TrimSpace(refused.Message), maxMessage)}
	}
	return err
}
