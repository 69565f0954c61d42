package sandbox

import (
	"context"
	"fmt"
	"time"
)

// Ending says how to end everything that runs beside PID 1 of a box, so that
// what it has left in the home can still be read.
type Ending struct {
	// Exited is closed when the agent has ended by itself; then it is not asked.
	Exited <-chan struct{}
	Signal []string      // argv that asks the guest to end; nil does not ask
	Grace  time.Duration // between asking and killing
	Kill   []string      // argv that kills the guest's processes; exits with 0 when none is left
	Pids   int64         // the process limit of the box, raised when killing does not work
}

// Bounds of EndGuest: the time of one try of killing, the tries, and the raises
// of the process limit. A raise is small because a fork bomb takes it, too;
// more processes then make the next try slower.
const (
	killTime  = 45 * time.Second
	killTries = 12
	pidsStep  = 32
	pidsMost  = 1024
)

// EndGuest asks the guest to end, waits, and kills every process of its uid; it
// returns nil when none is left. ctx bounds all of it: against a fork bomb
// on a busy machine a single try can take half a minute. A Fault says that
// the box itself is gone or does not run; then its home is lost.
func EndGuest(ctx context.Context, box Box, e Ending) error {
	askGuest(ctx, box, e)
	raise := int64(pidsStep)
	for try := 1; ; try++ {
		err := killGuest(ctx, box, e.Kill)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w; at last: %w", ctx.Err(), err)
		}
		if ctx.Err() != nil || try == killTries || IsFault(err, FaultNotRunning) || IsFault(err, FaultGone) {
			return fmt.Errorf("killing the guest's processes: %w", err)
		}
		// Whether the raise works shows in the next try.
		_ = box.SetPids(ctx, e.Pids+raise)
		raise = min(2*raise, pidsMost)
	}
}

// askGuest gives the agent a chance to write the end of its trace. Nothing
// that goes wrong here matters: killing comes next.
func askGuest(ctx context.Context, box Box, e Ending) {
	if len(e.Signal) == 0 {
		return
	}
	select {
	case <-e.Exited:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, e.Grace)
	defer cancel()
	p, err := box.Exec(ctx, Command{Args: e.Signal})
	if err != nil {
		return
	}
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		return
	}
	select {
	case <-e.Exited:
	case <-ctx.Done():
	}
}

func killGuest(ctx context.Context, box Box, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	p, err := box.Exec(ctx, Command{Args: argv})
	if err != nil {
		return err
	}
	code, err := p.Wait(ctx)
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the killing command exits with %d", code)
	}
	return nil
}
