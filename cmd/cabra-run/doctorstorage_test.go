package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The check works where the runs folder is not there yet, and leaves nothing.
func TestCheckStorage(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	a := &app{stderr: &said, runsDir: filepath.Join(dir, "runs")}
	if err := a.checkStorage(); err != nil || !strings.HasPrefix(said.String(), "storage  ") ||
		!strings.Contains(said.String(), " for "+a.runsDir+": ") {
		t.Errorf("%v, %q", err, said.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Where no file can be made, it says so with what to do.
func TestCheckStorageFails(t *testing.T) {
	const dir = "/proc/self"
	err := (&app{runsDir: dir}).checkStorage()
	if hint, code := explain(err); err == nil || !strings.Contains(err.Error(), `folder "/proc/self": `) ||
		hint == "" || code != exitError {
		t.Errorf("%v, %q", err, hint)
	}
}
