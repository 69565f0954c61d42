package trace

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// piSession is the version of session files that is known. They do not say
// which version of the CLI wrote them.
const piSession = 3

// piFormat is that of pi: one JSON-lines file per session.
var piFormat = format{
	name: "pi", versions: "0.73.1 (session version 3)",
	matches: func(p string) bool { return strings.HasSuffix(p, ".jsonl") },
	head:    piHead,
	read:    readPi,
	settle:  func(b *builder) { b.settle(b.Shutdown != "length") },
}

type piLine struct {
	Type      string          `json:"type"`
	Version   float64         `json:"version"`
	ID        string          `json:"id"`
	Timestamp time.Time       `json:"timestamp"`
	ModelID   string          `json:"modelId"`
	Message   json.RawMessage `json:"message"`
}

func piHead(line []byte) fileHead {
	var l piLine
	if json.Unmarshal(line, &l) != nil || l.Type != "session" {
		return fileHead{}
	}
	return fileHead{known: true, id: l.ID, start: l.Timestamp}
}

type piReader struct{ *builder }

func readPi(b *builder, src source) {
	b.eachLineOf(src.home, src.path, piReader{b}.line)
}

func (p piReader) line(n int, line []byte) {
	var l piLine
	if err := json.Unmarshal(line, &l); err != nil {
		p.problem(n, "not a line of a session: "+clip(err.Error(), 200))
		return
	}
	p.at(l.Timestamp)
	var err error
	switch l.Type {
	case "session":
		p.known++
		p.SessionID = clip(l.ID, 100)
		if l.Version != piSession {
			p.formatProblem(n, fmt.Sprintf("session version %v", l.Version))
		}
	case "model_change":
		p.known++
		p.Model = clip(l.ModelID, 200)
	case "message":
		p.known++
		err = p.message(n, l)
	}
	if err != nil {
		p.problem(n, l.Type+": "+clip(err.Error(), 200))
	}
}

type piMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Model   string          `json:"model"`
	Usage   *struct {
		Input      *float64 `json:"input"`
		Output     *float64 `json:"output"`
		CacheRead  *float64 `json:"cacheRead"`
		CacheWrite *float64 `json:"cacheWrite"`
	} `json:"usage"`
	StopReason   string `json:"stopReason"`
	ErrorMessage string `json:"errorMessage"`
	ToolCallID   string `json:"toolCallId"`
	ToolName     string `json:"toolName"`
	IsError      bool   `json:"isError"`
}

func (p piReader) message(n int, l piLine) error {
	var m piMessage
	if err := json.Unmarshal(l.Message, &m); err != nil {
		p.formatProblem(n, "a message that is not understood")
		return err
	}
	switch m.Role {
	case "assistant":
		return p.assistant(n, l, m)
	case "toolResult":
		return p.result(l, m)
	case "":
		p.formatProblem(n, "a message without role")
	}
	return nil
}

var piStatus = regexp.MustCompile(`^(\d{3})\b`)

// assistant takes an answer. A failed try, of which each leaves one, is none.
func (p piReader) assistant(n int, l piLine, m piMessage) error {
	p.Completed, p.Shutdown, p.Error, p.Aborted = m.StopReason == "stop", m.StopReason, nil, ""
	switch m.StopReason {
	case "":
		p.formatProblem(n, "an assistant message without stopReason")
	case "error":
		p.Error = &Error{Type: "error", Message: clip(m.ErrorMessage, 2000)}
		if s := piStatus.FindString(m.ErrorMessage); s != "" {
			p.Error.Status = httpStatus(float64(*atoi(s)))
		}
	case "aborted":
		p.Aborted = clip(orElse(m.ErrorMessage, "aborted"), 200)
	}
	failed := m.StopReason == "error" || m.StopReason == "aborted"
	if u := p.usage(m); !failed || u.Input != nil && *u.Input > 0 {
		p.Turns++
		p.addUsage(CallUsage{Model: m.Model, Usage: u, At: l.Timestamp})
	}
	p.Model = clip(orElse(m.Model, p.Model), 200)
	return p.blocks(n, l, m, failed)
}

// usage converts: the input excludes what was cached, the output includes the
// reasoning, which is not told apart.
func (piReader) usage(m piMessage) Usage {
	if m.Usage == nil {
		return Usage{}
	}
	u := m.Usage
	return Usage{
		Input:  plus(count(u.Input), count(u.CacheRead), count(u.CacheWrite)),
		Cached: count(u.CacheRead), CacheWrite: count(u.CacheWrite), Output: count(u.Output),
	}
}

// blocks takes what an answer consists of. The calls of a failed one were never
// made.
func (p piReader) blocks(n int, l piLine, m piMessage, failed bool) error {
	var blocks []struct {
		Type      string          `json:"type"`
		Thinking  string          `json:"thinking"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		p.formatProblem(n, "an assistant message whose content is no list")
		return err
	}
	var thinking, text string
	for _, c := range blocks {
		switch c.Type {
		case "thinking":
			thinking = joinLines(thinking, c.Thinking)
		case "text":
			text = joinLines(text, c.Text)
		case "toolCall":
			if failed {
				continue
			}
			if c.ID == "" || c.Name == "" {
				p.formatProblem(n, "a toolCall without id and name")
			}
			call := Call{ID: c.ID, Tool: c.Name, Arguments: argumentText(c.Arguments), Started: l.Timestamp}
			if err := p.begin(call); err != nil {
				return err
			}
		}
	}
	p.say(l.Timestamp, thinking, text)
	return nil
}

var piExit = regexp.MustCompile(`(?:^|\n)Command exited with code (-?\d{1,9})\s*$`)

func (p piReader) result(l piLine, m piMessage) error {
	c := p.call("", m.ToolCallID)
	if c == nil || c.Done {
		return fmt.Errorf("result of a call that did not start")
	}
	c.end(l.Timestamp, !m.IsError)
	text := contentText(m.Content)
	c.Result = p.keep(text)
	if c.Tool == "bash" {
		if found := piExit.FindStringSubmatch(text); found != nil && m.IsError {
			c.ExitCode = atoi(found[1])
		} else if !m.IsError {
			c.ExitCode = new(int)
		}
	}
	return nil
}
