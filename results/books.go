package results

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
)

// The books of an attempt are the sums over its exchanges, kept in its own row,
// so that no reader has to add up millions of rows. Triggers keep them, in the
// transaction that writes an exchange, whoever writes it.

// untold holds for a request whose tokens are unknown: nobody told them, or its
// answer broke off and what had been told by then is not all. One that has a
// cost was whole.
const untold = `(e.input IS NULL OR e.output IS NULL
	OR e.cost_usd IS NULL AND NOT e.complete AND e.status BETWEEN 200 AND 299)`

// account is a column of attempts with what one exchange e adds to it.
type account struct{ column, kind, of string }

// accounts lists the books: those of UsageTotal, a sum of what is known and how
// many do not tell it, and those of Spending. A request that told its tokens
// but has no price costs nothing in money and its tokens in tokens, as in the
// gateway.
//
// The worst case of a request that is in flight is left out of spent_worst_usd:
// taken off again when the request ends, it would leave a rounding behind.
var accounts = []account{
	{"used_exchanges", "INTEGER", `1`},
	{"used_input", "INTEGER", `coalesce(e.input, 0)`},
	{"untold_input", "INTEGER", `(e.input IS NULL)`},
	{"used_cached", "INTEGER", `coalesce(e.cached, 0)`},
	{"untold_cached", "INTEGER", `(e.cached IS NULL)`},
	{"used_cache_write", "INTEGER", `coalesce(e.cache_write, 0)`},
	{"untold_cache_write", "INTEGER", `(e.cache_write IS NULL)`},
	{"used_output", "INTEGER", `coalesce(e.output, 0)`},
	{"untold_output", "INTEGER", `(e.output IS NULL)`},
	{"used_reasoning", "INTEGER", `coalesce(e.reasoning, 0)`},
	{"untold_reasoning", "INTEGER", `(e.reasoning IS NULL)`},
	{"used_cost_usd", "REAL", `coalesce(e.cost_usd, 0)`},
	{"untold_cost_usd", "INTEGER", `(e.cost_usd IS NULL)`},
	{"spent_tokens", "INTEGER", `CASE WHEN NOT ` + untold + ` THEN e.input + e.output ELSE 0 END`},
	{"spent_untold", "INTEGER", `(e.cost_usd IS NULL AND (e.worst_usd IS NOT NULL OR ` + untold + `))`},
	{"spent_worst_usd", "REAL", `CASE WHEN e.cost_usd IS NULL AND NOT e.open THEN coalesce(e.worst_usd, 0) ELSE 0 END`},
	{"spent_worst_tokens", "INTEGER", `CASE WHEN ` + untold + ` THEN e.worst_tokens ELSE 0 END`},
}

// bookTriggers make the database keep the books. An exchange is inserted and
// deleted, never updated.
func bookTriggers() string {
	trigger := func(event, row, sign string) string {
		var set []string
		for _, a := range accounts {
			set = append(set, fmt.Sprintf("%s = %[1]s %s %s", a.column, sign, strings.ReplaceAll(a.of, "e.", row+".")))
		}
		return fmt.Sprintf(`CREATE TRIGGER exchanges_%s AFTER %[1]s ON exchanges BEGIN
			UPDATE attempts SET %s WHERE trial_id = %s.trial_id AND number = %[3]s.number; END;`,
			event, strings.Join(set, ", "), row)
	}
	return trigger("insert", "NEW", "+") + trigger("delete", "OLD", "-")
}

// dropBookTriggers lets exchanges be copied whose sums are copied too.
const dropBookTriggers = `DROP TRIGGER exchanges_insert; DROP TRIGGER exchanges_delete;`

// addBooks gives a database the columns of the books, filled, and the triggers.
func addBooks() string {
	var sql strings.Builder
	for _, a := range accounts {
		fmt.Fprintf(&sql, "ALTER TABLE attempts ADD COLUMN %s %s NOT NULL DEFAULT 0;\n", a.column, a.kind)
	}
	return sql.String() + rebook + ";\n" + bookTriggers() +
		`CREATE INDEX exchanges_open ON exchanges (trial_id, worst_usd) WHERE open;`
}

