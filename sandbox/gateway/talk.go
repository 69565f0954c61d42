package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"unicode/utf8"
)

// conversation is what the scripted upstream looks at in a model request,
// whichever the wire.
type conversation struct {
	modelCall
	model    string
	list     bool // Gemini: the stream is wanted as one list
	tools    []toolOffer
	turns    int  // that the model has had
	summary  bool // the last message asks for a summary
	thinks   bool // messages: thinking is asked for
	json     bool // Gemini: the answer is to be JSON
	codeMode bool // responses: Codex offers its tools to programs only
	submits  bool // the work ends by a command that says so
	bare     form // without tools: how the answer is to show the code
	size     int  // of the request
}

// toolOffer is a tool that the agent has, with the names of its parameters.
type toolOffer struct {
	name       string
	free       bool // takes a text, not an object
	parameters map[string]json.RawMessage
}

func (t *toolOffer) takes(parameter string) bool {
	_, ok := t.parameters[parameter]
	return ok
}

// first is the first of the parameters that the tool takes, else "".
func (t *toolOffer) first(parameters ...string) string {
	for _, p := range parameters {
		if t.takes(p) {
			return p
		}
	}
	return ""
}

// schema is the part of a tool's JSON schema that names its parameters.
type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
}

// readConversation reads a request with that address.
func readConversation(at *url.URL, body []byte) (*conversation, error) {
	c := &conversation{size: len(body)}
	var ok bool
	if c.modelCall, ok = callOf(at.Path); !ok {
		return nil, fmt.Errorf("no wire has the path %.80q", at.Path)
	}
	c.submits = bytes.Contains(body, []byte(submitMark))
	c.bare = formOf(body)
	var err error
	switch c.wire {
	case WireResponses:
		err = c.readResponses(body)
	case WireMessages:
		err = c.readMessages(body)
	case WireGemini:
		c.model = strings.TrimSuffix(strings.TrimPrefix(at.Path, modelsPath+"/"), ":"+c.method)
		c.list = c.stream && at.Query().Get("alt") != "sse"
		err = c.readGemini(body)
	default:
		err = c.readChat(body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading request in the wire %q: %w", c.wire, err)
	}
	return c, nil
}

// speaker is who says a message.
type speaker struct {
	model, user bool
	summary     bool // its text asks for a summary
}

// follow counts the turns of the model, which may be several messages each,
// and notes whether the agent asks for a summary with which to go on, as agents
// do when their context is nearly full.
func (c *conversation) follow(messages []speaker) {
	before := false
	for _, m := range messages {
		if m.model && !before {
			c.turns++
		}
		before = m.model
	}
	if n := len(messages); n > 0 && c.turns > 0 {
		c.summary = messages[n-1].user && messages[n-1].summary
	}
}

// contents is what matters of a message's content, which may be long.
type contents struct{ summary bool }

func (c *contents) UnmarshalJSON(text []byte) error {
	c.summary = bytes.Contains(text, []byte("summary of the conversation"))
	return nil
}

// tool finds an offered tool by the first of the names that exists.
func (c *conversation) tool(names ...string) *toolOffer {
	for _, name := range names {
		for i := range c.tools {
			if c.tools[i].name == name {
				return &c.tools[i]
			}
		}
	}
	return nil
}

// turn is what the scripted model says: a thought, a text, and at most one call.
type turn struct {
	thought string
	text    string
	call    *toolCall
}

// toolCall calls a tool with named arguments, or with a free text.
type toolCall struct {
	name string
	args map[string]any
	free string
}

func (c *toolCall) arguments() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(c.args) != nil { // texts, numbers and lists of them only
		return "{}"
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// figures are invented numbers of tokens.
type figures struct{ input, cached, cacheWrite, output, reasoning int }

// figures are plausible: four bytes a token, and from the second turn on most
// of the prompt cached.
func (t *turn) figures(c *conversation) figures {
	f := figures{input: c.size/4 + 1, reasoning: len(t.thought) / 4}
	if c.turns > 0 {
		f.cached = f.input * 9 / 10 / 128 * 128
	}
	f.cacheWrite = (f.input - f.cached) / 128 * 128
	spoken := len(t.text)
	if t.call != nil {
		spoken += len(t.call.name) + len(t.call.arguments()) + len(t.call.free)
	}
	f.output = f.reasoning + spoken/4 + 1
	return f
}

// id names an answer by the request's shape, so that equal conversations give
// equal bytes.
func (t *turn) id(c *conversation, prefix string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s", c.turns, c.size, t.text)
	return fmt.Sprintf("%s-scripted-%016x", prefix, h.Sum64())
}

func (c *conversation) callID(prefix string) string {
	return fmt.Sprintf("%s_scripted_%d", prefix, c.turns)
}

// stream is the answer as it comes, in several pieces as models send it.
func (t *turn) stream(c *conversation) [][]byte {
	switch c.wire {
	case WireResponses:
		return t.streamResponses(c)
	case WireMessages:
		return t.streamMessages(c)
	case WireGemini:
		return t.streamGemini(c)
	}
	return t.streamChat(c)
}

// whole is the answer to a request without stream.
func (t *turn) whole(c *conversation) []byte {
	switch c.wire {
	case WireResponses:
		return encode(t.response(c, true))
	case WireMessages:
		return encode(t.message(c, true))
	case WireGemini:
		return encode(t.geminiAnswer(c, t.geminiParts(c), true))
	}
	return encode(t.completion(c))
}

// count is the answer to the question of how many tokens a request has.
func (c *conversation) count() []byte {
	tokens := c.size/4 + 1
	if c.wire == WireGemini {
		return encode(map[string]int{"totalTokens": tokens})
	}
	return encode(map[string]int{"input_tokens": tokens})
}

func encode(doc any) []byte {
	body, err := json.Marshal(doc)
	if err != nil { // texts and numbers only
		return []byte("{}")
	}
	return body
}

// object is a JSON object with members of any kind.
type object map[string]any

// event is a server-sent event, whose name some wires need.
func event(name string, doc any) []byte {
	if name == "" {
		return fmt.Appendf(nil, "data: %s\n\n", encode(doc))
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encode(doc))
}

// pieces cuts a text into parts of about n bytes, between characters.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > n {
		cut := n
		for cut > 1 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		out, text = append(out, text[:cut]), text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}
