package runner

import "time"

// Step is a place in the way of a sweep behind which something lasting has
// just happened. A process may die at each of them, and the next one must make
// the run whole: the tests kill it at every one.
type Step string

// The steps, in the order in which a trial passes them. An attempt without a
// box passes only those of the gateway and of the store.
const (
	StepPlanned   Step = "planned"            // once for a sweep: the trials are in the store
	StepStarted   Step = "row started"        // the attempt has its number
	StepCreated   Step = "box created"        // it does not run yet
	StepBooted    Step = "box started"        // PID 1 runs
	StepConnected Step = "connected"          // to the relay
	StepGateway   Step = "gateway open"       // with its recording
	StepRunning   Step = "agent started"      // under its own uid
	StepOpened    Step = "exchange opened"    // in the books at its worst, and not sent
	StepAnswered  Step = "exchange ended"     // paid for, and not in the books
	StepBooked    Step = "exchange booked"    // with what it cost
	StepEnding    Step = "ending"             // of the agent, by itself or by us
	StepHome      Step = "home collected"     // the session files
	StepKilled    Step = "box killed"         // nothing changes any more
	StepWorkspace Step = "code collected"     // out of the dead box
	StepRemoved   Step = "box removed"        // with the connection and the gateway's session
	StepWritten   Step = "artefacts written"  // into the temporary folder
	StepInPlace   Step = "artefacts in place" // synced and renamed
	StepCollected Step = "row collected"      // the attempt has its outcome
	StepScored    Step = "scored"             // and no verdict recorded
	StepVerdict   Step = "verdict recorded"   // one of those that the trial gets
)

// Steps lists all of them in their order.
func Steps() []Step {
	return []Step{StepPlanned, StepStarted, StepCreated, StepBooted, StepConnected, StepGateway, StepRunning,
		StepOpened, StepAnswered, StepBooked, StepEnding, StepHome, StepKilled, StepWorkspace, StepRemoved,
		StepWritten, StepInPlace, StepCollected, StepScored, StepVerdict}
}

func (s *Sweep) passed(step Step) {
	if s.step != nil {
		s.step(step)
	}
}

// now is the time with a reading of the monotonic clock.
func (s *Sweep) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return time.Now()
}

// at is a moment as the attempt's records tell it: counted from its start by
// the monotonic clock, so that nobody who sets the machine's clock in between
// makes an attempt end before it began or last for a day.
func (a *attempt) at(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return a.record.Started.Add(t.Sub(a.begun))
}
