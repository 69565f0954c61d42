package model

import (
	"encoding/json"
	"io"
	"time"
)

// conversationFormat is the number of the form of a conversation's lines.
const conversationFormat = 1

// The types of lines, and the ways in which a conversation ends.
const (
	lineSession = "session"
	lineRequest = "request" // the first one has the prompt, the others repeat it
	lineAnswer  = "answer"
	lineFailure = "failure"
	lineEnd     = "end"

	endSolved      = "solved" // an answer could be read; what it is worth is another question
	endUnparseable = "unparseable"
	endFailed      = "failed"
	endStopped     = "stopped"
)

// maxLogged is how much of a text stands in a line, so that every line can be
// read again.
const maxLogged = 2 << 20

// line is a line of a conversation; its type says which fields it has.
type line struct {
	Type string    `json:"type"`
	At   time.Time `json:"at"`
	Try  int       `json:"try,omitempty"` // from 1

	Format       int    `json:"format,omitempty"`
	SessionID    string `json:"session_id,omitempty"`
	Agent        string `json:"agent,omitempty"`
	AgentVersion string `json:"agent_version,omitempty"`
	Wire         string `json:"wire,omitempty"`
	Model        string `json:"model,omitempty"`
	Effort       string `json:"effort,omitempty"`
	Form         string `json:"form,omitempty"`

	Prompt     string `json:"prompt,omitempty"`
	Text       string `json:"text,omitempty"`
	Reasoning  string `json:"reasoning,omitempty"`
	Finish     string `json:"finish,omitempty"`
	Usage      *Usage `json:"usage,omitempty"`
	ParseError string `json:"parse_error,omitempty"`
	Shortened  bool   `json:"shortened,omitempty"` // texts were longer than is kept

	Error  string `json:"error,omitempty"`
	Status int    `json:"status,omitempty"`
	End    string `json:"end,omitempty"`
	Tries  int    `json:"tries,omitempty"`
}

// writer writes lines until one fails; the first error is kept.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) write(l line) {
	if w.err != nil {
		return
	}
	l.At = time.Now().UTC()
	for _, text := range []*string{&l.Prompt, &l.Text, &l.Reasoning} {
		if len(*text) > maxLogged {
			*text, l.Shortened = clip(*text, maxLogged), true
		}
	}
	enc := json.NewEncoder(w.to) // one call of Write for each line
	enc.SetEscapeHTML(false)
	w.err = enc.Encode(l)
}
