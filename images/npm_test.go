package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sri(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestUnpack(t *testing.T) {
	tgz := gzipped(t, makeTar(t,
		entry{name: "package/copilot", mode: 0o4755, body: "elf"},
		entry{name: "package/lib/a.js", mode: 0o666, body: "js"},
		entry{name: "package/lib/b.js", mode: 0o600, body: ""},
	))
	var out bytes.Buffer
	if err := unpack(&out, bytes.NewReader(tgz), part{dir: "/opt/copilot"}); err != nil {
		t.Fatal(err)
	}
	got := readTar(t, &out)
	want := []string{"opt/", "opt/copilot/", "opt/copilot/copilot", "opt/copilot/lib/", "opt/copilot/lib/a.js", "opt/copilot/lib/b.js"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Fatalf("files are %v, want %v", names, want)
	}
	if got["opt/copilot/copilot"].h.Mode != 0o755 || got["opt/copilot/lib/a.js"].h.Mode != 0o644 {
		t.Error("modes are not 0755 for programs and 0644 for others")
	}
	for name, f := range got {
		if f.h.Uid != 0 || f.h.Gid != 0 || f.h.Uname != "" || !f.h.ModTime.Equal(fixedTime) {
			t.Errorf("%s is not root's or has another time: %+v", name, f.h)
		}
	}
	if got["opt/copilot/copilot"].body != "elf" {
		t.Error("content is lost")
	}
}

func TestUnpackRefuses(t *testing.T) {
	ok := entry{name: "package/a", body: "x"}
	for name, entries := range map[string][]entry{
		"parent":            {{name: "package/../../etc/passwd"}},
		"absolute":          {{name: "/etc/passwd"}},
		"other folder":      {ok, {name: "pkg/a"}},
		"no folder":         {{name: "./a"}},
		"twisted":           {{name: "package/b/../a"}},
		"symlink":           {{name: "package/a", kind: tar.TypeSymlink, link: "/etc"}},
		"hard link":         {ok, {name: "package/b", kind: tar.TypeLink, link: "package/a"}},
		"device":            {{name: "package/a", kind: tar.TypeBlock}},
		"FIFO":              {{name: "package/a", kind: tar.TypeFifo}},
		"file as folder":    {ok, {name: "package/a/b"}},
		"folder as file":    {{name: "package/a/b"}, ok},
		"the folder itself": {{name: "package"}},
		"backslash":         {{name: `package/a\b`}},
	} {
		err := unpack(io.Discard, bytes.NewReader(gzipped(t, makeTar(t, entries...))), part{dir: "/opt/x"})
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := unpack(io.Discard, strings.NewReader("not gzip"), part{dir: "/opt/x"}); err == nil {
		t.Error("not gzip: accepted")
	}
}

// TestUnpackBounds declares more bytes than a package may have; none of them come.
func TestUnpackBounds(t *testing.T) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Name: "package/a", Typeflag: tar.TypeReg, Size: maxUnpacked + 1}); err != nil {
		t.Fatal(err)
	}
	err := unpack(io.Discard, bytes.NewReader(gzipped(t, buf.Bytes())), part{dir: "/opt/x"})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("error is %v", err)
	}
}

// FuzzUnpack: whatever a package holds, what comes out are plain files and
// folders of root under the folder, without set-id bits.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("package/a"), byte('0'), "package/b", byte('2'))
	f.Add([]byte("package/../x"), byte('0'), "/x", byte('5'))
	f.Fuzz(func(t *testing.T, name []byte, kind byte, name2 string, kind2 byte) {
		var in bytes.Buffer
		w := tar.NewWriter(&in)
		for _, h := range []*tar.Header{
			{Name: string(name), Typeflag: kind, Mode: 0o7777},
			{Name: name2, Typeflag: kind2, Mode: 0o7777, Linkname: "/etc/passwd"},
		} {
			if w.WriteHeader(h) != nil {
				t.Skip("not a tar")
			}
		}
		if w.Close() != nil {
			t.Skip("not a tar")
		}
		var out bytes.Buffer
		if unpack(&out, bytes.NewReader(gzipped(t, in.Bytes())), part{dir: "/opt/x"}) != nil {
			return
		}
		for name, got := range readTar(t, &out) {
			inside := name == "opt/" || strings.HasPrefix(name, "opt/x/")
			plain := got.h.Typeflag == tar.TypeReg || got.h.Typeflag == tar.TypeDir
			if !inside || !plain || got.h.Mode&^0o755 != 0 || strings.Contains(name, "..") && !filepath.IsLocal(name) {
				t.Errorf("%q comes out as %+v", name, got.h)
			}
		}
	})
}

