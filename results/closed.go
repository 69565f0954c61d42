package results

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
)

// An orderly Close leaves the same token in the database and in the lock file.
// Where the next writer finds them equal, the database has every row that it
// ever had: nobody died in between, and nobody put an older copy back. Recover
// then need not list all folders, which takes long in a large run.

const closedWord = "closed "

// markClosed leaves the token; failing is no harm.
func (s *Store) markClosed() {
	token := uuid.NewString()
	err := s.inTx(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO closed (one, token) VALUES (1, ?)
			ON CONFLICT (one) DO UPDATE SET token = excluded.token`, token)
		return err
	})
	if err == nil {
		s.flock.leave = closedWord + token + "\n"
	}
}

// wasClosed reports whether the last writer closed this very database.
func (s *Store) wasClosed() (bool, error) {
	var token string
	err := s.read.QueryRow(`SELECT token FROM closed`).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && s.flock.found == closedWord+token+"\n", err
}
