package runner

import (
	"strings"
	"testing"
	"time"

	"cabra-run/results"
)

// Figures from the description of the official runner: 2 s, 3 s, 5 s, … 33 s, then 60 s.
func TestPause(t *testing.T) {
	want := []time.Duration{2, 3, 5, 9, 17, 33, 60, 60}
	for k, w := range want {
		if got := pause(k); got != w*time.Second {
			t.Errorf("pause(%d) = %s, want %ds", k, got, w)
		}
	}
}

func TestBreaker(t *testing.T) {
	b := &breaker{limit: 3}
	steps := []struct {
		o         results.Outcome
		permanent bool
		trips     bool
	}{
		{results.InfraError, false, false},
		{results.ProviderError, false, false},
		{results.Timeout, false, false}, // the agent's outcome ends the row
		{results.InfraError, false, false},
		{results.Cancelled, false, false}, // says nothing either way
		{results.InfraError, false, false},
		{results.InfraError, false, true},
		{results.Answered, false, false},
		{results.ProviderError, true, true}, // bad credentials: at once
	}
	for i, s := range steps {
		why := b.record(s.o, "no engine", s.permanent)
		if (why != "") != s.trips {
			t.Fatalf("step %d: %q, want trip %v", i, why, s.trips)
		}
		if s.trips && !strings.Contains(why, "no engine") {
			t.Errorf("step %d: %q lacks the last reason", i, why)
		}
	}
}

func TestStopper(t *testing.T) {
	s := NewStopper()
	s.Raise(Halt, "second")
	s.Raise(Drain, "later")
	if s.Level() != Halt || s.Why() != "second" {
		t.Errorf("level %d why %q", s.Level(), s.Why())
	}
	for l, reached := range map[StopLevel]bool{Running: true, Drain: true, Halt: true, Abort: false} {
		select {
		case <-s.Reached(l):
			if !reached {
				t.Errorf("level %d reached", l)
			}
		default:
			if reached {
				t.Errorf("level %d not reached", l)
			}
		}
	}
	s.Raise(Abort, "")
	s.Raise(Abort, "")
	<-s.Reached(Abort)
}
