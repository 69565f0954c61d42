package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// entry is a file of a tar in tests.
type entry struct {
	name string
	kind byte // 0 is a regular file
	mode int64
	link string
	body string
	pax  map[string]string
}

func makeTar(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{
			Name: e.name, Typeflag: e.kind, Mode: e.mode, Linkname: e.link, Size: int64(len(e.body)),
			PAXRecords: e.pax, Uname: "root", Gname: "root",
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

type gotFile struct {
	h    *tar.Header
	body string
}

func readTar(t *testing.T, r io.Reader) map[string]gotFile {
	t.Helper()
	got := map[string]gotFile{}
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = gotFile{h, string(body)}
	}
}

func TestFlatten(t *testing.T) {
	in := makeTar(t,
		entry{name: "./", kind: tar.TypeDir, mode: 0o755},
		entry{name: ".dockerenv"},
		entry{name: "bin", kind: tar.TypeSymlink, link: "usr/bin", mode: 0o777},
		entry{name: "etc/hostname", mode: 0o644, body: "build-host\n"},
		entry{name: "etc/resolv.conf", kind: tar.TypeSymlink, link: "/run/resolv.conf"},
		entry{name: "./etc/passwd", mode: 0o644, body: "root:x:0:0\n"},
		entry{name: "usr/bin/su", mode: 0o4755, body: "elf"},
		entry{name: "usr/bin/su2", kind: tar.TypeLink, link: "usr/bin/su", mode: 0o4755},
		entry{name: "usr/bin/ping", mode: 0o755, pax: map[string]string{"SCHILY.xattr.security.capability": "cap"}},
		entry{name: "var/mail/", kind: tar.TypeDir, mode: 0o2775},
		entry{name: "tmp/", kind: tar.TypeDir, mode: 0o1777},
		entry{name: "tmp/cabra-build/ca.crt", body: "secret CA"},
		entry{name: "var/log/apt/term.log", body: "log"},
		entry{name: "usr/share/doc/bash/copyright", body: "text"},
		entry{name: "usr/share/documents", body: "kept"},
		entry{name: "dev/null", kind: tar.TypeChar, mode: 0o666},
		entry{name: "var/fifo", kind: tar.TypeFifo},
	)
	var out bytes.Buffer
	if err := flatten(&out, bytes.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	got := readTar(t, &out)
	want := []string{"bin", "etc/hostname", "etc/passwd", "etc/resolv.conf", "tmp/", "usr/bin/ping", "usr/bin/su",
		"usr/bin/su2", "usr/share/documents", "var/mail/"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("files are %v, want %v", names, want)
	}
	for name, mode := range map[string]int64{"usr/bin/su": 0o755, "usr/bin/su2": 0o755, "var/mail/": 0o775, "tmp/": 0o1777} {
		if m := got[name].h.Mode; m != mode {
			t.Errorf("%s has mode %o, want %o", name, m, mode)
		}
	}
	if f := got["etc/resolv.conf"]; f.h.Typeflag != tar.TypeReg || f.body != "" {
		t.Error("etc/resolv.conf is not an empty file")
	}
	if got["etc/hostname"].body != "" || got["etc/passwd"].body != "root:x:0:0\n" {
		t.Error("etc/hostname keeps its content or etc/passwd loses it")
	}
	if len(got["usr/bin/ping"].h.PAXRecords) != 0 {
		t.Errorf("file capabilities are kept: %v", got["usr/bin/ping"].h.PAXRecords)
	}
}

func TestFlattenRefuses(t *testing.T) {
	whole := makeTar(t, entry{name: "a", body: strings.Repeat("x", 2000)})
	for name, in := range map[string][]byte{
		"leads out":             makeTar(t, entry{name: "../etc/passwd"}),
		"link to a dropped one": makeTar(t, entry{name: "usr/a", kind: tar.TypeLink, link: "tmp/a"}),
		"cut":                   whole[:1000],
	} {
		if err := flatten(io.Discard, bytes.NewReader(in)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWriteRelay(t *testing.T) {
	var out bytes.Buffer
	if err := writeRelay(&out, []byte("program")); err != nil {
		t.Fatal(err)
	}
	got := readTar(t, &out)
	f, ok := got["opt/cabra/relay"]
	if !ok || len(got) != 3 || f.body != "program" || f.h.Mode != 0o755 || f.h.Uid != 0 || f.h.Gid != 0 {
		t.Errorf("the relay's tar is %v", got)
	}
}
