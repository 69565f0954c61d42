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
// While the lock is held, the file holds the owner's process id, afterwards
// what the owner has left.
type fileLock struct {
	f     *os.File
	found string // what the file held before
	leave string // what it is to hold after release
}

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
	var found string
	if err == nil {
		found = lockText(f)
		err = writeLock(f, strconv.Itoa(os.Getpid())+"\n")
	}
	if err != nil {
		f.Close()
		return nil, lockFailure(dir, err)
	}
	return &fileLock{f: f, found: found}, nil
}

// lockFailure is the failure to lock a run that nobody else has locked.
func lockFailure(dir string, err error) error {
	for _, none := range []error{unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL} {
		if errors.Is(err, none) {
			return &StorageError{Op: "locking", Dir: dir, hint: hintNoLocks,
				Err: fmt.Errorf("its file system has no file locks: %w", err)}
		}
	}
	return fmt.Errorf("locking %q: %w", dir, err)
}

func writeLock(f *os.File, text string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func lockText(f *os.File) string {
	var buf [64]byte
	n, _ := f.ReadAt(buf[:], 0)
	return string(buf[:n])
}

func lockOwner(f *os.File) int {
	pid, err := strconv.Atoi(strings.TrimSpace(lockText(f)))
	if err != nil {
		return 0
	}
	return pid
}

// release gives the lock up. The owner is wiped first, so that nobody is told
// of a process that is gone.
func (l *fileLock) release() error {
	err := writeLock(l.f, l.leave)
	return errors.Join(err, l.f.Close())
}
