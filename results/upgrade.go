package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// upgrades[i] brings a database of schema version i+1 to the next one. They
// only add columns and what keeps them, so that nothing recorded changes.
var upgrades = []string{`
ALTER TABLE attempts ADD COLUMN usage_note TEXT NOT NULL DEFAULT '';
ALTER TABLE exchanges ADD COLUMN cache_write INTEGER;
ALTER TABLE exchanges ADD COLUMN wire TEXT NOT NULL DEFAULT '';
ALTER TABLE exchanges ADD COLUMN worst_usd REAL;
ALTER TABLE exchanges ADD COLUMN worst_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN open INTEGER NOT NULL DEFAULT 0;
`, `
CREATE TABLE closed (one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT NOT NULL);
ALTER TABLE trials ADD COLUMN reopened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN effective TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN tool_calls INTEGER;
` + addBooks()}

// upgrade brings the database to the present schema. A reader becomes the
// writer for that moment; where it cannot, because the run is being worked on
// or its folder is read-only, the error says so.
func (s *Store) upgrade(version int, mode Mode) error {
	if mode == ReadOnly {
		w := &Store{dir: s.dir}
		if err := errors.Join(w.open(ReadWrite), w.release()); err != nil {
			return fmt.Errorf("%w, and bringing it to the present form failed: %w",
				&SchemaError{Dir: s.dir, Have: version, Want: schemaVersion}, err)
		}
		return nil
	}
	return s.inTx(context.Background(), func(tx *sql.Tx) error {
		for v := version; v < schemaVersion; v++ {
			if _, err := tx.Exec(upgrades[v-1]); err != nil {
				return fmt.Errorf("upgrading the database from schema %d: %w", v, err)
			}
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
		return err
	})
}
