package runner

import "sync"

// StopLevel says how a sweep shall end early.
type StopLevel int

// The levels, one for each Ctrl-C. Nothing finished is lost at any of them.
const (
	Running StopLevel = iota
	Drain             // start nothing new, let what runs finish
	Halt              // end the boxes in order, collect, record as cancelled
	Abort             // at once
)

// String is the level in a word.
func (l StopLevel) String() string {
	switch l {
	case Running:
		return "running"
	case Drain:
		return "draining"
	case Halt:
		return "halting"
	}
	return "aborting"
}

// Stopper passes a StopLevel from the one who decides to the many who obey.
// Levels only rise.
type Stopper struct {
	mu    sync.Mutex
	level StopLevel
	why   string
	at    [Abort + 1]chan struct{}
}

// NewStopper returns a Stopper at Running.
func NewStopper() *Stopper {
	s := &Stopper{}
	for i := range s.at {
		s.at[i] = make(chan struct{})
	}
	close(s.at[Running])
	return s
}

// Raise sets the level; a lower one than the present is ignored. The reason of
// the first rise is kept.
func (s *Stopper) Raise(to StopLevel, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.level == Running && to > Running {
		s.why = why
	}
	for s.level < to && s.level < Abort {
		s.level++
		close(s.at[s.level])
	}
}

// Level returns the present level.
func (s *Stopper) Level() StopLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// Why returns the reason of the first rise.
func (s *Stopper) Why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// Reached returns a channel that is closed once the level is at least l.
func (s *Stopper) Reached(l StopLevel) <-chan struct{} { return s.at[l] }
