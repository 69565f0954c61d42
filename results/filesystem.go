package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	sqlite3 "modernc.org/sqlite/lib"
)

// StorageFacts say what the file system of a folder is good for.
type StorageFacts struct {
	Type    string `json:"type"`    // "ext4", "nfs", …; a number for unknown ones
	Network bool   `json:"network"` // other machines may have it as well
	// WAL says that a run's database gets a write-ahead log there. Without one
	// it is slower, and readers and the sweep wait for each other.
	WAL bool `json:"wal"`
	// Locks says that file locks exclude each other; without them no run can be
	// made there.
	Locks bool `json:"locks"`
	// Problem is what was found wrong, one line for people; "" when nothing is.
	Problem string `json:"problem,omitempty"`
}

// Hint says what to do about a problem.
func (f StorageFacts) Hint() string {
	switch {
	case !f.Locks:
		return hintNoLocks
	case !f.WAL:
		return "runs work there, but slower; a local disk is better: choose one with --runs"
	}
	return ""
}

// probePrefix begins the names of folders in which something is tried; one that
// is left was that of a process that was killed.
const probePrefix = ".cabra-probe-"

const hintNoLocks = "choose a folder on another file system with --runs"

// kind is what is known of a type of file system.
type kind struct {
	name    string
	network bool
	local   bool // a write-ahead log works on it, known without trying
}

func kindOf(magic uint32) kind {
	kinds := map[uint32]kind{
		unix.EXT4_SUPER_MAGIC: {name: "ext4", local: true}, unix.XFS_SUPER_MAGIC: {name: "xfs", local: true},
		unix.BTRFS_SUPER_MAGIC: {name: "btrfs", local: true}, unix.TMPFS_MAGIC: {name: "tmpfs", local: true},
		unix.RAMFS_MAGIC: {name: "ramfs", local: true}, unix.F2FS_SUPER_MAGIC: {name: "f2fs", local: true},
		unix.OVERLAYFS_SUPER_MAGIC: {name: "overlay", local: true}, 0x2fc12fc1: {name: "zfs", local: true},
		unix.NFS_SUPER_MAGIC: {name: "nfs", network: true}, unix.SMB_SUPER_MAGIC: {name: "smb", network: true},
		unix.CIFS_SUPER_MAGIC: {name: "cifs", network: true}, unix.SMB2_SUPER_MAGIC: {name: "smb2", network: true},
		unix.V9FS_MAGIC: {name: "9p", network: true}, unix.AFS_SUPER_MAGIC: {name: "afs", network: true},
		unix.CODA_SUPER_MAGIC: {name: "coda", network: true}, unix.CEPH_SUPER_MAGIC: {name: "ceph", network: true},
		0x0bd00bd0: {name: "lustre", network: true}, 0x47504653: {name: "gpfs", network: true},
		0x786f4256: {name: "vboxsf", network: true}, unix.FUSE_SUPER_MAGIC: {name: "fuse"},
	}
	if k, ok := kinds[magic]; ok {
		return k
	}
	return kind{name: fmt.Sprintf("%#x", magic)}
}

func kindAt(dir string) (kind, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return kind{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return kindOf(uint32(st.Type)), nil
}

// walWorks reports whether a database in the folder can have a write-ahead log.
// It needs memory that all users of the file share, which other machines do not.
func walWorks(dir string) (bool, error) {
	k, err := kindAt(dir)
	if err != nil || k.local || k.network {
		return k.local, err
	}
	tmp, err := os.MkdirTemp(dir, probePrefix)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	return probeWAL(tmp) == nil, nil
}

// StorageCheck finds out what the file system of a folder is good for, by its
// type and by trying in a temporary folder there.
func StorageCheck(dir string) (StorageFacts, error) {
	k, err := kindAt(dir)
	if err != nil {
		return StorageFacts{}, fmt.Errorf("checking the storage: %w", err)
	}
	f := StorageFacts{Type: k.name, Network: k.network}
	tmp, err := os.MkdirTemp(dir, probePrefix)
	if err != nil {
		return f, storageError("checking the storage", dir, err)
	}
	defer os.RemoveAll(tmp)
	if err := errors.Join(probeFlock(tmp), probeRecordLocks(tmp)); err != nil {
		f.Problem = fmt.Sprintf("file locks do not work on this file system (%s): %v", f.Type, err)
		return f, nil
	}
	f.Locks = true
	switch err := probeWAL(tmp); {
	case k.network:
		f.Problem = fmt.Sprintf("%s can be shared by machines, so the database gets no write-ahead log", f.Type)
	case err != nil:
		f.Problem = fmt.Sprintf("the database can have no write-ahead log on this file system (%s): %v", f.Type, err)
	default:
		f.WAL = true
	}
	return f, nil
}

var errBothLocked = errors.New("two have the same lock")

// probeFlock takes the kind of lock that a run has.
func probeFlock(dir string) error {
	return probeLock(filepath.Join(dir, "flock"), func(f *os.File) error {
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	})
}

// probeRecordLocks takes the kind of lock that SQLite has, in the form that
// works within one process too.
func probeRecordLocks(dir string) error {
	return probeLock(filepath.Join(dir, "fcntl"), func(f *os.File) error {
		return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 0, Len: 1})
	})
}

func probeLock(path string, take func(*os.File) error) error {
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	if err := take(files[0]); err != nil {
		return err
	}
	err := take(files[1])
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err == nil {
		return errBothLocked
	}
	return err
}

// probeWAL makes a database with a write-ahead log, writes it from one
// connection and reads it from another one while the first writes again.
func probeWAL(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	path := filepath.Join(dir, "probe.db")
	w, err := sql.Open("sqlite", dataSource(path, accessWrite))
	if err != nil {
		return err
	}
	defer w.Close()
	w.SetMaxOpenConns(1)
	if ok, err := setJournal(w, "wal"); err != nil || !ok {
		return errors.Join(err, errors.New("SQLite gives it none"))
	}
	if _, err := w.ExecContext(ctx, `CREATE TABLE t (x); INSERT INTO t VALUES (1)`); err != nil {
		return err
	}
	tx, err := w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `INSERT INTO t VALUES (2)`); err != nil {
		return err
	}
	r, err := sql.Open("sqlite", fileURI(path)+"?_txlock=immediate&_pragma=busy_timeout(0)")
	if err != nil {
		return err
	}
	defer r.Close()
	var n int
	if err := r.QueryRowContext(ctx, `SELECT count(*) FROM t`).Scan(&n); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("a reader beside a writer sees %d rows of 1", n))
	}
	if _, err := r.BeginTx(ctx, nil); sqliteCode(err) != sqlite3.SQLITE_BUSY {
		return errors.Join(err, errBothLocked)
	}
	return tx.Commit()
}
