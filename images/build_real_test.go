package images

import (
	"archive/tar"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const realTime = 10 * time.Minute

// smallRecipe is one more package on top of the scorer's image, the smallest that
// there is, which takes seconds. Its "release" makes its digest one of its own; it is not used for a
// named base.
const smallRecipe = `
[systems.small]
release = %q
packages = [%q]
guests = true
[[systems.small.checks]]
run = [%q]
[images.one]
system = "small"
relay = true
`

// lines collects log lines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(s string) { l.mu.Lock(); l.all = append(l.all, s); l.mu.Unlock() }

func (l *lines) with(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(l.all), func(x string) bool { return !strings.Contains(x, s) }))
}

// small is a small recipe, and what its Builders share.
type small struct {
	recipes   Recipes
	namespace string
	state     string
	base      string
	log       *lines
}

// newSmall prepares a recipe that installs a package and checks a command. All
// that it makes is removed when the test ends.
func newSmall(t *testing.T, pkg, command string) *small {
	t.Helper()
	if os.Getenv("CABRA_TEST_REAL") != "1" {
		t.Skip("needs a real engine: set CABRA_TEST_REAL=1")
	}
	nonce := uuid.NewString()[:8]
	recipes, err := parseRecipes(fmt.Sprintf(smallRecipe, nonce, pkg, command))
	if err != nil {
		t.Fatal(err)
	}
	s := &small{recipes: recipes, namespace: "cabra-test-" + nonce, state: t.TempDir(), log: &lines{}}
	s.base = realScorer(t)
	t.Cleanup(func() {
		b := s.builder(t, Options{})
		if _, err := b.Prune(context.Background(), PruneOptions{All: true}); err != nil {
			t.Error(err)
		}
	})
	return s
}

// realScorer returns the ID of the real scorer image.
func realScorer(t *testing.T) string {
	t.Helper()
	b, err := New(Options{Log: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), realTime)
	defer cancel()
	img, err := b.Ensure(ctx, "scorer")
	if err != nil {
		t.Fatal(err)
	}
	return img.ID
}

