package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cabra-run/sandbox"
)

// How long a sweep waits for an engine that is away, and the times between
// two looks.
const (
	engineWait  = 30 * time.Minute
	engineFirst = time.Second
	engineEvery = 30 * time.Second
)

// engineWatch holds new attempts back while no engine answers. Whatever fails
// in such a spell is one failure, however many attempts it hit.
type engineWatch struct {
	mu      sync.Mutex
	away    bool
	said    bool // that it is awaited
	spell   int  // how often it has come back
	counted int  // the latest spell that the breaker was told of
}

// now is the spell in which something begins.
func (w *engineWatch) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spell
}

// lost notes a failure that came of an engine which did not answer, of
// something that began in the given spell. known says that the breaker was
// told of this spell before.
func (w *engineWatch) lost(spell int) (known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = w.away || spell == w.spell
	known = w.counted > spell
	w.counted = max(w.counted, spell+1)
	return known
}

func (w *engineWatch) isAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away
}

// back notes that the engine answers again. It reports whether that has to be
// told, once for all who wait.
func (w *engineWatch) back() (tell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		w.spell++
	}
	tell = w.away && w.said
	w.away, w.said = false, false
	return tell
}

// waiting reports whether it has to be told that the engine is awaited.
func (w *engineWatch) waiting() (tell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tell = w.away && !w.said
	w.said = w.said || tell
	return tell
}

// engineAway reports whether a failure says that the engine itself is away, or
// was until a moment ago.
func engineAway(err error) bool {
	return sandbox.IsFault(err, sandbox.FaultUnreachable) || sandbox.IsFault(err, sandbox.FaultTimeout) ||
		sandbox.IsFault(err, sandbox.FaultKilled)
}

// noteEngine looks at a failure of something that began in the given spell.
// It reports whether the breaker has been told of it already.
func (s *Sweep) noteEngine(err error, spell int) bool {
	return engineAway(err) && s.engine.lost(spell)
}

// awaitEngine waits until an engine that was away answers again, with growing
// pauses. It reports false when the sweep ends first, or when it has waited
// for too long and pauses the sweep.
func (s *Sweep) awaitEngine(ctx context.Context) bool {
	if !s.engine.isAway() {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a drain does not wait for an engine
		select {
		case <-s.Stop.Reached(Drain):
			cancel()
		case <-ctx.Done():
		}
	}()
	// The pauses are what is counted: the clock may be set, and a machine that
	// slept has not waited.
	for waited, next := time.Duration(0), engineFirst; ; next = min(2*next, engineEvery) {
		_, err := s.Engine.Info(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			if s.engine.back() {
				s.Observer.observe(Event{Kind: Notice, Reason: "going on: the engine answers again"})
			}
			return true
		case !s.engine.isAway(): // it came back for somebody else, and went again
			return true
		case waited >= engineWait:
			s.pause(fmt.Sprintf("no engine has answered for %s: %s", engineWait, plainLine(err.Error())))
			return false
		case s.engine.waiting():
			s.Observer.observe(Event{Kind: Notice, Reason: "waiting for the engine: " + plainLine(err.Error())})
		}
		if s.Pause(ctx, next) != nil {
			return false
		}
		waited += next
	}
}
