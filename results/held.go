package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Held reports whether a process has a run open for writing, and which one as
// far as that is known (0 otherwise, and for one on another machine its number
// there). It opens nothing for writing, and while the run is worked on it takes
// no lock that the owner would notice.
func Held(dir string) (pid int, held bool, err error) {
	f, err := os.Open(filepath.Join(dir, flockOn))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, storageError("looking who has the run", dir, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return 0, false, storageError("looking who has the run", dir, err) // its last owner has wiped its name
	}
	// The name of one that was killed stays. Only the lock tells.
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return lockOwner(f), true, nil
	case err != nil:
		return 0, false, storageError("looking who has the run", dir, err)
	}
	return 0, false, nil
}
