package runner

import (
	"context"
	"fmt"
	"time"

	"cabra-run/runner/admission"
	"cabra-run/sandbox"
)

const (
	// roomEvery is the time between two looks at a machine without room.
	// Nothing tells when memory or disk become free.
	roomEvery = 2 * time.Second
	// createTries is how often a box is asked for where the engine has no place
	// for it.
	createTries = int(openTimeout / roomEvery)
)

// queue is what a sweep knows of those who wait for room.
type queue struct {
	waiting int
	why     string    // the latest reason, "" when nobody waits
	idle    time.Time // since when they wait with nothing in flight; zero otherwise
}

// watchRoom makes the sweep ask the machine, where the settings want something
// to stay free.
func (s *Sweep) watchRoom() {
	set := s.Settings
	if set.MinFreeDisk <= 0 && set.MinFreeMemory <= 0 {
		return
	}
	s.admission = admission.New(admission.Options{
		Capacity: s.Engine.Capacity, Dir: s.Store.Dir(), MinDisk: set.MinFreeDisk, MinMemory: set.MinFreeMemory,
		BoxMemory: set.Limits.OrDefaults().MemoryBytes,
	})
	s.Room = s.admission.Admit
}

// leaveRoom gives back what awaitRoom has got for an attempt; nil is one that
// could not be made.
func (s *Sweep) leaveRoom(a *attempt) {
	switch {
	case s.admission == nil:
	case a == nil:
		s.admission.Ended(0)
	default:
		s.admission.Ended(a.record.MemoryPeak)
	}
}

// awaitRoom waits until the machine has room for another attempt and says once
// why it waits. It reports false when the sweep ends first.
func (s *Sweep) awaitRoom(ctx context.Context) bool {
	if s.Room == nil {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.Stop.Reached(Drain):
			cancel()
		case <-ctx.Done():
		}
	}()
	for waits := false; ; waits = true {
		why := s.Room(ctx)
		switch {
		case ctx.Err() != nil:
			if why == "" {
				s.leaveRoom(nil)
			}
			s.dequeue(waits, false)
			return false
		case why == "":
			s.dequeue(waits, true)
			return true
		}
		why = plainLine(why)
		if waited := s.enqueue(!waits, why); s.Settings.MaxRoomWait > 0 && waited >= s.Settings.MaxRoomWait {
			s.pause(fmt.Sprintf("no room for an attempt in %s: %s", s.Settings.MaxRoomWait, why))
		}
		if s.Pause(ctx, roomEvery) != nil {
			s.dequeue(true, false)
			return false
		}
	}
}

// enqueue notes that a trial waits, as a new one in the queue or still, and
// returns how long all have waited with nothing in flight. The first one's
// reason is said, once for all who wait.
func (s *Sweep) enqueue(comes bool, why string) (idle time.Duration) {
	s.mu.Lock()
	q := &s.queue
	if comes {
		q.waiting++
	}
	first := comes && q.waiting == 1
	q.why = why
	switch {
	case s.flights.count() > 0:
		q.idle = time.Time{}
	case q.idle.IsZero():
		q.idle = time.Now()
	default:
		idle = time.Since(q.idle)
	}
	s.mu.Unlock()
	if first {
		s.Observer.observe(Event{Kind: Waiting, Reason: "nothing new is started: " + why})
	}
	return idle
}

// dequeue notes that one of those who waited does not any more. When the last
// one was let in, it is said that the sweep goes on.
func (s *Sweep) dequeue(waited, letIn bool) {
	s.mu.Lock()
	q := &s.queue
	if letIn {
		q.idle = time.Time{}
	}
	if waited {
		q.waiting--
	}
	last := waited && q.waiting == 0
	if last {
		q.why = ""
	}
	s.mu.Unlock()
	if last && letIn {
		s.Observer.observe(Event{Kind: Resuming, Reason: "going on with the next attempt"})
	}
}

// create makes the box. Where the engine has no place for one, as beside other
// runs, it waits for one as long as opening may take.
func (a *attempt) create(ctx context.Context) (sandbox.Box, error) {
	for try := 1; ; try++ {
		box, err := a.sweep.Engine.Create(ctx, a.spec())
		if !sandbox.IsFault(err, sandbox.FaultNoCapacity) || try >= createTries {
			return box, err
		}
		if a.sweep.Stop.Level() >= Halt {
			a.evidence.Ended = endedCancelled
			return nil, err
		}
		if a.sweep.Pause(ctx, roomEvery) != nil {
			return nil, err
		}
	}
}

// maxEffective bounds what is recorded of limits that differ.
const maxEffective = 500

// noteEffective records which limits are not in force as wanted. That nobody
// can tell is no reason to stop.
func (a *attempt) noteEffective(ctx context.Context) {
	e, err := a.box.Effective(ctx)
	if err != nil {
		return
	}
	text := ""
	for _, line := range e.Differences(a.sweep.Settings.Limits) {
		if text != "" {
			text += "; "
		}
		text += line
	}
	a.record.Effective = plainLine(text[:min(len(text), maxEffective)])
}
