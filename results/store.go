package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"
)

// Names inside of a run folder.
const (
	lockFile = "run.json"
	dbFile   = "run.db"
	flockOn  = "lock"
	tmpDir   = "tmp" // artefacts that are being written
)

// Mode says what a Store is opened for.
type Mode int

// A run has at most one writer and any number of readers beside it.
const (
	ReadOnly Mode = iota
	ReadWrite
)

// Store is a run folder. Every method may be called from several goroutines;
// when a writing method has returned nil, what it wrote survives a crash.
type Store struct {
	dir   string
	lock  Lock
	flock *fileLock // nil when read only
	whole bool      // the last writer closed it, so that no row can be lost
	root  *os.Root

	read  *sql.DB
	write *sql.DB // one connection; nil when read only
	wal   bool    // the database has a write-ahead log, so that readers and the writer do not meet

	folders sync.Mutex // held while folders are made and synced
	poison  sync.Mutex
	broken  error // first failure after which the database is not to be trusted
}

// Create makes a run folder with the lock and an empty plan, opened for
// writing. When it fails, nothing of it is left. It fails with *ExistsError when there is a
// run or anything else at dir.
func Create(dir string, lock Lock) (*Store, error) {
	lock.Schema = schemaVersion
	if lock.Settings == "" {
		lock.Settings = lock.SettingsDigest()
	}
	encoded, err := lock.encode()
	if err != nil {
		return nil, err
	}
	made, err := claim(dir)
	if err != nil {
		return nil, storageError("creating the folder", dir, err)
	}
	s, err := create(dir, lock, encoded)
	if err != nil {
		unclaim(dir, made, err)
		return nil, storageError("creating the store", dir, err)
	}
	return s, nil
}

func create(dir string, lock Lock, encoded []byte) (*Store, error) {
	fl, err := acquireLock(filepath.Join(dir, flockOn), dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, lock: lock, flock: fl}
	err = vacant(dir) // again: another Create may have ended since
	if err == nil {
		err = s.begin(encoded)
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// begin makes the database and, last, run.json, whose presence makes the
// folder a run.
func (s *Store) begin(encoded []byte) (err error) {
	if s.root, err = os.OpenRoot(s.dir); err != nil {
		return err
	}
	for _, name := range creationFiles[1:] { // of a Create that was killed
		if err := s.root.RemoveAll(name); err != nil {
			return err
		}
	}
	if err := s.connectWriter(); err != nil {
		return err
	}
	if err := s.connectReader(); err != nil {
		return err
	}
	if err := s.install(encoded); err != nil {
		return err
	}
	if err := s.makeTmp(); err != nil {
		return err
	}
	return writeFileDurably(s.root, lockFile, encoded)
}

func (s *Store) install(encoded []byte) error {
	return s.inTx(context.Background(), func(tx *sql.Tx) error {
		if _, err := tx.Exec(schema + addBooks()); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO lock (one, json) VALUES (1, ?)`, encoded); err != nil {
			return err
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d",
			schemaVersion, applicationID))
		return err
	})
}

// Open opens an existing run. A second writer gets *LockedError; a folder
// that is no run *NotRunError; a run of another schema *SchemaError.
func Open(dir string, mode Mode) (*Store, error) {
	if err := looksLikeRun(dir); err != nil {
		return nil, storageError("opening the store", dir, err)
	}
	s := &Store{dir: dir}
	err := s.open(mode)
	if err != nil {
		return nil, storageError("opening the store", dir, errors.Join(err, s.release()))
	}
	return s, nil
}

func (s *Store) open(mode Mode) (err error) {
	if s.root, err = os.OpenRoot(s.dir); err != nil {
		return err
	}
	if mode == ReadWrite {
		if s.flock, err = acquireLock(filepath.Join(s.dir, flockOn), s.dir); err != nil {
			return err
		}
	}
	if mode == ReadWrite {
		if err := s.connectWriter(); err != nil {
			return err
		}
	}
	if err := s.connectReader(); err != nil {
		return err
	}
	version, err := s.schemaOf(s.read)
	if err == nil && version < schemaVersion {
		err = s.upgrade(version, mode)
	}
	if err != nil {
		return err
	}
	if err := s.loadLock(mode); err != nil {
		return err
	}
	if mode == ReadOnly {
		return nil
	}
	if s.whole, err = s.wasClosed(); err != nil {
		return err
	}
	return s.makeTmp()
}

// Dir is the run folder.
func (s *Store) Dir() string { return s.dir }

// Lock is what the run was made under.
func (s *Store) Lock() Lock { return s.lock }

// LockPath is the file on which the writing process holds an flock.
func (s *Store) LockPath() string { return filepath.Join(s.dir, flockOn) }

// Close folds the write-ahead log into run.db, so that the file can be copied
// alone, and gives the run free. Closing twice is not an error.
func (s *Store) Close() error {
	var err error
	if s.write != nil && s.failure() == nil {
		// A reader in the middle of a long report keeps the log from being
		// emptied; that is no reason to wait for it.
		_, err = s.write.Exec("PRAGMA busy_timeout = 200")
		s.markClosed()
		err = errors.Join(err, s.Checkpoint(context.Background()))
	}
	return errors.Join(err, storageError("closing the store", s.dir, s.release()))
}

// Checkpoint folds the write-ahead log into run.db. What a reader still needs
// stays in the log; nothing is wrong with that.
func (s *Store) Checkpoint(ctx context.Context) error {
	if s.write == nil || !s.wal {
		return nil
	}
	_, err := s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if sqliteCode(err) == sqlite3.SQLITE_BUSY {
		err = nil
	}
	return storageError("checkpointing", s.dir, err)
}

func (s *Store) release() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	if s.flock != nil {
		errs = append(errs, s.flock.release())
	}
	s.read, s.write, s.root, s.flock = nil, nil, nil, nil
	return errors.Join(errs...)
}

// inTx runs f in a transaction of the one writing connection. An I/O error in
// it is final: after a failed sync nobody knows what the disk holds, so the
// store refuses to go on and has to be opened again.
func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	if s.write == nil {
		return &StateError{Op: "writing", Reason: "the run is open for reading only"}
	}
	if err := s.failure(); err != nil {
		return fmt.Errorf("not writing after an earlier failure: %w", err)
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		s.noteFailure(err)
		return err
	}
	err = tx.Commit()
	s.noteFailure(err)
	return err
}

func (s *Store) failure() error {
	s.poison.Lock()
	defer s.poison.Unlock()
	return s.broken
}

func (s *Store) noteFailure(err error) {
	code := sqliteCode(err)
	if code != sqlite3.SQLITE_IOERR && code != sqlite3.SQLITE_CORRUPT {
		return
	}
	s.poison.Lock()
	defer s.poison.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}
