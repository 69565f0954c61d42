package runner

import (
	"fmt"
	"time"

	"cabra-run/sandbox"
)

// watchLimits bound one attempt from outside of its box.
type watchLimits struct {
	Timeout time.Duration // of wall clock, extended by the time spent waiting for the provider
	MaxWait time.Duration // the most that waiting may add
	Stall   time.Duration // without any sign of work; 0 = never
	Output  int64         // bytes of standard output and error together
	Disk    int64         // bytes in the workspace
}

// reading is what the watchdog knows at one moment.
type reading struct {
	Now     time.Time
	Started time.Time
	Waited  time.Duration // for the provider
	Quiet   time.Duration // without model traffic, output or change, and not waiting for the provider
	Output  int64
	Usage   sandbox.Usage
	Unread  int // readings in a row that could not tell the workspace's size
}

// maxUnread is how many such readings are borne. An agent can keep the size of
// its workspace from being read; not for ever, or it would have no limit.
const maxUnread = 30

// strike is the limit that a reading breaks.
type strike struct {
	Ended    ending
	LimitHit string
	Detail   string
}

// check returns the first limit that r breaks; ok is false when none.
func (l watchLimits) check(r reading) (s strike, ok bool) {
	switch {
	case l.Output > 0 && r.Output > l.Output:
		return strike{endedLimit, LimitOutput, fmt.Sprintf("more than %d MiB of output", l.Output>>20)}, true
	case l.Disk > 0 && r.Usage.WorkspaceBytes > l.Disk:
		return strike{endedLimit, LimitDisk, fmt.Sprintf("more than %d MiB in the workspace", l.Disk>>20)}, true
	case l.Disk > 0 && r.Unread >= maxUnread:
		return strike{endedLimit, LimitDisk, "the size of the workspace could not be read for too long"}, true
	}
	allowed := l.Timeout + min(r.Waited, l.MaxWait)
	if ran := r.Now.Sub(r.Started); l.Timeout > 0 && ran >= allowed {
		detail := fmt.Sprintf("not finished after %s", ran.Round(time.Second))
		if r.Waited > 0 {
			detail += fmt.Sprintf(", %s of them waiting for the provider", r.Waited.Round(time.Second))
		}
		return strike{Ended: endedTimeout, Detail: detail}, true
	}
	if l.Stall > 0 && r.Quiet >= l.Stall {
		return strike{Ended: endedStalled, Detail: fmt.Sprintf("no sign of work for %s", r.Quiet.Round(time.Second))}, true
	}
	return strike{}, false
}
