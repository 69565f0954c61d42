package bench

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"

	"github.com/hashicorp/yamux"

	"cabra-run/sandbox"
)

// farEngine is a sandbox.Engine whose boxes live in another process.
type farEngine struct{ mux *yamux.Session }

// dialBoxes takes over the stream to a process that runs ServeBoxes.
func dialBoxes(rw io.ReadWriteCloser) (*farEngine, error) {
	mux, err := yamux.Client(rw, farConfig())
	if err != nil {
		return nil, err
	}
	return &farEngine{mux}, nil
}

func farFault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &sandbox.Fault{Op: op, Kind: sandbox.FaultEngine, Err: err}
}

func (e *farEngine) Info(context.Context) (sandbox.Info, error) {
	return sandbox.Info{Name: "simulated", Version: "1", Endpoint: "pipe", Arch: runtime.GOARCH,
		CPUs: runtime.NumCPU(), Transport: "bind"}, nil
}

func (e *farEngine) Create(_ context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	_, a, err := call(e.mux, order{Op: opCreate, Spec: &spec}, false)
	if err != nil {
		return nil, farFault(opCreate, err)
	}
	return &farBox{mux: e.mux, id: a.Box, uid: a.UID, dir: a.Dir}, nil
}

func (e *farEngine) Reap(context.Context) (sandbox.Reaped, error) { return sandbox.Reaped{}, nil }

func (e *farEngine) Capacity(context.Context) (sandbox.Capacity, error) {
	return sandbox.Capacity{}, nil
}

func (e *farEngine) Close() error { return e.mux.Close() }

// release lets all guests that wait go on.
func (e *farEngine) release() error {
	_, _, err := call(e.mux, order{Op: opRelease}, false)
	return err
}

// farBox is one simulated box. Its workspace is a folder of this host, as with
// the bind transport of a real engine.
type farBox struct {
	mux *yamux.Session
	id  string
	uid int
	dir string

	stdio net.Conn
	out   *sandbox.Pipe // what a real engine's box has between the engine and the reader
}

func (b *farBox) ID() string    { return b.id }
func (b *farBox) GuestUID() int { return b.uid }

func (b *farBox) do(op string) (answer, error) {
	_, a, err := call(b.mux, order{Op: op, Box: b.id}, false)
	return a, farFault(op, err)
}

func (b *farBox) Start(context.Context) error {
	var err error
	if b.stdio, _, err = call(b.mux, order{Op: opStdio, Box: b.id}, true); err != nil {
		return farFault(opStdio, err)
	}
	b.out = sandbox.NewPipe()
	go b.copyOut()
	_, err = b.do(opStart)
	return err
}

func (b *farBox) copyOut() {
	buf := make([]byte, 512)
	for {
		n, err := b.stdio.Read(buf)
		if n > 0 {
			_, _ = b.out.Write(buf[:n]) // fails when nobody reads any more; the stream is drained all the same
			shrink(b.stdio)
		}
		if err != nil {
			b.out.CloseWrite(nil)
			return
		}
	}
}

// shrink frees a buffer that a socket would have in the kernel.
func shrink(conn net.Conn) {
	if s, ok := conn.(*yamux.Stream); ok {
		s.Shrink()
	}
}

func (b *farBox) Stdio() io.ReadWriteCloser { return farStdio{b} }

type farStdio struct{ b *farBox }

func (s farStdio) Read(p []byte) (int, error)  { return s.b.out.Read(p) }
func (s farStdio) Write(p []byte) (int, error) { return s.b.stdio.Write(p) }
func (s farStdio) Close() error                { return s.b.stdio.Close() }

func (b *farBox) Stderr() []byte { return nil }

func (b *farBox) SetPids(context.Context, int64) error { return nil }

func (b *farBox) Effective(context.Context) (sandbox.Effective, error) {
	return sandbox.Effective{Limits: sandbox.DefaultLimits(), WorkspaceDiskBytes: sandbox.NotTold,
		Source: sandbox.EffectiveEngine}, nil
}

// Usage costs what it costs with a real engine on this host: a walk through the
// workspace.
func (b *farBox) Usage(context.Context) (sandbox.Usage, error) {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return sandbox.Usage{}, farFault("usage", err)
	}
	defer root.Close()
	bytes, err := sandbox.TreeBytes(root)
	return sandbox.Usage{MemoryBytes: 1 << 20, MemoryPeakBytes: 1 << 20, Pids: 2, WorkspaceBytes: bytes},
		farFault("usage", err)
}

func (b *farBox) Exec(_ context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	o := order{Op: opExec, Box: b.id, Args: cmd.Args}
	if cmd.Stdin != nil {
		var err error
		if o.Stdin, err = io.ReadAll(cmd.Stdin); err != nil {
			return nil, err
		}
	}
	conn, _, err := call(b.mux, o, true)
	if err != nil {
		return nil, farFault(opExec, err)
	}
	shrink(conn)
	p := &farProcess{conn: conn, done: make(chan struct{})}
	go p.follow(orNowhere(cmd.Stdout), orNowhere(cmd.Stderr))
	return p, nil
}

func orNowhere(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

type farProcess struct {
	conn net.Conn
	done chan struct{}
	code int
	err  error
}

func (p *farProcess) follow(out, errOut io.Writer) {
	defer close(p.done)
	defer p.conn.Close()
	p.code, p.err = unframe(p.conn, out, errOut)
}

func (p *farProcess) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.code, farFault("waiting", p.err)
	case <-ctx.Done():
		return -1, ctx.Err()
	}
}

func (b *farBox) Kill(context.Context) error {
	_, err := b.do(opKill)
	return err
}

func (b *farBox) Wait(context.Context) (sandbox.Exit, error) {
	a, err := b.do(opWait)
	return a.Exit, err
}

func (b *farBox) Collect(_ context.Context, dst *os.Root, l sandbox.CollectLimits) (sandbox.Collection, error) {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return sandbox.Collection{}, farFault("collect", err)
	}
	defer root.Close()
	return sandbox.ReadTree(root, dst, l)
}

func (b *farBox) Remove(context.Context) error {
	_, err := b.do(opRemove)
	if b.stdio != nil {
		b.stdio.Close()
		b.out.CloseRead()
	}
	return err
}
