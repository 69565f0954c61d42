package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"cabra-run/results"
)

func TestHeld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	want := func(when string, pid int, held bool) {
		t.Helper()
		if p, h, err := results.Held(dir); p != pid || h != held || err != nil {
			t.Errorf("%s: %d, %t, %v; want %d, %t", when, p, h, err, pid, held)
		}
	}
	want("without a folder", 0, false)
	store, err := results.Create(dir, results.Lock{Run: "run"})
	if err != nil {
		t.Fatal(err)
	}
	want("while it is open for writing", os.Getpid(), true)
	name, err := os.ReadFile(store.LockPath())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	want("after it was closed", 0, false)
	if err := os.WriteFile(filepath.Join(dir, "lock"), name, 0o600); err != nil { // as after a kill
		t.Fatal(err)
	}
	want("with the name of a dead one", 0, false)
	if store, err = results.Open(dir, results.ReadWrite); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	want("again", os.Getpid(), true)
}
