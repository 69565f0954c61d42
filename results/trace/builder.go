package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// builder makes a trace: what the parsers have in common.
type builder struct {
	*Trace
	format   *format
	calls    map[callKey]int // index into Calls
	known    int             // lines or records that were understood
	outLines int             // the same of the standard output
	text     int             // bytes of texts, results and arguments kept so far
	rows     int64           // bytes of a store's rows that are taken at most
	seen     map[string]bool // format problems already told
}

// callKey joins the start and the end of a call; providers reuse call ids
// between sub-agents.
type callKey struct{ agent, id string }

func newBuilder(f *format) *builder {
	return &builder{Trace: &Trace{Agent: f.name}, format: f, rows: MaxFileBytes,
		calls: map[callKey]int{}, seen: map[string]bool{}}
}

// at notes the time of a line. Zero times, and those of another age, say nothing.
func (b *builder) at(when time.Time) {
	if when.Year() < 2000 || when.Year() > 9000 {
		return
	}
	if b.Started.IsZero() || when.Before(b.Started) {
		b.Started = when
	}
	if when.After(b.Ended) {
		b.Ended = when
	}
}

// keep cuts a text at MaxResult, and to nothing once the whole trace holds
// maxTextBytes.
func (b *builder) keep(s string) string {
	s = clip(s, min(MaxResult, max(0, maxTextBytes-b.text)))
	b.text += len(s)
	return s
}

// say adds what the model said.
func (b *builder) say(at time.Time, reasoning, text string) {
	if (reasoning != "" || text != "") && len(b.Texts) < maxTextParts {
		b.Texts = append(b.Texts, TextPart{At: at, Reasoning: b.keep(reasoning), Text: b.keep(text)})
	}
}

// begin adds a call. A second call with the key of an earlier one replaces it
// as the one that an end belongs to.
func (b *builder) begin(c Call) error {
	if len(b.Calls) >= MaxCalls {
		return fmt.Errorf("more than %d calls, not kept", MaxCalls)
	}
	c.ID, c.AgentID, c.Parent = clip(c.ID, 200), clip(c.AgentID, 200), clip(c.Parent, 200)
	c.Tool, c.Arguments, c.Result = clip(c.Tool, 200), b.keep(c.Arguments), b.keep(c.Result)
	b.calls[callKey{c.AgentID, c.ID}] = len(b.Calls)
	b.Calls = append(b.Calls, c)
	return nil
}

// call finds a call that has begun.
func (b *builder) call(agent, id string) *Call {
	i, ok := b.calls[callKey{clip(agent, 200), clip(id, 200)}]
	if !ok {
		return nil
	}
	return &b.Calls[i]
}

// running reports whether a call has not ended.
func (b *builder) running() bool {
	for _, c := range b.Calls {
		if !c.Done {
			return true
		}
	}
	return false
}

// end marks a call as done.
func (c *Call) end(at time.Time, success bool) {
	c.Done, c.Success = true, success
	if d := at.Sub(c.Started); d > 0 && !c.Started.IsZero() && !at.IsZero() {
		c.Duration = d
	}
}

// formatProblem notes, once for each text, that the CLI writes another format.
func (b *builder) formatProblem(line int, text string) {
	if b.seen[text] {
		return
	}
	b.seen[text] = true
	b.addProblem(Problem{Kind: ProblemFormat, Line: line,
		Text: fmt.Sprintf("%s; the format that is known is that of %s %s", text, b.format.name, b.format.versions)})
}

// checkFormat notes a version of another series, and a file in which nothing
// was understood.
func (b *builder) checkFormat() {
	if b.Lines > 0 && b.known == 0 {
		b.formatProblem(0, "nothing in the session file is understood")
	}
	if b.Version != "" && !b.format.knows(b.Version) {
		b.formatProblem(0, fmt.Sprintf("the session was written by version %q", clip(b.Version, 50)))
	}
}

// argumentText returns the text of a free-text call, else the JSON as it stands.
func argumentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// contentText joins the texts of a content that is a text or a list of parts.
func contentText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return argumentText(raw)
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// millis is a time out of milliseconds since 1970, zero when it is none.
func millis(v float64) time.Time {
	if !(v > 0 && v < 1<<47) {
		return time.Time{}
	}
	return time.UnixMilli(int64(v)).UTC()
}
