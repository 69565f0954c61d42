package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
)

// modelRequest is a checked model request, ready to be sent as often as needed.
// The agent's text is kept once and not copied.
type modelRequest struct {
	modelCall
	url   *url.URL // below the provider's base
	raw   []byte   // the body as the agent sent it
	parts [][]byte // what is sent instead, in pieces
	size  int64

	// maxOutput is how many tokens the agent allows for an answer, 0 where it
	// does not say; choices is how many answers it wants.
	maxOutput, choices int64
}

// reader returns the body to send, from its beginning.
func (q *modelRequest) reader() io.Reader {
	readers := make([]io.Reader, len(q.parts))
	for i, p := range q.parts {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}

// newRequest checks a body and replaces what is not the agent's to choose: the
// model, and for a stream of chat completions stream_options, so that the
// answer tells its usage as the other wires' answers do anyway.
func newRequest(c modelCall, raw []byte, model string) (*modelRequest, error) {
	members, err := splitObject(raw)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(model)
	if err != nil {
		return nil, fmt.Errorf("encoding model name: %w", err)
	}
	q := &modelRequest{modelCall: c, raw: raw, choices: 1}
	if c.wire != WireGemini { // which has it in the path
		q.member([]byte(`"model":`), quoted)
	}
	var options []byte
	for _, m := range members {
		if err := checkMember(c.wire, m); err != nil {
			return nil, err
		}
		switch {
		case m.name == "model":
			continue
		case m.name == "stream_options" && c.wire == WireChat:
			options = m.value
			continue
		case m.name == "generateContentRequest":
			if err := q.nested(m, model); err != nil {
				return nil, err
			}
			continue
		}
		if err := q.read(m); err != nil {
			return nil, err
		}
		q.member(m.text)
	}
	if q.stream && c.wire == WireChat {
		if options, err = withUsage(options); err != nil {
			return nil, err
		}
		q.member([]byte(`"stream_options":`), options)
	}
	q.close()
	return q, nil
}

// nested replaces the model in the request of which Gemini is to count the
// tokens.
func (q *modelRequest) nested(m member, model string) error {
	members, err := splitObject(m.value)
	if err != nil {
		return err
	}
	quoted, err := json.Marshal("models/" + model)
	if err != nil {
		return fmt.Errorf("encoding model name: %w", err)
	}
	inner := &modelRequest{}
	inner.member([]byte(`"model":`), quoted)
	for _, m := range members {
		if err := checkMember(WireGemini, m); err != nil {
			return err
		}
		if m.name != "model" {
			inner.member(m.text)
		}
	}
	inner.close()
	q.member([]byte(`"generateContentRequest":`))
	q.add(inner.parts...)
	return nil
}

// read takes from a member what the gateway itself wants to know.
func (q *modelRequest) read(m member) error {
	switch m.name {
	case "stream":
		if q.wire != WireGemini && json.Unmarshal(m.value, &q.stream) != nil {
			return fmt.Errorf("%w: \"stream\" is not true or false", errBadBody)
		}
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		// Elsewhere a provider may overlook the name, and the answer be longer.
		if slices.Contains(outputMembers[q.wire], m.name) {
			q.maxOutput = max(q.maxOutput, wholeNumber(m.value))
		}
	case "n":
		q.choices = max(q.choices, wholeNumber(m.value))
	case "generationConfig", "generation_config":
		var config struct {
			Max     json.RawMessage `json:"maxOutputTokens"`
			Snake   json.RawMessage `json:"max_output_tokens"`
			Choices json.RawMessage `json:"candidateCount"`
			Count   json.RawMessage `json:"candidate_count"`
		}
		_ = json.Unmarshal(m.value, &config) // what is not understood bounds nothing
		q.maxOutput = max(wholeNumber(config.Max), wholeNumber(config.Snake))
		q.choices = max(1, wholeNumber(config.Choices), wholeNumber(config.Count))
	}
	return nil
}

// outputMembers bound an answer's length, by wire; Gemini's lie deeper.
var outputMembers = map[Wire][]string{
	WireChat:      {"max_tokens", "max_completion_tokens"},
	WireResponses: {"max_output_tokens"},
	WireMessages:  {"max_tokens"},
}

// wholeNumber reads a positive number; anything else is 0.
func wholeNumber(raw []byte) int64 {
	var n figure
	if json.Unmarshal(raw, &n) != nil {
		return 0
	}
	return value(tokens(&n))
}

// member adds a member to the object that is sent.
func (q *modelRequest) member(parts ...[]byte) {
	sep := ","
	if q.parts == nil {
		sep = "{"
	}
	q.add([]byte(sep))
	q.add(parts...)
}

func (q *modelRequest) close() {
	if q.parts == nil {
		q.add([]byte("{"))
	}
	q.add([]byte("}"))
}

func (q *modelRequest) add(parts ...[]byte) {
	q.parts = slices.Grow(q.parts, len(parts))
	for _, p := range parts {
		q.parts = append(q.parts, p)
		q.size += int64(len(p))
	}
}

// withUsage adds include_usage to a stream_options object that may be missing.
func withUsage(options []byte) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if options != nil && json.Unmarshal(options, &fields) != nil {
		return nil, fmt.Errorf("%w: \"stream_options\" is not an object", errBadBody)
	}
	if fields == nil { // it was null
		fields = map[string]json.RawMessage{}
	}
	fields["include_usage"] = json.RawMessage("true")
	return json.Marshal(fields)
}
