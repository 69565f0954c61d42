package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// PreflightKind says what keeps a provider from answering.
type PreflightKind string

// What a preflight can find.
const (
	PreflightKey     PreflightKind = "key"     // none to be read, or it was rejected
	PreflightMoney   PreflightKind = "money"   // the account has none left
	PreflightModel   PreflightKind = "model"   // the provider does not know it
	PreflightAddress PreflightKind = "address" // something else answers there
	PreflightSilent  PreflightKind = "silent"  // nobody answers there
	PreflightRefused PreflightKind = "refused" // the request itself was not accepted
	PreflightBroken  PreflightKind = "broken"  // the provider answers with errors of its own
)

// PreflightError is why a provider is of no use as it is set up, in a sentence
// for people. Keys are masked in it.
type PreflightError struct {
	Kind     PreflightKind
	Provider string
	Model    string
	Status   int // 0 without an answer
	Message  string
}

func (e *PreflightError) Error() string { return e.Message }

const (
	preflightTime  = time.Minute
	preflightTries = 3
	preflightBody  = 1 << 20
)

// Preflight asks a provider's model one tiny question, so that a wrong key,
// model or address shows before anything else is paid for. Errors are a
// *PreflightError or the context's. A provider that is busy (429) has passed:
// it knows the key.
func Preflight(ctx context.Context, up Upstream, w Wire, model string) error {
	bounded, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	c := &check{up: up, wire: w, model: model, mask: maskOf(up)}
	var err *PreflightError
	for n, brief := 0, true; n < preflightTries; n++ {
		err = c.ask(bounded, brief)
		if ctx.Err() != nil {
			return fmt.Errorf("asking %s: %w", up.Name(), ctx.Err())
		}
		if err == nil {
			return nil
		}
		switch err.Kind {
		case PreflightRefused: // perhaps the bound of the answer's length is what it does not take
			if !brief {
				return err
			}
			brief = false
		case PreflightBroken, PreflightSilent:
			if sleep(bounded, time.Second) != nil {
				return err
			}
		default:
			return err
		}
	}
	return err
}

// maskOf returns what hides an upstream's secrets.
func maskOf(up Upstream) *Mask {
	if u, ok := up.(masked); ok {
		return u.Mask()
	}
	return &Mask{}
}

// check is one preflight.
type check struct {
	up    Upstream
	wire  Wire
	model string
	mask  *Mask
}

// ask sends the question once.
func (c *check) ask(ctx context.Context, brief bool) *PreflightError {
	r, err := c.request(ctx, brief)
	if err != nil {
		return c.failed(PreflightRefused, 0, fmt.Sprintf("the question cannot be asked: %v", err))
	}
	resp, err := c.up.RoundTrip(r)
	if err != nil {
		return c.unanswered(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, preflightBody))
	if err != nil {
		return c.unanswered(err)
	}
	body = c.mask.Bytes(body)
	status := resp.StatusCode
	if status < 300 && toldError(body) != "" {
		status = readErrorBody(body).status()
	}
	switch {
	case status >= 300 && status <= 399:
		return c.failed(PreflightAddress, status, "it sends requests on to another address")
	case status >= 300:
		return c.refused(status, body)
	case !looksLikeAnswer(body):
		return c.failed(PreflightAddress, status, "what it says is no answer of a model: "+oneLine(firstOf(body)))
	}
	return nil
}

