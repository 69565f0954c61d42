package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxMembers bounds the members of a request object; real ones have about ten.
const maxMembers = 256

var errBadBody = errors.New("request body is not usable")

// chatRequest is a checked body of a chat completion, ready to be sent as often
// as needed. The agent's text is kept once and not copied.
type chatRequest struct {
	raw    []byte   // as the agent sent it
	parts  [][]byte // what is sent instead, in pieces
	size   int64
	stream bool
}

// reader returns the body to send, from its beginning.
func (c *chatRequest) reader() io.Reader {
	readers := make([]io.Reader, len(c.parts))
	for i, p := range c.parts {
		readers[i] = bytes.NewReader(p)
	}
	return io.MultiReader(readers...)
}

// newChatRequest checks the body and replaces two members: the model, which is
// not the agent's to choose, and for a stream stream_options, so that the
// answer tells its usage.
func newChatRequest(raw []byte, model string) (*chatRequest, error) {
	members, err := splitObject(raw)
	if err != nil {
		return nil, err
	}
	c := &chatRequest{raw: raw}
	quoted, err := json.Marshal(model)
	if err != nil {
		return nil, fmt.Errorf("encoding model name: %w", err)
	}
	c.add([]byte(`{"model":`), quoted)
	var options []byte
	for _, m := range members {
		if err := checkMember(m); err != nil {
			return nil, err
		}
		switch m.name {
		case "model":
			continue
		case "stream_options":
			options = m.value
			continue
		case "stream":
			if json.Unmarshal(m.value, &c.stream) != nil {
				return nil, fmt.Errorf("%w: \"stream\" is not true or false", errBadBody)
			}
		}
		c.add([]byte(","), m.text)
	}
	if c.stream {
		options, err = withUsage(options)
		if err != nil {
			return nil, err
		}
		c.add([]byte(`,"stream_options":`), options)
	}
	c.add([]byte("}"))
	return c, nil
}

func (c *chatRequest) add(parts ...[]byte) {
	for _, p := range parts {
		c.parts = append(c.parts, p)
		c.size += int64(len(p))
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

// member is one member of a JSON object: its decoded name and, as they stand
// in the text, its value and the whole of it.
type member struct {
	name        string
	value, text []byte
}

// splitObject finds the members of a JSON object without copying. Names that
// differ in nothing or only in case are refused: a provider might read the one
// of them that the gateway did not.
func splitObject(raw []byte) ([]member, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%w: not JSON", errBadBody)
	}
	pos := skipSpace(raw, 0)
	if raw[pos] != '{' {
		return nil, fmt.Errorf("%w: not a JSON object", errBadBody)
	}
	var members []member
	seen := map[string]bool{}
	pos = skipSpace(raw, pos+1)
	for raw[pos] != '}' {
		if len(members) == maxMembers {
			return nil, fmt.Errorf("%w: more than %d members", errBadBody, maxMembers)
		}
		m, end := nextMember(raw, pos)
		if folded := strings.ToLower(m.name); seen[folded] {
			return nil, fmt.Errorf("%w: member %.40q stands twice", errBadBody, m.name)
		} else {
			seen[folded] = true
		}
		members = append(members, m)
		pos = skipSpace(raw, end)
		if raw[pos] == ',' {
			pos = skipSpace(raw, pos+1)
		}
	}
	return members, nil
}

// nextMember reads the member that begins at pos of valid JSON.
func nextMember(raw []byte, pos int) (member, int) {
	nameEnd := valueEnd(raw, pos)
	var name string
	_ = json.Unmarshal(raw[pos:nameEnd], &name) // valid by the check of the whole
	value := skipSpace(raw, skipSpace(raw, nameEnd)+1)
	end := valueEnd(raw, value)
	return member{name: name, value: raw[value:end], text: raw[pos:end]}, end
}

func skipSpace(raw []byte, pos int) int {
	for pos < len(raw) && (raw[pos] == ' ' || raw[pos] == '\t' || raw[pos] == '\n' || raw[pos] == '\r') {
		pos++
	}
	return pos
}

// valueEnd returns the position behind the value that begins at pos of valid JSON.
func valueEnd(raw []byte, pos int) int {
	depth := 0
	for pos < len(raw) {
		switch raw[pos] {
		case '"':
			pos = stringEnd(raw, pos)
			if depth == 0 {
				return pos
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // a number or word before the end of the object
				return pos
			}
			if depth--; depth == 0 {
				return pos + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return pos
			}
		}
		pos++
	}
	return pos
}

// stringEnd returns the position behind the string that begins at pos.
func stringEnd(raw []byte, pos int) int {
	for pos++; pos < len(raw); pos++ {
		switch raw[pos] {
		case '\\':
			pos++
		case '"':
			return pos + 1
		}
	}
	return len(raw)
}
