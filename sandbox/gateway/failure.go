package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// FailureKind says what a provider's failure means for a run.
type FailureKind string

// The kinds of failures.
const (
	FailureCredentials FailureKind = "credentials"  // 401, 403, no readable key
	FailureModel       FailureKind = "model"        // 404, 3xx: unknown model or wrong base URL
	FailureQuota       FailureKind = "quota"        // 402, or 429 that waiting does not mend
	FailureRequest     FailureKind = "request"      // any other 4xx: this request alone
	FailureRateLimit   FailureKind = "rate limit"   // 429
	FailureServer      FailureKind = "server error" // 5xx
	FailureTransport   FailureKind = "transport"    // no answer at all
	FailureCut         FailureKind = "cut"          // the answer broke off after it had begun
	FailureBudget      FailureKind = "budget"       // the run's own budget has no room for the request
	FailureReplay      FailureKind = "replay"       // nothing that is recorded answers the request
)

// ProviderFailure is why a provider gave no usable answer. Keys are masked in it.
type ProviderFailure struct {
	Kind      FailureKind
	Status    int // 0 without an answer
	Message   string
	Permanent bool // the same request would fail again
	Scripted  bool // made up by the scripted upstream, or replayed
	At        time.Time
	Scope     BudgetScope // whose budget it is, for FailureBudget

	retryAfter time.Duration
	unsent     bool   // there was not even a connection
	body       []byte // as the provider sent it, for the agent
}

func (f *ProviderFailure) Error() string {
	if f.Status == 0 {
		return fmt.Sprintf("provider failure (%s): %s", f.Kind, f.Message)
	}
	return fmt.Sprintf("provider failure (%s, status %d): %s", f.Kind, f.Status, f.Message)
}

// PausesSweep reports whether every other request to that provider would fail
// the same way until a person has done something.
func (f *ProviderFailure) PausesSweep() bool {
	if f.Scripted {
		return false
	}
	return f.Kind == FailureCredentials || f.Kind == FailureModel || f.Kind == FailureQuota
}

// agentStatus is what the agent is told.
func (f *ProviderFailure) agentStatus() int {
	if f.Status >= 400 {
		return f.Status
	}
	switch f.Kind {
	case FailureCredentials:
		return http.StatusUnauthorized
	case FailureBudget:
		return http.StatusPaymentRequired
	case FailureRateLimit:
		return http.StatusTooManyRequests
	case FailureReplay: // which no client tries again
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}

const (
	maxErrorBody    = 256 << 10
	maxErrorMessage = 500
)

// statusFailure makes a failure of an answer that is not 2xx. Keys are hidden
// before anything is shortened, so that no half of one is left.
func statusFailure(resp *http.Response, mask func([]byte) []byte) *ProviderFailure {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what came is all there is to tell
	body = mask(body)
	now := time.Now()
	f := &ProviderFailure{Status: resp.StatusCode, At: now, Message: errorMessage(body), body: body}
	f.Kind = kindOf(resp.StatusCode, body)
	switch f.Kind {
	case FailureRateLimit, FailureServer, FailureTransport:
		f.retryAfter = retryAfter(resp.Header, body, now)
	default:
		f.Permanent = true
	}
	switch {
	case f.Status >= 300 && f.Status <= 399:
		f.Message = "it sends requests on to another address, where no key is sent; check the base URL"
	case f.Message == "":
		f.Message = http.StatusText(resp.StatusCode)
	}
	return f
}

// transportFailure makes a failure of a request that got no answer. Callers
// look at the context first.
func transportFailure(err error, mask func([]byte) []byte) *ProviderFailure {
	text := oneLine(string(mask([]byte(err.Error()))))
	f := &ProviderFailure{Kind: FailureTransport, At: time.Now(), Message: text}
	var dial *net.OpError
	f.unsent = errors.As(err, &dial) && dial.Op == "dial"
	var timeout net.Error
	switch {
	case errors.Is(err, ErrKey):
		f.Kind, f.Permanent, f.unsent = FailureCredentials, true, true
	case errors.Is(err, ErrWire):
		f.Kind, f.Permanent, f.unsent = FailureRequest, true, true
	case errors.Is(err, ErrDiverged):
		f.Kind, f.Permanent, f.unsent = FailureReplay, true, true
	case errors.Is(err, ErrSilent), errors.As(err, &timeout) && timeout.Timeout():
		f.Message = "no answer in time: " + f.Message
	}
	return f
}

// errorMessage picks the message out of the usual forms of error bodies.
func errorMessage(body []byte) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &doc) == nil {
		if m := errorText(doc.Error); m != "" {
			return oneLine(m)
		}
		if doc.Message != "" {
			return oneLine(doc.Message)
		}
	}
	return oneLine(string(body))
}

// errorText reads an error member that is a text or an object with a message.
func errorText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		return object.Message
	}
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// oneLine makes a text of any origin fit for a line of a log or a table.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) <= maxErrorMessage {
		return s
	}
	cut := maxErrorMessage
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
