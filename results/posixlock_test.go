package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"

	"golang.org/x/sys/unix"
)

// A process that opens a run a second time keeps the locks that its first store
// has on the database: other processes still see it in use.
func TestOpenKeepsLocks(t *testing.T) {
	s := newStore(t, testTrials(1))
	all(t, s) // takes what a connection in use holds
	inUse := func() string {
		cmd := helper(t, "dblock", s.Dir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if got := inUse(); got != "locked" {
		t.Fatalf("before, the database is %s", got)
	}
	for range 2 {
		r, err := results.Open(s.Dir(), results.ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		if got := inUse(); got != "locked" {
			t.Errorf("after opening it again, the database is %s", got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := results.Open(s.Dir(), results.ReadWrite); !isLocked(err) {
		t.Errorf("a second writer: %v", err)
	}
	if got := inUse(); got != "locked" {
		t.Errorf("after a refusal, the database is %s", got)
	}
}

// runDBLock says whether another process has a lock on the database's file, at
// the bytes where SQLite has that of a reader.
func runDBLock(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "run.db"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	const shared = 0x40000002
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: shared, Len: 510}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return err
	}
	if lock.Type == unix.F_UNLCK {
		fmt.Println("free")
	} else {
		fmt.Println("locked")
	}
	return nil
}
