package agent

import (
	"fmt"

	"cabra-run/results/trace"
)

// Success says what of an ended session proves that the agent came to its end
// by itself. Exit codes alone prove little: CLIs exit with 0 after a signal,
// after a model's failure and after empty answers, so each CLI has its own mix.
// An error at the end of the trace is a failure in any case.
type Success struct {
	// Completed: the trace must not break off. It ends with the CLI's own sign
	// of a finished task, or in order without it, which is an answer as well.
	Completed bool
	Exit      bool // the exit code has to be 0, unless the trace says completed
}

// Finished reports whether the agent came to its own end, so that neither a
// limit which one of its commands met nor a failed request beside its work
// decided the session. t is nil when there is no trace, exit when the code is
// unknown.
func (s Success) Finished(t *trace.Trace, exit *int) bool {
	if t != nil {
		return t.Completed && t.Error == nil
	}
	return s.Exit && !s.Completed && exit != nil && *exit == 0
}

// Failure says why the agent failed by itself, or "".
func (s Success) Failure(t *trace.Trace, exit *int) string {
	completed := t != nil && t.Completed
	inOrder := completed || t != nil && t.Finished == trace.FinishGaveUp
	switch {
	case t != nil && t.Error != nil:
		return fmt.Sprintf("the session ended in an error (%s): %s", t.Error.Type, t.Error.Message)
	case s.Completed && t != nil && !inOrder:
		return "the session breaks off before its end" + exitText(exit)
	case s.Exit && !completed && exit != nil && *exit != 0:
		return "the agent failed" + exitText(exit)
	}
	return ""
}

func exitText(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf(" (exit code %d)", *code)
}
