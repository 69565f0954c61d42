package results

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileLock is an exclusive lock on a file, held until release or the end of
// the process, however it ends. The file stays; only the lock on it counts.
type fileLock struct{ f *os.File }

// acquireLock takes the lock or says, with *LockedError, who has it.
func acquireLock(path, dir string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		defer f.Close()
		return nil, &LockedError{Dir: dir, PID: lockOwner(f)}
	}
	if err == nil {
		err = writeOwner(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %q: %w", path, err)
	}
	return &fileLock{f: f}, nil
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func lockOwner(f *os.File) int {
	var buf [32]byte
	n, _ := f.ReadAt(buf[:], 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// release gives the lock up. The owner is wiped first, so that nobody is told
// of a process that is gone.
func (l *fileLock) release() error {
	err := l.f.Truncate(0)
	return errors.Join(err, l.f.Close())
}
