package results

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// LockedError says that another process writes to the run.
type LockedError struct {
	Dir string
	PID int // 0 when the lock file does not tell
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("run %q is being written by another process", e.Dir)
	}
	return fmt.Sprintf("run %q is being written by process %d", e.Dir, e.PID)
}

// Hint says what to do about it.
func (e *LockedError) Hint() string {
	return "wait until it ends or stop it with Ctrl-C; status, report and export work while it runs"
}

// SchemaError says that the run was written under another schema version.
type SchemaError struct {
	Dir        string
	Have, Want int // schema versions of the run and of this program
}

func (e *SchemaError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("run %q was written by a newer version of cabra-run (schema %d, this one knows %d)",
			e.Dir, e.Have, e.Want)
	}
	return fmt.Sprintf("run %q has schema %d, which this version of cabra-run cannot read (it knows %d)",
		e.Dir, e.Have, e.Want)
}

// Hint says what to do about it.
func (e *SchemaError) Hint() string { return "use the version of cabra-run that wrote it" }

// NotRunError says that a folder is not a run, or no longer a whole one.
type NotRunError struct {
	Dir    string
	Reason string
	hint   string
	fresh  bool // there is a database, with nothing in it
}

func (e *NotRunError) Error() string { return fmt.Sprintf("%q is not a run: %s", e.Dir, e.Reason) }

// Hint says what to do about it.
func (e *NotRunError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	return "name a run folder, such as one under ./runs"
}

// ExistsError says that a run cannot be created where something is already.
type ExistsError struct {
	Dir   string
	IsRun bool
}

func (e *ExistsError) Error() string {
	if e.IsRun {
		return fmt.Sprintf("run %q exists already", e.Dir)
	}
	return fmt.Sprintf("folder %q is not empty", e.Dir)
}

// Hint says what to do about it.
func (e *ExistsError) Hint() string {
	if e.IsRun {
		return "continue it with resume, or choose another name with --run"
	}
	return "choose another name with --run"
}

// StateError says that an operation does not fit what the store holds: an
// unknown trial, an attempt recorded twice, a second verdict. It is a mistake
// of the caller, not of the disk.
type StateError struct {
	Op     string
	Reason string
}

func (e *StateError) Error() string { return e.Op + ": " + e.Reason }

// StorageError is a failure of the file system or of the database file. After
// one, stop admitting trials; what was committed before is safe.
type StorageError struct {
	Op   string // what was being done, "recording a verdict"
	Dir  string // the run
	Err  error
	hint string
}

func (e *StorageError) Error() string { return fmt.Sprintf("%s in run %q: %v", e.Op, e.Dir, e.Err) }

func (e *StorageError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *StorageError) Hint() string { return e.hint }

// The advice for the kinds of storage failures.
const (
	hintSpace     = "free space on that disk, then resume the run; what was recorded is safe"
	hintReadOnly  = "make the folder writable, or choose another one with --run"
	hintCorrupt   = "the database is damaged: put a copy back, or rerun under the same lock"
	hintIO        = "check the disk, then resume the run; what was recorded is safe"
	hintReadShare = "copy the run folder to a place that can be written, and read it there"
)

// storageError gives err its context and its advice. Errors of this package
// and of contexts pass through as they are, with the step named before them.
func storageError(op, dir string, err error) error {
	if err == nil {
		return nil
	}
	hint := hintFor(err)
	if hint == "" {
		return fmt.Errorf("%s in run %q: %w", op, dir, err)
	}
	return &StorageError{Op: op, Dir: dir, Err: err, hint: hint}
}

func hintFor(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return hintSpace
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return hintReadOnly
	case errors.Is(err, syscall.EIO):
		return hintIO
	}
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL:
		return hintSpace
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return hintReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return hintCorrupt
	case sqlite3.SQLITE_IOERR:
		return hintIO
	}
	return ""
}

// sqliteCode returns the primary result code of a database error, or 0.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}
