package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"cabra-run/sandbox/docker"
)

// blob is something that a registry serves under its digest.
type blob []byte

func (b blob) digest() string { s := sha256.Sum256(b); return "sha256:" + hex.EncodeToString(s[:]) }

// tinyRegistry serves one image of one file for the engine's architecture.
func tinyRegistry(t *testing.T, arch string) http.Handler {
	t.Helper()
	files := makeTar(t, entry{name: "hello", mode: 0o644, body: "hello"})
	layer := blob(gzipped(t, files))
	config := blob(fmt.Sprintf(`{"architecture":%q,"os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[%q]}}`,
		arch, blob(files).digest()))
	const kind = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := blob(fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,
		"config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},
		"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip","size":%d,"digest":%q}]}`,
		kind, len(config), config.digest(), len(layer), layer.digest()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", manifest.digest())
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(manifest))
		case strings.HasSuffix(r.URL.Path, layer.digest()):
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(layer))
		case strings.HasSuffix(r.URL.Path, config.digest()):
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(config))
		default:
			http.NotFound(w, r)
		}
	})
}

// pullBuilder returns a Builder on the real engine, which must be on this host:
// only then does it reach a registry of the test's.
func pullBuilder(t *testing.T) *Builder {
	t.Helper()
	if os.Getenv("CABRA_TEST_REAL") != "1" {
		t.Skip("needs a real engine: set CABRA_TEST_REAL=1")
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	api, endpoint, err := docker.Connect(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	if !strings.HasPrefix(endpoint, "unix://") {
		t.Skipf("the engine at %s is not on this host", endpoint)
	}
	b := testBuilder(t, Options{})
	version, err := api.ServerVersion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.api, b.endpoint, b.arch = api, endpoint, version.Arch
	return b
}

func TestRealPull(t *testing.T) {
	b := pullBuilder(t)
	srv := httptest.NewServer(tinyRegistry(t, b.arch))
	t.Cleanup(srv.Close)
	ref := strings.TrimPrefix(srv.URL, "http://") + "/cabra/tiny:1"
	ctx := context.Background()
	if err := b.pullOnce(ctx, ref); err != nil {
		t.Fatal(err)
	}
	id, digest, err := b.local(ctx, ref)
	if err != nil || id == "" || !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("after the pull: %q %q %v", id, digest, err)
	}
	srv.Close()
	if err := b.pullOnce(ctx, ref); err != nil {
		t.Errorf("an image that is there is pulled again: %v", err)
	}
	if err := removeImage(ctx, b.api, ref); err != nil {
		t.Error(err)
	}
}

// TestRealPullSilent: a registry that takes connections and says nothing.
func TestRealPullSilent(t *testing.T) {
	b := pullBuilder(t)
	b.patience = patience{answer: 300 * time.Millisecond, stall: time.Minute}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	err = b.pullOnce(context.Background(), l.Addr().String()+"/cabra/tiny:1")
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "the registry does not answer") {
		t.Errorf("error is %v", err)
	}
}
