package trace

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// codexFormat is that of the Codex CLI: a rollout file per session. Its id
// cannot be chosen.
var codexFormat = format{
	name: "codex", versions: "0.171.0", series: []string{"0.171."},
	matches: func(p string) bool {
		base := path.Base(p)
		return strings.HasPrefix(base, "rollout-") && strings.HasSuffix(base, ".jsonl")
	},
	head:   codexHead,
	read:   readCodex,
	settle: func(b *builder) { b.settle(true) },
}

type codexMeta struct {
	ID           string    `json:"id"`
	Timestamp    time.Time `json:"timestamp"`
	CLIVersion   string    `json:"cli_version"`
	ThreadSource string    `json:"thread_source"`
}

func codexHead(line []byte) fileHead {
	var l struct {
		Type    string    `json:"type"`
		Payload codexMeta `json:"payload"`
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "session_meta" {
		return fileHead{}
	}
	sub := l.Payload.ThreadSource != "" && l.Payload.ThreadSource != "user"
	return fileHead{known: true, id: l.Payload.ID, start: l.Payload.Timestamp, sub: sub}
}

// codexReader reads a rollout. A model's answer is a row of items up to the
// output of a call, the user's next words or its record of usage.
type codexReader struct {
	*builder
	answering bool
	script    string // the running code-mode call, whose commands have ids of their own
}

func readCodex(b *builder, src source) {
	b.eachLineOf(src.home, src.path, (&codexReader{builder: b}).line)
}

func (p *codexReader) line(n int, line []byte) {
	var l struct {
		Timestamp time.Time       `json:"timestamp"`
		Type      string          `json:"type"`
		Payload   json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		p.problem(n, "not a line of a rollout: "+clip(err.Error(), 200))
		return
	}
	p.at(l.Timestamp)
	handle, ok := codexHandlers[l.Type]
	if !ok {
		return
	}
	p.known++
	if err := handle(p, n, l.Timestamp, l.Payload); err != nil {
		p.problem(n, l.Type+": "+clip(err.Error(), 200))
	}
}

var codexHandlers = map[string]func(*codexReader, int, time.Time, json.RawMessage) error{
	"session_meta":       (*codexReader).meta,
	"turn_context":       (*codexReader).context,
	"response_item":      (*codexReader).item,
	"event_msg":          (*codexReader).event,
	"token_usage_record": (*codexReader).record,
}

func (p *codexReader) meta(n int, _ time.Time, raw json.RawMessage) error {
	var d codexMeta
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	if p.SessionID != "" {
		return nil // a copy of another session's head
	}
	if d.CLIVersion == "" {
		p.formatProblem(n, "session_meta without cli_version")
	}
	p.SessionID, p.Version = clip(d.ID, 100), clip(d.CLIVersion, 100)
	return nil
}

func (p *codexReader) context(_ int, _ time.Time, raw json.RawMessage) error {
	var d struct {
		Model string `json:"model"`
	}
	err := json.Unmarshal(raw, &d)
	p.Model = clip(orElse(d.Model, p.Model), 200)
	return err
}

type codexItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
}

func (p *codexReader) item(n int, at time.Time, raw json.RawMessage) error {
	var d codexItem
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	switch d.Type {
	case "message":
		if d.Role != "assistant" {
			p.answering = false
			return nil
		}
		p.answer()
		p.say(at, "", contentText(d.Content))
	case "reasoning":
		p.answer()
		p.say(at, contentText(d.Summary), "")
	case "function_call", "custom_tool_call":
		p.answer()
		return p.start(n, at, d)
	case "function_call_output", "custom_tool_call_output":
		p.answering = false
		return p.output(at, d)
	}
	return nil
}

func (p *codexReader) answer() {
	if !p.answering {
		p.answering = true
		p.Turns++
	}
}

func (p *codexReader) start(n int, at time.Time, d codexItem) error {
	if d.CallID == "" || d.Name == "" {
		p.formatProblem(n, d.Type+" without call_id and name")
	}
	args := d.Arguments
	if d.Type == "custom_tool_call" {
		args = d.Input
		if d.Name == "exec" {
			p.script = d.CallID
		}
	}
	return p.begin(Call{ID: d.CallID, Tool: d.Name, Arguments: argumentText(args), Started: at})
}

var codexExit = regexp.MustCompile(`^(?:Chunk ID: [^\n]{0,100}\nWall time: [^\n]{0,100}\n)?` +
	`(?:Process exited with code|Exit code:) (-?\d{1,9})\n`)

// codexRefused reports whether an output says that Codex itself refused the
// call; such a call has no item of its own.
func codexRefused(text string) bool {
	return strings.HasPrefix(text, "unsupported call: ") || strings.HasPrefix(text, "apply_patch verification failed") ||
		strings.HasPrefix(text, "failed to parse function arguments")
}

func (p *codexReader) output(at time.Time, d codexItem) error {
	c := p.call("", d.CallID)
	if c == nil || c.Done && c.Result != "" {
		return fmt.Errorf("output of a call that did not start")
	}
	text := contentText(d.Output)
	c.Result = p.keep(text) // as the model saw it
	if p.script == d.CallID {
		p.script = ""
	}
	if c.Done {
		return nil // its item has told more than the output does
	}
	if strings.Contains(clip(text, 300), "\nProcess running with session ID ") {
		return nil // its item comes when it has ended
	}
	c.end(at, !codexRefused(text))
	if m := codexExit.FindStringSubmatch(text); m != nil {
		c.ExitCode = atoi(m[1])
		c.Success = c.Success && *c.ExitCode == 0
	}
	return nil
}

func (p *codexReader) event(n int, at time.Time, raw json.RawMessage) error {
	var d struct {
		Type   string          `json:"type"`
		Reason string          `json:"reason"`
		Error  json.RawMessage `json:"error"`
		Item   json.RawMessage `json:"item"`
		Start  float64         `json:"started_at_ms"`
		End    float64         `json:"completed_at_ms"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	switch d.Type {
	case "item_completed":
		return p.completed(d.Item, millis(d.Start), millis(d.End))
	case "task_started":
		p.Completed, p.Error = false, nil
	case "task_complete":
		p.taskComplete(d.Error)
	case "turn_aborted":
		p.Aborted = clip(orElse(d.Reason, "aborted"), 200)
	}
	return nil
}

func (p *codexReader) taskComplete(raw json.RawMessage) {
	p.Error, p.Completed = nil, false
	if len(raw) == 0 || string(raw) == "null" {
		p.Completed = true
		return
	}
	var e struct {
		Message string          `json:"message"`
		Info    json.RawMessage `json:"codex_error_info"`
	}
	_ = json.Unmarshal(raw, &e) // any other error is one as well
	kind, status := codexErrorInfo(e.Info)
	p.Error = &Error{Type: clip(orElse(kind, "error"), 100), Message: clip(e.Message, 2000), Status: status}
}

// codexErrorInfo reads a word, or an object of the word and what belongs to it.
func codexErrorInfo(raw json.RawMessage) (kind string, status int) {
	if json.Unmarshal(raw, &kind) == nil {
		return kind, 0
	}
	var info map[string]struct {
		Status float64 `json:"http_status_code"`
	}
	if json.Unmarshal(raw, &info) != nil {
		return "", 0
	}
	for _, kind := range slices.Sorted(maps.Keys(info)) {
		return kind, httpStatus(info[kind].Status)
	}
	return "", 0
}
