package trace

import (
	"encoding/json"
	"fmt"
	"path"
	"time"
)

// llmFormat is that of a model without tools: the conversation that our own
// runner writes down, a line for each thing said.
var llmFormat = format{
	name: "llm", versions: "1",
	matches: func(p string) bool { return path.Base(p) == "conversation.jsonl" },
	head:    llmHead,
	read:    func(b *builder, src source) { b.eachLineOf(src.home, src.path, llmReader{b}.line) },
	settle:  func(b *builder) { b.settle(b.Shutdown == "") },
}

// llmLines is the form of lines that is known.
const llmLines = 1

type llmLine struct {
	Type   string    `json:"type"`
	At     time.Time `json:"at"`
	Format int       `json:"format"`

	SessionID    string `json:"session_id"`
	AgentVersion string `json:"agent_version"`
	Model        string `json:"model"`

	Text       string `json:"text"`
	Reasoning  string `json:"reasoning"`
	ParseError string `json:"parse_error"`
	Usage      Usage  `json:"usage"`

	Error  string `json:"error"`
	Status int    `json:"status"`
	End    string `json:"end"`
}

func llmHead(line []byte) fileHead {
	var l llmLine
	if json.Unmarshal(line, &l) != nil || l.Type != "session" {
		return fileHead{}
	}
	return fileHead{known: true, id: l.SessionID, start: l.At}
}

type llmReader struct{ *builder }

func (r llmReader) line(n int, text []byte) {
	var l llmLine
	if err := json.Unmarshal(text, &l); err != nil {
		r.problem(n, "not a line of a conversation: "+clip(err.Error(), 200))
		return
	}
	r.at(l.At)
	switch l.Type {
	case "session":
		r.SessionID, r.Version, r.Model = clip(l.SessionID, 100), clip(l.AgentVersion, 50), clip(l.Model, 200)
		if l.Format != llmLines {
			r.formatProblem(n, fmt.Sprintf("lines of form %d", l.Format))
		}
	case "request":
	case "answer":
		r.Turns++
		r.Error = nil
		r.addUsage(CallUsage{Model: clip(orElse(l.Model, r.Model), 200), Usage: l.Usage.told(), At: l.At})
		r.say(l.At, l.Reasoning, l.Text)
	case "failure":
		r.Error = &Error{Type: "error", Message: clip(l.Error, 2000), Status: l.Status}
		r.say(l.At, l.Reasoning, l.Text)
	case "end":
		r.end(l)
	default:
		return
	}
	r.known++
}

// told leaves out figures that cannot be.
func (u Usage) told() Usage {
	for _, f := range []**int64{&u.Input, &u.Cached, &u.CacheWrite, &u.Output, &u.Reasoning} {
		if *f != nil && **f < 0 {
			*f = nil
		}
	}
	return u
}

// end takes the last line: an answer was read, or none could be.
func (r llmReader) end(l llmLine) {
	switch r.Shutdown = clip(l.End, 100); l.End {
	case "solved":
		r.Completed = true
	case "stopped":
		r.Error, r.Aborted = nil, clip(orElse(l.Error, "stopped"), 200)
	}
}
