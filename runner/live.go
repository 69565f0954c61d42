package runner

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"cabra-run/tasks"
)

// Live is what a sweep is doing at one moment.
type Live struct {
	Jobs, Taken   int // trials at the same time: at most, and now
	Level         StopLevel
	Why           string // of the level, "" while it runs
	Waiting       string // why nothing new is started just now, "" when it is
	Planned, Done int
	InFlight      []Flight // the oldest first
}

// Flight is an attempt that has started and not ended.
type Flight struct {
	Who                string // agent and model, "" where the sweep has only one pairing
	Task               tasks.ID
	Repetition, Number int
	Started            time.Time
}

// Live says what the sweep is doing. It may be called at any time.
func (s *Sweep) Live() Live {
	l := s.flights.live()
	l.Jobs, l.Taken = s.places.Jobs()
	l.Level, l.Why = s.Stop.Level(), s.Stop.Why()
	s.mu.Lock()
	l.Waiting = s.queue.why
	s.mu.Unlock()
	return l
}

// flights counts trials and attempts by the events of a sweep.
type flights struct {
	mu            sync.Mutex
	planned, done int
	open          map[Flight]time.Time // by the flight without its start
}

// hearing is an observer that counts what it passes on.
func (f *flights) hearing(o Observer) Observer {
	return func(e Event) {
		f.hear(e)
		o.observe(e)
	}
}

func (f *flights) hear(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := Flight{Who: e.Who, Task: e.Task, Repetition: e.Repetition, Number: e.Attempt}
	switch e.Kind {
	case SweepPlanned:
		f.planned, f.done = e.Planned, e.Done
	case AttemptStarted:
		if f.open == nil {
			f.open = map[Flight]time.Time{}
		}
		f.open[of] = time.Now()
	case AttemptEnded:
		delete(f.open, of)
	case TrialDone:
		f.done++
	}
}

func (f *flights) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

func (f *flights) live() Live {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := Live{Planned: f.planned, Done: f.done}
	for of, started := range f.open {
		of.Started = started
		l.InFlight = append(l.InFlight, of)
	}
	slices.SortFunc(l.InFlight, func(a, b Flight) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Repetition, b.Repetition),
			cmp.Compare(a.Who, b.Who))
	})
	return l
}
