package bench

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/yamux"

	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
)

// boxes are the simulated boxes of one process.
type boxes struct {
	engine   *fake.Engine
	dir      string
	released chan struct{} // closed when guests may end
	once     sync.Once
	ending   chan struct{} // a place for each guest that ends, until its box is gone

	mu    sync.Mutex
	byID  map[string]*fake.Box
	muxes map[*fake.Box]*yamux.Session
	ended map[*fake.Box]bool
}

// ServeBoxes simulates boxes for the orchestrator at the other end of rw until
// that ends. Every box has a relay that speaks the real protocol, and a guest
// that asks the model once and then waits until it is released.
func ServeBoxes(ctx context.Context, rw io.ReadWriteCloser, dir string) error {
	mux, err := yamux.Server(rw, farConfig())
	if err != nil {
		return err
	}
	defer mux.Close()
	defer context.AfterFunc(ctx, func() { mux.Close() })()
	s := &boxes{dir: dir, released: make(chan struct{}), ending: make(chan struct{}, endAtOnce), byID: map[string]*fake.Box{}, muxes: map[*fake.Box]*yamux.Session{}, ended: map[*fake.Box]bool{}}
	s.engine = fake.New(fake.Options{Dir: dir, Program: s.program, Slots: 1 << 20})
	for {
		conn, err := mux.Accept()
		if err != nil {
			return nil // the orchestrator has ended
		}
		go s.serve(ctx, conn)
	}
}

func (s *boxes) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	var o order
	if receive(conn, &o) != nil {
		return
	}
	box := s.box(o.Box)
	if box == nil && o.Op != opCreate && o.Op != opRelease {
		_ = send(conn, answer{Error: "no box " + o.Box})
		return
	}
	switch o.Op {
	case opExec:
		s.exec(ctx, conn, box, o)
	case opStdio:
		if send(conn, answer{}) == nil {
			carry(conn, box.Stdio())
		}
	default:
		a, err := s.obey(ctx, box, o)
		if err != nil {
			a.Error = err.Error()
		}
		_ = send(conn, a)
	}
}

// obey carries out an order that has no stream.
func (s *boxes) obey(ctx context.Context, box *fake.Box, o order) (answer, error) {
	switch o.Op {
	case opCreate:
		made, err := s.engine.Create(ctx, *o.Spec)
		if err != nil {
			return answer{}, err
		}
		b := made.(*fake.Box)
		s.mu.Lock()
		s.byID[b.ID()] = b
		s.mu.Unlock()
		return answer{Box: b.ID(), UID: b.GuestUID(), Dir: b.Workspace()}, nil
	case opRelease:
		s.once.Do(func() { close(s.released) })
		return answer{}, nil
	case opStart:
		return answer{}, box.Start(ctx)
	case opKill:
		return answer{}, box.Kill(ctx)
	case opWait:
		exit, err := box.Wait(ctx)
		return answer{Exit: exit}, err
	case opRemove:
		s.mu.Lock()
		delete(s.byID, o.Box)
		delete(s.muxes, box)
		s.mu.Unlock()
		defer s.removed(box)
		return answer{}, box.Remove(ctx)
	}
	return answer{}, fmt.Errorf("no order %q", o.Op)
}

// endAtOnce is how many guests end at one time: thousands of real ones never do
// it in the same moment.
const endAtOnce = 100

// removed frees the place of a guest that has ended.
func (s *boxes) removed(box *fake.Box) {
	s.mu.Lock()
	ended := s.ended[box]
	delete(s.ended, box)
	s.mu.Unlock()
	if ended {
		<-s.ending
	}
}

