package trace

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// claudeFormat is that of Claude Code: one JSON-lines file per session, those
// of sub-agents beside it or below a folder of its name, and the result line of
// the standard output, which alone says how a run ended.
var claudeFormat = format{
	name: "claude", versions: "2.1.197 to 2.1.332", series: []string{"2.1."}, named: true, joins: true,
	matches: func(p string) bool {
		return strings.HasSuffix(p, ".jsonl") && strings.Contains("/"+p, "/projects/")
	},
	head:   claudeHead,
	read:   readClaude,
	stdout: claudeStdout,
	settle: func(b *builder) { b.settle(true) },
}

func claudeHead(line []byte) fileHead {
	var l struct {
		SessionID   string    `json:"sessionId"`
		Timestamp   time.Time `json:"timestamp"`
		IsSidechain bool      `json:"isSidechain"`
	}
	if json.Unmarshal(line, &l) != nil || l.SessionID == "" || l.Timestamp.IsZero() {
		return fileHead{}
	}
	return fileHead{known: true, id: l.SessionID, start: l.Timestamp, sub: l.IsSidechain}
}

// claudeReader reads the session files. The last message of the main agent
// tells how the session ended when no standard output does.
type claudeReader struct {
	*builder
	messages map[string]int // index into Usage, -1 without any
	last     string         // id of the message that the last line was of
	stop     string         // stop_reason of the main agent's last message
}

func readClaude(b *builder, src source) {
	p := &claudeReader{builder: b, messages: map[string]int{}}
	b.eachLineOf(src.home, src.path, p.line)
	p.conclude()
	for _, sub := range src.subs {
		name := strings.TrimPrefix(strings.TrimSuffix(path.Base(sub), ".jsonl"), "agent-")
		s := &claudeReader{builder: b, messages: p.messages}
		b.eachLineOf(src.home, sub, func(n int, line []byte) { s.lineOf(n, line, name) })
	}
}

// conclude judges the session by its file alone.
func (p *claudeReader) conclude() {
	p.Completed = p.stop == "end_turn" || p.stop == "stop_sequence"
}

type claudeLine struct {
	Type           string          `json:"type"`
	IsSidechain    bool            `json:"isSidechain"`
	AgentID        string          `json:"agentId"`
	SessionID      string          `json:"sessionId"`
	Version        string          `json:"version"`
	Timestamp      time.Time       `json:"timestamp"`
	Message        json.RawMessage `json:"message"`
	ToolUseResult  json.RawMessage `json:"toolUseResult"`
	IsAPIError     bool            `json:"isApiErrorMessage"`
	APIErrorStatus float64         `json:"apiErrorStatus"`
	APIErrorType   string          `json:"apiErrorType"`
}

type claudeMessage struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      *claudeUsage    `json:"usage"`
}

type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

