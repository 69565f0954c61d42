package gateway

import (
	"encoding/json"
	"net/http"
	"time"
)

// errorDocument is an error in the form that clients of the wire read. kind
// names it where OpenAI's clients look for a type.
func errorDocument(w Wire, status int, kind, message string) []byte {
	var doc any
	switch w {
	case WireMessages:
		doc = map[string]any{
			"type":  "error",
			"error": map[string]string{"type": anthropicError(status), "message": message},
		}
	case WireGemini:
		doc = map[string]any{
			"error": map[string]any{"code": status, "message": message, "status": googleError(status)},
		}
	default:
		doc = map[string]any{"error": map[string]string{"message": message, "type": kind, "code": kind}}
	}
	body, err := json.Marshal(doc)
	if err != nil { // texts and numbers only
		return []byte("{}")
	}
	return body
}

// openAIError is the type of an error in OpenAI's wires.
func openAIError(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func anthropicError(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func googleError(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

// gatewayError is the type of errors of the gateway itself.
const gatewayError = "gateway_error"

// tell sends an error of the gateway itself.
func (s *Session) tell(w http.ResponseWriter, wire Wire, status int, message string) {
	s.send(w, status, "application/json", errorDocument(wire, status, gatewayError, message))
}

// send writes a short answer. An agent that does not read it gets cut off.
func (s *Session) send(w http.ResponseWriter, status int, contentType string, body []byte) {
	s.limitWrite(w)
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the agent may have gone, which is its own affair
}

func (s *Session) limitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.WriteTime))
}

// models tells the one model there is, for agents that ask, as a list or
// alone.
func (s *Session) models(w http.ResponseWriter, wire Wire, one bool) {
	var model, list any
	switch wire {
	case WireGemini:
		model = map[string]any{
			"name": "models/" + s.o.Model, "displayName": s.o.Model,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"},
		}
		list = map[string]any{"models": []any{model}}
	case WireMessages:
		model = map[string]any{
			"type": "model", "id": s.o.Model, "display_name": s.o.Model, "created_at": time.Unix(0, 0).UTC(),
		}
		list = map[string]any{"data": []any{model}, "has_more": false, "first_id": s.o.Model, "last_id": s.o.Model}
	default:
		model = map[string]any{"id": s.o.Model, "object": "model", "owned_by": s.upstream.Name()}
		list = map[string]any{"object": "list", "data": []any{model}}
	}
	if one {
		list = model
	}
	body, err := json.Marshal(list)
	if err != nil { // texts only
		body = []byte("{}")
	}
	s.send(w, http.StatusOK, "application/json", body)
}