// npmServer serves one package version, and answers others with 404.
func npmServer(t *testing.T, tgz []byte) *registry {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /@x/cli/-/cli-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tgz) })
	mux.HandleFunc("GET /@x/cli/1.0.0", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"dist":{"integrity":%q}}`, sri(tgz))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	reg, err := newRegistry(srv.URL+"/", "")
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestFetch(t *testing.T) {
	tgz := []byte("the package")
	reg := npmServer(t, tgz)
	for name, integrity := range map[string]string{"pinned": sri(tgz), "the registry's word": ""} {
		dir := t.TempDir()
		file, err := reg.fetch(context.Background(), Package{Name: "@x/cli", Integrity: integrity}, "1.0.0", dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, tgz) {
			t.Errorf("%s: file holds %q, %v", name, got, err)
		}
	}
}

func TestFetchRefuses(t *testing.T) {
	reg := npmServer(t, []byte("the package"))
	for name, c := range map[string]struct {
		pkg     Package
		version string
		want    string
	}{
		"checksum":  {Package{Name: "@x/cli", Integrity: sri([]byte("another"))}, "1.0.0", "not the package that the recipe names"},
		"missing":   {Package{Name: "@x/cli", Integrity: sri(nil)}, "9.9.9", "/@x/cli/-/cli-9.9.9.tgz: the registry answers 404"},
		"weak sum":  {Package{Name: "@x/cli", Integrity: "sha1-AAAA"}, "1.0.0", "not a sha512 sum"},
		"short sum": {Package{Name: "@x/cli", Integrity: "sha512-AAAA"}, "1.0.0", "not a sha512 sum"},
	} {
		dir := t.TempDir()
		_, err := reg.fetch(context.Background(), c.pkg, c.version, dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: %d files are left", name, len(left))
		}
	}
}

func TestGetBounds(t *testing.T) {
	reg := npmServer(t, bytes.Repeat([]byte("x"), 1000))
	url := reg.base + "/@x/cli/-/cli-1.0.0.tgz"
	if err := reg.get(context.Background(), url, 1000, io.Discard); err != nil {
		t.Errorf("1000 bytes of 1000: %v", err)
	}
	if err := reg.get(context.Background(), url, 999, io.Discard); err == nil {
		t.Error("1000 bytes of 999: accepted")
	}
}

// TestGetEnds: a body that stops coming ends the download, and so does a cancelled context.
func TestGetEnds(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("begin"))
		_ = http.NewResponseController(w).Flush()
		started <- struct{}{}
		<-release
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(release) })
	reg := &registry{base: srv.URL, http: srv.Client(), stall: 20 * time.Millisecond}
	err := reg.get(context.Background(), srv.URL, 100, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "nothing came for 20ms") {
		t.Errorf("stalled: %v", err)
	}
	<-started
	reg.stall = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-started; cancel() }()
	if err := reg.get(ctx, srv.URL, 100, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFetchTrustsBundle(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // a refused handshake is what the test wants
	srv.StartTLS()
	t.Cleanup(srv.Close)
	pem := pemOf(srv.Certificate().Raw)
	reg, err := newRegistry(srv.URL, writeFile(t, pem))
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.get(context.Background(), srv.URL, 10, io.Discard); err != nil {
		t.Errorf("with the bundle: %v", err)
	}
	if reg, err = newRegistry(srv.URL, ""); err != nil {
		t.Fatal(err)
	}
	if err := reg.get(context.Background(), srv.URL, 10, io.Discard); err == nil {
		t.Error("without the bundle: accepted")
	}
	if _, err := newRegistry(srv.URL, "/does/not/exist"); err == nil {
		t.Error("missing bundle: accepted")
	}
}

func TestNpmBase(t *testing.T) {
	rc := writeFile(t, "# comment\nfund=false\nregistry = \"https://rc.example/npm/\"\n")
	empty := writeFile(t, "fund=false\n@scope:registry=https://no.example\n")
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":      {map[string]string{"HOME": "/does/not/exist"}, "https://registry.npmjs.org"},
		"environment":  {map[string]string{"NPM_CONFIG_REGISTRY": "https://a.example", "NPM_CONFIG_USERCONFIG": rc}, "https://a.example"},
		"npm's own":    {map[string]string{"npm_config_registry": "https://b.example"}, "https://b.example"},
		"npmrc":        {map[string]string{"NPM_CONFIG_USERCONFIG": rc}, "https://rc.example/npm/"},
		"other scopes": {map[string]string{"NPM_CONFIG_USERCONFIG": empty}, "https://registry.npmjs.org"},
	} {
		if got := npmBase(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
