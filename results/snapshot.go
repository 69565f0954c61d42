package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
)

// Snapshot writes the database, as of one moment, to a new file at path, also
// while a sweep goes on. What was replaced or deleted in the original is not in
// the copy. With run.json and the artefacts of its attempts it makes a run.
func (s *Store) Snapshot(ctx context.Context, path string) error {
	_, err := s.read.ExecContext(ctx, `VACUUM INTO ?`, fileURI(path))
	if err == nil {
		err = errors.Join(syncPath(path), syncPath(filepath.Dir(path)))
	}
	return storageError("copying the database", s.dir, err)
}

// ArtefactFolders yields the artefact folders of all attempts that are recorded
// with some, relative to the run, as a Snapshot at path has them.
func ArtefactFolders(ctx context.Context, path string, use func(folder string) error) error {
	db, err := sql.Open("sqlite", dataSource(path, accessFrozen))
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT a.path FROM attempts a JOIN trials t ON t.id = a.trial_id
		WHERE a.artefacts ORDER BY t.seq, t.id, a.number`)
	if err != nil {
		return fmt.Errorf("listing artefacts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var folder string
		if err := rows.Scan(&folder); err != nil {
			return fmt.Errorf("listing artefacts: %w", err)
		}
		if err := use(folder); err != nil {
			return err
		}
	}
	return rows.Err()
}
