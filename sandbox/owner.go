package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// OwnerLabel names the process that made a box. It is written on every box,
// volume and workspace, so that a later process can tell whether the owner
// still lives.
type OwnerLabel struct {
	Machine string    `json:"machine"` // /etc/machine-id, "" when there is none
	Boot    string    `json:"boot"`    // the kernel's boot id
	Pid     int       `json:"pid"`
	Started time.Time `json:"started"`
	Lock    string    `json:"lock"` // absolute path of the lock file, held while the owner lives
}

// ParseOwnerLabel reads what OwnerLabel.String wrote.
func ParseOwnerLabel(text string) (OwnerLabel, error) {
	var l OwnerLabel
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return OwnerLabel{}, fmt.Errorf("reading owner label: %w", err)
	}
	if l.Lock == "" || !filepath.IsAbs(l.Lock) {
		return OwnerLabel{}, fmt.Errorf("owner label has no absolute lock path")
	}
	return l, nil
}

// String is the label's text form, one line of JSON.
func (l OwnerLabel) String() string {
	text, err := json.Marshal(l)
	if err != nil {
		return "" // cannot happen: the fields are plain
	}
	return string(text)
}

// Liveness is what can be said about an owner from here.
type Liveness int

// The answers. Unknown means that the owner may live on another machine; only
// the box's hard deadline ends its claim.
const (
	Unknown Liveness = iota
	Alive
	Dead
)

// Liveness looks whether the owner lives. A lock file that exists here decides
// by itself: its name is random, so it is the owner's and no other. Without
// the file, an owner of this machine that started before the last boot is
// dead, and nothing is known about any other.
func (l OwnerLabel) Liveness() Liveness {
	free, err := lockIsFree(l.Lock)
	switch {
	case err == nil && free:
		return Dead
	case err == nil:
		return Alive
	}
	if l.Machine != "" && l.Machine == machineID() && l.Boot != "" && l.Boot != bootID() {
		return Dead
	}
	return Unknown
}

// Owner is this process as the owner of boxes: a lock file that the kernel
// frees when the process ends, however it ends.
type Owner struct {
	Label OwnerLabel
	file  *os.File
}

// ownersDir is where lock files lie within a state folder.
const ownersDir = "owners"

// AcquireOwner makes a lock file under stateDir and holds its lock until Close
// or the end of the process.
func AcquireOwner(stateDir string) (*Owner, error) {
	dir, err := filepath.Abs(filepath.Join(stateDir, ownersDir))
	if err != nil {
		return nil, fmt.Errorf("finding state folder: %w", err)
	}
	if err := PrivateDir(dir); err != nil {
		return nil, fmt.Errorf("making state folder: %w", err)
	}
	for try := 1; ; try++ {
		path := filepath.Join(dir, fmt.Sprintf("%d-%s.lock", os.Getpid(), RandomName()))
		file, err := makeLock(path)
		if errors.Is(err, errDisturbed) && try < lockTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		label := OwnerLabel{
			Machine: machineID(), Boot: bootID(), Pid: os.Getpid(), Started: time.Now().UTC(), Lock: path,
		}
		return &Owner{Label: label, file: file}, nil
	}
}

// lockTries is how often a lock is made anew.
const lockTries = 100

// errDisturbed says that another process took a lock in the making for one
// whose owner is dead: it tried the lock, or removed the file.
var errDisturbed = errors.New("another process is looking through the locks")

// makeLock makes a lock file and takes its lock.
func makeLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making owner lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || err == nil && !isThere(file, path) {
		err = errDisturbed
	}
	if err != nil {
		_ = os.Remove(path) // gone already, perhaps
		return nil, errors.Join(fmt.Errorf("locking %q: %w", path, err), file.Close())
	}
	return file, nil
}

// isThere reports whether the path still names the file.
func isThere(file *os.File, path string) bool {
	here, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// Close gives the lock up. With keepFile the free lock file stays, as the
// proof for a later Reap that the owner of what was left over is dead.
func (o *Owner) Close(keepFile bool) error {
	var err error
	if !keepFile {
		err = os.Remove(o.Label.Lock)
	}
	return errors.Join(err, o.file.Close())
}

// RemoveStaleLocks removes lock files under stateDir whose owner is dead and
// whose path inUse does not hold.
func RemoveStaleLocks(stateDir string, inUse map[string]bool) error {
	dir, err := filepath.Abs(filepath.Join(stateDir, ownersDir))
	if err != nil {
		return fmt.Errorf("finding state folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing owner locks: %w", err)
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if inUse[path] || !strings.HasSuffix(path, ".lock") {
			continue
		}
		errs = append(errs, removeIfFree(path))
	}
	return errors.Join(errs...)
}

// removeIfFree removes a lock file while it holds the lock, so that nobody takes
// it in between.
func removeIfFree(path string) error {
	fd, err := openLock(path)
	if err != nil {
		return nil // somebody else's, or gone
	}
	defer unix.Close(fd)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func openLock(path string) (fd int, err error) {
	return unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

// lockIsFree tries the lock of path and gives it back at once. The error says
// that the file cannot be opened as a lock file here.
func lockIsFree(path string) (bool, error) {
	fd, err := openLock(path)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	switch err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	default:
		return false, err
	}
}

func machineID() string { return firstLine("/etc/machine-id") }

func bootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

// firstLine returns the trimmed text of a small system file, "" without it.
func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// RandomName returns 32 hex digits that nobody can guess.
func RandomName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}
