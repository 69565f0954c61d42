package trace

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"time"
)

// geminiFormat is that of Gemini CLI: an append log per session, and the result
// line of the standard output, which alone says how a run ended.
var geminiFormat = format{
	name: "gemini", versions: "0.61.0", named: true,
	matches: func(p string) bool {
		base := path.Base(p)
		return path.Base(path.Dir(p)) == "chats" && strings.HasPrefix(base, "session-") && strings.HasSuffix(base, ".jsonl")
	},
	head:   geminiHead,
	read:   readGemini,
	stdout: geminiStdout,
	settle: func(b *builder) { b.settle(b.Shutdown == "") },
}

type geminiRecord struct {
	SessionID   string                     `json:"sessionId"`
	ProjectHash string                     `json:"projectHash"`
	StartTime   time.Time                  `json:"startTime"`
	Kind        string                     `json:"kind"`
	ID          *string                    `json:"id"`
	RewindTo    *string                    `json:"$rewindTo"`
	Set         map[string]json.RawMessage `json:"$set"`
}

func geminiHead(line []byte) fileHead {
	var r geminiRecord
	if json.Unmarshal(line, &r) != nil || r.SessionID == "" {
		return fileHead{}
	}
	return fileHead{known: true, id: r.SessionID, start: r.StartTime, sub: r.Kind != "" && r.Kind != "main"}
}

