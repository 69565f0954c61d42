package images

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/client"
)

func pemOf(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// pullEngine is an engine that only knows how to pull, the way its answer says.
// After a good answer it has the image.
type pullEngine struct {
	answer http.HandlerFunc
	pulls  atomic.Int32
	has    atomic.Bool
}

func (e *pullEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/images/create"):
		e.pulls.Add(1)
		e.answer(w, r)
	case strings.HasSuffix(r.URL.Path, "/node:22-bookworm-slim/json") && e.has.Load():
		_, _ = w.Write([]byte(`{"Id":"sha256:abc","RepoDigests":["node@sha256:def"]}`))
	default:
		http.Error(w, `{"message":"no such image"}`, http.StatusNotFound)
	}
}

// builderOn returns a Builder for that engine with its state in dir.
func builderOn(t *testing.T, e *pullEngine, dir string, base string) *Builder {
	t.Helper()
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	b, err := newBuilder(Options{Base: base, StateDir: dir}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	host := "tcp://" + strings.TrimPrefix(srv.URL, "http://")
	if b.api, err = client.NewClientWithOpts(client.WithHost(host), client.WithVersion("1.41")); err != nil {
		t.Fatal(err)
	}
	b.arch, b.endpoint, b.bundle = "amd64", "tcp://engine", ""
	b.patience = patience{answer: 50 * time.Millisecond, stall: 50 * time.Millisecond}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestOriginWhenPullFails(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"dial tcp: no such host"}`, http.StatusInternalServerError)
		},
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"stalls": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"status":"Pulling from library/node"}` + "\n"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"error in the stream": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"Pulling"}{"errorDetail":{"message":"toomanyrequests"},"error":"toomanyrequests"}`))
		},
		"ends without image": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"done"}`)) },
	} {
		t.Run(name, func(t *testing.T) {
			engine, dir := &pullEngine{answer: answer}, t.TempDir()
			b := builderOn(t, engine, dir, BaseAuto)
			for range 2 {
				from, err := b.origin(context.Background(), imageTarget(t, "base"))
				if err != nil || from.kind != BaseBootstrap {
					t.Fatalf("origin is %q, %v; want a bootstrap", from.kind, err)
				}
			}
			if n := engine.pulls.Load(); n != 1 {
				t.Errorf("one Builder tried %d times", n)
			}
			other := builderOn(t, engine, dir, BaseAuto)
			from, err := other.origin(context.Background(), imageTarget(t, "scorer"))
			if err != nil || from.kind != BaseBootstrap || engine.pulls.Load() != 1 {
				t.Errorf("another process: %q, %v after %d pulls; want the noted failure", from.kind, err, engine.pulls.Load())
			}
			expireNotes(t, dir)
			later := builderOn(t, engine, dir, BaseAuto)
			if _, err := later.origin(context.Background(), imageTarget(t, "base")); err != nil || engine.pulls.Load() != 2 {
				t.Errorf("later: %v after %d pulls; want another try", err, engine.pulls.Load())
			}
		})
	}
}

// expireNotes makes the noted failures older than they are believed.
func expireNotes(t *testing.T, dir string) {
	t.Helper()
	notes, err := filepath.Glob(filepath.Join(dir, "images", "no-registry-*"))
	if err != nil || len(notes) != 1 {
		t.Fatalf("notes are %v, %v", notes, err)
	}
	old := time.Now().Add(-2 * registryMemory)
	if err := os.Chtimes(notes[0], old, old); err != nil {
		t.Fatal(err)
	}
}

