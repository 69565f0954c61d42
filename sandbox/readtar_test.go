package sandbox

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tarOf writes headers with bodies of the announced size.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := tw.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestReadTarKinds(t *testing.T) {
	data := tarOf(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o700},
		tar.Header{Name: "./solution.py", Size: 3, Mode: 0o640},
		tar.Header{Name: "./lib/", Typeflag: tar.TypeDir},
		tar.Header{Name: "./lib/help.py", Size: 4, Mode: 0},
		tar.Header{Name: "./solution.py", Size: 5},
		tar.Header{Name: "./solution.py/below", Size: 1},
		tar.Header{Name: "lib", Size: 1},
		tar.Header{Name: "../outside", Size: 1},
		tar.Header{Name: "/etc/passwd", Size: 1},
		tar.Header{Name: "a/../../b", Size: 1},
		tar.Header{Name: "new\nline", Size: 1},
		tar.Header{Name: "bad\xffname", Size: 1, Format: tar.FormatGNU},
		tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "link/through", Size: 1},
		tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "solution.py"},
		tar.Header{Name: "fifo", Typeflag: tar.TypeFifo},
		tar.Header{Name: "device", Typeflag: tar.TypeChar},
		tar.Header{Name: strings.Repeat("long", 100), Size: 1},
		tar.Header{Name: strings.Repeat("d/", 40) + "deep", Size: 1},
		tar.Header{Name: "large", Size: 2000},
	)
	out := t.TempDir()
	c, err := ReadTar(bytes.NewReader(data), openRoot(t, out), CollectLimits{FileBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if got := keptPaths(c); !slices.Equal(got, []string{"lib/help.py", "link/through", "solution.py"}) {
		t.Errorf("kept %v", got)
	}
	want := map[string]string{
		"solution.py": RefusedName, "solution.py/below": RefusedName, "lib": RefusedName,
		"../outside": RefusedName, "/etc/passwd": RefusedName, "a/../../b": RefusedName,
		`"new\nline"`: RefusedName, `"bad\xffname"`: RefusedName, "link": RefusedLink, "hard": RefusedHardLink,
		"fifo": RefusedFIFO, "device": RefusedDevice, "large": RefusedTooLarge,
		strings.Repeat("d/", 40) + "deep": RefusedTooDeep,
	}
	got := reasons(c)
	for p, reason := range want {
		if got[p] != reason {
			t.Errorf("%s: %q, want %q", p, got[p], reason)
		}
	}
	if len(c.Refused) != len(want)+1 { // and the long name
		t.Errorf("refused %v", c.Refused)
	}
	text, err := os.ReadFile(filepath.Join(out, "solution.py"))
	if err != nil || string(text) != "xxx" {
		t.Errorf("solution %q, %v: the first of two must stay", text, err)
	}
	if c.Files[0].Mode != 0o640 || c.Files[0].Bytes != 3 || c.Truncated {
		t.Errorf("%+v", c)
	}
}

func TestReadTarCut(t *testing.T) {
	data := tarOf(t, tar.Header{Name: "a", Size: 600}, tar.Header{Name: "b", Size: 600})
	// The second body begins at 512+1024+512 and is cut in its middle.
	out := t.TempDir()
	c, err := ReadTar(bytes.NewReader(data[:2048+300]), openRoot(t, out), CollectLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := keptPaths(c); !slices.Equal(got, []string{"a"}) || !c.Truncated || reasons(c)["b"] != RefusedUnread {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(filepath.Join(out, "b")); !os.IsNotExist(err) {
		t.Errorf("half a file was left: %v", err)
	}
}

func TestReadTarFirst(t *testing.T) {
	headers := []tar.Header{}
	for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "solution.py"} {
		headers = append(headers, tar.Header{Name: name, Size: 10})
	}
	data := tarOf(t, headers...)
	for _, tc := range []struct {
		name   string
		limits CollectLimits
		kept   []string
	}{
		{"files", CollectLimits{Files: 2}, []string{"a1", "solution.py"}},
		{"bytes", CollectLimits{Bytes: 40}, []string{"a1", "a2", "solution.py"}},
		{"entries", CollectLimits{Entries: 3}, []string{"a1", "a2", "a3", "solution.py"}},
	} {
		tc.limits.First = []string{"solution.py", "gone.py"}
		if tc.name == "files" {
			tc.limits.First = tc.limits.First[:1]
		}
		c, err := ReadTar(bytes.NewReader(data), openRoot(t, t.TempDir()), tc.limits)
		if got := keptPaths(c); err != nil || !slices.Equal(got, tc.kept) {
			t.Errorf("%s: kept %v, %v; want %v", tc.name, got, err, tc.kept)
		}
	}
}

// FuzzReadTar checks what must hold for any stream: nothing outside of the
// destination, no more than the limits, the result says what is on the disk.
func FuzzReadTar(f *testing.F) {
	f.Add(tarOf(f, tar.Header{Name: "a/b", Size: 10}, tar.Header{Name: "a", Size: 1},
		tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/"}, tar.Header{Name: "l/x", Size: 3}))
	f.Add(tarOf(f, tar.Header{Name: "../x", Size: 10}, tar.Header{Name: "./x", Size: 2000}))
	f.Add(tarOf(f, tar.Header{Name: strings.Repeat("p", 300), Size: 1, PAXRecords: map[string]string{"a.b": "c"}}))
	limits := CollectLimits{Files: 5, Entries: 20, FileBytes: 1000, Bytes: 3000, Depth: 3, First: []string{"a/b"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		out := filepath.Join(parent, "out")
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		c, err := ReadTar(bytes.NewReader(data), openRoot(t, out), limits)
		if err != nil {
			t.Fatalf("the destination is fine: %v", err)
		}
		onDisk, total := 0, int64(0)
		err = filepath.WalkDir(parent, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(path, out+"/") {
				t.Errorf("%s: %v, %v", path, info, err)
			}
			onDisk++
			total += info.Size()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if onDisk != len(c.Files) || onDisk > limits.Files || total > limits.Bytes {
			t.Errorf("%d files with %d bytes; result %+v", onDisk, total, c)
		}
		for _, r := range c.Refused {
			if !plainText(r.Path) || len(r.Path) > 4*maxRefPath+8 {
				t.Errorf("refused path %q is not fit for a report", r.Path)
			}
		}
	})
}

func TestPlainPath(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a/b c/ü.py": true, "a..b": true, "": false, ".": false, "..": false, "/a": false, "a/": false,
		"a//b": false, "./a": false, "a/../b": false, "a\x00b": false, "a\tb": false, "a\u202eb": false,
		strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, strings.Repeat("x/", 600) + "x": false,
	} {
		if got := ValidPath(name); got != want {
			t.Errorf("ValidPath(%.40q) = %v", name, got)
		}
	}
}

func TestPipe(t *testing.T) {
	p := NewPipe()
	go func() {
		p.Write(bytes.Repeat([]byte("x"), 3*pipeSize)) // waits for the reader
		p.CloseWrite(nil)
		p.CloseWrite(io.ErrUnexpectedEOF) // the first one counts
	}()
	all, err := io.ReadAll(p)
	if err != nil || len(all) != 3*pipeSize {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	if _, err := p.Write([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("write after the end: %v", err)
	}

	p = NewPipe()
	p.Drop()
	if n, err := p.Write(make([]byte, 2*pipeSize)); err != nil || n != 2*pipeSize {
		t.Errorf("dropping write: %d, %v", n, err)
	}
	p.CloseWrite(nil)
	if all, err := io.ReadAll(p); err != nil || len(all) != pipeSize {
		t.Errorf("%d bytes kept, %v; want the %d that fit", len(all), err, pipeSize)
	}

	p = NewPipe()
	p.CloseRead()
	if _, err := p.Write([]byte("x")); err != io.ErrClosedPipe {
		t.Errorf("write without a reader: %v", err)
	}
}

func TestTail(t *testing.T) {
	var tail Tail
	tail.Write([]byte("begin"))
	tail.Write(bytes.Repeat([]byte("m"), MaxStderr))
	tail.Write([]byte("end"))
	got := string(tail.Bytes())
	if len(got) != MaxStderr || !strings.HasSuffix(got, "mend") || strings.Contains(got, "begin") {
		t.Errorf("%d bytes, begin %.10q", len(got), got)
	}
}
