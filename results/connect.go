package results

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"

	"golang.org/x/sys/unix"
	sqlite3 "modernc.org/sqlite/lib"
)

// How SQLite opens the database's file.
type access string

const (
	accessWrite     access = "write"
	accessWriteSlow access = "write without a log" // where there can be no write-ahead log
	accessAlone     access = "write alone"         // needs no memory shared with others
	accessRead      access = "read"
	accessFrozen    access = "read what never changes" // takes no locks
)

// dataSource is the name of the database for the driver. The path is escaped:
// a run may be called anything.
func dataSource(path string, a access) string {
	q := url.Values{"_pragma": {"busy_timeout(10000)", "foreign_keys(1)"}, "mode": {"ro"}}
	switch a {
	case accessWrite, accessAlone:
		q.Add("_pragma", "synchronous(FULL)")
	case accessWriteSlow:
		// Readers and the writer wait for each other; and the journal's end is
		// only safe when its folder is synced as well.
		q["_pragma"] = []string{"busy_timeout(60000)", "foreign_keys(1)", "synchronous(EXTRA)"}
	case accessFrozen:
		q.Set("immutable", "1")
	}
	if a == accessAlone {
		q["_pragma"] = append([]string{"locking_mode(EXCLUSIVE)"}, q["_pragma"]...)
	}
	if a != accessRead && a != accessFrozen {
		q.Set("_txlock", "immediate")
		q.Set("mode", "rwc")
	}
	return fileURI(path) + "?" + q.Encode()
}

func fileURI(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// connectWriter opens the one connection that writes. What is not a run's
// database is left as it is.
func (s *Store) connectWriter() (err error) {
	path := filepath.Join(s.dir, dbFile)
	wal, err := walWorks(s.dir)
	if err != nil {
		return err
	}
	a := accessWrite
	if !wal {
		a = accessWriteSlow
		if err := s.leaveWAL(path); err != nil {
			return err
		}
	}
	if s.write, err = sql.Open("sqlite", dataSource(path, a)); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if err := s.mayChange(s.write); err != nil {
		return err
	}
	if wal {
		s.wal, err = setJournal(s.write, "wal")
	}
	if err == nil && !s.wal {
		_, err = setJournal(s.write, "truncate")
	}
	return err
}

// mayChange holds for the database of a run and for one that is being made.
func (s *Store) mayChange(db *sql.DB) error {
	_, err := s.schemaOf(db)
	var none *NotRunError
	if errors.As(err, &none) && none.fresh {
		return nil // Create is making it; Open refuses it later
	}
	return err
}

// setJournal asks for a journal mode and reports whether the database has it.
func setJournal(db *sql.DB, mode string) (bool, error) {
	var got string
	err := db.QueryRow("PRAGMA journal_mode = " + mode).Scan(&got)
	return got == mode, err
}

// leaveWAL takes the write-ahead log from a database that was made elsewhere
// and cannot have one where it is now.
func (s *Store) leaveWAL(path string) error {
	db, err := sql.Open("sqlite", dataSource(path, accessAlone))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := s.mayChange(db); err != nil {
		return err
	}
	if ok, err := setJournal(db, "truncate"); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("the database cannot do without a write-ahead log here: %v", ok))
	}
	return nil
}

// connectReader opens the connections that read. They are others than the
// writer's, so that a long read never waits for a write or the other way round,
// as far as the file system allows.
func (s *Store) connectReader() error {
	a, err := s.readAccess()
	if err != nil {
		return err
	}
	err = s.tryReader(a)
	if err == nil || a == accessFrozen || s.write != nil {
		return err
	}
	switch sqliteCode(err) {
	case sqlite3.SQLITE_READONLY: // a dead writer's journal has to be played back, which writes
		w := &Store{dir: s.dir}
		if writeErr := errors.Join(w.open(ReadWrite), w.release()); writeErr != nil {
			return errors.Join(err, writeErr)
		}
		return s.tryReader(a)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		// A database with a log where there can be none, so that nobody writes
		// it: a writer would have taken the log from it.
		if wal, walErr := walWorks(s.dir); walErr == nil && !wal && s.logIsEmpty() {
			return s.tryReader(accessFrozen)
		}
	}
	return err
}

func (s *Store) tryReader(a access) (err error) {
	if s.read != nil {
		err = s.read.Close()
	}
	if err == nil {
		s.read, err = sql.Open("sqlite", dataSource(filepath.Join(s.dir, dbFile), a))
	}
	if err != nil {
		return err
	}
	s.read.SetMaxIdleConns(4) // and as many open as there are readers: one waiting for another could be itself
	var mode string
	err = s.read.QueryRow("PRAGMA journal_mode").Scan(&mode)
	if sqliteCode(err) == sqlite3.SQLITE_NOTADB {
		return notDatabase(s.dir)
	}
	if err != nil {
		return err
	}
	s.wal = mode == "wal" || a == accessFrozen
	var tables int
	err = s.read.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables) // takes a lock, as any reading does
	if sqliteCode(err) == sqlite3.SQLITE_NOTADB {
		return notDatabase(s.dir)
	}
	return err
}

// readAccess is how SQLite has to open the file for reading. In a folder that
// cannot be written it cannot make its shared memory file; a database that was
// closed properly can then be read as one that never changes.
func (s *Store) readAccess() (access, error) {
	if unix.Access(s.dir, unix.W_OK) == nil {
		return accessRead, nil
	}
	if s.logIsEmpty() {
		return accessFrozen, nil
	}
	if _, err := s.root.Stat(dbFile + "-shm"); err != nil {
		return "", &StorageError{Op: "opening the store", Dir: s.dir, hint: hintReadShare,
			Err: errors.New("the run was not closed and its folder cannot be written")}
	}
	return accessRead, nil
}

// logIsEmpty holds when all of the database is in its one file.
func (s *Store) logIsEmpty() bool {
	for _, suffix := range []string{"-wal", "-journal"} {
		log, err := s.root.Stat(dbFile + suffix)
		if !errors.Is(err, fs.ErrNotExist) && (err != nil || log.Size() > 0) {
			return false
		}
	}
	return true
}
