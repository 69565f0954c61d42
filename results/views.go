package results

import (
	"context"
	"database/sql"
	"errors"
)

// readersAtMost is how many connections share the reading of a large run.
const readersAtMost = 2

// sameViews opens up to n read transactions that see the database as of the
// same moment: at least one, and as many as want where nobody writes just now.
// SQLite has no means to give a second connection the view of a first. But a
// connection can tell whether anything was committed between two moments: when
// nothing was, a view opened in between is the same. The views must be closed,
// also after an error.
func (s *Store) sameViews(ctx context.Context, n int) (views []view, err error) {
	const tries = 3
	for range tries {
		closeViews(views)
		views, err = s.tryViews(ctx, n)
		if err != nil || len(views) == n {
			break
		}
	}
	return views, err
}

// view is a read transaction with its connection.
type view struct {
	*sql.Tx
	conn *sql.Conn
}

// tryViews opens one view, and the others if nobody commits meanwhile.
func (s *Store) tryViews(ctx context.Context, n int) (views []view, err error) {
	conns := make([]*sql.Conn, n)
	versions := make([]int64, n)
	for i := range conns {
		if conns[i], err = s.read.Conn(ctx); err == nil {
			versions[i], err = dataVersion(ctx, conns[i])
		}
		if err != nil {
			return nil, errors.Join(err, closeConns(conns))
		}
	}
	for i, conn := range conns {
		v := view{conn: conn}
		v.Tx, err = conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			break
		}
		now, versionErr := dataVersion(ctx, v)
		if err = versionErr; err != nil || i > 0 && now != versions[i] {
			v.Rollback()
			break
		}
		views = append(views, v)
	}
	return views, errors.Join(err, closeConns(conns[len(views):]))
}

func closeConns(conns []*sql.Conn) error {
	var errs []error
	for _, conn := range conns {
		if conn != nil {
			errs = append(errs, conn.Close())
		}
	}
	return errors.Join(errs...)
}

// dataVersion is a number that changes for a connection when another one has
// committed. Reading the schema with it makes a transaction's view begin.
func dataVersion(ctx context.Context, on interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (v int64, err error) {
	var one int
	if err := on.QueryRowContext(ctx, `SELECT one FROM lock`).Scan(&one); err != nil {
		return 0, err
	}
	err = on.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&v)
	return v, err
}

func closeViews(views []view) {
	for _, v := range views {
		v.Rollback()
		v.conn.Close()
	}
}
