package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// kindOf says what a refusal means by its status and, where providers use one
// status for several things, by its body.
func kindOf(status int, body []byte) FailureKind {
	e := readErrorBody(body)
	switch {
	case e.has("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error",
		"credit_balance_exhausted", "enforced_spend_limit_reached"),
		status == http.StatusPaymentRequired,
		status == http.StatusBadRequest && strings.Contains(e.Message, "credit balance is too low"): // Anthropic
		return FailureQuota
	case status == http.StatusTooManyRequests && e.perDay(): // Gemini: waiting for minutes does not help
		return FailureQuota
	case status == http.StatusForbidden && e.moderated():
		return FailureRequest
	case status == http.StatusUnauthorized || status == http.StatusForbidden,
		status == http.StatusBadRequest && e.has("API_KEY_INVALID"): // Gemini
		return FailureCredentials
	case status == http.StatusNotFound || status == http.StatusBadRequest && e.noModel(),
		status >= 300 && status <= 399: // not followed: a base URL that redirects is a mistake
		return FailureModel
	case status == http.StatusTooManyRequests:
		return FailureRateLimit
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		return FailureServer
	case status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported:
		return FailureServer
	}
	return FailureRequest
}

// errorBody is what the error bodies of the providers have in common.
type errorBody struct {
	Message  string          `json:"message"`
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"`
	Status   string          `json:"status"`
	Metadata struct {
		Reasons []string `json:"reasons"` // of OpenRouter's moderation
		Flagged string   `json:"flagged_input"`
	} `json:"metadata"`
	Details []struct {
		Reason     string `json:"reason"`
		Violations []struct {
			Quota string `json:"quotaId"`
		} `json:"violations"`
	} `json:"details"`
}

// readErrorBody reads as much as there is; Gemini puts the error of a stream
// into a list.
func readErrorBody(body []byte) errorBody {
	var doc struct {
		Error errorBody `json:"error"`
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	decode(body, &doc)
	return doc.Error
}

// has reports whether one of the words is the error's type, code or reason.
func (e errorBody) has(words ...string) bool {
	var code string
	_ = json.Unmarshal(e.Code, &code) // a number is no word
	names := []string{e.Type, code, e.Status}
	for _, d := range e.Details {
		names = append(names, d.Reason)
	}
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, w) })
}

// noModel reports whether the model is what is not there.
func (e errorBody) noModel() bool {
	return e.has("model_not_found") || strings.HasSuffix(e.Message, "is not a valid model ID") // OpenRouter
}

// perDay reports whether a limit per day is used up.
func (e errorBody) perDay() bool {
	for _, d := range e.Details {
		for _, v := range d.Violations {
			if strings.Contains(v.Quota, "PerDay") {
				return true
			}
		}
	}
	return false
}

// moderated reports whether the content was refused, not the key.
func (e errorBody) moderated() bool { return len(e.Metadata.Reasons) > 0 || e.Metadata.Flagged != "" }
