package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Plan records trials, all or none. Trials that are planned already are left
// as they are, so planning again changes nothing. A trial that is in the run
// under another identity (another task digest, other settings) is an error: a
// run never plans a finished trial again by itself.
func (s *Store) Plan(ctx context.Context, trials []Trial) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error { return insertTrials(ctx, tx, trials) })
	return storageError("planning trials", s.dir, err)
}

func insertTrials(ctx context.Context, tx *sql.Tx, trials []Trial) error {
	planned, err := plannedKeys(ctx, tx)
	if err != nil {
		return err
	}
	var added []Trial
	for _, t := range trials {
		if err := checkTrial(&t); err != nil {
			return err
		}
		if !planned[t.Key] {
			added = append(added, t)
		}
	}
	if len(added) == 0 {
		return nil
	}
	return insertNew(ctx, tx, added)
}

// plannedKeys are the keys of the trials that the run has.
func plannedKeys(ctx context.Context, tx *sql.Tx) (map[string]bool, error) {
	rows, err := tx.QueryContext(ctx, `SELECT key FROM trials`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	keys := map[string]bool{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys[key] = true
	}
	return keys, rows.Err()
}

func insertNew(ctx context.Context, tx *sql.Tx, trials []Trial) error {
	shared, err := severalAgents(ctx, tx, trials)
	if err != nil {
		return err
	}
	stmt, err := tx.PrepareContext(ctx, `INSERT INTO trials (key, seq, folder, task_id, task_digest, axis, size,
		refactoring, code, instance, sample_id, agent, version, model, repetition, settings)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, t := range trials {
		_, err := stmt.ExecContext(ctx, t.Key, t.Seq, trialFolder(t, shared), t.TaskID, t.TaskDigest, t.Cell.Axis,
			t.Cell.Size, t.Cell.Refactoring, t.Cell.Code, t.Instance, t.SampleID, t.Agent, t.Version, t.Model,
			t.Repetition, t.Settings)
		if isConstraint(err) {
			return &StateError{Op: "planning", Reason: fmt.Sprintf(
				"trial %s of %s@%s is in the run already, under another task digest or other settings",
				t.TaskID, t.Agent, t.Version)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkTrial(t *Trial) error {
	want := TrialKey(*t)
	if t.Key == "" {
		t.Key = want
	}
	switch {
	case !t.TaskID.Valid():
		return &StateError{Op: "planning", Reason: fmt.Sprintf("bad task id %q", t.TaskID)}
	case t.Repetition < 1:
		return &StateError{Op: "planning", Reason: fmt.Sprintf("repetition %d of %s", t.Repetition, t.TaskID)}
	case t.Key != want:
		return &StateError{Op: "planning", Reason: fmt.Sprintf("key of %s is not its identity", t.TaskID)}
	}
	return nil
}

// severalAgents reports whether artefact folders have to tell agents and
// models apart.
func severalAgents(ctx context.Context, tx *sql.Tx, trials []Trial) (bool, error) {
	type who struct{ agent, version, model string }
	seen := map[who]bool{}
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT agent, version, model FROM trials`)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var w who
		if err := rows.Scan(&w.agent, &w.version, &w.model); err != nil {
			return false, err
		}
		seen[w] = true
	}
	for _, t := range trials {
		seen[who{t.Agent, t.Version, t.Model}] = true
	}
	return len(seen) > 1, rows.Err()
}

// Trials returns the plan in its order.
func (s *Store) Trials(ctx context.Context) ([]Trial, error) {
	var trials []Trial
	rows, err := s.read.QueryContext(ctx, `SELECT id, `+trialColumns+` FROM trials ORDER BY seq, id`)
	if err != nil {
		return nil, storageError("reading the plan", s.dir, err)
	}
	defer rows.Close()
	var row trialRow
	dest := row.dest()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, storageError("reading the plan", s.dir, err)
		}
		trials = append(trials, row.t)
	}
	return trials, storageError("reading the plan", s.dir, rows.Err())
}

const trialColumns = `key, seq, task_id, axis, size, refactoring, code, instance, agent, version, model, repetition,
	task_digest, sample_id, settings`

// trialRow takes id and trialColumns.
type trialRow struct {
	id int64
	t  Trial
}

func (r *trialRow) dest() []any {
	t, c := &r.t, &r.t.Cell
	return []any{&r.id, &t.Key, &t.Seq, &t.TaskID, &c.Axis, &c.Size, &c.Refactoring, &c.Code, &t.Instance,
		&t.Agent, &t.Version, &t.Model, &t.Repetition, &t.TaskDigest, &t.SampleID, &t.Settings}
}

// RecordDrift notes differences under which the run is continued.
func (s *Store) RecordDrift(ctx context.Context, diffs []Difference) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		at := formatTime(time.Now())
		for _, d := range diffs {
			if _, err := tx.ExecContext(ctx, `INSERT INTO drift (at, field, was, now) VALUES (?, ?, ?, ?)`,
				at, d.Field, d.Was, d.Now); err != nil {
				return err
			}
		}
		return nil
	})
	return storageError("recording drift", s.dir, err)
}

// Drifts lists what RecordDrift noted, oldest first.
func (s *Store) Drifts(ctx context.Context) ([]Drift, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT at, field, was, now FROM drift ORDER BY rowid`)
	if err != nil {
		return nil, storageError("reading drift", s.dir, err)
	}
	defer rows.Close()
	var drifts []Drift
	for rows.Next() {
		var d Drift
		var at string
		if err := rows.Scan(&at, &d.Field, &d.Was, &d.Now); err != nil {
			return nil, storageError("reading drift", s.dir, err)
		}
		d.At = parseTime(at)
		drifts = append(drifts, d)
	}
	return drifts, storageError("reading drift", s.dir, rows.Err())
}

// timeLayout keeps microseconds and sorts as text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// nullTime is NULL for a time that has not come.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return formatTime(t)
}

// parseTime gives the zero time for what is not a time.
func parseTime(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	if t, ok := plainTime(s); ok {
		return t
	}
	t, err := time.Parse(timeLayout, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// plainTime reads what formatTime writes; a report reads it 300,000 times. It
// gives up on all else.
func plainTime(s string) (t time.Time, ok bool) {
	if len(s) != len(timeLayout) {
		return t, false
	}
	var n [7]int // year to microsecond
	field := 0
	for i := range len(s) {
		switch c, want := s[i], timeLayout[i]; {
		case want < '0' || want > '9':
			if c != want {
				return t, false
			}
			field++
		case c < '0' || c > '9':
			return t, false
		default:
			n[field] = 10*n[field] + int(c-'0')
		}
	}
	if n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 28 || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return t, false // the last days of a month are left to those who know it
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1000, time.UTC), true
}

// trialID finds the row of a trial.
func trialID(ctx context.Context, tx *sql.Tx, op, key string) (id int64, folder string, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id, folder FROM trials WHERE key = ?`, key).Scan(&id, &folder)
	if errors.Is(err, sql.ErrNoRows) {
		err = &StateError{Op: op, Reason: fmt.Sprintf("no trial %q in the plan", key)}
	}
	return id, folder, err
}
