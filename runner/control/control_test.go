package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"cabra-run/runner/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steered is a sweep that notes what it is told.
type steered struct {
	mu    sync.Mutex
	state control.State
	gate  chan struct{} // when not nil, State waits for it or for the end of its context
}

func (s *steered) State(ctx context.Context) (control.State, error) {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return control.State{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, nil
}

func (s *steered) set(f func(*control.State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
}

func (s *steered) Drain() { s.set(func(st *control.State) { st.Level = "draining" }) }
func (s *steered) Halt()  { s.set(func(st *control.State) { st.Level = "halting" }) }

func (s *steered) SetJobs(n int) error {
	if n < 1 {
		return fmt.Errorf("%d jobs: at least 1", n)
	}
	s.set(func(st *control.State) { st.Jobs = n })
	return nil
}

// place is a state folder with a run folder that has a server.
type place struct{ state, run string }

func newPlace(t *testing.T, s control.Sweep) (place, *control.Server) {
	t.Helper()
	p := place{filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "smoke")}
	if err := os.Mkdir(p.run, 0o755); err != nil {
		t.Fatal(err)
	}
	return p, p.listen(t, s)
}

func (p place) listen(t *testing.T, s control.Sweep) *control.Server {
	t.Helper()
	srv, err := control.Listen(p.state, p.run, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return srv
}

func (p place) socket(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(p.state, "control", "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v; want one socket", names, err)
	}
	return names[0]
}

func TestRequests(t *testing.T) {
	cost := 1.5
	s := &steered{state: control.State{Jobs: 2, Taken: 1, Level: "running", Waiting: "no room", Planned: 10, Done: 4,
		CostUSD: &cost, CostUnknown: 3, Attempts: []control.Attempt{{Task: "search/x", Repetition: 1, Number: 2, Seconds: 12.5}}}}
	p, _ := newPlace(t, s)
	want := s.state
	want.Run, want.PID = "smoke", os.Getpid()
	for _, step := range []struct {
		r      control.Request
		change func(*control.State)
	}{
		{control.Request{Op: control.OpStatus}, func(*control.State) {}},
		{control.Request{Op: control.OpJobs, Jobs: 7}, func(st *control.State) { st.Jobs = 7 }},
		{control.Request{Op: control.OpDrain}, func(st *control.State) { st.Level = "draining" }},
		{control.Request{Op: control.OpHalt}, func(st *control.State) { st.Level = "halting" }},
	} {
		step.change(&want)
		got, err := control.Ask(t.Context(), p.state, p.run, step.r)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", step.r.Op, got, err, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := &steered{state: control.State{Jobs: 2}}
	p, _ := newPlace(t, s)
	for _, tt := range []struct {
		r    control.Request
		want string
	}{
		{control.Request{Op: control.OpJobs, Jobs: -1}, "-1 jobs: at least 1"},
		{control.Request{Op: "explode"}, `no request "explode"`},
		{control.Request{Op: control.Op(strings.Repeat("x", 5000))}, "a line of more than 4096 bytes"},
	} {
		_, err := control.Ask(t.Context(), p.state, p.run, tt.r)
		var refused *control.RefusedError
		if !errors.As(err, &refused) || refused.Reason != tt.want {
			t.Errorf("%.20s: %v, want %s", tt.r.Op, err, tt.want)
		}
	}
	if s.state.Jobs != 2 {
		t.Errorf("%d jobs", s.state.Jobs)
	}
}

// What is no request at all gets one line of an answer, and the next one is served.
func TestGarbage(t *testing.T) {
	p, _ := newPlace(t, &steered{})
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "{\"op\":\n", "\x00\xff\n", "[]\n"} {
		conn, err := net.Dial("unix", p.socket(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadBytes('\n')
		var a struct{ Error string }
		if err != nil || json.Unmarshal(line, &a) != nil || a.Error == "" {
			t.Errorf("%q: %q, %v", text, line, err)
		}
		conn.Close()
	}
	if _, err := control.Ask(t.Context(), p.state, p.run, control.Request{Op: control.OpStatus}); err != nil {
		t.Error(err)
	}
}

func TestNobodyThere(t *testing.T) {
	p, srv := newPlace(t, &steered{})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(p.state, "control")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, state := range []string{p.state, filepath.Join(t.TempDir(), "none")} {
		_, err := control.Ask(t.Context(), state, p.run, control.Request{Op: control.OpStatus})
		var none *control.NotRunningError
		if !errors.As(err, &none) || none.Error() != `run "smoke" is not being worked on here` {
			t.Errorf("%v", err)
		}
	}
}

// A process that was killed leaves its socket: nobody answers on it, and the
// next holder of the run's lock replaces it.
func TestStaleSocket(t *testing.T) {
	p, srv := newPlace(t, &steered{})
	path := p.socket(t)
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	_, err = control.Ask(t.Context(), p.state, p.run, control.Request{Op: control.OpStatus})
	var none *control.NotRunningError
	if !errors.As(err, &none) {
		t.Errorf("asking a stale socket: %v", err)
	}
	p.listen(t, &steered{})
	if _, err := control.Ask(t.Context(), p.state, p.run, control.Request{Op: control.OpStatus}); err != nil {
		t.Errorf("after another start: %v", err)
	}
}

// Every way to the run's folder leads to the same socket, and however deep the
// state folder lies, its socket can be reached.
func TestPaths(t *testing.T) {
	run := filepath.Join(t.TempDir(), "smoke")
	link := filepath.Join(t.TempDir(), "link")
	state := filepath.Join(t.TempDir(), strings.Repeat("deep/", 40))
	if err := errors.Join(os.Mkdir(run, 0o755), os.Symlink(run, link), os.MkdirAll(state, 0o700)); err != nil {
		t.Fatal(err)
	}
	p := place{state, run}
	srv := p.listen(t, &steered{})
	for _, way := range []string{run, link, run + "/../smoke"} {
		if _, err := control.Ask(t.Context(), state, way, control.Request{Op: control.OpStatus}); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
	path := p.socket(t)
	if len(path) < 200 {
		t.Fatalf("a path of %d characters proves nothing", len(path))
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestModes(t *testing.T) {
	p, _ := newPlace(t, &steered{})
	for path, want := range map[string]fs.FileMode{
		filepath.Join(p.state, "control"): fs.ModeDir | 0o700, p.socket(t): fs.ModeSocket | 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

// A folder of sockets that others can write to is not used.
func TestOpenFolder(t *testing.T) {
	state := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(state, "control"), 0o700),
		os.Chmod(filepath.Join(state, "control"), 0o770)); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Listen(state, t.TempDir(), &steered{}); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("%v", err)
	}
}

// Closing does not wait for those who ask and say nothing, nor for an answer
// that does not come.
func TestCloseCutsOff(t *testing.T) {
	p, srv := newPlace(t, &steered{gate: make(chan struct{})})
	silent, err := net.Dial("unix", p.socket(t))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	asked := make(chan error, 1)
	go func() {
		_, err := control.Ask(context.Background(), p.state, p.run, control.Request{Op: control.OpStatus})
		asked <- err
	}()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := <-asked; err == nil {
		t.Error("got an answer")
	}
}

// Asking gives up with its context, however long the answer takes.
func TestAskGivesUp(t *testing.T) {
	p, _ := newPlace(t, &steered{gate: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := control.Ask(ctx, p.state, p.run, control.Request{Op: control.OpStatus})
		asked <- err
	}()
	cancel()
	if err := <-asked; err == nil {
		t.Error("got an answer")
	}
}

// Another user is refused although the modes would let it in.
func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can connect as somebody else")
	}
	p, _ := newPlace(t, &steered{})
	path := p.socket(t)
	for dir := filepath.Dir(path); dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	answers := make(chan string)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		answers <- asNobody(path)
	}()
	if got := <-answers; !strings.Contains(got, "only the user who runs it, and root, may ask") {
		t.Errorf("got %q", got)
	}
}

// asNobody asks from this thread, whose uid is changed.
func asNobody(path string) string {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0)); errno != 0 {
		return errno.Error()
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err.Error()
	}
	buf := make([]byte, 1000)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return err.Error()
	}
	return string(buf[:n])
}
