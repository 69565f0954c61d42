package runner

import (
	"fmt"
	"strings"
	"unicode"

	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner/agent"
)

// The limits that an attempt can run into, as results.Attempt.LimitHit names them.
const (
	LimitMemory   = "memory"
	LimitPids     = "pids"
	LimitDisk     = "disk"
	LimitOutput   = "output"
	LimitProtocol = "protocol"
	// LimitBudget is the budget of an attempt or of its trial.
	LimitBudget = "budget"
)

// ending is why an attempt was ended from outside; empty when the agent ended by itself.
type ending string

const (
	endedItself    ending = ""
	endedCancelled ending = "cancelled"
	endedStalled   ending = "stalled"
	endedTimeout   ending = "timeout"
	endedLimit     ending = "limit"
)

// providerFailure is the last thing that the provider said, when no usable
// answer came after it.
type providerFailure struct {
	Status  int
	Message string
}

// evidence is all that is known of an ended attempt. An exit code alone proves
// nothing: CLIs exit with 0 after a signal, without a finished task and after
// empty answers.
type evidence struct {
	Ended    ending
	LimitHit string // with endedLimit, or found afterwards (memory, pids, protocol)
	Detail   string // of the ending or the limit, for people
	Fault    error  // of the engine or the host
	Diverged string // why a replay cannot go on
	Failure  *providerFailure
	Answers  int
	ExitCode *int
	Trace    *trace.Trace
	Success  agent.Success // what proves that the agent came to its end
	NoModel  bool          // it asks no model
	Heard    bool          // a bare model has given whole answers, empty ones included
	// HasSolution is whether every file of the starter was read back.
	HasSolution bool
	Unchanged   bool
}

// judgement is what evidence amounts to.
type judgement struct {
	Outcome   results.Outcome
	LimitHit  string
	Reason    string
	Unchanged bool
}

// judge returns the first outcome that matches, in the order of precedence of
// results.Outcomes.
func judge(e evidence) judgement {
	switch {
	case e.Ended == endedCancelled:
		return judgement{Outcome: results.Cancelled, Reason: orText(e.Detail, "the run was stopped")}
	case e.Diverged != "":
		return judgement{Outcome: results.ProviderError, Reason: "replay: " + e.Diverged}
	case e.Fault != nil:
		return judgement{Outcome: results.InfraError, Reason: e.Fault.Error()}
	case e.Failure != nil && !e.finished():
		return judgement{Outcome: results.ProviderError, Reason: e.Failure.String()}
	case e.Ended == endedLimit, e.LimitHit != "" && !e.finished():
		return e.withCode(results.Limit, fmt.Sprintf("%s limit: %s", e.LimitHit, e.Detail))
	case e.Ended == endedStalled:
		return e.withCode(results.Stalled, e.Detail)
	case e.Ended == endedTimeout:
		return e.withCode(results.Timeout, e.Detail)
	}
	if reason := e.agentError(); reason != "" {
		return e.withCode(results.AgentError, reason)
	}
	if !e.HasSolution {
		return judgement{Outcome: results.NoOutput, Reason: orText(e.Detail, "no readable solution was left")}
	}
	j := e.withCode(results.Answered, "")
	if e.Unchanged {
		j.Reason = "the code equals the starter"
	}
	return j
}

// finished reports whether the agent itself came to its end, so that neither a
// limit which one of its commands met nor a failed request beside its work
// decided the attempt.
func (e evidence) finished() bool {
	return e.Ended == endedItself && e.Success.Finished(e.Trace, e.ExitCode)
}

func (e evidence) withCode(o results.Outcome, reason string) judgement {
	j := judgement{Outcome: o, Reason: reason, Unchanged: e.HasSolution && e.Unchanged}
	if o == results.Limit {
		j.LimitHit = e.LimitHit
	}
	return j
}

// agentError returns why the agent failed by itself, or "".
func (e evidence) agentError() string {
	if e.Answers == 0 && !e.NoModel && !e.Heard {
		return "ended before the first model answer" + e.exit()
	}
	return e.Success.Failure(e.Trace, e.ExitCode)
}

func (e evidence) exit() string {
	if e.ExitCode == nil {
		return ""
	}
	return fmt.Sprintf(" (exit code %d)", *e.ExitCode)
}

func (f *providerFailure) String() string {
	if f.Status == 0 {
		return "no answer from the provider: " + f.Message
	}
	return fmt.Sprintf("the provider answered %d: %s", f.Status, f.Message)
}

// maxReason is the longest reason that is kept, in bytes.
const maxReason = 500

// plainLine makes one printable line of a text that may come from a provider
// or a box.
func plainLine(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '?'
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
