package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a held lock is tried again: the kernel offers no wait
// for it that a context could end.
const lockPoll = 100 * time.Millisecond

// lock takes the lock of that name in dir, which excludes other goroutines and
// other processes alike, and returns what gives it back. The file stays: removing
// it would let two holders in.
func lock(ctx context.Context, dir, name string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the build lock: %w", err)
	}
	retry := time.NewTicker(lockPoll)
	defer retry.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("taking the build lock %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("waiting for another build: %w", ctx.Err()), f.Close())
		case <-retry.C:
		}
	}
}
