package images

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"
)

func archiveOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		body := h.PAXRecords["body"]
		h.PAXRecords, h.Size = nil, int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// file is a header that archiveOf gives a body.
func file(name, body string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, PAXRecords: map[string]string{"body": body}}
}

func TestCleanArchive(t *testing.T) {
	manifest := file("manifest.json", `[{"Config":"c.json","RepoTags":["debian:latest"],"Layers":["l/layer.tar"]}]`)
	whole := archiveOf(t, file("c.json", "{}"), file("l/layer.tar", "x"), manifest, file("repositories", "{}"),
		file("index.json", "{}"), file("oci-layout", "{}"),
		tar.Header{Name: "m/layer.tar", Typeflag: tar.TypeSymlink, Linkname: "../l/layer.tar"})
	var out bytes.Buffer
	if err := cleanArchive(&out, bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name)
		if text, _ := io.ReadAll(r); strings.Contains(string(text), "debian") {
			t.Errorf("%s has a name: %s", h.Name, text)
		}
	}
	if got := strings.Join(names, " "); got != "c.json l/layer.tar manifest.json m/layer.tar" {
		t.Errorf("entries %s", got)
	}
	for what, archive := range map[string][]byte{
		"no manifest":     archiveOf(t, file("c.json", "{}")),
		"two manifests":   archiveOf(t, manifest, manifest),
		"absolute":        archiveOf(t, manifest, file("/etc/passwd", "x")),
		"way out":         archiveOf(t, manifest, file("a/../../x", "x")),
		"link out":        archiveOf(t, manifest, tar.Header{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "../../etc"}),
		"absolute link":   archiveOf(t, manifest, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}),
		"hard link":       archiveOf(t, manifest, tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "c.json"}),
		"fifo":            archiveOf(t, manifest, tar.Header{Name: "f", Typeflag: tar.TypeFifo}),
		"manifest is big": archiveOf(t, file("manifest.json", strings.Repeat(" ", maxManifest+1))),
		"not JSON":        archiveOf(t, file("manifest.json", "hello")),
		"cut":             whole[:700],
	} {
		if err := cleanArchive(io.Discard, bytes.NewReader(archive)); err == nil {
			t.Errorf("%s passes", what)
		}
	}
}

// FuzzCleanArchive: whatever comes in, no name of an image comes out.
func FuzzCleanArchive(f *testing.F) {
	f.Add(archiveOf(f, file("manifest.json", `[{"RepoTags":["a:b"]}]`), file("x", "y")))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if cleanArchive(&out, bytes.NewReader(data)) != nil {
			return
		}
		for r := tar.NewReader(&out); ; {
			h, err := r.Next()
			if err != nil {
				return
			}
			if checkEntry(h) != nil || h.Name == "repositories" || h.Name == "index.json" {
				t.Errorf("entry %q of type %c passes", h.Name, h.Typeflag)
			}
		}
	})
}
