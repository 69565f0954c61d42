package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRemoveTreeDeep removes a tree that is deeper than files may be open.
func TestRemoveTreeDeep(t *testing.T) {
	dir := t.TempDir()
	makeDeep(t, filepath.Join(dir, "tree"), 1500)
	writeFile(t, filepath.Join(dir, "tree", "x", "file"), "text")
	writeFile(t, filepath.Join(dir, "beside"), "stays")

	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 300, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	root := openRoot(t, dir)
	if err := root.RemoveAll("tree"); err == nil {
		t.Fatal("the tree is not deep enough to test anything")
	}
	if err := RemoveTree(root, "tree"); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(root, "tree"); err != nil {
		t.Errorf("removing again: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "beside" {
		t.Errorf("left %v, %v", left, err)
	}
}

func makeDeep(t *testing.T, dir string, levels int) {
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

// TestRemoveTreeFewDescriptors removes a deep tree where hardly any file may be
// opened: a removal must not take the descriptors that other attempts need.
func TestRemoveTreeFewDescriptors(t *testing.T) {
	dir := t.TempDir()
	makeDeep(t, filepath.Join(dir, "tree"), 300)
	for i := range 1500 { // more than one reading of a folder gives
		writeFile(t, filepath.Join(dir, "tree", "d", "d", strconv.Itoa(i)), "")
	}
	writeFile(t, filepath.Join(dir, "beside", "file"), "stays")
	if err := os.Symlink("../../beside", filepath.Join(dir, "tree", "d", "link")); err != nil {
		t.Fatal(err)
	}
	root := openRoot(t, dir)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: uint64(len(open)) + 6, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	err = RemoveTree(root, "tree")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "beside" {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "beside", "file")); err != nil {
		t.Errorf("removed through a link: %v", err)
	}
}
