package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"
)

// A SQLite store out of a box is hostile input for a library of a hundred
// thousand lines. It is copied with its log, and the copy is read by a child
// process: this program, started again under limits of memory and time, which
// writes the rows that are needed as bounded lines of JSON. What the child
// writes is taken no more on trust than the store.

// Bounds on the reading of one store.
const (
	maxStoreBytes = 256 << 20 // of the store, and of its log
	maxStderr     = 4 << 10
	storeTime     = 30 * time.Second
	storeGrace    = 2 * time.Second
)

// The words on the command line that make this program a child.
const (
	childWord = "internal"
	readWord  = "read-store"
)

// childReady is set once this program's main has asked ChildMain, and so can
// be its own child: a program that has not would start all over instead.
var childReady atomic.Bool

// ChildMain is called first in main, with the arguments behind the program's
// name. When they are those of a child that reads a store it does that and
// returns true; main has to return then, without another word.
func ChildMain(args []string) (handled bool) {
	if len(args) != 3 || args[0] != childWord || args[1] != readWord {
		childReady.Store(true)
		return false
	}
	readStoreChild(args[2], os.Stdout)
	return true
}

// storeLine is a line that the child writes.
type storeLine struct {
	Kind string `json:"kind"` // a table, or one of the kinds below
	Text string `json:"text,omitempty"`
	Row  any    `json:"row,omitempty"`
}

// Kinds of lines that are no rows. A child that came to its end says so.
const (
	lineProblem = "!problem"
	lineFormat  = "!format"
	lineEnd     = "!end"
)

// readStore calls row with every row that the child writes of a store below the
// home. All that goes wrong is a problem.
func (b *builder) readStore(kind string, home *os.Root, path string, row func(kind string, row []byte) error) {
	err := b.tryStore(kind, home, path, row)
	if err != nil {
		b.problem(0, fmt.Sprintf("store %q: %s", clip(path, 200), clip(err.Error(), 500)))
	}
}

func (b *builder) tryStore(kind string, home *os.Root, path string, row func(string, []byte) error) error {
	if !childReady.Load() {
		return errors.New("not read: this program's main does not ask trace.ChildMain")
	}
	dir, err := os.MkdirTemp("", "cabra-store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyStore(home, path, dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	cmd, err := storeCommand(ctx, kind, dir)
	if err != nil {
		return err
	}
	stderr := &firstBytes{n: maxStderr}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := b.storeLines(out, row)
	if !ended {
		cancel() // nobody reads on
	}
	err = cmd.Wait()
	switch {
	case ended:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("not read within %v", storeTime)
	case err != nil:
		return fmt.Errorf("its reader broke off: %w %s", err, firstLine(stderr.b.Bytes()))
	}
	return errors.New("its reader broke off")
}

// storeCommand is this program again, with nothing of its environment.
func storeCommand(ctx context.Context, kind, dir string) (*exec.Cmd, error) {
	exe := "/proc/self/exe" // also when the file has been replaced since
	if _, err := os.Stat(exe); err != nil {
		if exe, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, exe, childWord, readWord, kind)
	cmd.Dir = dir
	cmd.Env = []string{"GOMAXPROCS=2", "TMPDIR=" + dir, "GOTRACEBACK=none"}
	cmd.WaitDelay = storeGrace
	return cmd, nil
}

// storeLines takes what the child writes, and reports whether it came to its end.
func (b *builder) storeLines(out io.Reader, take func(string, []byte) error) (ended bool) {
	scratch := &Trace{}
	scratch.eachLineUpTo(out, b.rows, func(n int, line []byte) {
		var row json.RawMessage
		l := storeLine{Row: &row}
		if err := json.Unmarshal(line, &l); err != nil {
			b.problem(0, "store: a line that is no row")
			return
		}
		switch l.Kind {
		case lineEnd:
			ended = true
		case lineProblem:
			b.problem(0, "store: "+clip(l.Text, 500))
		case lineFormat:
			b.formatProblem(0, clip(l.Text, 500))
		default:
			b.known++
			b.Lines++
			if err := take(l.Kind, row); err != nil {
				b.problem(0, fmt.Sprintf("store: row %d of %s: %s", n, clip(l.Kind, 50), clip(err.Error(), 200)))
			}
		}
	})
	for _, p := range scratch.Problems {
		b.problem(0, "store: "+p.Text)
	}
	return ended
}

// The names of the copies.
const (
	storeFile = "store.db"
	walFile   = "store.db-wal"
)

// copyStore copies the store and its log; without the log most of it would be
// missing. The index of the log is made anew.
func copyStore(home *os.Root, path, dir string) error {
	if err := copyBounded(home, path, filepath.Join(dir, storeFile)); err != nil {
		return err
	}
	err := copyBounded(home, path+"-wal", filepath.Join(dir, walFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyBounded(home *os.Root, from, to string) error {
	r, err := openRegular(home, from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(r, maxStoreBytes+1))
	if err == nil && n > maxStoreBytes {
		err = fmt.Errorf("%q is larger than %d bytes", filepath.Base(from), maxStoreBytes)
	}
	return errors.Join(err, w.Close())
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	b bytes.Buffer
	n int
}

func (f *firstBytes) Write(p []byte) (int, error) {
	f.b.Write(p[:min(len(p), max(0, f.n-f.b.Len()))])
	return len(p), nil
}

// firstLine is what of a crash is for people.
func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return clip(string(line), 200)
}