// request is the question; brief bounds the answer's length where the wire can
// do without.
func (c *check) request(ctx context.Context, brief bool) (*http.Request, error) {
	const question = "Reply with the word ok."
	turns := []any{map[string]any{"role": "user", "content": question}}
	call := modelCall{wire: c.wire, method: "generateContent"}
	doc := map[string]any{"model": c.model}
	switch c.wire {
	case WireResponses:
		doc["input"] = question
		doc["store"] = false
		if brief {
			doc["max_output_tokens"] = 16
		}
	case WireMessages:
		doc["messages"] = turns
		doc["max_tokens"] = 16
	case WireGemini:
		doc = map[string]any{"contents": []any{
			map[string]any{"role": "user", "parts": []any{map[string]any{"text": question}}},
		}}
		if brief {
			doc["generationConfig"] = map[string]any{"maxOutputTokens": 16}
		}
	default:
		doc["messages"] = turns
		if brief {
			doc["max_completion_tokens"] = 16
		}
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL = call.url(c.model, url.Values{})
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// unanswered explains why there was no answer.
func (c *check) unanswered(err error) *PreflightError {
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrKey):
		return c.failed(PreflightKey, 0, err.Error())
	case errors.Is(err, ErrWire):
		return c.failed(PreflightRefused, 0, err.Error())
	case errors.As(err, &dns) && dns.IsNotFound:
		return c.failed(PreflightAddress, 0, fmt.Sprintf("there is no host %q", dns.Name))
	case errors.Is(err, context.DeadlineExceeded):
		return c.failed(PreflightSilent, 0, fmt.Sprintf("no answer within %v", preflightTime))
	}
	return c.failed(PreflightSilent, 0, "no answer: "+err.Error())
}

// refused explains a refusal. A rate limit is none.
func (c *check) refused(status int, body []byte) *PreflightError {
	said := toldError(body)
	if said == "" {
		said = errorMessage(body)
	}
	json := looksLikeJSON(body) || strings.HasPrefix(strings.TrimSpace(string(body)), "[")
	switch kind := kindOf(status, body); {
	case kind == FailureRateLimit:
		return nil
	case kind == FailureCredentials:
		return c.failed(PreflightKey, status, fmt.Sprintf("the key was rejected (status %d): %s", status, said))
	case kind == FailureQuota:
		return c.failed(PreflightMoney, status, fmt.Sprintf("there is no money or quota left (status %d): %s", status, said))
	case kind == FailureModel && json && (status != http.StatusNotFound || strings.Contains(strings.ToLower(said), "model")):
		return c.failed(PreflightModel, status, fmt.Sprintf("it does not know model %q: %s", c.model, said))
	case kind == FailureModel, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return c.failed(PreflightAddress, status, fmt.Sprintf("nothing answers models there (status %d): %s", status, said))
	case kind == FailureServer:
		return c.failed(PreflightBroken, status, fmt.Sprintf("it fails (status %d): %s", status, said))
	default:
		return c.failed(PreflightRefused, status, fmt.Sprintf("it refuses a plain question (status %d): %s", status, said))
	}
}

// failed makes the error: who was asked where, and what came of it.
func (c *check) failed(kind PreflightKind, status int, what string) *PreflightError {
	where := ""
	if u, ok := c.up.(interface{ Address(Wire) string }); ok {
		if at := u.Address(c.wire); at != "" {
			where = " at " + at
		}
	}
	return &PreflightError{
		Kind: kind, Provider: c.up.Name(), Model: c.model, Status: status,
		Message: oneLine(c.mask.String(fmt.Sprintf("provider %s%s: %s", c.up.Name(), where, what))),
	}
}

// toldError is what the error member of a document says, "" without one.
func toldError(body []byte) string {
	if first, err := splitFirst(body); err == nil {
		body = first
	}
	var doc struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	return oneLine(errorText(doc.Error))
}

// splitFirst returns the first element of a list.
func splitFirst(body []byte) ([]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("empty list")
	}
	return list[0], nil
}

// status is what an error told within an answer of status 200 would have been.
func (e errorBody) status() int {
	var code int
	if json.Unmarshal(e.Code, &code) == nil && code >= 400 && code <= 599 {
		return code
	}
	return http.StatusBadRequest
}

// looksLikeAnswer reports whether a document is a model's answer in any wire.
func looksLikeAnswer(body []byte) bool {
	var doc map[string]json.RawMessage
	if json.Unmarshal(body, &doc) != nil {
		return false
	}
	for _, member := range []string{"choices", "output", "content", "candidates"} {
		if _, ok := doc[member]; ok {
			return true
		}
	}
	return false
}

func firstOf(body []byte) string { return string(body[:min(len(body), 200)]) }
