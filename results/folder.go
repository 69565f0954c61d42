package results

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// creationFiles are what a Create that was killed can leave; the lock file is
// the first, because it may be another process's and is never removed.
var creationFiles = []string{flockOn, dbFile, dbFile + "-wal", dbFile + "-shm", dbFile + "-journal", tmpDir,
	"." + lockFile + ".tmp"}

// claim makes dir, or accepts a vacant one. It returns the folders that it
// made, outermost first.
func claim(dir string) ([]string, error) {
	made, err := mkdirAll(dir)
	if err != nil {
		return nil, err
	}
	return made, vacant(dir)
}

// vacant reports with *ExistsError a folder that holds anything but what a
// killed Create leaves.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			return &ExistsError{Dir: dir, IsRun: true}
		}
		if !slices.Contains(creationFiles, e.Name()) && !strings.HasPrefix(e.Name(), probePrefix) {
			return &ExistsError{Dir: dir}
		}
	}
	if planned(dir) {
		return &ExistsError{Dir: dir, IsRun: true}
	}
	return nil
}

// planned reports whether the folder's database holds trials: then it is not
// a Create's leftover but a run that lost its run.json.
func planned(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, dbFile)); err != nil {
		return false
	}
	s, err := Open(dir, ReadOnly)
	if err != nil {
		return false
	}
	defer s.Close()
	var n int
	err = s.read.QueryRow(`SELECT count(*) FROM trials`).Scan(&n)
	return err == nil && n > 0
}

// unclaim removes what a failed Create made, except when the folder turned out
// to be in other hands.
func unclaim(dir string, made []string, cause error) {
	var locked *LockedError
	var exists *ExistsError
	if errors.As(cause, &locked) || errors.As(cause, &exists) {
		return
	}
	for _, name := range creationFiles {
		os.RemoveAll(filepath.Join(dir, name))
	}
	for _, d := range slices.Backward(made) {
		os.Remove(d) // only when empty
	}
}

// mkdirAll makes dir with its parents, syncs what it made, and returns it.
func mkdirAll(dir string) ([]string, error) {
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("a file is in the way")}
		}
		return nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var made []string
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = mkdirAll(parent); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return append(made, dir), syncPath(filepath.Dir(dir))
}

// looksLikeRun tells a folder that cannot be a run from one that may be, so
// that opening never creates a file where none belongs.
func looksLikeRun(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &NotRunError{Dir: dir, Reason: "there is no such folder"}
	case err != nil:
		return err
	case !info.IsDir():
		return &NotRunError{Dir: dir, Reason: "it is a file, not a folder"}
	}
	_, lockErr := os.Stat(filepath.Join(dir, lockFile))
	// The database is looked at, and never opened, but through SQLite: closing
	// any file of it would drop the locks that another store of this process
	// has on it.
	db, dbErr := os.Stat(filepath.Join(dir, dbFile))
	switch {
	case errors.Is(dbErr, fs.ErrNotExist) && lockErr == nil:
		return &NotRunError{Dir: dir, Reason: "run.db is missing",
			hint: "put run.db back from a copy; run.json and trials/ alone do not make a run"}
	case errors.Is(dbErr, fs.ErrNotExist):
		return &NotRunError{Dir: dir, Reason: "it has neither run.json nor run.db"}
	case dbErr != nil:
		return dbErr
	case !db.Mode().IsRegular() || db.Size() == 0: // SQLite would make a database of an empty file
		return notDatabase(dir)
	}
	return nil
}

func notDatabase(dir string) error {
	return &NotRunError{Dir: dir, Reason: "run.db is not a database", hint: hintCorrupt}
}

// schemaOf makes sure that the database is a run's, of a version that this
// program knows, and returns it. Nothing of the database is changed before.
func (s *Store) schemaOf(db *sql.DB) (version int, err error) {
	var app int
	err = db.QueryRow("PRAGMA application_id").Scan(&app)
	if sqliteCode(err) == sqlite3.SQLITE_NOTADB {
		return 0, notDatabase(s.dir)
	}
	if err != nil {
		return 0, err
	}
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	switch {
	case app == 0 && version == 0:
		err = &NotRunError{Dir: s.dir, Reason: "it was never completely created", fresh: true,
			hint: "remove the folder and start the run again; nothing was run in it"}
	case app != applicationID:
		err = &NotRunError{Dir: s.dir, Reason: "run.db is another program's database"}
	case version < 1 || version > schemaVersion:
		err = &SchemaError{Dir: s.dir, Have: version, Want: schemaVersion}
	}
	return version, err
}

// loadLock reads the lock from the database and holds run.json against it.
// A missing run.json is written anew from the database; a changed one is an
// error, because the run was not made under what it says now.
func (s *Store) loadLock(mode Mode) error {
	var stored []byte
	if err := s.read.QueryRow(`SELECT json FROM lock`).Scan(&stored); err != nil {
		return fmt.Errorf("reading the lock: %w", err)
	}
	onDisk, err := s.root.ReadFile(lockFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if mode == ReadWrite {
			if err := writeFileDurably(s.root, lockFile, stored); err != nil {
				return err
			}
		}
	case err != nil:
		return err
	case !bytes.Equal(onDisk, stored):
		return &NotRunError{Dir: s.dir, Reason: "run.json was changed after the run was created",
			hint: "put the original back, or remove run.json: it is then written anew from run.db"}
	}
	s.lock, err = decodeLock(stored)
	return err
}

func (s *Store) makeTmp() error {
	err := s.root.Mkdir(tmpDir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