// rebook computes all books anew.
var rebook = fmt.Sprintf(`UPDATE attempts SET (%s) = (SELECT %s FROM exchanges e
	WHERE e.trial_id = attempts.trial_id AND e.number = attempts.number)`, bookColumns(""), bookSums())

// bookColumns lists the columns of the books, each with a prefix.
func bookColumns(prefix string) string {
	var names []string
	for _, a := range accounts {
		names = append(names, prefix+a.column)
	}
	return strings.Join(names, ", ")
}

func bookSums() string {
	var sums []string
	for _, a := range accounts {
		sums = append(sums, "coalesce(sum("+a.of+"), 0)")
	}
	return strings.Join(sums, ", ")
}

// settle computes the books of one attempt anew: a sum in one go is rounded
// less than one made piece by piece.
func settle(ctx context.Context, tx *sql.Tx, id int64, n int) error {
	_, err := tx.ExecContext(ctx, rebook+` WHERE trial_id = ? AND number = ?`, id, n)
	return err
}

// BooksError says that the sums kept with attempts are not those of their
// exchanges, which are what was recorded.
type BooksError struct {
	Dir         string
	Differences []string // at most 20
	More        int
}

func (e *BooksError) Error() string {
	text := fmt.Sprintf("the books of run %q are wrong: %s", e.Dir, strings.Join(e.Differences, "; "))
	if e.More > 0 {
		text += fmt.Sprintf("; and %d more", e.More)
	}
	return text
}

// Hint says what to do about it.
func (e *BooksError) Hint() string {
	return "keep a copy of run.db and report this: the exchanges in it are right, the sums are not"
}

const maxBookErrors = 20

// CheckBooks adds up all exchanges and compares the sums with those kept with
// the attempts; a difference is a *BooksError.
func (s *Store) CheckBooks(ctx context.Context) error {
	err := s.checkBooks(ctx)
	return storageError("checking the books", s.dir, err)
}

func (s *Store) checkBooks(ctx context.Context) error {
	rows, err := s.read.QueryContext(ctx, checkQuery())
	if err != nil {
		return err
	}
	defer rows.Close()
	wrong := &BooksError{Dir: s.dir}
	kept, summed := make([]float64, len(accounts)), make([]float64, len(accounts))
	var key string
	var n int
	dest := []any{&key, &n}
	for _, list := range [][]float64{kept, summed} {
		for i := range list {
			dest = append(dest, &list[i])
		}
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		wrong.compare(fmt.Sprintf("attempt %d of trial %s", n, key), kept, summed)
	}
	if rows.Err() == nil && len(wrong.Differences) > 0 {
		return wrong
	}
	return rows.Err()
}

// checkQuery yields each attempt's books as they are kept and as they should be.
func checkQuery() string {
	var sums, columns []string
	for _, a := range accounts {
		sums = append(sums, fmt.Sprintf("sum(%s) AS %s", a.of, a.column))
		columns = append(columns, fmt.Sprintf("coalesce(x.%s, 0)", a.column))
	}
	return fmt.Sprintf(`SELECT t.key, a.number, %s, %s FROM attempts a JOIN trials t ON t.id = a.trial_id
		LEFT JOIN (SELECT trial_id, number, %s FROM exchanges e GROUP BY trial_id, number) x
		ON x.trial_id = a.trial_id AND x.number = a.number`,
		bookColumns("a."), strings.Join(columns, ", "), strings.Join(sums, ", "))
}

func (e *BooksError) compare(what string, kept, summed []float64) {
	for i, a := range accounts {
		if kept[i] == summed[i] || a.kind == "REAL" && sameMoney(kept[i], summed[i]) {
			continue
		}
		if len(e.Differences) == maxBookErrors {
			e.More++
			continue
		}
		e.Differences = append(e.Differences, fmt.Sprintf("%s has %s %v, its exchanges make %v",
			what, a.column, kept[i], summed[i]))
	}
}

// sameMoney allows for the rounding of sums that were made in another order.
func sameMoney(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }
