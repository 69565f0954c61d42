//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder is emptied by its owner with few descriptors, whatever its depth and
// modes, and nothing outside of it is touched.
func TestClear(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("gives files to another user, which only root can")
	}
	const uid = 20003
	outer := t.TempDir()
	dir := filepath.Join(outer, "work")
	deep(t, dir, 2000)
	for i := range 3000 {
		write(t, filepath.Join(dir, "many", strconv.Itoa(i)), "x")
	}
	write(t, filepath.Join(dir, "locked", "below", "file"), "x")
	write(t, filepath.Join(dir, "cleared-1"), "a name that moving would choose")
	write(t, filepath.Join(outer, "stays", "file"), "x")
	if err := os.Symlink(filepath.Join(outer, "stays"), filepath.Join(dir, "many", "link")); err != nil {
		t.Fatal(err)
	}
	must(t, "chown", "-R", strconv.Itoa(uid), dir)
	must(t, "chmod", "0", filepath.Join(dir, "locked", "below"), filepath.Join(dir, "locked"))
	for p := outer; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	relay := filepath.Join(outer, "relay")
	if err := os.Rename(program(t), relay); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n 64; exec "$0" clear "$1"`, relay, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(outer, "stays", "file")); err != nil {
		t.Errorf("a file outside was touched: %v", err)
	}
}

func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; i < levels && err == nil; i++ {
		if err = unix.Mkdirat(at, "d", 0o755); err != nil {
			break
		}
		var next int
		next, err = unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(at)
		at = next
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(at)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", argv, err, out)
	}
}
