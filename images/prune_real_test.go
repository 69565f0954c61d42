package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/google/uuid"
)

// shelf is a Builder whose namespace holds images that were made by hand, each
// of a megabyte that no other has.
type shelf struct {
	*Builder
	t *testing.T
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	if os.Getenv("CABRA_TEST_REAL") != "1" {
		t.Skip("needs a real engine: set CABRA_TEST_REAL=1")
	}
	b, err := New(Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b.namespace = "cabra-test-" + uuid.NewString()[:8]
	if err := b.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := b.Prune(context.Background(), PruneOptions{All: true}); err != nil {
			t.Error(err)
		}
		if left, err := b.tags(context.Background()); err != nil || len(left) > 0 {
			t.Errorf("left %q, %v", left, err)
		}
		b.Close()
	})
	return &shelf{b, t}
}

// put makes an image with that tag behind the namespace, and returns its ID.
func (s *shelf) put(tag string) string {
	s.t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	text := bytes.Repeat([]byte(tag+uuid.NewString()), 1<<20/(len(tag)+36))
	err := w.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		s.t.Fatal(err)
	}
	id, err := s.importTar(s.t.Context(), &buf, imageChanges(map[string]string{labelRecipe: digestOf(tag), labelHow: "a test"}))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.api.ImageTag(s.t.Context(), id, s.namespace+"/"+tag); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// left lists the tags of images behind the namespace, sorted.
func (s *shelf) left() []string {
	s.t.Helper()
	tags, err := s.tags(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range tags {
		tags[i] = tags[i][len(s.namespace)+1:]
	}
	slices.Sort(tags)
	return tags
}

func (s *shelf) prune(o PruneOptions) Pruned {
	s.t.Helper()
	p, err := s.Prune(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func TestRealPrunePolicy(t *testing.T) {
	s := newShelf(t)
	for i := range 4 {
		s.put(fmt.Sprintf("base:v%d", i))
	}
	used := s.put("codex:old")
	s.put("codex:0.9.9-new") // codex@0.9.9, a version of the same recipe
	s.put("layer:one")
	c, err := s.api.ContainerCreate(t.Context(), &container.Config{Image: used, Cmd: []string{"x"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.api.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	all := []string{"base:v0", "base:v1", "base:v2", "base:v3", "codex:0.9.9-new", "codex:old", "layer:one"}

	if p := s.prune(PruneOptions{OlderThan: time.Hour}); len(p.Images)+p.Layers != 0 || p.Bytes != 0 {
		t.Errorf("young images: pruned %+v", p)
	}
	p := s.prune(PruneOptions{Keep: 2, DryRun: true})
	if len(p.Images) != 2 || p.Layers != 1 || len(p.InUse) != 0 || p.Bytes < 3_000_000 || p.Bytes > 4_000_000 {
		t.Errorf("dry run: %d images, %d layers, %d in use, %d bytes; want 2, 1, 0 and three megabytes",
			len(p.Images), p.Layers, len(p.InUse), p.Bytes)
	}
	if left := s.left(); !slices.Equal(left, all) {
		t.Errorf("after a dry run: %q", left)
	}
	p = s.prune(PruneOptions{Keep: 2, OlderThan: time.Nanosecond})
	if left := s.left(); !slices.Equal(left, []string{"base:v2", "base:v3", "codex:0.9.9-new", "codex:old"}) {
		t.Errorf("two of each: left %q", left)
	}
	// Others may use the engine, so that the figure is a rough one.
	if len(p.Images) != 2 || p.Layers != 1 || p.Bytes < 2_000_000 {
		t.Errorf("two of each: %+v", p)
	}
	p = s.prune(PruneOptions{})
	if left := s.left(); !slices.Equal(left, []string{"codex:old"}) || len(p.InUse) != 1 || p.InUse[0].ID != used {
		t.Errorf("all that is out of date: left %q, in use %+v", left, p.InUse)
	}
}
