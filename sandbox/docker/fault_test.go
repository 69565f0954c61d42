package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cabra-run/sandbox"
)

// stub is an engine over HTTP on a socket of its own that answers by path.
func stub(t *testing.T, answers map[string]http.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") // short: socket paths are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		for suffix, answer := range answers {
			if strings.HasSuffix(r.URL.Path, suffix) {
				answer(w, r)
				return
			}
		}
		fmt.Fprint(w, `{}`)
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return "unix://" + path
}

func answer(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"message": %q}`, message)
	}
}

func stubEngine(t *testing.T, answers map[string]http.HandlerFunc, o Options) *Engine {
	t.Helper()
	o.Host, o.StateDir = stub(t, answers), t.TempDir()
	e, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestFaultKinds uses the answers of real engines (20.10 and Podman 4).
func TestFaultKinds(t *testing.T) {
	for _, tc := range []struct {
		code    int
		message string
		want    sandbox.FaultKind
	}{
		{404, "No such image: sha256:1", sandbox.FaultNoImage},
		{404, "no such image: sha256:1: image not known", sandbox.FaultNoImage},
		{404, "No such container: 1", sandbox.FaultGone},
		{404, "Not Found", sandbox.FaultEngine}, // a call that Podman 4 lacks
		{500, "cannot remove container 1 as it could not be stopped: container state improper", sandbox.FaultNotRunning},
		{409, "Container 1 is not running", sandbox.FaultNotRunning},
		{409, "removal of container 1 is already in progress", sandbox.FaultEngine},
		{400, "invalid mount config", sandbox.FaultBadSpec},
		{500, "mkdir /var/lib/docker/x: no space left on device", sandbox.FaultNoSpace},
		{500, "something else", sandbox.FaultEngine},
	} {
		e := stubEngine(t, map[string]http.HandlerFunc{"/update": answer(tc.code, tc.message)}, Options{})
		b := newBox(e, testPlan(nil))
		b.id = "1"
		err := b.SetPids(context.Background(), 1)
		var f *sandbox.Fault
		if !errors.As(err, &f) || f.Kind != tc.want || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%d %s: %v, want %q", tc.code, tc.message, err, tc.want)
		}
	}
}

func TestFaultKindsOfHost(t *testing.T) {
	for err, want := range map[error]sandbox.FaultKind{
		fmt.Errorf("writing: %w", syscall.ENOSPC): sandbox.FaultNoSpace,
		fmt.Errorf("writing: %w", syscall.EDQUOT): sandbox.FaultNoSpace,
		context.DeadlineExceeded:                  sandbox.FaultTimeout,
		io.ErrUnexpectedEOF:                       sandbox.FaultUnreachable,
		errors.New("odd"):                         sandbox.FaultEngine,
	} {
		if got := faultKind(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestHangingEngine has an engine that takes calls and never answers: each
// call ends by its own deadline, and a cancelled caller gets its own error.
func TestHangingEngine(t *testing.T) {
	release := make(chan struct{})
	defer close(release) // before the servers are closed, which wait for it
	hang := func(http.ResponseWriter, *http.Request) { <-release }
	calls := map[string]func(context.Context, *Box) error{
		"/update": func(ctx context.Context, b *Box) error { return b.SetPids(ctx, 1) },
		"/attach": func(ctx context.Context, b *Box) error { return b.Start(ctx) },
		"/kill":   func(ctx context.Context, b *Box) error { return b.Kill(ctx) },
		"/exec": func(ctx context.Context, b *Box) error {
			_, err := b.Exec(ctx, sandbox.Command{Args: []string{"x"}})
			return err
		},
		"/containers/1": func(ctx context.Context, b *Box) error { return b.Remove(ctx) },
	}
	for path, call := range calls {
		e := stubEngine(t, map[string]http.HandlerFunc{path: hang}, Options{CallTimeout: 50 * time.Millisecond})
		b := newBox(e, testPlan(nil))
		b.id = "1"
		if err := call(context.Background(), b); !sandbox.IsFault(err, sandbox.FaultTimeout) {
			t.Errorf("%s: %v, want a time-out", path, err)
		}
	}
	e := stubEngine(t, map[string]http.HandlerFunc{"/update": hang}, Options{})
	b := newBox(e, testPlan(nil))
	b.id = "1"
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := b.SetPids(ctx, 1)
	var f *sandbox.Fault
	if !errors.Is(err, context.Canceled) || errors.As(err, &f) {
		t.Errorf("cancelled caller: %v", err)
	}
}

func TestConnectNowhere(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	_, _, err = Connect(context.Background(), "unix://"+dead)
	if !sandbox.IsFault(err, sandbox.FaultUnreachable) || !strings.Contains(err.Error(), "connection refused") ||
		!strings.Contains(err.Error(), dead) {
		t.Errorf("dead socket: %v", err)
	}
	_, _, err = Connect(context.Background(), "unix://"+filepath.Join(dir, "none.sock"))
	if !sandbox.IsFault(err, sandbox.FaultUnreachable) || !strings.Contains(err.Error(), "no such socket") {
		t.Errorf("missing socket: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1000")
	want := []string{
		"unix:///var/run/docker.sock", "unix:///run/user/1000/docker.sock",
		"unix:///run/user/1000/podman/podman.sock", "unix:///run/podman/podman.sock",
	}
	if got := endpoints(""); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("endpoints %q, want %q", got, want)
	}
	t.Setenv("DOCKER_HOST", "tcp://elsewhere:2376")
	if got := endpoints(""); len(got) != 1 || got[0] != "tcp://elsewhere:2376" {
		t.Errorf("with DOCKER_HOST: %q", got)
	}
	if got := endpoints("unix:///x"); len(got) != 1 || got[0] != "unix:///x" {
		t.Errorf("with a host: %q", got)
	}
}

// TestCreateWithoutSlots has an engine on which every name is taken.
func TestCreateWithoutSlots(t *testing.T) {
	seen := map[string]bool{}
	e := stubEngine(t, map[string]http.HandlerFunc{
		"/create": func(w http.ResponseWriter, r *http.Request) {
			seen[r.URL.Query().Get("name")] = true
			answer(409, `Conflict. The container name is already in use by container "1".`)(w, r)
		},
		"/containers/json": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[]`) },
	}, Options{Transport: TransportBind})
	_, err := e.Create(context.Background(), testPlan(nil).spec)
	if !sandbox.IsFault(err, sandbox.FaultNoCapacity) {
		t.Errorf("error %v", err)
	}
	if len(seen) != sandbox.GuestSlots || !seen["cabra-box-20000"] || !seen["cabra-box-20255"] {
		t.Errorf("%d names tried", len(seen))
	}
	left, err := os.ReadDir(filepath.Join(e.opts.StateDir, workDir))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestDemotion has an engine that does not see this host's folders.
func TestDemotion(t *testing.T) {
	var mounts []string
	e := stubEngine(t, map[string]http.HandlerFunc{
		"/containers/create": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"Type":"bind"`) {
				mounts = append(mounts, "bind")
				answer(400, `invalid mount config for type "bind": bind source path does not exist: /x`)(w, r)
				return
			}
			mounts = append(mounts, "volume")
			fmt.Fprint(w, `{"Id": "1"}`)
		},
		"/containers/json": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[]`) },
	}, Options{})
	e.transport = TransportBind
	if _, err := e.Create(context.Background(), testPlan(nil).spec); err != nil {
		t.Fatal(err)
	}
	if strings.Join(mounts, " ") != "bind volume" || e.transport != TransportArchive {
		t.Errorf("mounts %v, transport %s", mounts, e.transport)
	}
	left, err := os.ReadDir(filepath.Join(e.opts.StateDir, workDir))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
