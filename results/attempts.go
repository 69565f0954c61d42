package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// StartAttempt records that an attempt begins, before anything of it exists
// outside of the store. Its number is one above every number that the trial
// has had, in the database or on disk. It refuses while another attempt of the
// trial is open: that one has to be recorded or recovered first.
func (s *Store) StartAttempt(ctx context.Context, key string) (Attempt, error) {
	a := Attempt{TrialKey: key, Started: time.Now().UTC().Truncate(time.Microsecond)}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		id, folder, err := trialID(ctx, tx, "starting an attempt", key)
		if err != nil {
			return err
		}
		var last, open int
		err = tx.QueryRowContext(ctx, `SELECT coalesce(max(number), 0), count(CASE WHEN outcome = '' THEN 1 END)
			FROM attempts WHERE trial_id = ?`, id).Scan(&last, &open)
		if err != nil {
			return err
		}
		if open > 0 {
			return &StateError{Op: "starting an attempt",
				Reason: fmt.Sprintf("attempt %d of trial %s is still open", last, key)}
		}
		a.Number, a.Path = s.freeNumber(folder, last+1)
		_, err = tx.ExecContext(ctx, `INSERT INTO attempts (trial_id, number, path, started) VALUES (?, ?, ?, ?)`,
			id, a.Number, a.Path, formatTime(a.Started))
		return err
	})
	if err != nil {
		return Attempt{}, storageError("starting an attempt", s.dir, err)
	}
	return a, nil
}

// freeNumber skips numbers whose folder is taken, by a run that lost rows.
func (s *Store) freeNumber(folder string, n int) (int, string) {
	for {
		p := attemptPath(folder, n)
		if _, err := s.root.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			return n, p
		}
		n++
	}
}

// inFlight stands as the error of a request whose end was never recorded.
const inFlight = "in flight when the run was cut off"

// OpenExchange books a request to the model before it is sent, with the most
// that it can cost: a crash before its end must not make it free.
func (s *Store) OpenExchange(ctx context.Context, key string, n int, e Exchange) error {
	e.Error, e.Usage, e.Complete = inFlight, Usage{}, false
	return s.putExchange(ctx, key, n, e, true)
}

// AddExchange records what one request to the model used, when its answer has
// ended. It is allowed as long as the attempt is known, also after its end:
// what was paid for is never dropped.
func (s *Store) AddExchange(ctx context.Context, key string, n int, e Exchange) error {
	return s.putExchange(ctx, key, n, e, false)
}

