// Package trace owns the normal form of what an agent did, the parsers that
// make it from each agent's own session files, how a session ended by them, and
// the comparison of the agent's own count of tokens with another one. It must
// not know how an agent is started or judged. Session files are hostile input:
// every size is bounded, no link is followed, SQLite stores are read in a child
// process, and a file that cannot be understood gives a Trace with Problems,
// not a failure.
package trace

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Trace is the normal form of one session.
type Trace struct {
	Agent     string    `json:"agent"`
	Version   string    `json:"version"`
	Model     string    `json:"model"`
	SessionID string    `json:"session_id"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"` // of the last line read

	Turns     int         `json:"turns"` // answers of the model, sub-agents' included
	Calls     []Call      `json:"calls"`
	Usage     []CallUsage `json:"usage,omitempty"` // per model call, where the agent tells it
	Completed bool        `json:"completed"`       // the agent itself declared the task done
	Finished  Finish      `json:"finished"`        // how the session ended, by the rules of Finish
	Aborted   string      `json:"aborted,omitempty"`
	Error     *Error      `json:"error,omitempty"` // the session's last error, when nothing good came after it
	Shutdown  string      `json:"shutdown,omitempty"`
	Tokens    *Tokens     `json:"tokens,omitempty"` // the agent's own totals; the gateway's count decides
	Problems  []Problem   `json:"problems,omitempty"`
	Lines     int         `json:"lines"`
	Texts     []TextPart  `json:"-"`
}

// Call is one tool call.
type Call struct {
	ID        string        `json:"id"`
	AgentID   string        `json:"agent_id,omitempty"` // set for sub-agents
	Parent    string        `json:"parent,omitempty"`   // id of the call whose script made this one
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

// Tokens are the agent's own totals, in the meaning of Usage.
type Tokens struct {
	Input      int64 `json:"input"`
	Cached     int64 `json:"cached"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
}

// Problem is a part of a session file that could not be read.
type Problem struct {
	Kind string `json:"kind,omitempty"` // "" or ProblemFormat
	Line int    `json:"line"`           // 0 when the file as a whole is meant
	Text string `json:"text"`
}

// ProblemFormat is the kind of a problem that says that the CLI writes another
// format than the one that is known: another version, or fields that are gone.
const ProblemFormat = "format"

// FormatChanged returns what speaks for a changed format of the CLI, or "".
func (t *Trace) FormatChanged() string {
	for _, p := range t.Problems {
		if p.Kind == ProblemFormat {
			return p.Text
		}
	}
	return ""
}

// Bounds on what is read of one session.
const (
	MaxFileBytes = 64 << 20
	MaxLineBytes = 8 << 20
	MaxCalls     = 20000
	MaxResult    = 64 << 10
	maxProblems  = 50
	maxTextParts = 20000
	maxTextBytes = 64 << 20 // of results, arguments and texts together
)

func (t *Trace) problem(line int, text string) {
	t.addProblem(Problem{Line: line, Text: text})
}

func (t *Trace) addProblem(p Problem) {
	if len(t.Problems) < maxProblems {
		t.Problems = append(t.Problems, p)
	}
}

// clip cuts s to n bytes at most, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
