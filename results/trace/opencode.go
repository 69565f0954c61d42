package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"time"
)

// opencodeFormat is that of opencode: a SQLite store of all its sessions, and
// the errors on the standard output that come before there is an answer. The
// id of a session cannot be chosen.
var opencodeFormat = format{
	name: "opencode", versions: "1.18.33", series: []string{"1.18."},
	matches: func(p string) bool { return path.Base(p) == "opencode.db" },
	read:    readOpencode,
	stdout:  opencodeStdout,
	settle:  func(b *builder) { b.settle(b.Shutdown == "" || b.Shutdown == "tool-calls" && b.running()) },
}

type opencodeSession struct {
	ID      string  `json:"id"`
	Parent  string  `json:"parent_id"`
	Version string  `json:"version"`
	Created float64 `json:"time_created"`
	Updated float64 `json:"time_updated"`

	Input      *float64 `json:"tokens_input"`
	Output     *float64 `json:"tokens_output"`
	Reasoning  *float64 `json:"tokens_reasoning"`
	CacheRead  *float64 `json:"tokens_cache_read"`
	CacheWrite *float64 `json:"tokens_cache_write"`
}

// opencodeRow is a row of the tables message and part.
type opencodeRow struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	MessageID string `json:"message_id"`
	Data      string `json:"data"`
}

type opencodeTokens struct {
	Input     *float64 `json:"input"`
	Output    *float64 `json:"output"`
	Reasoning *float64 `json:"reasoning"`
	Cache     struct {
		Read  *float64 `json:"read"`
		Write *float64 `json:"write"`
	} `json:"cache"`
}

// usage converts: the input excludes the cache, the output the reasoning.
func (t opencodeTokens) usage() Usage {
	return Usage{
		Input:  plus(count(t.Input), count(t.Cache.Read), count(t.Cache.Write)),
		Cached: count(t.Cache.Read), CacheWrite: count(t.Cache.Write),
		Output: plus(count(t.Output), count(t.Reasoning)), Reasoning: count(t.Reasoning),
	}
}

type opencodeMessage struct {
	Role       string          `json:"role"`
	ModelID    string          `json:"modelID"`
	ProviderID string          `json:"providerID"`
	Tokens     *opencodeTokens `json:"tokens"`
	Finish     string          `json:"finish"`
	Error      *opencodeError  `json:"error"`
	Time       struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
}

type opencodeError struct {
	Name string `json:"name"`
	Data struct {
		Message    string  `json:"message"`
		StatusCode float64 `json:"statusCode"`
	} `json:"data"`
}

func (e *opencodeError) normal() *Error {
	return &Error{Type: clip(orElse(e.Name, "error"), 100), Message: clip(e.Data.Message, 2000),
		Status: httpStatus(e.Data.StatusCode)}
}

type opencodePart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"`
		Metadata struct {
			Output string   `json:"output"`
			Exit   *float64 `json:"exit"`
		} `json:"metadata"`
		Time struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
		} `json:"time"`
	} `json:"state"`
}

// opencodeStore is what the store holds, in the order of the ids, which sort
// by time.
type opencodeStore struct {
	sessions []opencodeSession
	messages []opencodeRow
	parts    map[string][]opencodeRow // by message
}

func readOpencode(b *builder, src source) {
	s := opencodeStore{parts: map[string][]opencodeRow{}}
	b.readStore(storeOpencode, src.home, src.path, func(kind string, row []byte) error {
		return s.row(kind, row)
	})
	b.opencode(&s)
}

// opencode makes the trace of what the store holds.
func (b *builder) opencode(s *opencodeStore) {
	main, ok := s.main()
	if !ok {
		return
	}
	for _, c := range s.sessions {
		if c.ID != main.ID && c.Parent == "" {
			b.problem(0, fmt.Sprintf("another session, not read: %q", clip(c.ID, 100)))
		}
	}
	b.opencodeSession(main)
	b.opencodeMessages(s, main)
}

func (s *opencodeStore) row(kind string, row []byte) error {
	switch kind {
	case "session":
		var c opencodeSession
		if err := json.Unmarshal(row, &c); err != nil {
			return err
		}
		s.sessions = append(s.sessions, c)
	case "message", "part":
		var r opencodeRow
		if err := json.Unmarshal(row, &r); err != nil {
			return err
		}
		if kind == "message" {
			s.messages = append(s.messages, r)
		} else {
			s.parts[r.MessageID] = append(s.parts[r.MessageID], r)
		}
	}
	return nil
}

// main is the newest session that is not a sub-agent's.
func (s *opencodeStore) main() (opencodeSession, bool) {
	var main opencodeSession
	found := false
	for _, c := range s.sessions {
		if c.Parent == "" && (!found || c.Created >= main.Created) {
			main, found = c, true
		}
	}
	return main, found
}

func (b *builder) opencodeSession(c opencodeSession) {
	b.SessionID, b.Version = clip(c.ID, 100), clip(c.Version, 100)
	if b.Version == "" {
		b.formatProblem(0, "a session without version")
	}
	b.at(millis(c.Created))
	b.at(millis(c.Updated))
	tokens := opencodeTokens{Input: c.Input, Output: c.Output, Reasoning: c.Reasoning}
	tokens.Cache.Read, tokens.Cache.Write = c.CacheRead, c.CacheWrite
	b.Tokens = &Tokens{}
	b.Tokens.add(tokens.usage())
}

