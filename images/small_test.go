package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cabra-run/sandbox"
)

func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(context.Background(), dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := lock(ctx, dir, "x"); !errors.Is(err, context.Canceled) {
		t.Fatalf("a held lock: %v; want to wait until the context ends", err)
	}
	other, err := lock(ctx, dir, "y")
	if err != nil {
		t.Fatalf("another name: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		again, err := lock(context.Background(), dir, "x")
		if err == nil {
			err = again()
		}
		got <- err
	}()
	if err := errors.Join(unlock(), other()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("after unlocking: %v", err)
	}
}

func TestAbandoned(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	mine, theirs := benchName("aaaaaaaaaaaa", now), benchName("bbbbbbbbbbbb", now)
	late := now.Add(2 * layerTime)
	for _, c := range []struct {
		name string
		at   time.Time
		want bool
	}{
		{"/" + mine, now, true}, // we hold the lock, so its maker is dead
		{"/" + theirs, now, false},
		{"/" + theirs, late, true},
		{"/cabra-build-x", late, false},
		{"/somebody-elses", late, false},
		{"/cabra-build-bbbbbbbbbbbb-soon-1", late, false},
	} {
		if got := abandoned(c.name, "aaaaaaaaaaaa", c.at); got != c.want {
			t.Errorf("%s at %v: %v, want %v", c.name, c.at.Sub(now), got, c.want)
		}
	}
}

func TestTemporaryRemovesLeftovers(t *testing.T) {
	b := testBuilder(t, Options{})
	l := layer{digest: strings.Repeat("ab", 32)}
	first, err := b.temporary(l)
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.temporary(layer{digest: strings.Repeat("cd", 32)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.temporary(l); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder of a dead build is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the folder of another layer: %v", err)
	}
}

func TestHostBundle(t *testing.T) {
	file := writeFile(t, "pem")
	get := func(env map[string]string) string { return hostBundle(func(k string) string { return env[k] }) }
	if got := get(map[string]string{"SSL_CERT_FILE": file}); got != file {
		t.Errorf("SSL_CERT_FILE: %q", got)
	}
	if got := get(map[string]string{"SSL_CERT_FILE": "/does/not/exist", "NODE_EXTRA_CA_CERTS": file}); got != file {
		t.Errorf("NODE_EXTRA_CA_CERTS: %q", got)
	}
	own, err := filepath.Glob(localCAs)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(nil); (got == systemBundle) != (len(own) > 0) {
		t.Errorf("with %d certificates of its own the host's bundle is %q", len(own), got)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	readOnly := writeFile(t, "")
	for name, o := range map[string]Options{
		"missing bundle":      {StateDir: dir, CABundle: "/does/not/exist"},
		"nothing to keep":     {StateDir: dir, KeepCA: true},
		"a file as state":     {StateDir: readOnly},
		"a folder as bundle":  {StateDir: dir, CABundle: dir},
		"state under a file":  {StateDir: filepath.Join(readOnly, "x")},
		"state in /dev/null/": {StateDir: "/dev/null/x"},
	} {
		_, err := newBuilder(o, func(string) string { return "" })
		var e *Error
		if name == "nothing to keep" && hostBundle(func(string) string { return "" }) != "" {
			continue // this host has one
		}
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestTail(t *testing.T) {
	var log tail
	for i := range 20_000 {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	fmt.Fprint(&log, "\xff\n")
	lines := strings.Split(log.String(), "\n")
	if len(lines) != tailLines || lines[0] != "line 19941" || lines[tailLines-1] != "?" {
		t.Errorf("%d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if len(log.buf) > 2*tailBytes {
		t.Errorf("the tail holds %d bytes", len(log.buf))
	}
}

func TestHints(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		log  string
		want string
	}{
		"no engine": {&sandbox.Fault{Kind: sandbox.FaultUnreachable, Err: errors.New("x")}, "", "DOCKER_HOST"},
		"disk":      {syscall.ENOSPC, "", "images prune"},
		"disk, engine": {errors.New("write /var/lib/docker/x: no space left on device"), "",
			"images prune"},
		"disk, apt": {errors.New("code 100"), "E: You don't have enough\nE: write: No space left on device", "images prune"},
		"apt": {errors.New("code 100"),
			"E: Failed to fetch http://deb.debian.org/debian/dists/x/InRelease  Temporary failure",
			"http://deb.debian.org/debian/dists/x/InRelease cannot be fetched"},
		"debootstrap": {errors.New("exit status 1"),
			"E: Failed getting release file http://m.example/debian/dists/bookworm/Release", "http://m.example/debian/dists/bookworm/Release"},
		"time":      {context.DeadlineExceeded, "", "too long"},
		"other log": {errors.New("code 1"), "x", "last lines"},
	} {
		var e *Error
		if err := explain("building", c.err, c.log); !errors.As(err, &e) || !strings.Contains(e.Hint, c.want) {
			t.Errorf("%s: %+v, want a hint with %q", name, e, c.want)
		}
	}
	if err := explain("building", context.Canceled, ""); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
		t.Errorf("cancelled: %v", err)
	}
	known := &Error{What: "known", Hint: "do"}
	if err := explain("building", known, ""); !errors.Is(err, known) {
		t.Errorf("an error that explains itself becomes %v", err)
	}
	if got := (&Error{What: "a", Err: errors.New("b\n  c")}).Error(); got != "a: b c" {
		t.Errorf("the error's text is %q", got)
	}
}

func TestMirror(t *testing.T) {
	b := testBuilder(t, Options{})
	if got := b.mirror(); got != "http://deb.debian.org/debian" {
		t.Errorf("mirror is %q", got)
	}
	b.getenv = func(k string) string {
		return map[string]string{"CABRA_DEBIAN_MIRROR": "https://m.example/debian/", "HTTP_PROXY": "http://p:1"}[k]
	}
	if got := b.mirror(); got != "https://m.example/debian" {
		t.Errorf("mirror is %q", got)
	}
	if got := b.proxies(); len(got) != 1 || got[0] != "HTTP_PROXY=http://p:1" {
		t.Errorf("proxies are %q", got)
	}
}

func TestCanBootstrap(t *testing.T) {
	good := host{uid: 0, arch: "amd64", debootstrap: true}
	if err := good.canBootstrap("amd64"); err != nil {
		t.Error(err)
	}
	user, bare := good, good
	user.uid, bare.debootstrap = 1000, false
	for _, c := range []struct {
		host host
		arch string
		hint string
	}{
		{good, "arm64", "--base IMAGE"}, {user, "amd64", "once as root"}, {bare, "amd64", "apt-get install debootstrap"},
	} {
		var e *Error
		if err := c.host.canBootstrap(c.arch); !errors.As(err, &e) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%+v for %s: %v, want a hint with %q", c.host, c.arch, err, c.hint)
		}
	}
}