// mayEnd waits until the guest of a box may end.
func (s *boxes) mayEnd(ctx context.Context, box *fake.Box) bool {
	select {
	case <-s.released:
	case <-ctx.Done():
		return false
	}
	select {
	case s.ending <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	s.mu.Lock()
	s.ended[box] = true
	s.mu.Unlock()
	return true
}

func (s *boxes) box(id string) *fake.Box {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// carry connects a connection with PID 1's streams until either ends.
func carry(conn net.Conn, stdio io.ReadWriteCloser) {
	go func() {
		_, _ = io.Copy(stdio, conn)
		stdio.Close()
	}()
	_, _ = io.Copy(conn, stdio)
}

func (s *boxes) exec(ctx context.Context, conn net.Conn, box *fake.Box, o order) {
	cmd := sandbox.Command{Args: o.Args, Stdout: frames{conn, frameOut}, Stderr: frames{conn, frameErr}}
	if o.Stdin != nil {
		cmd.Stdin = bytes.NewReader(o.Stdin)
	}
	if send(conn, answer{}) != nil {
		return
	}
	p, err := box.Exec(ctx, cmd)
	if err != nil {
		return
	}
	if code, err := p.Wait(ctx); err == nil {
		_, _ = frames{conn, frameExit}.Write([]byte{byte(code)})
	}
}

// program knows the relay with those of its commands that an attempt uses.
func (s *boxes) program(args []string) fake.Program {
	if slices.Equal(args, relay.KillCommand()) {
		return func(context.Context, *fake.Proc) int { return 0 }
	}
	if args[0] != relay.Path || len(args) < 2 {
		return nil
	}
	switch args[1] {
	case "serve":
		return s.relay
	case "guest":
		return s.guest
	case "archive":
		return archive
	}
	return nil
}

type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }

// relay is PID 1: it multiplexes like the real one, without a port.
func (s *boxes) relay(ctx context.Context, p *fake.Proc) int {
	cfg := yamux.DefaultConfig()
	cfg.EnableKeepAlive, cfg.LogOutput = false, io.Discard
	cfg.ConnectionWriteTimeout, cfg.StreamOpenTimeout = farPatience, 0
	mux, err := yamux.Client(stream{p.Stdin, p.Stdout}, cfg)
	if err != nil {
		return 1
	}
	defer mux.Close()
	s.mu.Lock()
	s.muxes[p.Box] = mux // before the opening line: after it the guest may start
	s.mu.Unlock()
	hello, err := mux.OpenStream()
	if err != nil {
		return 1
	}
	fmt.Fprintf(hello, "cabra-relay 1 %d\n", relay.Port)
	select {
	case <-ctx.Done():
	case <-mux.CloseChan():
	}
	return 0
}

// guest asks the model once, keeps its connection, waits, and leaves a session.
func (s *boxes) guest(ctx context.Context, p *fake.Proc) int {
	i := slices.Index(p.Args, "--") + 1
	s.mu.Lock()
	mux := s.muxes[p.Box]
	s.mu.Unlock()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return mux.Open() }}
	defer transport.CloseIdleConnections()
	text, err := io.ReadAll(p.Stdin)
	if err == nil {
		err = ask(ctx, &http.Client{Transport: transport}, p.Args[i+1], string(text))
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 1
	}
	fmt.Fprintln(p.Stdout, "asked")
	if !s.mayEnd(ctx, p.Box) {
		return 0
	}
	solution := filepath.Join(p.Box.Workspace(), tasks.SolutionFile)
	if os.WriteFile(solution, []byte("x = 1\n"), 0o600) != nil || os.WriteFile(session(p), []byte("done"), 0o600) != nil {
		return 1
	}
	return 0
}

func session(p *fake.Proc) string { return filepath.Join(p.Box.Home(), "session") }

func ask(ctx context.Context, c *http.Client, base, prompt string) error {
	messages := []map[string]string{{"role": "system", "content": preamble()}, {"role": "user", "content": prompt}}
	body, err := json.Marshal(map[string]any{"model": "x", "messages": messages})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))
	}
	return err
}

// requestBytes is about what the first request of a CLI with its tools takes.
const requestBytes = 64 << 10

// preamble stands for the instructions and tools that a CLI sends.
func preamble() string {
	var b strings.Builder
	for i := 0; b.Len() < requestBytes; i++ {
		fmt.Fprintf(&b, "Tool %d reads or edits a file of the workspace; its argument %d is a path below it.\n", i, i*i%97)
	}
	return b.String()
}

// archive writes the session file as the relay's archive command would.
func archive(_ context.Context, p *fake.Proc) int {
	tw := tar.NewWriter(p.Stdout)
	if text, err := os.ReadFile(session(p)); err == nil {
		if tw.WriteHeader(&tar.Header{Name: "session", Size: int64(len(text)), Mode: 0o600}) != nil {
			return 1
		}
		if _, err := tw.Write(text); err != nil {
			return 1
		}
	}
	if tw.Close() != nil {
		return 1
	}
	return 0
}
