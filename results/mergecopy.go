package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// copyRows copies the rows of all shards. A trial's row id is its place in the
// plan, so that the merged run is read as fast as one made in one piece.
func (m *merge) copyRows(ctx context.Context, s *Store) error {
	if _, err := s.write.ExecContext(ctx, dropBookTriggers); err != nil {
		return err
	}
	pairs := map[[3]string]bool{}
	for _, src := range m.shards {
		for _, p := range src.lock.Pairs() {
			pairs[[3]string{p.Agent.Name, p.Agent.Version, p.Model}] = true
		}
	}
	for _, src := range m.shards {
		if err := m.copyShard(ctx, s, src, len(pairs) > 1); err != nil {
			return fmt.Errorf("copying shard %s: %w", src.lock.Shard, err)
		}
	}
	_, err := s.write.ExecContext(ctx, bookTriggers())
	return err
}

func (m *merge) copyShard(ctx context.Context, s *Store, src *shard, shared bool) (err error) {
	a, err := src.readAccess()
	if err != nil {
		return err
	}
	source := fileURI(path.Join(src.dir, dbFile)) + "?mode=ro"
	if a == accessFrozen {
		source += "&immutable=1"
	}
	if _, err := s.write.ExecContext(ctx, `ATTACH ? AS src`, source); err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error { return m.copyTables(ctx, tx, src, shared) })
	_, detachErr := s.write.ExecContext(context.WithoutCancel(ctx), `DETACH src`)
	return errors.Join(err, detachErr)
}

func (m *merge) copyTables(ctx context.Context, tx *sql.Tx, src *shard, shared bool) error {
	if err := copyTrials(ctx, tx, shared); err != nil {
		return err
	}
	columns := func(table string, without ...string) (string, error) { return columnsOf(ctx, tx, table, without) }
	attempts, err := columns("attempts", "trial_id", "path")
	if err != nil {
		return err
	}
	exchanges, err := columns("exchanges", "trial_id")
	if err != nil {
		return err
	}
	verdicts, err := columns("verdicts", "id", "trial_id")
	if err != nil {
		return err
	}
	const of = ` FROM src.%[1]s x JOIN src.trials o ON o.id = x.trial_id JOIN main.trials t ON t.key = o.key`
	for _, step := range []struct {
		count *int
		query string
	}{
		{&m.report.Attempts, `INSERT INTO main.attempts (trial_id, path, ` + attempts + `)
			SELECT t.id, t.folder || substr(x.path, length(o.folder) + 1), x.` + strings.ReplaceAll(attempts, ", ", ", x.") +
			fmt.Sprintf(of, "attempts")},
		{&m.report.Exchanges, `INSERT INTO main.exchanges (trial_id, ` + exchanges + `)
			SELECT t.id, x.` + strings.ReplaceAll(exchanges, ", ", ", x.") + fmt.Sprintf(of, "exchanges")},
		{&m.report.Verdicts, `INSERT INTO main.verdicts (trial_id, ` + verdicts + `)
			SELECT t.id, x.` + strings.ReplaceAll(verdicts, ", ", ", x.") + fmt.Sprintf(of, "verdicts") + ` ORDER BY x.id`},
		{new(int), fmt.Sprintf(`INSERT INTO main.drift (at, field, was, now)
			SELECT at, field || ' (shard %s)', was, now FROM src.drift ORDER BY rowid`, src.lock.Shard)},
	} {
		done, err := tx.ExecContext(ctx, step.query)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return err
		}
		*step.count += int(n)
	}
	n, err := src.Counts(ctx)
	m.report.Trials += n.Planned
	return err
}

// copyTrials copies the plan. Folders are named anew: a small shard can have
// one agent of several, and then no part for it in its folders.
func copyTrials(ctx context.Context, tx *sql.Tx, shared bool) error {
	columns, err := columnsOf(ctx, tx, "trials", []string{"id", "folder"})
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, fmt.Sprintf(`INSERT INTO main.trials (id, folder, %s)
		SELECT ?, ?, %[1]s FROM src.trials WHERE id = ?`, columns))
	if err != nil {
		return err
	}
	defer insert.Close()
	list, err := planOf(ctx, tx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if _, err := insert.ExecContext(ctx, r.t.Seq+1, trialFolder(r.t, shared), r.id); err != nil {
			return err
		}
	}
	return nil
}

func planOf(ctx context.Context, tx *sql.Tx) ([]trialRow, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, `+trialColumns+` FROM src.trials ORDER BY seq, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []trialRow
	var row trialRow
	dest := row.dest()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// columnsOf lists the columns of a table but some, so that none is forgotten.
func columnsOf(ctx context.Context, tx *sql.Tx, table string, without []string) (string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid`, table)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", err
		}
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", "), rows.Err()
}

// copyFolders gives the new run the artefacts of every attempt that has some,
// also of one that was never recorded as ended: Recover takes those over.
func (m *merge) copyFolders(ctx context.Context, s *Store) error {
	m.report.Linked = !m.opts.Copy
	refs, err := s.attemptRefs(ctx, `1`)
	if err != nil {
		return err
	}
	home := map[string]*shard{}
	old := map[AttemptRef]string{} // path in the shard, by trial and number
	for _, src := range m.shards {
		list, err := src.attemptRefs(ctx, `1`)
		if err != nil {
			return err
		}
		for _, ref := range list {
			home[ref.TrialKey] = src
			old[AttemptRef{TrialKey: ref.TrialKey, Number: ref.Number}] = ref.Path
		}
	}
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return err
		}
		src := home[ref.TrialKey]
		from := old[AttemptRef{TrialKey: ref.TrialKey, Number: ref.Number}]
		if !src.isFolder(from) {
			continue // Recover of the new run says so where there should be one
		}
		if err := m.copyFolder(src.root, from, s.root, ref.Path); err != nil {
			return fmt.Errorf("copying artefacts %q of shard %s: %w", from, src.lock.Shard, err)
		}
		m.report.Folders++
	}
	return nil
}

func (m *merge) copyFolder(src *os.Root, from string, dst *os.Root, to string) error {
	if err := dst.MkdirAll(to, 0o777); err != nil {
		return err
	}
	in, err := src.OpenRoot(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := dst.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close()
	return fs.WalkDir(in.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			return out.Mkdir(name, 0o777)
		case d.Type().IsRegular():
			return m.copyFile(in, out, name)
		}
		return nil // nothing else is an artefact
	})
}

// copyFile links a file, or copies it where that cannot be done.
func (m *merge) copyFile(in, out *os.Root, name string) error {
	if m.report.Linked {
		err := linkBetween(in, out, name)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) &&
			!errors.Is(err, unix.EOPNOTSUPP) {
			return err
		}
		m.report.Linked = false
	}
	f, err := in.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := out.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, w.Close())
}

// linkBetween makes a hard link; both folders are opened within their roots, so
// that no link on the way leads elsewhere.
func linkBetween(in, out *os.Root, name string) error {
	from, err := in.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := out.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer to.Close()
	base := path.Base(name)
	return unix.Linkat(int(from.Fd()), base, int(to.Fd()), base, 0)
}
