// Package results owns what a run leaves behind: the run folder with its lock,
// the SQLite store of trials, attempts, verdicts and usage, the artefact
// layout, and the words for outcomes. It must not know how attempts are made,
// which agent or engine made them, or how code is scored.
package results

// Outcome is how an attempt ended. The first that matches, in the order below,
// is an attempt's outcome; what its code is worth is the Verdict.
type Outcome string

// The outcomes, in their order of precedence.
const (
	Cancelled     Outcome = "cancelled"
	InfraError    Outcome = "infra_error"    // engine or host, not caused by the box
	ProviderError Outcome = "provider_error" // no usable model answer within the gateway's bounds
	Limit         Outcome = "limit"          // memory, pids, disk, output, protocol; Attempt.LimitHit says which
	Stalled       Outcome = "stalled"
	Timeout       Outcome = "timeout"
	AgentError    Outcome = "agent_error" // ended before its first answer, or its trace ends in an own error
	NoOutput      Outcome = "no_output"   // no readable solution
	Answered      Outcome = "answered"
)

// Outcomes lists all outcomes in order of precedence.
func Outcomes() []Outcome {
	return []Outcome{Cancelled, InfraError, ProviderError, Limit, Stalled, Timeout, AgentError, NoOutput, Answered}
}

// OfAgent reports whether the outcome says something about the agent; the
// others (cancelled, infra_error, provider_error) say something about us or
// the provider and count in no accuracy over agent outcomes.
func (o Outcome) OfAgent() bool {
	switch o {
	case Cancelled, InfraError, ProviderError, "":
		return false
	}
	return true
}

// HasCode reports whether code collected from such an attempt is scored.
func (o Outcome) HasCode() bool {
	return o == Answered || o == Timeout || o == Stalled || o == Limit
}

// The two words that a trial has in tables and exports when an answered
// attempt of it has a verdict; otherwise its word is the outcome.
const (
	Solved = "solved"
	Failed = "failed"
)
