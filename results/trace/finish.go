package trace

// Finish is how a session ended. Exit codes prove little, so it is read off
// the trace alone:
//
//   - copilot: completed when the main agent's call of task_complete succeeded;
//     an error when a session.error is the last word; aborted with an abort; in
//     mid-air without session.shutdown; else it gave up (it shuts down in order
//     also when its continuations ran out without task_complete).
//   - claude: the result line of standard output decides: completed when it is
//     no error, aborted when its reason says so or the user interrupted, else an
//     error. Without it, but with other lines of that output, the session is in
//     mid-air, for it was killed. Without that output at all the last message of
//     the session file decides: completed when the model stopped by itself.
//   - codex: completed with a task_complete that has no error; an error when it
//     has one (it is written for failed turns too); aborted with turn_aborted;
//     else in mid-air.
//   - opencode: completed when the last answer finished with "stop"; an error
//     when that answer, or an event of standard output behind it, is one; it
//     gave up when the answer ended otherwise and no tool was left running (it
//     ends so after a refused call); else in mid-air.
//   - pi: the last answer's stopReason: stop is completed, error and aborted are
//     what they say, length is given up, toolUse is mid-air.
//   - gemini: the result line of standard output: success is completed, or given
//     up behind an error line, as when it saw itself in a loop; error an error;
//     other lines without it are mid-air. Without that output, completed
//     when the last message is the model's and says something without a call.
//   - mini: exit_status Submitted is completed; LimitsExceeded and TimeExceeded
//     gave up; an interruption is aborted; none is mid-air; the rest are errors.
//   - llm: completed when an answer could be read; an error when the last try had
//     none; gave up when none of them could be read; aborted when it was stopped.
//
// An error that is the last word goes before everything else.
type Finish string

// The ways in which a session ends.
const (
	FinishUnknown   Finish = ""          // nothing was read
	FinishCompleted Finish = "completed" // the agent's own sign of a finished task
	FinishGaveUp    Finish = "gave_up"   // it ended in order, without that sign
	FinishError     Finish = "error"     // an error is its last word
	FinishAborted   Finish = "aborted"   // it noticed that it was stopped
	FinishMidAir    Finish = "mid_air"   // the trace breaks off
)

// settle sets Finished; mid tells whether a trace without sign, error and
// abort breaks off, and not just ends.
func (t *Trace) settle(mid bool) {
	switch {
	case t.Error != nil:
		t.Finished = FinishError
	case t.Completed:
		t.Finished = FinishCompleted
	case t.Aborted != "":
		t.Finished = FinishAborted
	case t.Lines == 0:
		t.Finished = FinishUnknown
	case mid:
		t.Finished = FinishMidAir
	default:
		t.Finished = FinishGaveUp
	}
}