func (b *builder) opencodeMessages(s *opencodeStore, main opencodeSession) {
	parent := map[string]string{}
	for _, c := range s.sessions {
		parent[c.ID] = c.Parent
	}
	for i, r := range s.messages {
		agent := r.SessionID
		if agent == main.ID {
			agent = ""
		} else if !below(parent, r.SessionID, main.ID) {
			continue
		}
		var m opencodeMessage
		if err := json.Unmarshal([]byte(r.Data), &m); err != nil {
			b.problem(i+1, "message: "+clip(err.Error(), 200))
			continue
		}
		if m.Role == "" {
			b.formatProblem(i+1, "a message without role")
		}
		b.at(millis(m.Time.Created))
		b.at(millis(m.Time.Completed))
		if m.Role == "assistant" {
			b.opencodeAnswer(m, agent)
			if b.opencodeParts(s.parts[r.ID], m, agent) || m.Finish != "" {
				b.Turns++
			}
		}
	}
}

// below reports whether a session is a sub-agent's of main, however deep.
func below(parent map[string]string, id, main string) bool {
	for range 20 {
		if id = parent[id]; id == main {
			return true
		}
	}
	return false
}

func (b *builder) opencodeAnswer(m opencodeMessage, agent string) {
	switch {
	case m.Finish != "" && m.Tokens == nil:
		b.formatProblem(0, "a finished message without tokens")
	case m.Finish != "" || m.Tokens != nil && m.Tokens.Output != nil && *m.Tokens.Output > 0:
		b.addUsage(CallUsage{Model: m.ModelID, Usage: m.Tokens.usage(), At: millis(m.Time.Completed)})
	}
	if agent != "" {
		return
	}
	b.Model = clip(orElse(m.ModelID, b.Model), 200)
	b.Shutdown, b.Completed, b.Error = clip(m.Finish, 100), m.Finish == "stop", nil
	if m.Error != nil {
		b.Completed, b.Error = false, m.Error.normal()
		if m.Error.Name == "MessageAbortedError" {
			b.Error, b.Aborted = nil, m.Error.Name
		}
	}
}

// opencodeParts takes the parts of a message, and reports whether the model
// said anything in it.
func (b *builder) opencodeParts(rows []opencodeRow, m opencodeMessage, agent string) (said bool) {
	var reasoning, text string
	for i, r := range rows {
		var part opencodePart
		if err := json.Unmarshal([]byte(r.Data), &part); err != nil {
			b.problem(i+1, "part: "+clip(err.Error(), 200))
			continue
		}
		said = said || part.Type == "reasoning" || part.Type == "text" || part.Type == "tool"
		switch part.Type {
		case "reasoning":
			reasoning = joinLines(reasoning, clip(part.Text, MaxResult))
		case "text":
			text = joinLines(text, clip(part.Text, MaxResult))
		case "tool":
			if err := b.opencodeTool(part, agent); err != nil {
				b.problem(0, err.Error())
			}
		}
		reasoning, text = clip(reasoning, MaxResult), clip(text, MaxResult)
	}
	b.say(millis(m.Time.Created), reasoning, text)
	return said
}

// opencodeTool takes a call. A failed command and a call of an unknown tool
// ("invalid") are "completed" for the CLI.
func (b *builder) opencodeTool(part opencodePart, agent string) error {
	if part.Tool == "" || part.State.Status == "" {
		b.formatProblem(0, "a tool part without tool and state.status")
	}
	st := part.State
	c := Call{ID: part.CallID, AgentID: agent, Tool: part.Tool, Arguments: argumentText(st.Input),
		Started: millis(st.Time.Start), Result: orElse(st.Output+st.Error, st.Metadata.Output)}
	if st.Status == "completed" || st.Status == "error" {
		c.end(millis(st.Time.End), st.Status == "completed" && part.Tool != "invalid")
	}
	if e := st.Metadata.Exit; e != nil && *e >= -1<<31 && *e < 1<<31 {
		code := int(*e)
		c.ExitCode = &code
	}
	return b.begin(c)
}

// opencodeStdout looks for an error behind the last step that finished: some
// stand on the standard output alone.
func opencodeStdout(b *builder, r io.Reader) {
	var last *Error
	var at time.Time
	eachOutLine(r, func(line []byte) {
		var ev struct {
			Type      string         `json:"type"`
			Timestamp float64        `json:"timestamp"`
			SessionID string         `json:"sessionID"`
			Error     *opencodeError `json:"error"`
		}
		if json.Unmarshal(line, &ev) != nil || ev.Type == "" || b.SessionID != "" && ev.SessionID != b.SessionID {
			return
		}
		b.outLines++
		switch {
		case ev.Type == "step_finish":
			last = nil
		case ev.Type == "error" && ev.Error != nil:
			last, at = ev.Error.normal(), millis(ev.Timestamp)
		}
	})
	if last == nil {
		return
	}
	b.Lines = max(b.Lines, 1)
	b.known++
	b.at(at)
	b.Completed = false
	if b.Error == nil && b.Aborted == "" {
		b.Error = last
	}
}
