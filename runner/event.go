package runner

import (
	"time"

	"cabra-run/results"
	"cabra-run/tasks"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	SweepPlanned   EventKind = "planned"
	AttemptStarted EventKind = "attempt started"
	AttemptEnded   EventKind = "attempt ended"
	TrialDone      EventKind = "trial done"
	Notice         EventKind = "notice" // something a person should read

	// Waiting and Resuming say that nothing new is started for want of room,
	// and that it is again.
	Waiting  EventKind = "waiting"
	Resuming EventKind = "resuming"
)

// Event is what a progress display or a log is told.
type Event struct {
	Kind EventKind
	Who  string // agent and model, "" where the run has only one pairing
	Task tasks.ID
	// Repetition and Attempt are counted from 1; 0 where there is none.
	Repetition, Attempt int
	Outcome             results.Outcome
	Word                string // with TrialDone
	Reason              string // one printable line
	Wall                time.Duration
	Planned             int // with SweepPlanned: all trials, and those done before
	Done                int
}

// who names a pairing in events, where the sweep has several.
func (s *Sweep) who(p *Pairing) string {
	if len(s.Pairings) < 2 {
		return ""
	}
	return p.String()
}

// notice says something about an attempt that a person should read.
func (a *attempt) notice(text string) {
	a.sweep.Observer.observe(Event{Kind: Notice, Who: a.sweep.who(a.pair), Task: a.task.ID,
		Repetition: a.trial.Repetition, Attempt: a.record.Number, Reason: plainLine(text)})
}

// Observer receives events, from several goroutines. Nil is a deaf one.
type Observer func(Event)

func (o Observer) observe(e Event) {
	if o != nil {
		o(e)
	}
}
