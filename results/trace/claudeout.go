package trace

import (
	"encoding/json"
	"io"
	"strings"
)

// claudeResult is the last line of the standard output with
// --output-format stream-json or json. Its subtype is "success" also when the
// model failed: is_error decides.
type claudeResult struct {
	Type           string       `json:"type"`
	Subtype        string       `json:"subtype"`
	SessionID      string       `json:"session_id"`
	IsError        *bool        `json:"is_error"`
	TerminalReason string       `json:"terminal_reason"`
	APIErrorStatus float64      `json:"api_error_status"`
	APIErrorType   string       `json:"api_error_type"`
	Result         string       `json:"result"`
	Usage          *claudeUsage `json:"usage"`
}

// claudeStdout lets the standard output say how the session ended. The lines of
// another session say nothing.
func claudeStdout(b *builder, r io.Reader) {
	var last *claudeResult
	eachOutLine(r, func(line []byte) {
		var l claudeResult
		if json.Unmarshal(line, &l) != nil || l.Type == "" {
			return
		}
		if l.SessionID == "" || b.SessionID != "" && l.SessionID != b.SessionID {
			return
		}
		b.outLines++
		if l.Type == "result" {
			last = &l
		}
	})
	switch {
	case b.outLines == 0: // a standard output without events tells nothing
	case last == nil:
		b.Completed = false // it was ended from outside
	default:
		b.claudeResult(last)
	}
}

func (b *builder) claudeResult(l *claudeResult) {
	b.Lines = max(b.Lines, 1)
	b.known++
	b.SessionID = clip(l.SessionID, 100)
	if l.IsError == nil {
		b.formatProblem(0, "a result line without is_error")
	}
	failed := l.IsError == nil || *l.IsError
	b.Completed = !failed && l.Subtype == "success"
	if u := l.Usage; u != nil {
		b.Tokens = &Tokens{}
		b.Tokens.add(u.usage())
	}
	switch {
	case b.Completed:
		b.Error, b.Aborted = nil, ""
	case strings.HasPrefix(l.TerminalReason, "aborted") || b.Aborted != "":
		b.Aborted = clip(orElse(b.Aborted, l.TerminalReason), 200)
	default:
		reason := l.TerminalReason
		if l.Subtype != "success" {
			reason = l.Subtype
		}
		b.Error = &Error{Type: clip(orElse(orElse(l.APIErrorType, reason), "error"), 100),
			Message: clip(l.Result, 2000), Status: httpStatus(l.APIErrorStatus)}
	}
}
