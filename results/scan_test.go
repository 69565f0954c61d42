package results_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"cabra-run/results"
	"cabra-run/sandbox/gateway"
)

// secret looks like a provider's key.
const secret = "sk-live-4f9a77c2e1b84d0d9e63"

// artefact writes a file of the run's folder, past the store.
func artefact(t *testing.T, s *results.Store, name string, data []byte) {
	t.Helper()
	path := filepath.Join(s.Dir(), "trials", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T, data string) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll([]byte(data), nil)
}

func keyScan(s *results.Store) ([]string, error) {
	return s.Scan(context.Background(), gateway.NewMask([]byte(secret)).FoundIn)
}

// pad is text that compresses well and holds no key.
func pad(n int) string { return strings.Repeat("never a key; ", n/13+1)[:n] }

// Files with a key are found among clean ones, whatever the key looks like.
func TestScanFindsKeysInFiles(t *testing.T) {
	s := newStore(t, testTrials(1))
	// The halves, which were there before, are told by where they stood.
	recording := secret[:14] + pad(3000) + secret[14:] + pad(300<<10) + `{"x":"` + secret + `"}` + pad(300<<10)
	for name, data := range map[string][]byte{
		"a/clean":              []byte(pad(1000) + secret[:20]),
		"a/files/plain.py":     []byte("KEY = '" + secret + "'\n"),
		"a/stdout":             []byte("auth: " + base64.StdEncoding.EncodeToString([]byte("u:"+secret))),
		"a/model.jsonl.zst":    packed(t, recording),
		"b/model.jsonl.zst":    packed(t, pad(300<<10)),
		"b/at a border":        []byte(pad(64<<10-9) + secret),
		"b/behind a border":    []byte(pad(3*64<<10-len(secret)) + secret + pad(100)),
		"b/" + secret + ".log": []byte("nothing"),
	} {
		artefact(t, s, name, data)
	}
	if packedPlain := packed(t, recording); bytes.Contains(packedPlain, []byte(secret)) {
		t.Fatal("the key can be read in the packed file; this test proves nothing")
	}
	got, err := keyScan(s)
	want := []string{"trials/a/files/plain.py", "trials/a/model.jsonl.zst", "trials/a/stdout",
		"trials/b/at a border", "trials/b/behind a border", "trials/b/" + secret + ".log"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestScanOfACleanRun(t *testing.T) {
	trials := testTrials(2)
	s := newStore(t, trials)
	collect(t, s, ended(start(t, s, trials[0].Key), results.Answered))
	if got, err := keyScan(s); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// tornDrift is a value that SQLite stores in two pieces with the key across.
// A row of drift has 6 bytes of header, 27 of a time and 1 of the field before
// it; of its 5034 bytes 489+(5034-489)%4092 = 942 stay in the row's page, so the
// first piece of the value is 908 long.
func tornDrift() results.Difference {
	const before = 908 - 10
	return results.Difference{Field: "f", Was: pad(before) + secret + pad(5000-before-len(secret))}
}

func TestScanFindsKeysInTheDatabase(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, testTrials(1))
	if err := s.RecordDrift(ctx, []results.Difference{tornDrift()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(s.Dir(), "run.db"))
	if err != nil || bytes.Contains(raw, []byte(secret)) || !bytes.Contains(raw, []byte(secret[:10])) {
		t.Fatalf("the key is not torn apart (%v); this test proves nothing", err)
	}
	again := reopen(t, s.Dir())
	if got, err := keyScan(again); err != nil || !reflect.DeepEqual(got, []string{"run.db"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// A reader beside the writer finds what is in the log alone; and what was
// deleted is found as long as it can be read from the file.
func TestScanFindsKeysInLogAndFreePages(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, testTrials(1))
	reader, err := results.Open(s.Dir(), results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := s.RecordDrift(ctx, []results.Difference{{Field: "f", Was: pad(9000) + secret}}); err != nil {
		t.Fatal(err)
	}
	if got, err := keyScan(reader); err != nil || !reflect.DeepEqual(got, []string{"run.db", "run.db-wal"}) {
		t.Errorf("beside the writer: %q, %v", got, err)
	}
	if err := errors.Join(reader.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	execSQL(t, s.Dir(), `DELETE FROM drift`)
	if got, err := keyScan(reopen(t, s.Dir())); err != nil || !reflect.DeepEqual(got, []string{"run.db"}) {
		t.Errorf("deleted: %q, %v", got, err)
	}
}

// Reading the database's files by hand would drop SQLite's locks, and another
// process would take the run for unused.
func TestScanKeepsTheDatabasesLocks(t *testing.T) {
	s := newStore(t, testTrials(1))
	if _, err := keyScan(s); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int64{"run.db": 0x40000002, "run.db-shm": 128} { // bytes that SQLite locks
		f, err := os.Open(filepath.Join(s.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
			t.Fatal(err)
		}
		if lock.Type != unix.F_RDLCK {
			t.Errorf("%s is not locked any more (%d)", name, lock.Type)
		}
	}
}

// Links lead nowhere, and what is no file is not opened.
func TestScanFollowsNothing(t *testing.T) {
	s := newStore(t, testTrials(1))
	outside := t.TempDir()
	write(t, secret, outside, "key")
	artefact(t, s, "a/b", nil)
	dir := filepath.Join(s.Dir(), "trials", "a")
	err := errors.Join(os.Symlink(filepath.Join(outside, "key"), filepath.Join(dir, "file")),
		os.Symlink(outside, filepath.Join(dir, "folder")), unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keyScan(s); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// What cannot be read is told, and the rest is scanned.
func TestScanGoesOnAfterErrors(t *testing.T) {
	s := newStore(t, testTrials(1))
	whole := packed(t, pad(300<<10)+secret)
	artefact(t, s, "a/torn.zst", whole[:len(whole)/2])
	artefact(t, s, "a/none.zst", []byte("not packed"))
	artefact(t, s, "b/bad", []byte("cannot be read"))
	artefact(t, s, "c/plain", []byte(secret))
	mask := gateway.NewMask([]byte(secret))
	got, err := s.Scan(context.Background(), func(r io.Reader) (bool, error) {
		data, err := io.ReadAll(r)
		if err != nil {
			return false, err
		}
		if string(data) == "cannot be read" {
			return false, errors.New("input/output error")
		}
		return mask.Found(data), nil
	})
	if !reflect.DeepEqual(got, []string{"trials/c/plain"}) || err == nil {
		t.Fatalf("%q, %v", got, err)
	}
	for _, text := range []string{`"trials/a/torn.zst"`, `"trials/a/none.zst"`, `"trials/b/bad": input/output error`} {
		if strings.Count(err.Error(), text) != 1 {
			t.Errorf("%s is not told once: %v", text, err)
		}
	}
}

func TestScanIsBounded(t *testing.T) {
	s := newStore(t, testTrials(1))
	for i := range 130 {
		artefact(t, s, strconv.Itoa(i), []byte(secret))
	}
	got, err := keyScan(s)
	if len(got) != 100 || !slices.IsSorted(got) || err == nil || !strings.Contains(err.Error(), "stopped at 100 files") {
		t.Errorf("%d files, %v", len(got), err)
	}
	artefact(t, s, "0", nil)
	fails := func(io.Reader) (bool, error) { return false, errors.New("no") }
	got, err = s.Scan(context.Background(), fails)
	if n := strings.Count(err.Error(), "\n") + 1; len(got) != 0 || n != 21 || !strings.Contains(err.Error(), " more files could not") {
		t.Errorf("%q, %d lines of errors", got, n)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	s := newStore(t, testTrials(1))
	ctx, cancel := context.WithCancel(context.Background())
	artefact(t, s, "a", []byte("x"))
	got, err := s.Scan(ctx, func(r io.Reader) (bool, error) {
		cancel()
		_, err := io.Copy(io.Discard, r)
		return false, err
	})
	if len(got) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
}