type geminiMessage struct {
	ID        string          `json:"id"`
	Timestamp time.Time       `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Tokens *struct {
		Input    *float64 `json:"input"`
		Output   *float64 `json:"output"`
		Cached   *float64 `json:"cached"`
		Thoughts *float64 `json:"thoughts"`
	} `json:"tokens"`
	Model     string           `json:"model"`
	ToolCalls []geminiToolCall `json:"toolCalls"`
}

type geminiToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Result    json.RawMessage `json:"result"`
	Status    string          `json:"status"`
	Timestamp time.Time       `json:"timestamp"`
}

// geminiReader replays the log. A message is written again when it changes: the
// last line of an id holds. A patch of the messages and a rewind take messages
// out of the conversation; what the agent did in them and what they cost
// remains done, so they stay in the trace and only the end is judged without
// them.
type geminiReader struct {
	*builder
	messages map[string]geminiMessage
	order    []string // ids, as first seen
	live     []string // ids of the conversation as it stands
	isLive   map[string]bool
}

// maxMessages bounds the messages of a conversation.
const maxMessages = 2 * MaxCalls

func newGeminiReader(b *builder) *geminiReader {
	return &geminiReader{builder: b, messages: map[string]geminiMessage{}, isLive: map[string]bool{}}
}

func readGemini(b *builder, src source) {
	p := newGeminiReader(b)
	b.eachLineOf(src.home, src.path, p.line)
	p.conclude()
}

// conclude makes the trace once all is replayed.
func (p *geminiReader) conclude() {
	for _, id := range p.order {
		p.tell(p.messages[id])
	}
	if n := len(p.live); n > 0 {
		last := p.messages[p.live[n-1]]
		p.Completed = last.Type == "gemini" && len(last.ToolCalls) == 0 && contentText(last.Content) != ""
	}
}

func (p *geminiReader) line(n int, line []byte) {
	var r geminiRecord
	if err := json.Unmarshal(line, &r); err != nil {
		p.problem(n, "not a record of a session: "+clip(err.Error(), 200))
		return
	}
	var err error
	switch {
	case r.RewindTo != nil:
		p.known++
		p.rewind(*r.RewindTo)
	case r.ID != nil:
		err = p.put(n, line)
	case r.Set != nil:
		p.known++
		err = p.patch(n, r.Set["messages"])
	case r.SessionID != "" && r.ProjectHash != "":
		p.known++
		p.SessionID = clip(r.SessionID, 100)
		p.at(r.StartTime)
	}
	if err != nil {
		p.problem(n, "message: "+clip(err.Error(), 200))
	}
}

func (p *geminiReader) put(n int, line []byte) error {
	var m geminiMessage
	if err := json.Unmarshal(line, &m); err != nil {
		p.formatProblem(n, "a message that is not understood")
		return err
	}
	if m.Type == "" {
		p.formatProblem(n, "a message without type")
		return nil
	}
	p.known++
	p.at(m.Timestamp)
	_, again := p.messages[m.ID]
	if !again && len(p.order) >= maxMessages {
		p.problem(n, "too many messages, not kept")
		return nil
	}
	p.messages[m.ID] = m
	if !again {
		p.order = append(p.order, m.ID)
	}
	if !p.isLive[m.ID] {
		p.isLive[m.ID] = true
		p.live = append(p.live, m.ID)
	}
	return nil
}

func (p *geminiReader) patch(n int, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	p.live, p.isLive = nil, map[string]bool{}
	for _, m := range list {
		if err := p.put(n, m); err != nil {
			return err
		}
	}
	return nil
}

// rewind takes out the message and all behind it; all when there is none such.
func (p *geminiReader) rewind(id string) {
	for n := len(p.live); n > 0; n = len(p.live) {
		last := p.live[n-1]
		p.live = p.live[:n-1]
		delete(p.isLive, last)
		if last == id {
			return
		}
	}
}

// tell puts one message into the trace.
func (p *geminiReader) tell(m geminiMessage) {
	if m.Type != "gemini" {
		return
	}
	text := contentText(m.Content)
	var thoughts string
	for _, t := range m.Thoughts {
		thoughts = joinLines(thoughts, joinLines(t.Subject, t.Description))
	}
	if m.Tokens == nil && text == "" && thoughts == "" && len(m.ToolCalls) == 0 {
		return
	}
	p.Turns++
	p.Model = clip(orElse(m.Model, p.Model), 200)
	p.say(m.Timestamp, thoughts, text)
	p.addUsage(CallUsage{Model: m.Model, Usage: m.usage(), At: m.Timestamp})
	for _, c := range m.ToolCalls {
		if c.ID == "" || c.Name == "" {
			p.formatProblem(0, "a toolCall without id and name")
		}
		if err := p.toolCall(m, c); err != nil {
			p.problem(0, clip(err.Error(), 200))
			return
		}
	}
}

// usage converts: the input includes the cached one, the output excludes the
// thoughts.
func (m geminiMessage) usage() Usage {
	if m.Tokens == nil {
		return Usage{}
	}
	t := m.Tokens
	return Usage{Input: count(t.Input), Cached: count(t.Cached),
		Output: plus(count(t.Output), count(t.Thoughts)), Reasoning: count(t.Thoughts)}
}

// toolCall takes a call, which is written when it has ended. Until the standard
// output says better, it began with its message.
func (p *geminiReader) toolCall(m geminiMessage, c geminiToolCall) error {
	err := p.begin(Call{ID: c.ID, Tool: c.Name, Arguments: argumentText(c.Args), Started: m.Timestamp})
	if err != nil {
		return err
	}
	p.at(c.Timestamp)
	call := p.call("", c.ID)
	call.end(c.Timestamp, c.Status == "success")
	text := geminiOutput(c.Result)
	call.Result = p.keep(text)
	if c.Name == "run_shell_command" && call.Success {
		call.ExitCode = geminiExitCode(text)
	}
	return nil
}

// geminiOutput is what the model was sent of a call.
func geminiOutput(raw json.RawMessage) string {
	var parts []struct {
		FunctionResponse struct {
			Response struct {
				Output string `json:"output"`
				Error  string `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return ""
	}
	r := parts[0].FunctionResponse.Response
	return joinLines(r.Output, r.Error)
}

var geminiExit = regexp.MustCompile(`\n(?:Exit Code: (-?\d{1,9})\n)?(Signal: [^\n]{0,50}\n)?` +
	`(?:Process Group PGID: \d{1,9}\n)</untrusted_context>\s*$`)

// geminiExitCode reads the exit code behind a shell call's output, where it
// stands only when it is not 0: such a call is a success for the CLI.
func geminiExitCode(text string) *int {
	m := geminiExit.FindStringSubmatch(text)
	switch {
	case m == nil || m[2] != "":
		return nil
	case m[1] == "":
		return new(int)
	}
	return atoi(m[1])
}
