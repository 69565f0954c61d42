package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrivateDir(t *testing.T) {
	dir := t.TempDir()
	folder := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Symlink(folder("target", 0o700), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		good       bool
	}{
		{"new", filepath.Join(dir, "a", "b"), true},
		{"there already", folder("there", 0o700), true},
		{"open to others", folder("open", 0o711), false},
		{"a link", filepath.Join(dir, "link"), false},
		{"below a folder of everybody", filepath.Join(folder("all", 0o777), "x"), false},
		{"below one where only owners may rename", filepath.Join(folder("tmp", 0o777|os.ModeSticky), "x"), true},
	} {
		if err := PrivateDir(tt.path); (err == nil) != tt.good {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root can give a folder away
	}
	foreign := folder("foreign", 0o700)
	if err := os.Chown(foreign, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := PrivateDir(foreign); err == nil {
		t.Error("a folder of another user was taken")
	}
}

// A lock folder that somebody else prepared would let them fake owners.
func TestAcquireOwnerInOpenFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ownersDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, ownersDir), 0o777); err != nil {
		t.Fatal(err)
	}
	if o, err := AcquireOwner(dir); err == nil {
		o.Close(false)
		t.Error("taken")
	}
}
