package trace

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Limits of the child.
const (
	childMemory = 192 << 20 // of Go's heap, before it is collected hard
	childData   = 768 << 20 // of all its memory, enforced by the kernel
	childCPU    = 20        // seconds
	childTime   = 20 * time.Second
	childHeap   = 256 << 20 // of SQLite
	maxColumn   = 3 << 20   // bytes of one text
	maxSQL      = 64 << 20  // bytes of one row
)

// storeTable is what is read of one table. A column's kind is "text" or
// "number"; one that ends in "?" may be null.
type storeTable struct {
	name    string
	columns [][2]string
	order   string
	rows    int // at most
}

// The kinds of stores.
const (
	storeOpencode = "opencode"
	storeCopilot  = "copilot"
)

func storeTables(kind string) []storeTable {
	switch kind {
	case storeOpencode:
		return []storeTable{
			{"session", [][2]string{{"id", "text"}, {"parent_id", "text?"}, {"version", "text"},
				{"time_created", "number"}, {"time_updated", "number"},
				{"tokens_input", "number?"}, {"tokens_output", "number?"}, {"tokens_reasoning", "number?"},
				{"tokens_cache_read", "number?"}, {"tokens_cache_write", "number?"}}, "id", 1000},
			{"message", [][2]string{{"id", "text"}, {"session_id", "text"}, {"data", "text"}}, "id", maxMessages},
			{"part", [][2]string{{"id", "text"}, {"message_id", "text"}, {"data", "text"}}, "id", 10 * MaxCalls},
		}
	case storeCopilot:
		return []storeTable{{"assistant_usage_events", [][2]string{{"session_id", "text"}, {"model", "text"},
			{"input_tokens", "number?"}, {"output_tokens", "number?"}, {"cache_read_tokens", "number?"},
			{"cache_write_tokens", "number?"}, {"reasoning_tokens", "number?"}, {"created_at", "text?"}}, "id", MaxCalls}}
	}
	return nil
}

// storeChild reads the store in the working folder and writes its rows.
type storeChild struct {
	w *bufio.Writer
	c *sql.Conn
}

// readStoreChild is the whole child.
func readStoreChild(kind string, out io.Writer) {
	s := &storeChild{w: bufio.NewWriterSize(out, 64<<10)}
	if err := s.run(kind); err != nil {
		s.line(lineProblem, clip(err.Error(), 500), nil)
	}
	s.line(lineEnd, "", nil)
	_ = s.w.Flush() // a parent that has gone reads nothing
}

