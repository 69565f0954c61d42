package runner

import (
	"context"
	"time"
)

// pause returns the time before attempt number n+1: 2^k+1 seconds after the
// k-th failure counted from 0, at most a minute (spec: the official runner's
// agent and model back-off).
func pause(failures int) time.Duration {
	return min(time.Duration(1<<min(failures, 6)+1)*time.Second, time.Minute)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