type claudeUsage struct {
	Input      *float64 `json:"input_tokens"`
	CacheWrite *float64 `json:"cache_creation_input_tokens"`
	Cached     *float64 `json:"cache_read_input_tokens"`
	Output     *float64 `json:"output_tokens"`
	Details    *struct {
		Thinking *float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// usage converts: the three figures of the input are told apart, the output
// includes the reasoning.
func (u *claudeUsage) usage() Usage {
	n := Usage{
		Input:  plus(count(u.Input), count(u.CacheWrite), count(u.Cached)),
		Cached: count(u.Cached), CacheWrite: count(u.CacheWrite), Output: count(u.Output),
	}
	if u.Details != nil {
		n.Reasoning = count(u.Details.Thinking)
	}
	return n
}

func (p *claudeReader) line(n int, line []byte) { p.lineOf(n, line, "") }

// lineOf reads one line of the file of a sub-agent, or of the main one, "".
func (p *claudeReader) lineOf(n int, line []byte, agent string) {
	var l claudeLine
	if err := json.Unmarshal(line, &l); err != nil {
		p.problem(n, "not a line of a session: "+clip(err.Error(), 200))
		return
	}
	p.at(l.Timestamp)
	if l.IsSidechain && agent == "" {
		agent = orElse(l.AgentID, "sidechain")
	}
	var err error
	switch l.Type {
	case "assistant":
		p.known++
		p.header(n, l)
		err = p.assistant(n, l, agent)
	case "user":
		p.known++
		p.header(n, l)
		err = p.user(n, l, agent)
	}
	if err != nil {
		p.problem(n, l.Type+": "+clip(err.Error(), 200))
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (p *claudeReader) header(n int, l claudeLine) {
	if p.SessionID == "" {
		p.SessionID = clip(l.SessionID, 100)
	}
	if l.Version == "" {
		p.formatProblem(n, "a line of the session without version")
	} else if p.Version == "" {
		p.Version = clip(l.Version, 100)
	}
}

func (p *claudeReader) assistant(n int, l claudeLine, agent string) error {
	var m claudeMessage
	if err := json.Unmarshal(l.Message, &m); err != nil {
		p.formatProblem(n, "an assistant line without a message that is understood")
		return err
	}
	if l.IsAPIError {
		p.stop = ""
		p.Error = &Error{Type: clip(orElse(l.APIErrorType, "api_error"), 100),
			Message: clip(contentText(m.Content), 2000), Status: httpStatus(l.APIErrorStatus)}
		return nil
	}
	if m.ID == "" {
		p.formatProblem(n, "an assistant message without id")
		return nil
	}
	p.Error = nil // the model answered after all
	p.count(l, m)
	if agent == "" {
		p.stop = m.StopReason
		p.Model = clip(orElse(m.Model, p.Model), 200)
	}
	return p.blocks(n, l, m, agent)
}

// count takes turn and usage of a message, whose lines repeat both: the last
// line of a message holds.
func (p *claudeReader) count(l claudeLine, m claudeMessage) {
	i, again := p.messages[m.ID]
	if !again {
		p.Turns++
		i = -1
	}
	switch {
	case m.Usage == nil:
	case i >= 0:
		p.Usage[i].Usage = m.Usage.usage()
	default:
		before := len(p.Usage)
		p.addUsage(CallUsage{Model: m.Model, Usage: m.Usage.usage(), At: l.Timestamp})
		if len(p.Usage) > before {
			i = before
		}
	}
	if again || len(p.messages) < MaxCalls {
		p.messages[m.ID] = i
	}
}

func (p *claudeReader) blocks(n int, l claudeLine, m claudeMessage, agent string) error {
	var blocks []claudeBlock
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		p.formatProblem(n, "an assistant message whose content is no list")
		return err
	}
	for _, c := range blocks {
		switch c.Type {
		case "thinking", "text":
			p.sayMore(l.Timestamp, m.ID, c)
		case "tool_use":
			if c.ID == "" || c.Name == "" {
				p.formatProblem(n, "a tool_use without id and name")
			}
			err := p.begin(Call{ID: c.ID, AgentID: agent, Tool: c.Name,
				Arguments: argumentText(c.Input), Started: l.Timestamp})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sayMore joins the blocks of one message, which come a line each.
func (p *claudeReader) sayMore(at time.Time, message string, c claudeBlock) {
	if p.last != message || len(p.Texts) == 0 {
		p.last = message
		p.say(at, c.Thinking, c.Text)
		return
	}
	t := &p.Texts[len(p.Texts)-1]
	t.Reasoning = joinLines(t.Reasoning, p.keep(c.Thinking))
	t.Text = joinLines(t.Text, p.keep(c.Text))
}

// joinLines adds b to a, unless a is already as long as anything that is kept.
func joinLines(a, b string) string {
	if len(a) >= MaxResult || b == "" {
		return a
	}
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func (p *claudeReader) user(n int, l claudeLine, agent string) error {
	var m claudeMessage
	if err := json.Unmarshal(l.Message, &m); err != nil {
		p.formatProblem(n, "a user line without a message that is understood")
		return err
	}
	var blocks []claudeBlock
	if json.Unmarshal(m.Content, &blocks) != nil {
		return nil // the prompt is a text
	}
	for _, c := range blocks {
		switch {
		case c.Type == "tool_result":
			if err := p.result(l, c, agent); err != nil {
				return err
			}
		case c.Type == "text" && agent == "" && strings.HasPrefix(c.Text, "[Request interrupted by user"):
			p.Aborted, p.stop = "user", ""
		}
	}
	return nil
}

var claudeExit = regexp.MustCompile(`^Exit code (-?\d{1,9})(?:\n|$)`)

func (p *claudeReader) result(l claudeLine, c claudeBlock, agent string) error {
	call := p.call(agent, c.ToolUseID)
	if call == nil || call.Done {
		return fmt.Errorf("result of a call that did not start")
	}
	call.end(l.Timestamp, !c.IsError)
	text := contentText(c.Content)
	call.Result = p.keep(text)
	if call.Tool == "Bash" {
		call.ExitCode = claudeExitCode(text, c.IsError, l.ToolUseResult)
	}
	if agent == "" && p.stop != "tool_use" {
		p.stop = "" // the model has not answered this yet
	}
	return nil
}

// claudeExitCode reads the exit code of a shell call: a failed one begins with
// it, and one that is no error and says nothing else about itself was 0.
func claudeExitCode(text string, isError bool, result json.RawMessage) *int {
	if isError {
		m := claudeExit.FindStringSubmatch(text)
		if m == nil {
			return nil
		}
		return atoi(m[1])
	}
	var r struct {
		Interrupted    bool   `json:"interrupted"`
		Interpretation string `json:"returnCodeInterpretation"`
		Background     string `json:"backgroundTaskId"`
	}
	if json.Unmarshal(result, &r) != nil || r.Interrupted || r.Interpretation != "" || r.Background != "" {
		return nil
	}
	return new(int)
}

// atoi is the number that a pattern has found.
func atoi(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}

// httpStatus is a status out of a session file, 0 when it is none.
func httpStatus(v float64) int {
	if v >= 100 && v <= 999 {
		return int(v)
	}
	return 0
}
