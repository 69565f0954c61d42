package relay_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cabra-run/sandbox/relay"
)

// program is the relay, built as the images get it.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cabra-relay")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "relay")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cabra-relay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the relay: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a relay that runs as a plain process, outside of any box.
type process struct {
	*exec.Cmd
	io.Reader // its standard output
	in        io.WriteCloser
	out       io.Closer
	ended     chan struct{} // closed when it has been waited for
}

func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p *process) Close() error {
	p.in.Close()
	return p.out.Close()
}

// start runs the relay on a free port.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(program, append([]string{"serve", "--port", "0"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not StdoutPipe, which Wait would close under the reader.
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = outW
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	p := &process{Cmd: cmd, Reader: out, in: in, out: out, ended: make(chan struct{})}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
		p.Close()
	})
	return p
}

// connect starts a relay and takes its stream.
func connect(t *testing.T, b relay.Bounds, args ...string) (*relay.Conn, *process) {
	t.Helper()
	p := start(t, args...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := relay.Accept(ctx, p, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, p
}

// within fails the test when ch does not become ready in a minute, which is
// longer than anything here should take on any machine.
func within(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("timed out waiting for %s", what)
	}
}
