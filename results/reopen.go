package results

import (
	"context"
	"database/sql"
	"fmt"
)

// Reopen makes trials pending again, all or none: none of the attempts that
// they have had so far counts against them any more, and their verdicts are
// superseded. What those attempts used stays in every total, their artefacts
// stay where they are. A trial of which an attempt is running is refused; one
// without attempts is left as it is.
func (s *Store) Reopen(ctx context.Context, keys []string) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		for _, key := range keys {
			if err := reopen(ctx, tx, key); err != nil {
				return err
			}
		}
		return nil
	})
	return storageError("opening trials again", s.dir, err)
}

func reopen(ctx context.Context, tx *sql.Tx, key string) error {
	const op = "opening a trial again"
	id, _, err := trialID(ctx, tx, op, key)
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
		return &StateError{Op: op, Reason: fmt.Sprintf("attempt %d of trial %s is running", last, key)}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE trials SET reopened = ? WHERE id = ?`, last, id); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE verdicts SET superseded = 1 WHERE trial_id = ? AND superseded = 0`, id)
	return err
}
