package gateway

import (
	"net/http"
	"net/url"
	"strings"
)

// Wire is a form in which models are asked and answer.
type Wire string

// The wires, in the order in which lists name them.
const (
	WireChat      Wire = "chat"      // OpenAI's chat completions
	WireResponses Wire = "responses" // OpenAI's responses
	WireMessages  Wire = "messages"  // Anthropic's messages
	WireGemini    Wire = "gemini"    // Gemini's generateContent
)

// Wires lists all wires.
func Wires() []Wire { return []Wire{WireChat, WireResponses, WireMessages, WireGemini} }

// WireOf returns the wire of a request by its path below a provider's base, as
// an [Upstream] gets it: "/chat/completions", "/responses", "/messages",
// "/messages/count_tokens" or "/models/NAME:METHOD".
func WireOf(path string) (Wire, bool) {
	c, ok := callOf(path)
	return c.wire, ok
}

const (
	chatPath      = "/chat/completions"
	responsesPath = "/responses"
	messagesPath  = "/messages"
	countPath     = "/messages/count_tokens"
	modelsPath    = "/models"
)

// modelCall is what a model request asks for, as its path tells.
type modelCall struct {
	wire   Wire
	method string // of Gemini: what stands behind the model's name
	counts bool   // asks only how many tokens a request has, which costs nothing
	stream bool   // of Gemini; the other wires say it in the body

	// Of a call that came through the proxy: the host it is for, and with what
	// it is authorized, "" for the user's own token.
	host, authorization string
}

func callOf(path string) (modelCall, bool) {
	switch path {
	case chatPath:
		return modelCall{wire: WireChat}, true
	case responsesPath:
		return modelCall{wire: WireResponses}, true
	case messagesPath:
		return modelCall{wire: WireMessages}, true
	case countPath:
		return modelCall{wire: WireMessages, counts: true}, true
	}
	name, ok := strings.CutPrefix(path, modelsPath+"/")
	colon := strings.LastIndexByte(name, ':')
	if !ok || colon < 1 {
		return modelCall{}, false
	}
	c := modelCall{wire: WireGemini, method: name[colon+1:]}
	switch c.method {
	case "generateContent":
	case "streamGenerateContent":
		c.stream = true
	case "countTokens":
		c.counts = true
	default:
		return modelCall{}, false
	}
	return c, true
}

// url is the address of the call below a provider's base. Of the agent's query
// only what chooses the form of the answer is kept: other parts choose keys or
// leave members out of the answer.
func (c modelCall) url(model string, query url.Values) *url.URL {
	u := &url.URL{Host: c.host}
	switch {
	case c.wire == WireChat:
		u.Path = chatPath
	case c.wire == WireResponses:
		u.Path = responsesPath
	case c.wire == WireGemini:
		u.Path = modelsPath + "/" + model + ":" + c.method
		u.RawPath = modelsPath + "/" + url.PathEscape(model) + ":" + c.method
		if query.Get("alt") == "sse" {
			u.RawQuery = "alt=sse"
		}
		return u
	case c.counts:
		u.Path = countPath
	default:
		u.Path = messagesPath
	}
	if c.wire == WireMessages && query.Get("beta") == "true" {
		u.RawQuery = "beta=true"
	}
	return u
}

// versions are the segments below which the wires are served; some agents
// leave them out.
var versions = []string{"/v1beta", "/v1"}

// belowVersion removes the version segment.
func belowVersion(path string) string {
	for _, v := range versions {
		if rest, ok := strings.CutPrefix(path, v); ok && strings.HasPrefix(rest, "/") {
			return rest
		}
	}
	return path
}

// wireGuess is the wire whose form an agent will understand where its request
// names none.
func wireGuess(path string, h http.Header) Wire {
	if w, ok := WireOf(belowVersion(path)); ok {
		return w
	}
	switch {
	case strings.HasPrefix(path, "/v1beta/"):
		return WireGemini
	case h.Get("Anthropic-Version") != "":
		return WireMessages
	}
	return WireChat
}
