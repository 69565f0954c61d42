package model

import (
	"context"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// responsesWire asks in OpenAI's responses.
type responsesWire struct{ service responses.ResponseService }

func newResponses(root string, client *http.Client) *responsesWire {
	return &responsesWire{responses.NewResponseService(openAIOptions(root, client)...)}
}

// Ask implements Asker.
func (r *responsesWire) Ask(ctx context.Context, q Question) (*Answer, error) {
	params := responses.ResponseNewParams{
		Model: q.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(q.Prompt)},
		Store: openai.Bool(false),
	}
	if q.Effort != "" {
		params.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(q.Effort)}
	}
	l := listen()
	err := follow(r.service.NewStreaming(ctx, params), l.event)
	return l.end(openAIError(err))
}

// event takes an event of a response.
func (l *listener) event(e responses.ResponseStreamEventUnion) error {
	switch e.Type {
	case "response.output_text.delta":
		return l.hear(e.Delta, "")
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return l.hear("", e.Delta)
	case "response.completed", "response.incomplete", "response.failed":
		return l.response(e.Response)
	case "error":
		return fmt.Errorf("the provider broke off: %s", clip(e.Message, maxMessage))
	}
	return nil
}

// response takes the whole response, as it stands at its end.
func (l *listener) response(r responses.Response) error {
	l.Model, l.Finish = clip(r.Model, maxName), clip(string(r.Status), maxName)
	if r.JSON.Usage.Valid() {
		u := r.Usage
		l.Usage = Usage{
			Input: known(u.InputTokens, u.JSON.InputTokens.Valid()), Output: known(u.OutputTokens, u.JSON.OutputTokens.Valid()),
			Cached:    known(u.InputTokensDetails.CachedTokens, u.InputTokensDetails.JSON.CachedTokens.Valid()),
			Reasoning: known(u.OutputTokensDetails.ReasoningTokens, u.OutputTokensDetails.JSON.ReasoningTokens.Valid()),
		}
	}
	switch r.Status {
	case responses.ResponseStatusIncomplete:
		l.Finish, l.Cut = clip(r.IncompleteDetails.Reason, maxName), true
	case responses.ResponseStatusFailed:
		return fmt.Errorf("the provider failed: %s", clip(r.Error.Message, maxMessage))
	}
	if l.text.Len() == 0 {
		return l.hear(r.OutputText(), "")
	}
	return nil
}
