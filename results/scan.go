package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Bounds of a Scan.
const (
	maxHolding  = 100     // files that it names
	maxScanFail = 20      // errors that it keeps
	maxUnpacked = 4 << 30 // bytes of one compressed file, unpacked; a small one can be made to hold terabytes
)

// Scan looks through everything that the run's folder holds for what must not
// be in it, keys above all: found is given the content of every regular file,
// compressed ones (*.zst) also unpacked, the values of the database also one by
// one as they may be torn apart in its file, and the name of every entry. It
// reads until it knows, and no link is followed.
//
// Scan returns the paths, relative to the run's folder, in ascending order, for
// which found said yes. Such a path can hold the key itself. It stops when there
// are 100 of them. What cannot be read does not end the scan: these errors come
// joined beside the paths, and are none of the context, whose error ends it.
func (s *Store) Scan(ctx context.Context, found func(io.Reader) (bool, error)) ([]string, error) {
	sc := &scan{ctx: ctx, root: s.root, found: found}
	// What the log has in a newer form still lies in the file in its old one.
	if err := s.Checkpoint(ctx); err != nil && ctx.Err() == nil {
		sc.fail(dbFile, err)
	}
	sc.database(s.read)
	err := fs.WalkDir(s.root.FS(), ".", sc.entry)
	if err != nil && !errors.Is(err, fs.SkipAll) {
		sc.fail(".", err)
	}
	if ctx.Err() != nil {
		return sc.list(), fmt.Errorf("scanning the run's files: %w", ctx.Err())
	}
	return sc.list(), sc.err()
}

// scan is one Scan.
type scan struct {
	ctx     context.Context
	root    *os.Root
	found   func(io.Reader) (bool, error)
	holding []string
	errs    []error
	more    int // errors that are not kept
	full    bool
}

func (sc *scan) list() []string {
	slices.Sort(sc.holding)
	return slices.Compact(sc.holding)
}

func (sc *scan) fail(name string, err error) {
	if len(sc.errs) == maxScanFail {
		sc.more++
		return
	}
	sc.errs = append(sc.errs, fmt.Errorf("scanning %q: %w", name, err))
}

func (sc *scan) err() error {
	errs := sc.errs
	if sc.more > 0 {
		errs = append(errs, fmt.Errorf("%d more files could not be scanned", sc.more))
	}
	if sc.full {
		errs = append(errs, fmt.Errorf("the scan stopped at %d files that hold what it looks for", maxHolding))
	}
	return errors.Join(errs...)
}

// entry is called for everything in the folder; links and devices have no
// content of the run.
func (sc *scan) entry(name string, d fs.DirEntry, err error) error {
	if sc.ctx.Err() != nil {
		return fs.SkipAll
	}
	if err != nil {
		sc.fail(name, err)
		return nil // of a folder that cannot be listed
	}
	holds := sc.holds(name, strings.NewReader(d.Name()))
	if !holds && d.Type().IsRegular() && !slices.Contains(throughDB, name) {
		holds = sc.file(name)
	}
	if holds {
		sc.holding = append(sc.holding, name)
	}
	if len(sc.holding) >= maxHolding {
		sc.full = true
		return fs.SkipAll
	}
	return nil
}

// holds asks found about a content, and notes what cannot be read.
func (sc *scan) holds(name string, r io.Reader) bool {
	yes, err := sc.found(ctxReader{sc.ctx, r})
	if err != nil && sc.ctx.Err() == nil {
		sc.fail(name, err)
	}
	return yes
}

func (sc *scan) file(name string) bool {
	f, err := sc.open(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // temporary files go while a run is worked on
			sc.fail(name, err)
		}
		return false
	}
	defer f.Close()
	if sc.holds(name, f) {
		return true
	}
	if !strings.HasSuffix(name, ".zst") {
		return false
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		sc.fail(name, err)
		return false
	}
	return sc.unpacked(name, f)
}

// open opens a regular file; what has become another thing since it was listed
// is an error. A pipe in its place does not hang the scan.
func (sc *scan) open(name string) (*os.File, error) {
	before, err := sc.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := sc.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && (!now.Mode().IsRegular() || !os.SameFile(before, now)) {
		err = errors.New("it was replaced while it was opened")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (sc *scan) unpacked(name string, f io.Reader) bool {
	dec, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		sc.fail(name, err)
		return false
	}
	defer dec.Close()
	return sc.holds(name, &boundedReader{r: dec, left: maxUnpacked})
}

// errUnpackedSize ends the reading of what unpacks to too much.
var errUnpackedSize = fmt.Errorf("unpacked it has more than %d bytes; the rest is not scanned",
	int64(maxUnpacked))

// boundedReader fails where an io.LimitReader would silently end.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if n, err := io.ReadFull(b.r, make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, errUnpackedSize
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// ctxReader ends reading with its context.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// throughDB are the files that are read through SQLite alone: when a process
// closes a file, the system drops all locks that it holds on it, those of SQLite
// too, and other processes would then take the database for unused.
var throughDB = []string{dbFile, dbFile + "-shm"}

// database scans the values of the run's database and its pages, where what was
// replaced can still lie.
func (sc *scan) database(db *sql.DB) {
	tables, err := tableNames(sc.ctx, db)
	if err == nil {
		err = sc.rows(db, `SELECT data FROM sqlite_dbpage ORDER BY pgno`, "")
	}
	for _, table := range tables {
		if err == nil {
			err = sc.rows(db, `SELECT * FROM "`+strings.ReplaceAll(table, `"`, `""`)+`"`, "\n")
		}
	}
	if err != nil && sc.ctx.Err() == nil {
		sc.fail(dbFile, err)
	}
}

func tableNames(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// rows scans what a query returns, its values divided by sep.
func (sc *scan) rows(db *sql.DB, query, sep string) error {
	rows, err := db.QueryContext(sc.ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	if sc.holds(dbFile, newValueReader(rows, len(columns), sep)) {
		sc.holding = append(sc.holding, dbFile)
	}
	return nil
}

// valueReader reads the values of rows one after the other.
type valueReader struct {
	rows *sql.Rows
	sep  string
	row  []sql.RawBytes
	dest []any  // pointers to row
	buf  []byte // the present row
	text []byte // what of it is not read yet
}

func newValueReader(rows *sql.Rows, columns int, sep string) *valueReader {
	v := &valueReader{rows: rows, sep: sep, row: make([]sql.RawBytes, columns)}
	for i := range v.row {
		v.dest = append(v.dest, &v.row[i])
	}
	return v
}

func (v *valueReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(v.text) == 0 {
			if err := v.next(); err != nil {
				if n > 0 && err == io.EOF {
					return n, nil
				}
				return n, err
			}
		}
		took := copy(p[n:], v.text)
		n, v.text = n+took, v.text[took:]
	}
	return n, nil
}

// next takes the next row.
func (v *valueReader) next() error {
	if !v.rows.Next() {
		if err := v.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	if err := v.rows.Scan(v.dest...); err != nil {
		return err
	}
	v.buf = v.buf[:0]
	for _, value := range v.row {
		v.buf = append(append(v.buf, value...), v.sep...)
	}
	v.text = v.buf
	return nil
}
