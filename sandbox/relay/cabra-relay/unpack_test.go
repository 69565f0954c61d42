//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tarOf packs headers, each with the contents that belong to it.
func tarOf(t *testing.T, entries ...any) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		h, text := entries[i].(tar.Header), entries[i+1].(string)
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func file(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}
}

func unpackInto(t *testing.T, dir string, u *unpacker, in *bytes.Buffer) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u.root = root
	return u.read(in)
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	in := tarOf(t, file(".cli/settings.json", 0o600), `{"a": 1}`, tar.Header{Typeflag: tar.TypeDir, Name: "empty/deep/"}, "",
		file("plain", 0o644), strings.Repeat("x", 200_000), file(".cli/second", 0o600), "")
	if err := unpackInto(t, dir, &unpacker{files: 4, bytes: 200_008}, in); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		mode fs.FileMode
		size int64
	}{
		".cli": {fs.ModeDir | 0o700, -1}, ".cli/settings.json": {0o600, 8}, ".cli/second": {0o600, 0},
		"empty/deep": {fs.ModeDir | 0o700, -1}, "plain": {0o644, 200_000},
	} {
		st, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if st.Mode() != want.mode || want.size >= 0 && st.Size() != want.size {
			t.Errorf("%s: mode %v, %d bytes; want %v, %d", name, st.Mode(), st.Size(), want.mode, want.size)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	tests := map[string]struct {
		u    unpacker
		in   []any
		want string
	}{
		"a path that leads out":     {unpacker{files: 9, bytes: 9}, []any{file("../out", 0o600), "x"}, "no path below"},
		"an absolute path":          {unpacker{files: 9, bytes: 9}, []any{file("/tmp/out", 0o600), "x"}, "no path below"},
		"the folder itself":         {unpacker{files: 9, bytes: 9}, []any{tar.Header{Typeflag: tar.TypeDir, Name: "./"}, ""}, "no path below"},
		"a link":                    {unpacker{files: 9, bytes: 9}, []any{tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}, ""}, "neither"},
		"a device":                  {unpacker{files: 9, bytes: 9}, []any{tar.Header{Typeflag: tar.TypeChar, Name: "d"}, ""}, "neither"},
		"too many files":            {unpacker{files: 1, bytes: 9}, []any{file("a", 0o600), "x", file("b", 0o600), "x"}, tooMany},
		"too many bytes":            {unpacker{files: 9, bytes: 3}, []any{file("a", 0o600), "xx", file("b", 0o600), "xx"}, tooLarge},
		"a file that is there":      {unpacker{files: 9, bytes: 9}, []any{file("a", 0o600), "x", file("a", 0o600), "y"}, "exist"},
		"a file in place of folder": {unpacker{files: 9, bytes: 9}, []any{file("a", 0o600), "x", file("a/b", 0o600), "y"}, "a/b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := unpackInto(t, t.TempDir(), &tt.u, tarOf(t, tt.in...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something about %q", err, tt.want)
			}
		})
	}
	if err := unpackInto(t, t.TempDir(), &unpacker{files: 9, bytes: 9}, bytes.NewBufferString(strings.Repeat("no tar ", 200))); err == nil {
		t.Error("what is no archive was taken for one")
	}
}

// A link under the name of a file is replaced, or refused; what it points to
// is never written to.
func TestUnpackDoesNotWriteThroughLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, replace := range []bool{false, true} {
		dir := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, "solution.py")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")); err != nil {
			t.Fatal(err)
		}
		err := unpackInto(t, dir, &unpacker{files: 9, bytes: 99, replace: replace}, tarOf(t, file("solution.py", 0o644), "new"))
		if replace == (err != nil) {
			t.Errorf("replace %v: %v", replace, err)
		}
		if replace {
			if text, err := os.ReadFile(filepath.Join(dir, "solution.py")); err != nil || string(text) != "new" {
				t.Errorf("%q, %v", text, err)
			}
		}
		err = unpackInto(t, dir, &unpacker{files: 9, bytes: 99, replace: replace}, tarOf(t, file("folder/outside", 0o644), "new"))
		if err == nil {
			t.Error("wrote through a folder that is a link")
		}
		if text, err := os.ReadFile(outside); err != nil || string(text) != "kept" {
			t.Errorf("outside is %q, %v", text, err)
		}
	}
}

func TestUnpackProgram(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(program(t), "unpack", "--files", "1", "--bytes", "5", "--", dir)
	cmd.Stdin = tarOf(t, file("a/b", 0o600), "hello", file("c", 0o600), "")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(string(out), `unpacking: "c": too many files`) {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a/b")); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}
