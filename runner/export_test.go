package runner

import "time"

// OnStep has f called at every step that the sweep passes, by whoever passes it.
func (s *Sweep) OnStep(f func(Step)) { s.step = f }

// SetClock replaces the machine's clock.
func (s *Sweep) SetClock(now func() time.Time) { s.clock = now }
