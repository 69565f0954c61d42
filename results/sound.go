package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// CheckSound looks whether a database that came from elsewhere is whole and
// holds nothing that a run's database does not: its pages and references, its
// books, no views and no triggers but its own, no path out of its folder. A
// *NotRunError says what is wrong.
func (s *Store) CheckSound(ctx context.Context) error {
	for _, check := range []func(context.Context) error{s.checkSchemaObjects, s.checkPages, s.checkPaths} {
		if err := check(ctx); err != nil {
			return storageError("checking the database", s.dir, err)
		}
	}
	return s.CheckBooks(ctx)
}

func (s *Store) unsound(reason string) error {
	return &NotRunError{Dir: s.dir, Reason: reason, hint: hintCorrupt}
}

// checkSchemaObjects comes first: what a foreign trigger or view would do is
// done when its table is used.
func (s *Store) checkSchemaObjects(ctx context.Context) error {
	var names string
	err := s.read.QueryRowContext(ctx, `SELECT coalesce(group_concat(type || ' ' || name, ', '), '') FROM sqlite_schema
		WHERE type NOT IN ('table', 'index') AND name NOT IN ('exchanges_insert', 'exchanges_delete')
		OR type = 'table' AND sql LIKE '%virtual%'`).Scan(&names)
	if err != nil || names == "" {
		return err
	}
	return s.unsound("its database has what no run has: " + names)
}

func (s *Store) checkPages(ctx context.Context) error {
	var says string
	if err := s.read.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&says); err != nil {
		return err
	}
	if says != "ok" {
		return s.unsound("its database is damaged: " + says)
	}
	var strays int
	err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM pragma_foreign_key_check`).Scan(&strays)
	if err == nil && strays > 0 {
		err = s.unsound(fmt.Sprintf("%d rows of its database refer to nothing", strays))
	}
	return err
}

func (s *Store) checkPaths(ctx context.Context) error {
	rows, err := s.read.QueryContext(ctx, `SELECT path FROM attempts UNION ALL SELECT folder FROM trials`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var path string
		if err := rows.Scan(&path); err != nil {
			return err
		}
		if !fs.ValidPath(path) || !strings.HasPrefix(path, "trials/") {
			return errors.Join(s.unsound(fmt.Sprintf("its database has the path %q", path)), rows.Close())
		}
	}
	return rows.Err()
}
