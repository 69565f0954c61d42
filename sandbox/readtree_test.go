package sandbox

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openRoot opens a folder for the length of a test.
func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keptPaths are the paths of a collection, sorted.
func keptPaths(c Collection) []string {
	var paths []string
	for _, f := range c.Files {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	return paths
}

func reasons(c Collection) map[string]string {
	m := map[string]string{}
	for _, r := range c.Refused {
		m[r.Path] = r.Reason
	}
	return m
}

func TestReadTreeKinds(t *testing.T) {
	src, out := t.TempDir(), t.TempDir()
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), "secret")
	writeFile(t, filepath.Join(src, "a", "plain"), "text")
	writeFile(t, filepath.Join(src, "double"), "x")
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(src, "dirlink")),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(src, "filelink")),
		os.Link(filepath.Join(src, "double"), filepath.Join(src, "a", "double")),
		unix.Mkfifo(filepath.Join(src, "fifo"), 0o666),
		unix.Mknod(filepath.Join(src, "sock"), unix.S_IFSOCK|0o666, 0),
		os.Mkdir(filepath.Join(src, "empty"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := ReadTree(openRoot(t, src), openRoot(t, out), CollectLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := keptPaths(c); !slices.Equal(got, []string{"a/plain"}) {
		t.Errorf("kept %v", got)
	}
	want := map[string]string{
		"dirlink": RefusedLink, "filelink": RefusedLink, "double": RefusedHardLink, "a/double": RefusedHardLink,
		"fifo": RefusedFIFO, "sock": RefusedSocket,
	}
	got := reasons(c)
	for p, reason := range want {
		if got[p] != reason {
			t.Errorf("%s: %q, want %q", p, got[p], reason)
		}
	}
	if len(got) != len(want) {
		t.Errorf("refused %v", got)
	}
	info, err := os.Stat(filepath.Join(out, "a", "plain"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("written as %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(out, "a")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder written as %v, %v", info, err)
	}
}

func TestReadTreeDevice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a device file needs root")
	}
	src := t.TempDir()
	if err := unix.Mknod(filepath.Join(src, "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
		t.Skipf("no device files here: %v", err)
	}
	c, err := ReadTree(openRoot(t, src), openRoot(t, t.TempDir()), CollectLimits{})
	if err != nil || reasons(c)["zero"] != RefusedDevice || len(c.Files) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestReadTreeLimits(t *testing.T) {
	src := t.TempDir()
	for i := range 20 {
		writeFile(t, filepath.Join(src, "many", fmt.Sprintf("f%02d", i)), "0123456789")
	}
	writeFile(t, filepath.Join(src, "zlast"), "last")
	writeFile(t, filepath.Join(src, "x/y/z/deep"), "deep")
	root := openRoot(t, src)
	tests := []struct {
		name      string
		limits    CollectLimits
		kept      []string
		reason    string
		truncated bool
	}{
		{"files", CollectLimits{Files: 3}, []string{"many/f00", "many/f01", "zlast"}, RefusedTooMany, false},
		{"bytes", CollectLimits{Bytes: 26, Depth: 2}, []string{"many/f00", "many/f01", "zlast"}, RefusedTooLarge, false},
		{"file bytes", CollectLimits{FileBytes: 9}, []string{"x/y/z/deep", "zlast"}, RefusedTooLarge, false},
		{"depth", CollectLimits{Depth: 1, Files: 2}, []string{"many/f00", "zlast"}, RefusedTooDeep, false},
		{"entries", CollectLimits{Entries: 3}, []string{"zlast"}, "", true},
		{"first", CollectLimits{Files: 3, First: []string{"x/y/z/deep", "absent", "many/f07"}},
			[]string{"many/f07", "x/y/z/deep", "zlast"}, RefusedTooMany, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c, err := ReadTree(root, openRoot(t, t.TempDir()), tc.limits)
			if err != nil {
				t.Fatal(err)
			}
			if got := keptPaths(c); !slices.Equal(got, tc.kept) {
				t.Errorf("kept %v, want %v", got, tc.kept)
			}
			if c.Truncated != tc.truncated {
				t.Errorf("truncated %v", c.Truncated)
			}
			if tc.reason != "" && !slices.ContainsFunc(c.Refused, func(r Refused) bool { return r.Reason == tc.reason }) {
				t.Errorf("nothing refused as %q: %v", tc.reason, c.Refused)
			}
		})
	}
}

// TestReadTreeSwollen reads a folder with more names than are ever listed.
func TestReadTreeSwollen(t *testing.T) {
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "solution.py"), "x")
	if err := os.Mkdir(filepath.Join(src, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if err := os.Symlink("x", filepath.Join(src, "a", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	c, err := ReadTree(openRoot(t, src), openRoot(t, t.TempDir()), CollectLimits{Entries: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if got := keptPaths(c); !slices.Equal(got, []string{"solution.py"}) || !c.Truncated {
		t.Errorf("kept %v, truncated %v", got, c.Truncated)
	}
	// 1000 entries: the file, the folder, and 998 links.
	if len(c.Refused) != MaxRefused || c.Dropped != 998-MaxRefused {
		t.Errorf("%d listed, %d dropped", len(c.Refused), c.Dropped)
	}
}

func TestReadTreeDestinationFails(t *testing.T) {
	src, out := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "x")
	dst := openRoot(t, out)
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTree(openRoot(t, src), dst, CollectLimits{}); err == nil {
		t.Error("no error although nothing can be written")
	}
}

func TestTreeBytes(t *testing.T) {
	src := t.TempDir()
	root := openRoot(t, src)
	before, err := TreeBytes(root)
	if err != nil {
		t.Fatal(err)
	}
	if before != 0 {
		t.Errorf("%d bytes in an empty folder", before)
	}
	writeFile(t, filepath.Join(src, "big"), strings.Repeat("x", 1<<20))
	writeFile(t, filepath.Join(src, "sparse"), "")
	if err := os.Truncate(filepath.Join(src, "sparse"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := TreeBytes(root)
	if err != nil {
		t.Fatal(err)
	}
	if got < 1<<30+1<<20 || got > 1<<30+2<<20 {
		t.Errorf("%d bytes, want 1 GiB and 1 MiB", got)
	}
	deep := filepath.Join(src, "d"+strings.Repeat("/d", maxLevels+1))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := TreeBytes(root); err != nil || got != math.MaxInt64 {
		t.Errorf("too deep a tree has %d bytes, %v", got, err)
	}
}
