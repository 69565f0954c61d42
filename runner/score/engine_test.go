package score

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/sandbox"
	"cabra-run/sandbox/sandboxtest"
)

// newScorer returns a scorer on the real engine where the tests have one, else
// on plain processes of this machine's Python.
func newScorer(t testing.TB, workers int) *Scorer {
	t.Helper()
	return scorerWith(t, Options{Workers: workers})
}

func scorerWith(t testing.TB, o Options) *Scorer {
	t.Helper()
	if o.Engine == nil {
		o.Engine, o.Image = testEngine(t)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("closing the scorer: %v", err)
		}
	})
	return s
}

func testEngine(t testing.TB) (engine sandbox.Engine, image string) {
	t.Helper()
	if os.Getenv("CABRA_TEST_REAL") == "1" {
		return sandboxtest.RealEngine(t), imagestest.Ensure(t, "scorer").ID
	}
	return &processEngine{python: testPython(t)}, "none"
}

// testPython finds a Python with numpy for tests without a real engine.
func testPython(t testing.TB) string {
	t.Helper()
	python := os.Getenv("CABRA_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-I", "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("needs CABRA_TEST_REAL=1, or a Python with numpy in CABRA_TEST_PYTHON: %v %s", err, lastLine(out))
	}
	return python
}

// processEngine runs the executor as a plain process: the protocol without the
// box. As root it drops to a uid that nothing else has.
type processEngine struct {
	python string

	mu      sync.Mutex
	created int
	fail    func(n int) error // called with the number of each creation
}

const processUID = 54321

func (e *processEngine) Info(context.Context) (sandbox.Info, error) {
	return sandbox.Info{Name: "process"}, nil
}

func (e *processEngine) Reap(context.Context) (sandbox.Reaped, error) { return sandbox.Reaped{}, nil }
func (e *processEngine) Capacity(context.Context) (sandbox.Capacity, error) {
	return sandbox.Capacity{}, nil
}

func (e *processEngine) Close() error { return nil }

func (e *processEngine) Create(_ context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.created++
	if e.fail != nil {
		if err := e.fail(e.created); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(e.python, spec.Command[1:]...)
	cmd.Env, cmd.Dir = spec.Env, "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: processUID, Gid: processUID}}
	}
	b := &processBox{cmd: cmd, ended: make(chan struct{})}
	var err error
	if b.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// The reading end is a pipe of our own: Wait must not close it before all is read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.out, cmd.Stdout, cmd.Stderr = r, w, &b.stderr
	b.afterStart = func() { w.Close() }
	return b, nil
}

type processBox struct {
	cmd        *exec.Cmd
	in         io.WriteCloser
	out        *os.File
	stderr     bytes.Buffer
	afterStart func()
	ended      chan struct{}
}

func (b *processBox) Effective(context.Context) (sandbox.Effective, error) {
	return sandbox.Effective{}, nil
}

func (b *processBox) ID() string                           { return "process" }
func (b *processBox) GuestUID() int                        { return processUID }
func (b *processBox) Stdio() io.ReadWriteCloser            { return b }
func (b *processBox) Read(p []byte) (int, error)           { return b.out.Read(p) }
func (b *processBox) Write(p []byte) (int, error)          { return b.in.Write(p) }
func (b *processBox) Close() error                         { return b.in.Close() }
func (b *processBox) SetPids(context.Context, int64) error { return nil }

func (b *processBox) Stderr() []byte {
	select {
	case <-b.ended:
		return b.stderr.Bytes()
	case <-time.After(5 * time.Second):
		return nil
	}
}

func (b *processBox) Start(context.Context) error {
	if err := b.cmd.Start(); err != nil {
		return err
	}
	b.afterStart()
	go func() {
		b.cmd.Wait()
		close(b.ended)
	}()
	return nil
}

func (b *processBox) Kill(context.Context) error {
	if b.cmd.Process != nil {
		b.cmd.Process.Kill()
		<-b.ended
	}
	return nil
}

func (b *processBox) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-b.ended:
		return sandbox.Exit{Code: b.cmd.ProcessState.ExitCode()}, nil
	case <-ctx.Done():
		return sandbox.Exit{}, ctx.Err()
	}
}

func (b *processBox) Remove(ctx context.Context) error { return b.Kill(ctx) }

var errNotHere = errors.New("not in a process box")

func (b *processBox) Exec(context.Context, sandbox.Command) (sandbox.Process, error) {
	return nil, errNotHere
}
func (b *processBox) Usage(context.Context) (sandbox.Usage, error) {
	return sandbox.Usage{}, errNotHere
}
func (b *processBox) Collect(context.Context, *os.Root, sandbox.CollectLimits) (sandbox.Collection, error) {
	return sandbox.Collection{}, errNotHere
}
