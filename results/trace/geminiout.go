package trace

import (
	"encoding/json"
	"io"
	"regexp"
	"time"
)

// geminiEvent is a line of the standard output with --output-format stream-json.
type geminiEvent struct {
	Type       string          `json:"type"`
	Timestamp  time.Time       `json:"timestamp"`
	SessionID  string          `json:"session_id"`
	Model      string          `json:"model"`
	ToolName   string          `json:"tool_name"`
	ToolID     string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Message    string          `json:"message"` // of an error, or of what the CLI calls a warning
	Error      *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// geminiStdout lets the standard output say how the session ended, when its
// calls began, and which of them was still running.
func geminiStdout(b *builder, r io.Reader) {
	var result *geminiEvent
	stopped := ""
	eachOutLine(r, func(line []byte) {
		var ev geminiEvent
		if json.Unmarshal(line, &ev) != nil {
			return
		}
		switch ev.Type {
		case "init":
			b.outLines++
			b.SessionID, b.Model = clip(orElse(b.SessionID, ev.SessionID), 100), clip(orElse(b.Model, ev.Model), 200)
		case "message", "tool_result":
			b.outLines++
		case "tool_use":
			b.outLines++
			b.geminiToolUse(ev)
		case "result":
			b.outLines++
			result = &ev
		case "error": // it stops by itself, when it sees itself in a loop for one
			b.outLines++
			stopped = orElse(clip(ev.Message, 200), "error")
		default:
			return
		}
		b.at(ev.Timestamp)
	})
	switch {
	case b.outLines == 0: // a standard output without events tells nothing
	case result == nil:
		b.Completed = false // it was ended from outside
	default:
		b.geminiResult(result)
		if b.Completed && stopped != "" { // whatever its result says
			b.Completed, b.Shutdown = false, stopped
		}
	}
}

func (b *builder) geminiToolUse(ev geminiEvent) {
	c := b.call("", ev.ToolID)
	if c == nil {
		err := b.begin(Call{ID: ev.ToolID, Tool: ev.ToolName,
			Arguments: argumentText(ev.Parameters), Started: ev.Timestamp})
		if err != nil {
			b.problem(0, err.Error())
		}
		return
	}
	if c.Done && !ev.Timestamp.IsZero() && !ev.Timestamp.Before(c.Started) {
		end := c.Started.Add(c.Duration)
		c.Started, c.Duration = ev.Timestamp, max(0, end.Sub(ev.Timestamp))
	}
}

var geminiCode = regexp.MustCompile(`"code":\s{0,3}(\d{3})\b`)

func (b *builder) geminiResult(ev *geminiEvent) {
	b.Lines = max(b.Lines, 1)
	b.known++
	b.Completed = ev.Status == "success"
	switch {
	case b.Completed:
	case ev.Status == "":
		b.formatProblem(0, "a result line without status")
	default:
		b.Error = &Error{Type: ev.Status}
		if ev.Error != nil {
			b.Error = &Error{Type: clip(orElse(ev.Error.Type, ev.Status), 100), Message: clip(ev.Error.Message, 2000)}
			if m := geminiCode.FindStringSubmatch(ev.Error.Message); m != nil {
				b.Error.Status = httpStatus(float64(*atoi(m[1])))
			}
		}
	}
}
