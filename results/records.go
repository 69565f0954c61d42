package results

import (
	"time"

	"cabra-run/tasks"
)

// Trial is one unit that is scored: task, agent, model and repetition.
type Trial struct {
	Key        string     `json:"key"` // TrialKey of the rest; the identity that resume compares
	TaskID     tasks.ID   `json:"task_id"`
	TaskDigest string     `json:"task_digest"` // tasks.Task.Digest and StatementDigest, joined with "+"
	Cell       tasks.Cell `json:"cell"`
	Instance   int        `json:"instance"`
	SampleID   string     `json:"sample_id"` // tasks.Task.SampleID, for exports; not part of the key
	Agent      string     `json:"agent"`
	Version    string     `json:"version"`
	Model      string     `json:"model"`
	Repetition int        `json:"repetition"` // from 1
	Settings   string     `json:"settings"`   // digest of the settings that change an outcome
	Seq        int        `json:"seq"`        // place in the plan, from 0
}

// Usage is tokens and money, measured from the wire. Nil means unknown, which
// is never the same as zero.
type Usage struct {
	Input  *int64 `json:"input"` // includes cached input
	Cached *int64 `json:"cached"`
	// CacheWrite is input that was written into the provider's cache, which
	// some charge dearer; Input includes it.
	CacheWrite *int64   `json:"cache_write"`
	Output     *int64   `json:"output"` // includes reasoning
	Reasoning  *int64   `json:"reasoning"`
	CostUSD    *float64 `json:"cost_usd"`
}

// Exchange is one request to a model with what came back.
type Exchange struct {
	Seq      int       `json:"seq"`  // from 1 within the attempt
	Wire     string    `json:"wire"` // the wire format it was asked in: "chat", "responses", "messages", "gemini"
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Model    string    `json:"model"`
	Status   int       `json:"status"`   // HTTP status sent to the agent, 0 when none was
	Complete bool      `json:"complete"` // the answer ended as it should
	Error    string    `json:"error"`    // why not
	Usage    Usage     `json:"usage"`
	// WorstUSD and WorstTokens are the most that the request could cost, which
	// is what a budget counts where the cost is unknown; nil without a price.
	WorstUSD    *float64 `json:"worst_usd"`
	WorstTokens int64    `json:"worst_tokens"`
}

// Attempt is one sandboxed execution for a trial.
type Attempt struct {
	TrialKey string    `json:"trial_key"`
	Number   int       `json:"number"` // from 1
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"` // zero while it runs

	Outcome   Outcome `json:"outcome"`   // "" while it runs
	Reason    string  `json:"reason"`    // one line for people
	LimitHit  string  `json:"limit_hit"` // with Limit: memory, pids, disk, output, protocol
	Unchanged bool    `json:"unchanged"` // the code equals the starter
	Unscored  bool    `json:"unscored"`  // closed without artefacts that can be scored

	ExitCode    *int    `json:"exit_code"` // of the agent's program; proves nothing
	Requests    int     `json:"requests"`  // model requests
	Answers     int     `json:"answers"`   // usable answers among them
	WallSeconds float64 `json:"wall_seconds"`
	WaitSeconds float64 `json:"wait_seconds"` // spent waiting for the provider, within WallSeconds
	MemoryPeak  int64   `json:"memory_peak"`
	TraceState  string  `json:"trace_state"` // "complete", "partial", "lost", "none"
	Adopted     bool    `json:"adopted"`     // found on disk by resume, after a crash before it was recorded
	// UsageNote says where the agent's own count of tokens differs from what
	// was metered from the wire, "" where it does not or tells nothing.
	UsageNote string `json:"usage_note,omitempty"`
	// Effective says which limits were in effect where they differ from those
	// wanted, one line for people; "" where all are as wanted.
	Effective string `json:"effective,omitempty"`

	// ToolCalls counts the calls of tools in the attempt's trace, those of
	// sub-agents included; nil when there is no readable trace.
	ToolCalls *int64 `json:"tool_calls,omitempty"`

	// Path is the attempt's artefact folder, relative to the run folder, with
	// slashes. The store sets it; HasArtefacts says whether the folder exists.
	Path         string `json:"path"`
	HasArtefacts bool   `json:"has_artefacts"`
}

// The verdicts that there are: by the words of the task, and as the published
// scorer gives it.
const (
	Strict   = "strict"
	Official = "official"
)

// Verdict is the score of an attempt's code.
type Verdict struct {
	Scorer  string  `json:"scorer"` // Strict, Official
	Version string  `json:"version"`
	Solved  bool    `json:"solved"`
	Reason  string  `json:"reason"` // one line: which function, which input, expected and got
	Checks  []Check `json:"checks"`
}

// Check is one part of a verdict.
type Check struct {
	Name   string `json:"name"` // "compiles", "functions", "behaviour", "calls", "structure"
	Pass   bool   `json:"pass"`
	Detail string `json:"detail,omitempty"`
}
