package attacktest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/sandbox"
	"cabra-run/sandbox/relay"
	"cabra-run/sandbox/sandboxtest"
)

// patience is more than anything here takes on a slow machine.
const patience = 3 * time.Minute

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// firing is an engine with an image to make boxes from.
type firing struct {
	engine sandbox.Engine
	image  string
}

func newFiring(t testing.TB) firing {
	t.Helper()
	engine := sandboxtest.RealEngine(t)
	return firing{engine: engine, image: imagestest.Ensure(t, "base").ID}
}

// box is a running box with a relay and a host that answers "echo" and the request's body.
type box struct {
	sandbox.Box
	conn *relay.Conn
}

func (f firing) box(t testing.TB, limits sandbox.Limits) *box {
	t.Helper()
	ctx := bounded(t)
	b, err := f.engine.Create(ctx, sandbox.Spec{
		Image: f.image, Command: relay.ServeCommand(relay.ServeOptions{Deadline: 10 * time.Minute}),
		Env: []string{"SECRET=of-pid-1"}, Guest: true, Home: true, Workspace: scripts(t), Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, b) })
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := relay.Accept(ctx, b.Stdio(), relay.Bounds{})
	if err != nil {
		t.Fatalf("%v; PID 1 says %q", err, b.Stderr())
	}
	server := &http.Server{Handler: http.HandlerFunc(echo), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(conn)
	}()
	t.Cleanup(func() {
		server.Close()
		conn.Close()
		<-served
	})
	return &box{Box: b, conn: conn}
}

// remove ends a box as an attempt does.
func remove(t testing.TB, b sandbox.Box) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Kill(ctx); err != nil {
		t.Errorf("killing: %v", err)
	}
	if err := b.Remove(ctx); err != nil {
		t.Errorf("removing: %v", err)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/bulk" {
		bulk(w, r)
		return
	}
	body := make([]byte, 1000)
	n, _ := io.ReadFull(r.Body, body)
	w.Write(append([]byte("echo "), body[:n]...))
}

// scripts are the attacks, as the workspace of a box.
func scripts(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no attack scripts: %v", err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

var guestEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + sandbox.HomeDir}

// start runs a command as the guest. The buffer may be read after Wait.
func (b *box) start(t testing.TB, out io.Writer, argv ...string) sandbox.Process {
	t.Helper()
	p, err := b.Exec(bounded(t), sandbox.Command{
		Args: argv, Env: guestEnv, Dir: sandbox.WorkspaceDir, Stdout: out, Stderr: out,
	})
	if err != nil {
		t.Fatalf("running %q: %v", argv, err)
	}
	return p
}

// run runs a command as the guest and returns its output and exit code.
func (b *box) run(t testing.TB, argv ...string) (string, int) {
	t.Helper()
	var out safeBuffer
	code, err := b.start(t, &out, argv...).Wait(bounded(t))
	if err != nil {
		t.Fatalf("waiting for %q: %v", argv, err)
	}
	return out.String(), code
}

// serves fails the test when the box's model connection does not work.
func (b *box) serves(t testing.TB) {
	t.Helper()
	out, code := b.run(t, "python3", "ask.py", "hello")
	if code != 0 || strings.TrimSpace(out) != "echo hello" {
		t.Errorf("asking the host through the relay: exit code %d, output %q", code, out)
	}
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf.Len() > 1<<20 {
		return len(p), nil
	}
	return s.buf.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// watchHeap samples the heap of this process, garbage included, which stands
// for the orchestrator. The result stops it and returns the growth.
func watchHeap(t testing.TB) (grown func() int64) {
	t.Helper()
	read := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before, most := read(), int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, read()-before)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	var once sync.Once
	grown = func() int64 {
		once.Do(func() { close(stop) })
		<-stopped
		return most
	}
	t.Cleanup(func() { grown() })
	return grown
}