func (s *Store) putExchange(ctx context.Context, key string, n int, e Exchange, open bool) error {
	const op = "recording an exchange"
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		id, _, err := trialID(ctx, tx, op, key)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM exchanges WHERE trial_id = ? AND number = ? AND seq = ? AND open`,
			id, n, e.Seq); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO exchanges (trial_id, number, seq, started, ended, model, status,
			complete, error, input, cached, output, reasoning, cost_usd, cache_write, wire, worst_usd, worst_tokens, open)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, n, e.Seq, formatTime(e.Started), formatTime(e.Ended), e.Model, e.Status, e.Complete, e.Error,
			e.Usage.Input, e.Usage.Cached, e.Usage.Output, e.Usage.Reasoning, e.Usage.CostUSD,
			e.Usage.CacheWrite, e.Wire, e.WorstUSD, e.WorstTokens, open)
		if isConstraint(err) {
			return &StateError{Op: op,
				Reason: fmt.Sprintf("attempt %d of trial %s is unknown or has exchange %d already", n, key, e.Seq)}
		}
		return err
	})
	return storageError(op, s.dir, err)
}

// Collected records the end of an attempt, once its artefacts are committed or
// discarded. An attempt ends once.
func (s *Store) Collected(ctx context.Context, a Attempt) error {
	if a.Outcome == "" || !slices.Contains(Outcomes(), a.Outcome) {
		return &StateError{Op: "recording an attempt", Reason: fmt.Sprintf("bad outcome %q", a.Outcome)}
	}
	if a.Ended.IsZero() {
		return &StateError{Op: "recording an attempt", Reason: "it has no end"}
	}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		id, _, err := trialID(ctx, tx, "recording an attempt", a.TrialKey)
		if err != nil {
			return err
		}
		return s.closeAttempt(ctx, tx, id, a)
	})
	return storageError("recording an attempt", s.dir, err)
}

// closeAttempt writes everything but number, path and start. Whether there are
// artefacts is asked of the disk, which is what later readers will find.
func (s *Store) closeAttempt(ctx context.Context, tx *sql.Tx, id int64, a Attempt) error {
	var path string
	err := tx.QueryRowContext(ctx, `SELECT path FROM attempts WHERE trial_id = ? AND number = ? AND outcome = ''`,
		id, a.Number).Scan(&path)
	if errors.Is(err, sql.ErrNoRows) {
		return &StateError{Op: "recording an attempt",
			Reason: fmt.Sprintf("attempt %d of trial %s is unknown or recorded already", a.Number, a.TrialKey)}
	}
	if err != nil {
		return err
	}
	artefacts := s.isFolder(path)
	_, err = tx.ExecContext(ctx, `UPDATE attempts SET artefacts = ?, ended = ?, outcome = ?, reason = ?,
		limit_hit = ?, unchanged = ?, unscored = ?, exit_code = ?, requests = ?, answers = ?, wall_seconds = ?,
		wait_seconds = ?, memory_peak = ?, trace_state = ?, adopted = ?, usage_note = ?, effective = ?, tool_calls = ?
		WHERE trial_id = ? AND number = ?`,
		artefacts, nullTime(a.Ended), a.Outcome, a.Reason, a.LimitHit, a.Unchanged, a.Unscored || !artefacts,
		a.ExitCode, a.Requests, a.Answers, a.WallSeconds, a.WaitSeconds, a.MemoryPeak, a.TraceState, a.Adopted,
		a.UsageNote, a.Effective, a.ToolCalls, id, a.Number)
	if err != nil {
		return err
	}
	return settle(ctx, tx, id, a.Number)
}

func (s *Store) isFolder(path string) bool {
	info, err := s.root.Lstat(path)
	return err == nil && info.IsDir()
}

// SetVerdict records the score of an attempt's code, final for this trial and
// scorer. Recording the very same verdict again is not an error.
func (s *Store) SetVerdict(ctx context.Context, key string, n int, v Verdict) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		id, err := judgeable(ctx, tx, key, n)
		if err != nil {
			return err
		}
		old, err := currentVerdict(ctx, tx, id, v.Scorer)
		if err != nil {
			return err
		}
		if old == nil {
			return insertVerdict(ctx, tx, id, n, v)
		}
		if old.Attempt == n && old.Version == v.Version && old.Solved == v.Solved && old.Reason == v.Reason {
			return nil
		}
		return &StateError{Op: "recording a verdict",
			Reason: fmt.Sprintf("trial %s has a %s verdict already, of attempt %d", key, v.Scorer, old.Attempt)}
	})
	return storageError("recording a verdict", s.dir, err)
}

// ReplaceVerdict records a verdict in place of the one that the trial has from
// this scorer, if any. The old one is kept, marked as superseded.
func (s *Store) ReplaceVerdict(ctx context.Context, key string, n int, v Verdict) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		id, err := judgeable(ctx, tx, key, n)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE verdicts SET superseded = 1
			WHERE trial_id = ? AND scorer = ? AND superseded = 0`, id, v.Scorer)
		if err != nil {
			return err
		}
		return insertVerdict(ctx, tx, id, n, v)
	})
	return storageError("replacing a verdict", s.dir, err)
}

// judgeable finds the trial and refuses attempts that cannot have a verdict.
func judgeable(ctx context.Context, tx *sql.Tx, key string, n int) (int64, error) {
	id, _, err := trialID(ctx, tx, "recording a verdict", key)
	if err != nil {
		return 0, err
	}
	var outcome Outcome
	var before bool // of the time before the trial was opened again
	err = tx.QueryRowContext(ctx, `SELECT a.outcome, a.number <= t.reopened FROM attempts a
		JOIN trials t ON t.id = a.trial_id WHERE trial_id = ? AND number = ?`, id, n).Scan(&outcome, &before)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = &StateError{Op: "recording a verdict", Reason: fmt.Sprintf("no attempt %d of trial %s", n, key)}
	case err == nil && before:
		err = &StateError{Op: "recording a verdict",
			Reason: fmt.Sprintf("trial %s was opened again after attempt %d", key, n)}
	case err == nil && !outcome.HasCode():
		err = &StateError{Op: "recording a verdict",
			Reason: fmt.Sprintf("attempt %d of trial %s has no code to score (%q)", n, key, outcome)}
	}
	return id, err
}

func currentVerdict(ctx context.Context, tx *sql.Tx, id int64, scorer string) (*AttemptVerdict, error) {
	var v AttemptVerdict
	err := tx.QueryRowContext(ctx, `SELECT number, version, solved, reason FROM verdicts
		WHERE trial_id = ? AND scorer = ? AND superseded = 0`, id, scorer).
		Scan(&v.Attempt, &v.Version, &v.Solved, &v.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &v, err
}

func insertVerdict(ctx context.Context, tx *sql.Tx, id int64, n int, v Verdict) error {
	if v.Scorer == "" {
		return &StateError{Op: "recording a verdict", Reason: "it does not name its scorer"}
	}
	checks, err := json.Marshal(v.Checks)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO verdicts (trial_id, number, scorer, version, solved, reason, checks, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, n, v.Scorer, v.Version, v.Solved, v.Reason, string(checks), formatTime(time.Now()))
	return err
}

// isConstraint reports whether the database refused a row for its rules, which
// means that the caller asked for something that cannot be.
func isConstraint(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT }
