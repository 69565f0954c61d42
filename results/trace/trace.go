// Package trace owns the normal form of what an agent did and the parsers that
// make it from each agent's own session files. It must not know how an agent is
// started or judged. Session files are hostile input: every size is bounded, and
// a file that cannot be understood gives a Trace with Problems, not a failure.
package trace

import (
	"time"
)

// Trace is the normal form of one session.
type Trace struct {
	Agent     string    `json:"agent"`
	Version   string    `json:"version"`
	Model     string    `json:"model"`
	SessionID string    `json:"session_id"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"` // of the last line read

	Turns     int        `json:"turns"` // answers of the model
	Calls     []Call     `json:"calls"`
	Completed bool       `json:"completed"` // the agent itself declared the task done
	Aborted   string     `json:"aborted,omitempty"`
	Error     *Error     `json:"error,omitempty"` // the session's last error, when nothing good came after it
	Shutdown  string     `json:"shutdown,omitempty"`
	Tokens    *Tokens    `json:"tokens,omitempty"` // the agent's own totals; the gateway's count decides
	Problems  []Problem  `json:"problems,omitempty"`
	Lines     int        `json:"lines"`
	Texts     []TextPart `json:"-"`
}

// Call is one tool call.
type Call struct {
	ID        string        `json:"id"`
	AgentID   string        `json:"agent_id,omitempty"` // set for sub-agents
	Tool      string        `json:"tool"`
	Arguments string        `json:"arguments"` // as JSON or as the text that was given
	Started   time.Time     `json:"started"`
	Duration  time.Duration `json:"duration"`
	Done      bool          `json:"done"`    // a completion was seen
	Success   bool          `json:"success"` // the agent's own word; true for a shell command that failed
	ExitCode  *int          `json:"exit_code,omitempty"`
	Result    string        `json:"result"` // cut at MaxResult bytes
}

// TextPart is what the model said between calls.
type TextPart struct {
	At        time.Time
	Reasoning string
	Text      string
}

// Error is a failure that the agent reports about itself.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"` // HTTP status, 0 when unknown
}

// Tokens are the agent's own totals.
type Tokens struct {
	Input     int64 `json:"input"`
	Cached    int64 `json:"cached"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
}

// Problem is a part of a session file that could not be read.
type Problem struct {
	Line int    `json:"line"` // 0 when the file as a whole is meant
	Text string `json:"text"`
}

// Bounds on what is read of one session file.
const (
	MaxFileBytes = 64 << 20
	MaxLineBytes = 8 << 20
	MaxCalls     = 20000
	MaxResult    = 64 << 10
	maxProblems  = 50
	maxTextParts = 20000
)

func (t *Trace) problem(line int, text string) {
	if len(t.Problems) < maxProblems {
		t.Problems = append(t.Problems, Problem{Line: line, Text: text})
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