func (s *storeChild) run(kind string) error {
	if err := limitChild(); err != nil {
		return fmt.Errorf("setting the limits of the reader: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTime)
	defer cancel()
	db, err := sql.Open("sqlite", "file:"+storeFile+"?mode=rw&_defensive=1")
	if err != nil {
		return err
	}
	defer db.Close()
	if s.c, err = db.Conn(ctx); err != nil {
		return err
	}
	defer s.c.Close()
	if err := s.harden(ctx); err != nil {
		return err
	}
	for _, t := range storeTables(kind) {
		if err := s.table(ctx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// limitChild bounds this process before it looks at the store.
func limitChild() error {
	debug.SetMemoryLimit(childMemory)
	for _, l := range []struct {
		resource int
		max      uint64
	}{
		{unix.RLIMIT_DATA, childData}, {unix.RLIMIT_CPU, childCPU}, {unix.RLIMIT_FSIZE, 2 * maxStoreBytes},
		{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, 64},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return err
		}
	}
	return nil
}

// harden makes SQLite distrust the store. Extensions cannot be loaded: nothing
// here switches that on. The log's index stays in memory.
func (s *storeChild) harden(ctx context.Context) error {
	for id, max := range map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH: maxSQL, sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 20,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100, sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
		sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100, sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
	} {
		if _, err := sqlite.Limit(s.c, id, max); err != nil {
			return err
		}
	}
	for _, p := range []string{
		"trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY", "locking_mode=EXCLUSIVE",
		fmt.Sprintf("hard_heap_limit=%d", childHeap), "query_only=ON",
	} {
		if _, err := s.c.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// table writes the rows of one table, if it is a plain one with plain columns.
func (s *storeChild) table(ctx context.Context, t storeTable) error {
	missing, err := s.check(ctx, t)
	if err != nil {
		return err
	}
	if missing != "" {
		s.line(lineFormat, "the store has "+missing, nil)
		return nil
	}
	rows, err := s.c.QueryContext(ctx, t.query())
	if err != nil {
		return err
	}
	defer rows.Close()
	cells := make([]any, 2*len(t.columns))
	pointers := make([]any, len(cells))
	for i := range cells {
		pointers[i] = &cells[i]
	}
	n := 0
	for rows.Next() {
		if n++; n > t.rows {
			s.line(lineProblem, fmt.Sprintf("more than %d rows of %s, not read", t.rows, t.name), nil)
			return nil
		}
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		s.row(t, n, cells)
	}
	return rows.Err()
}

// check says what of the table is not as it should be: a view, a virtual table
// or a computed column would run what the store says.
func (s *storeChild) check(ctx context.Context, t storeTable) (missing string, err error) {
	var kind, text string
	const schema = `SELECT type, substr(sql, 1, 20) FROM sqlite_schema WHERE name = ?`
	err = s.c.QueryRowContext(ctx, schema, t.name).Scan(&kind, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "no table " + t.name, nil
	case err != nil:
		return "", err
	case kind != "table" || !strings.HasPrefix(strings.ToUpper(text), "CREATE TABLE"):
		return fmt.Sprintf("no plain table %s, but a %s", t.name, clip(strings.ToLower(text), 20)), nil
	}
	for _, c := range append([][2]string{{t.order, "number"}}, t.columns...) {
		var hidden int
		const column = `SELECT hidden FROM pragma_table_xinfo(?) WHERE name = ?`
		err := s.c.QueryRowContext(ctx, column, t.name, c[0]).Scan(&hidden)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Sprintf("no column %s in its table %s", c[0], t.name), nil
		case err != nil:
			return "", err
		case hidden != 0:
			return fmt.Sprintf("a computed column %s in its table %s", c[0], t.name), nil
		}
	}
	return "", nil
}

// query asks for the kind of every cell and its value, unless it is too long.
func (t storeTable) query() string {
	list := make([]string, 0, len(t.columns))
	for _, c := range t.columns {
		list = append(list, fmt.Sprintf(`typeof("%[1]s"), CASE WHEN octet_length("%[1]s") <= %[2]d THEN "%[1]s" END`,
			c[0], maxColumn))
	}
	return fmt.Sprintf(`SELECT %s FROM "%s" ORDER BY "%s" LIMIT %d`, strings.Join(list, ", "), t.name, t.order, t.rows+1)
}

// row writes one row, or says why it is left out.
func (s *storeChild) row(t storeTable, n int, cells []any) {
	values := make(map[string]any, len(t.columns))
	for i, c := range t.columns {
		kind, _ := cells[2*i].(string)
		value, ok := cell(strings.TrimSuffix(c[1], "?"), cells[2*i+1])
		switch {
		case kind == "null" && strings.HasSuffix(c[1], "?"):
		case !ok:
			s.line(lineProblem, fmt.Sprintf("row %d of %s left out: column %s holds %s where %s belongs, or is too long",
				n, t.name, c[0], clip(kind, 20), c[1]), nil)
			return
		default:
			values[c[0]] = value
		}
	}
	s.line(t.name, "", values)
}

// cell takes a value of the right kind only.
func cell(kind string, v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return v, kind == "text"
	case int64, float64:
		return v, kind == "number"
	}
	return nil, false
}

func (s *storeChild) line(kind, text string, row map[string]any) {
	l := storeLine{Kind: kind, Text: text}
	if row != nil {
		l.Row = row
	}
	if err := s.write(l); err != nil {
		_ = s.write(storeLine{Kind: lineProblem, Text: "a row of " + kind + " that JSON cannot hold"})
	}
}

// write leaves out nothing of what JSON can hold. That a parent which has gone
// reads nothing is no error.
func (s *storeChild) write(l storeLine) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	_, _ = s.w.Write(b.Bytes())
	return nil
}