func (s *small) builder(t *testing.T, o Options) *Builder {
	t.Helper()
	o.StateDir, o.Log = s.state, s.log.add
	if o.Base == "" {
		o.Base = s.base
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.recipes, b.namespace = s.recipes, s.namespace
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// left lists what a failed build must not leave.
func (s *small) left(t *testing.T, b *Builder) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), realTime)
	defer cancel()
	if err := b.connect(ctx); err != nil {
		t.Fatal(err)
	}
	from := origin{kind: fromImage, image: s.base, id: s.base}
	if b.opts.Base == BaseBootstrap {
		from = origin{kind: BaseBootstrap}
	}
	bottom, err := b.systemLayer(s.recipes.Systems["small"], from)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	benches, err := b.api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("name", benchPrefix+b.site(bottom).key)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range benches {
		found = append(found, c.Names...)
	}
	made, err := b.api.ImageList(ctx, image.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", labelRecipe+"="+bottom.digest)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range made {
		found = append(found, i.ID)
	}
	folders, err := filepath.Glob(filepath.Join(s.state, "images", "tmp-*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(found, folders...)
}

func TestRealBuildsOnce(t *testing.T) {
	s := newSmall(t, "hello", "hello")
	builders := []*Builder{s.builder(t, Options{}), s.builder(t, Options{})}
	dead := s.deadBench(t, builders[0])
	ids := make([]string, 8)
	g, ctx := errgroup.WithContext(context.Background())
	for i := range ids {
		g.Go(func() error {
			img, err := builders[i%2].Ensure(ctx, "one")
			ids[i] = img.ID
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(slices.Compact(ids)) != 1 || ids[0] == "" {
		t.Errorf("eight callers got %v", ids)
	}
	if n := s.log.with("step 1 of 2"); n != 1 {
		t.Errorf("the system was built %d times", n)
	}
	if n := s.log.with("step 2 of 2"); n != 1 {
		t.Errorf("the relay was put in %d times", n)
	}
	img, ok, err := builders[0].Lookup(context.Background(), "one")
	if err != nil || !ok || !slices.ContainsFunc(img.Packages, func(p string) bool { return strings.HasPrefix(p, "hello=") }) {
		t.Errorf("looked up: %+v, %v, %v", img, ok, err)
	}
	if _, err := builders[0].api.ContainerInspect(context.Background(), dead.id); err == nil {
		t.Error("the container of a dead build is still there")
		_ = dead.remove(context.Background())
	}
	checkPrune(t, s, builders[0])
}

// deadBench leaves a container as a killed build would.
func (s *small) deadBench(t *testing.T, b *Builder) *bench {
	t.Helper()
	ctx := context.Background()
	if err := b.connect(ctx); err != nil {
		t.Fatal(err)
	}
	bottom, err := b.systemLayer(s.recipes.Systems["small"], origin{kind: fromImage, image: s.base, id: s.base})
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newBench(ctx, b.site(bottom), container.Config{Image: s.base}, container.HostConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return dead
}

// checkPrune changes what is current, and expects the old image to be removed.
func checkPrune(t *testing.T, s *small, b *Builder) {
	t.Helper()
	ctx := context.Background()
	if removed, err := b.Prune(ctx, PruneOptions{}); err != nil || len(removed.Images)+removed.Layers != 0 {
		t.Errorf("pruning removes what is current: %v, %v", removed, err)
	}
	sys := s.recipes.Systems["small"]
	sys.Release = "other"
	s.recipes.Systems["small"] = sys // shared by the Builder
	list, err := b.List(ctx)
	if err != nil || len(list) != 1 || list[0].Current {
		t.Errorf("list after a change: %+v, %v", list, err)
	}
	removed, err := b.Prune(ctx, PruneOptions{})
	if err != nil || len(removed.Images) != 1 || removed.Images[0].Name != "one" || removed.Layers == 0 {
		t.Errorf("pruned: %+v, %v", removed, err)
	}
	if tags, err := b.tags(ctx); err != nil || len(tags) != 0 {
		t.Errorf("tags after pruning: %v, %v", tags, err)
	}
	if _, err := b.api.ImageInspect(ctx, s.base); err != nil {
		t.Errorf("pruning took the base: %v", err)
	}
}

func TestRealFailingBuilds(t *testing.T) {
	for name, c := range map[string]struct{ pkg, command, what, log string }{
		"package": {"no-such-package-at-all", "true", "installing the packages", "Unable to locate package no-such-package-at-all"},
		"check":   {"hello", "no-such-command", "no-such-command", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSmall(t, c.pkg, c.command)
			b := s.builder(t, Options{})
			_, err := b.Ensure(context.Background(), "one")
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.what) || !strings.Contains(e.Log, c.log) {
				t.Errorf("error is %v with log %q", err, e)
			}
			if left := s.left(t, b); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(realTime)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Errorf("never: %s", what)
			return
		}
	}
}

func TestRealCancelledBuild(t *testing.T) {
	s := newSmall(t, "hello", "hello")
	b := s.builder(t, Options{})
	if err := b.connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := b.Ensure(ctx, "one"); done <- err }()
	eventually(t, "the build container runs", func() bool {
		list, err := b.api.ContainerList(context.Background(), container.ListOptions{
			Filters: filters.NewArgs(filters.Arg("name", benchPrefix), filters.Arg("ancestor", s.base)),
		})
		return err == nil && len(list) > 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left := s.left(t, b); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// testCA returns the PEM text of a new certificate.
func testCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true,
		NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf(der)
}

func TestRealCA(t *testing.T) {
	pem := testCA(t)
	mark := strings.Split(pem, "\n")[3]
	bundle := writeFile(t, pem)
	s := newSmall(t, "ca-certificates", "true")
	for keep, want := range map[bool][]string{false: nil, true: {"etc/ssl/certs/ca-certificates.crt"}} {
		b := s.builder(t, Options{CABundle: bundle, KeepCA: keep})
		img, err := b.Ensure(context.Background(), "one")
		if err != nil {
			t.Fatal(err)
		}
		if got := filesWith(t, b, img.ID, mark); !slices.Equal(got, want) {
			t.Errorf("kept %v: the certificate is in %v, want %v", keep, got, want)
		}
	}
}

// filesWith returns the files of an image that hold a text.
func filesWith(t *testing.T, b *Builder, id, text string) []string {
	t.Helper()
	ctx := context.Background()
	bench, err := newBench(ctx, site{b.api, "test"}, container.Config{Image: id}, container.HostConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bench.remove(ctx); err != nil {
			t.Error(err)
		}
	}()
	files, err := b.api.ContainerExport(ctx, bench.id)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var found []string
	in := tar.NewReader(files)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), text) {
			found = append(found, h.Name)
		}
	}
}

// TestRealCancelledBootstrap kills debootstrap in the middle: no folder, no mount
// and no process may stay.
func TestRealCancelledBootstrap(t *testing.T) {
	s := newSmall(t, "hello", "hello")
	sys := s.recipes.Systems["small"]
	sys.Release = "bookworm"
	s.recipes.Systems["small"] = sys
	b := s.builder(t, Options{Base: BaseBootstrap})
	if err := b.connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := thisHost().canBootstrap(b.arch); err != nil {
		t.Skipf("cannot bootstrap here: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := b.Ensure(ctx, "one"); done <- err }()
	eventually(t, "debootstrap has unpacked a shell", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.state, "images", "tmp-*", "root", "usr", "bin", "dash"))
		return len(found) > 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left := s.left(t, b); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), s.state) {
		t.Errorf("a mount is left under %s, or %v", s.state, err)
	}
	for _, args := range commandLines(t) {
		if strings.Contains(args, s.state) {
			t.Errorf("a process is left: %q", args)
		}
	}
}

func commandLines(t *testing.T) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil { // else it has ended
			all = append(all, string(data))
		}
	}
	return all
}
