package images

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestRealMove writes images into a file, removes them, and reads the file.
func TestRealMove(t *testing.T) {
	s := newShelf(t)
	ctx := t.Context()
	one, two := s.put("base:v1"), s.put("codex:0.9.9-abc")
	var file bytes.Buffer
	list, err := s.Export(ctx, &file, one, s.namespace+"/codex:0.9.9-abc", one)
	if err != nil || len(list) != 2 || list[0].ID != one || list[1].Name != "codex@0.9.9" {
		t.Fatalf("exported %+v, %v", list, err)
	}
	whole := file.Bytes()
	s.prune(PruneOptions{All: true})
	for _, id := range []string{one, two} {
		if _, err := s.api.ImageInspect(ctx, id); err == nil {
			t.Fatalf("image %s is still there", id)
		}
	}

	// A file that is cut leaves nothing.
	for _, part := range []int{10, len(whole) / 2, len(whole) - 20} {
		if _, err := s.Import(ctx, bytes.NewReader(whole[:part])); err == nil {
			t.Errorf("a file of %d of %d bytes is taken", part, len(whole))
		}
		if _, err := s.api.ImageInspect(ctx, one); err == nil {
			t.Errorf("a file of %d of %d bytes leaves an image", part, len(whole))
		}
	}
	for range 2 { // the second time they are there
		list, err = s.Import(ctx, bytes.NewReader(whole))
		if err != nil || len(list) != 2 || list[0].ID != one || list[1].ID != two || list[0].Name != "base" {
			t.Fatalf("imported %+v, %v", list, err)
		}
	}
	if left := s.left(); !slices.Equal(left, []string{"base:v1", "codex:0.9.9-abc"}) {
		t.Errorf("tags %q", left)
	}
	if _, err := s.Export(ctx, io.Discard, "sha256:"+strings.Repeat("0", 64)); err == nil {
		t.Error("an image that is not there is exported")
	}
}

// edited is a file of images that somebody has changed.
func edited(t *testing.T, file []byte, header func(*moveHeader), entry func(*tar.Header, []byte) []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	text, err := io.ReadAll(dec)
	if err != nil {
		t.Fatal(err)
	}
	line, archive, _ := bytes.Cut(text[len(moveMagic):], []byte("\n"))
	var h moveHeader
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatal(err)
	}
	if header != nil {
		header(&h)
	}
	if line, err = json.Marshal(h); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(enc, moveMagic+string(line)+"\n")
	tw := tar.NewWriter(enc)
	for tr := tar.NewReader(bytes.NewReader(archive)); ; {
		th, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		body, rerr := io.ReadAll(tr)
		if err != nil || rerr != nil {
			t.Fatal(err, rerr)
		}
		if entry != nil {
			body = entry(th, body)
			th.Size = int64(len(body))
		}
		if err := tw.WriteHeader(th); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), enc.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRealHostileMove reads files that lie. Nothing of them stays, and nobody's
// tags are touched.
func TestRealHostileMove(t *testing.T) {
	s := newShelf(t)
	ctx := t.Context()
	one := s.put("base:v1")
	var file bytes.Buffer
	if _, err := s.Export(ctx, &file, one); err != nil {
		t.Fatal(err)
	}
	s.prune(PruneOptions{All: true})
	taken := s.namespace + "-stolen/name:latest"
	name := func(h *tar.Header, body []byte) []byte { // gives the image a name of somebody else
		if h.Name == "manifest.json" {
			var list []archiveImage
			if err := json.Unmarshal(body, &list); err != nil {
				t.Fatal(err)
			}
			list[0].RepoTags = []string{taken}
			body, _ = json.Marshal(list)
		}
		return body
	}
	// The name is dropped; the image itself is what it is listed as.
	if list, err := s.Import(ctx, bytes.NewReader(edited(t, file.Bytes(), nil, name))); err != nil || len(list) != 1 {
		t.Errorf("a file with a name in it: %+v, %v", list, err)
	}
	if _, err := s.api.ImageInspect(ctx, taken); err == nil {
		t.Error("the file's own name was given")
	}
	s.prune(PruneOptions{All: true})

	for what, data := range map[string][]byte{
		"nothing":    nil,
		"not zstd":   []byte("hello"),
		"other arch": edited(t, file.Bytes(), func(h *moveHeader) { h.Arch = "s390x" }, nil),
		"other ID":   edited(t, file.Bytes(), func(h *moveHeader) { h.Images[0].ID = "sha256:" + strings.Repeat("1", 64) }, nil),
		"other recipe": edited(t, file.Bytes(), func(h *moveHeader) { h.Images[0].Recipe = digestOf("x") },
			nil),
		"foreign tag": edited(t, file.Bytes(), func(h *moveHeader) { h.Images[0].Tag = "debian:bookworm" }, nil),
		"layer's tag": edited(t, file.Bytes(), func(h *moveHeader) { h.Images[0].Tag = s.namespace + "/layer:x" }, nil),
		"no images":   edited(t, file.Bytes(), func(h *moveHeader) { h.Images = nil }, nil),
		"way out":     edited(t, file.Bytes(), nil, func(h *tar.Header, b []byte) []byte { h.Name = "../" + h.Name; return b }),
		"device": edited(t, file.Bytes(), nil, func(h *tar.Header, b []byte) []byte {
			if h.Typeflag == tar.TypeReg && strings.HasSuffix(h.Name, "layer.tar") {
				h.Typeflag, b = tar.TypeChar, nil
			}
			return b
		}),
		"other layer": edited(t, file.Bytes(), nil, func(h *tar.Header, b []byte) []byte {
			if strings.HasSuffix(h.Name, "layer.tar") {
				b = bytes.Replace(b, []byte("base:v1"), []byte("evil:v1"), 1)
			}
			return b
		}),
	} {
		if list, err := s.Import(ctx, bytes.NewReader(data)); err == nil {
			t.Errorf("%s: imported %+v", what, list)
		} else {
			t.Logf("%s: %v", what, err)
		}
		if _, err := s.api.ImageInspect(context.Background(), one); err == nil {
			t.Errorf("%s: the image stays", what)
			removeImage(ctx, s.api, one)
		}
		if left := s.left(); len(left) > 0 {
			t.Errorf("%s: tags %q", what, left)
		}
	}
}
