//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cabra-run/sandbox/relay/internal/wire"
)

// tree makes files; a name that ends in "/" is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// archive runs the walk with bounds and lists what came: a line for each
// entry, in order.
func archive(t *testing.T, dir string, a *archiver, w *walker, only ...string) []string {
	t.Helper()
	w.visit = a.visit
	var out bytes.Buffer
	if err := a.write(&out, w, dir, only); err != nil {
		t.Fatal(err)
	}
	var lines []string
	r := tar.NewReader(&out)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			lines = append(lines, fmt.Sprintf("%s %#o %q", h.Name, h.Mode, body))
		case wire.RefusedType:
			lines = append(lines, fmt.Sprintf("%s: %s", h.Name, h.PAXRecords[wire.RefusedRecord]))
		default:
			lines = append(lines, fmt.Sprintf("%s: type %c to %q", h.Name, h.Typeflag, h.Linkname))
		}
	}
}

func ample() (*archiver, *walker) {
	return &archiver{files: 100, bytes: 1 << 20, fileBytes: 1 << 20}, &walker{entries: 1000, depth: 10}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestArchiveOfEverything(t *testing.T) {
	dir := tree(t, map[string]string{"b": "two", "a/x": "", "a/b/c": "three", "empty/": ""})
	outside := tree(t, map[string]string{"secret": "s"})
	for name, target := range map[string]string{"link": "/etc/passwd", "a/up": "..", "folder": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	strange := "new\nline\xff"
	if err := os.WriteFile(filepath.Join(dir, strange), []byte("odd"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, w := ample()
	same(t, archive(t, dir, a, w),
		`a/b/c 0640 "three"`, `a/x 0640 ""`, `b 0640 "two"`, strange+` 0600 "odd"`,
		`a/up: type 2 to ""`, `fifo: type 6 to ""`, `folder: type 2 to ""`, `link: type 2 to ""`, `sock: socket`)
}

func TestArchiveBounds(t *testing.T) {
	files := map[string]string{"1": "aaaa", "2": "bb", "3/4/5/6": "deep", "7": "cc"}
	tests := []struct {
		name   string
		change func(*archiver, *walker)
		want   []string
	}{
		{"file size", func(a *archiver, _ *walker) { a.fileBytes = 3 },
			[]string{`2 0640 "bb"`, `7 0640 "cc"`, "1: too large", "3/4/5/6: too large"}},
		{"bytes", func(a *archiver, _ *walker) { a.bytes = 6 },
			[]string{`1 0640 "aaaa"`, `2 0640 "bb"`, "3/4/5/6: too large", "7: too large"}},
		{"files", func(a *archiver, _ *walker) { a.files = 2 },
			[]string{`1 0640 "aaaa"`, `2 0640 "bb"`, "3/4/5/6: too many files", "7: too many files"}},
		{"depth", func(_ *archiver, w *walker) { w.depth = 2 },
			[]string{`1 0640 "aaaa"`, `2 0640 "bb"`, `7 0640 "cc"`, "3/4/5: too deep"}},
		{"exactly the depth", func(_ *archiver, w *walker) { w.depth = 3 },
			[]string{`1 0640 "aaaa"`, `2 0640 "bb"`, `3/4/5/6 0640 "deep"`, `7 0640 "cc"`}},
		{"exactly the entries", func(_ *archiver, w *walker) { w.entries = 7 },
			[]string{`1 0640 "aaaa"`, `2 0640 "bb"`, `3/4/5/6 0640 "deep"`, `7 0640 "cc"`}},
		{"entries", func(_ *archiver, w *walker) { w.entries = 6 },
			[]string{`1 0640 "aaaa"`, `2 0640 "bb"`, `7 0640 "cc"`, ".: 0 more refused, and not everything was looked at"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, w := ample()
			test.change(a, w)
			same(t, archive(t, tree(t, files), a, w), test.want...)
		})
	}
}

func TestArchiveListsAFewRefusals(t *testing.T) {
	dir := t.TempDir()
	for i := range maxRefused + 5 {
		if err := os.Symlink("x", filepath.Join(dir, fmt.Sprintf("%04d", i))); err != nil {
			t.Fatal(err)
		}
	}
	a, w := ample()
	lines := archive(t, dir, a, w)
	if len(lines) != maxRefused+1 || lines[maxRefused] != ".: 5 more refused" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestArchiveOnly(t *testing.T) {
	dir := tree(t, map[string]string{"s/1/log": "one", "s/2": "two", "t": "three", "u/v": "four"})
	if err := os.Symlink("u", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	a, w := ample()
	same(t, archive(t, dir, a, w, "t", "s/1", "missing/x", "l/v", "l", "s/2/x"),
		`t 0640 "three"`, `s/1/log 0640 "one"`, `l: type 2 to ""`)
}

func TestArchiveOfALink(t *testing.T) {
	dir := tree(t, map[string]string{"real/x": "x"})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	a, w := ample()
	w.visit = a.visit
	if err := a.write(io.Discard, w, link, nil); err == nil {
		t.Error("a link is archived as if it were the folder")
	}
}

// What shrinks or grows while it is read keeps the length of its header.
func TestContentsKeepTheirLength(t *testing.T) {
	tests := []struct{ name, now, want, refused string }{
		{"same", "abcd", "abcd", ""},
		{"shorter", "ab", "ab\x00\x00", "f: " + changed},
		{"empty", "", "\x00\x00\x00\x00", "f: " + changed},
		{"longer", "abcdef", "abcd", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &archiver{tar: tar.NewWriter(&out)}
			if err := a.tar.WriteHeader(&tar.Header{Name: "f", Typeflag: tar.TypeReg, Size: 4}); err != nil {
				t.Fatal(err)
			}
			if err := a.contents(strings.NewReader(test.now), "f", 4); err != nil {
				t.Fatal(err)
			}
			if err := a.finish(false); err != nil {
				t.Fatal(err)
			}
			r := tar.NewReader(&out)
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); string(got) != test.want || err != nil {
				t.Errorf("contents %q, %v, want %q", got, err, test.want)
			}
			refused := ""
			if h, err := r.Next(); err == nil {
				refused = h.Name + ": " + h.PAXRecords[wire.RefusedRecord]
			}
			if refused != test.refused {
				t.Errorf("refused %q, want %q", refused, test.refused)
			}
		})
	}
}

// A sparse file of any length costs nothing to refuse.
func TestArchiveOfASparseFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "huge"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "huge"), 1<<40); err != nil {
		t.Fatal(err)
	}
	a, w := ample()
	same(t, archive(t, dir, a, w), "huge: too large")
}