func TestOriginPulls(t *testing.T) {
	engine := &pullEngine{}
	engine.answer = func(w http.ResponseWriter, _ *http.Request) {
		engine.has.Store(true)
		_, _ = w.Write([]byte(`{"status":"Pulling from library/node"}{"status":"Status: Downloaded"}`))
	}
	b := builderOn(t, engine, t.TempDir(), BaseAuto)
	from, err := b.origin(context.Background(), imageTarget(t, "base"))
	if err != nil || from.kind != BasePull {
		t.Fatalf("origin is %q, %v; want pull", from.kind, err)
	}
	job := systemJob{System: b.recipes.Systems["agents"], from: from}
	base, release, err := b.base(context.Background(), job)
	if err != nil || base.id != "sha256:abc" || base.how != "pulled node:22-bookworm-slim sha256:def" {
		t.Errorf("base is %+v, %v", base, err)
	}
	if err := release(); err != nil || !engine.has.Load() {
		t.Errorf("releasing a pulled image: %v", err)
	}
	if n := engine.pulls.Load(); n != 1 {
		t.Errorf("%d pulls", n)
	}
}

func TestOriginExplicit(t *testing.T) {
	engine := &pullEngine{answer: func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"dial tcp: no such host"}`, http.StatusInternalServerError)
	}}
	b := builderOn(t, engine, t.TempDir(), BaseBootstrap)
	if from, err := b.origin(context.Background(), imageTarget(t, "base")); err != nil || from.kind != BaseBootstrap || engine.pulls.Load() != 0 {
		t.Errorf("bootstrap: %+v, %v, %d pulls", from, err, engine.pulls.Load())
	}
	var e *Error
	b = builderOn(t, engine, t.TempDir(), BasePull)
	_, _, err := b.base(context.Background(), systemJob{System: b.recipes.Systems["agents"], from: origin{kind: BasePull}})
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "--base bootstrap") || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("pull: %v", err)
	}
	b = builderOn(t, engine, t.TempDir(), "my/debian:1")
	if _, err := b.origin(context.Background(), imageTarget(t, "base")); !errors.As(err, &e) || !strings.Contains(err.Error(), "my/debian:1") {
		t.Errorf("image: %v", err)
	}
	before := engine.pulls.Load()
	if _, ok, err := b.Lookup(context.Background(), "base"); ok || err != nil || engine.pulls.Load() != before {
		t.Errorf("looking up pulls, or fails: %v, %v", ok, err)
	}
	b = builderOn(t, &pullEngine{answer: func(http.ResponseWriter, *http.Request) {}}, t.TempDir(), "node:22-bookworm-slim")
	if from, err := b.origins(context.Background(), imageTarget(t, "scorer"), false); err != nil || len(from) != 2 {
		t.Errorf("the scorer's origins are %v, %v; a named base is for agents", from, err)
	}
}

func TestOriginCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	engine := &pullEngine{answer: func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }}
	dir := t.TempDir()
	b := builderOn(t, engine, dir, BaseAuto)
	b.patience = patience{time.Hour, time.Hour}
	if _, err := b.origin(ctx, imageTarget(t, "base")); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if notes, _ := filepath.Glob(filepath.Join(dir, "images", "no-registry-*")); len(notes) != 0 {
		t.Error("a cancelled pull is noted as a missing registry")
	}
}

func TestUnknownName(t *testing.T) {
	b := testBuilder(t, Options{})
	_, err := b.Ensure(context.Background(), "copilto")
	var e *Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, "images are base, claude, codex, copilot, ") {
		t.Errorf("error is %v", err)
	}
}

func TestNoEngine(t *testing.T) {
	b := testBuilder(t, Options{Host: "unix:///does/not/exist.sock"})
	_, err := b.Ensure(context.Background(), "base")
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "DOCKER_HOST") || !strings.Contains(err.Error(), "/does/not/exist.sock") {
		t.Errorf("error is %v", err)
	}
}

func TestRegistryHost(t *testing.T) {
	for ref, want := range map[string]string{
		"node:22": "docker.io", "library/node": "docker.io", "ghcr.io/x/y:1": "ghcr.io",
		"localhost/x": "localhost", "reg:5000/x": "reg:5000",
	} {
		if got := registryHost(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}
