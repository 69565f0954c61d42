package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cabra-run/sandbox"
)

// Sweep is what is steered. Its methods may be called from several goroutines.
type Sweep interface {
	// State says what the sweep is doing; Run and PID are filled in by the server.
	State(ctx context.Context) (State, error)
	Drain()
	Halt()
	// SetJobs changes the number of attempts at the same time; the error says
	// why that number cannot be.
	SetJobs(n int) error
}

// Server answers for one sweep.
type Server struct {
	sweep    Sweep
	run      string
	path     string
	listener *net.UnixListener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	places   chan struct{}
	work     sync.WaitGroup
}

// Listen begins to answer for the sweep of a run. Only the holder of the run's
// lock may call it: what is left of a dead process's socket is replaced. Close
// has to be called before that lock is given up.
func Listen(stateDir, runDir string, s Sweep) (*Server, error) {
	name, err := socketName(runDir)
	if err != nil {
		return nil, fmt.Errorf("naming the control socket: %w", err)
	}
	dir := filepath.Join(stateDir, folder)
	if err := sandbox.PrivateDir(dir); err != nil {
		return nil, fmt.Errorf("making the folder of control sockets: %w", err)
	}
	srv := &Server{sweep: s, run: filepath.Base(runDir), path: filepath.Join(dir, name),
		places: make(chan struct{}, maxClients)}
	if srv.listener, err = listen(dir, name); err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	srv.ctx, srv.cancel = context.WithCancel(context.Background())
	srv.work.Go(srv.accept)
	return srv, nil
}

// Close stops answering and removes the socket. Conversations in flight are
// cut off.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close()
	s.work.Wait()
	if gone := os.Remove(s.path); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

func (s *Server) accept() {
	for {
		select {
		case s.places <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			<-s.places
			if !s.bear(err) {
				return
			}
			continue
		}
		s.work.Go(func() {
			defer func() { <-s.places }()
			defer conn.Close()
			s.serve(conn)
		})
	}
}

// bear waits a moment where accepting may work again, as when the process has
// too many files open.
func (s *Server) bear(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// serve holds one conversation.
func (s *Server) serve(conn *net.UnixConn) {
	ctx, cancel := context.WithTimeout(s.ctx, maxTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if uid, err := peer(conn); err != nil || !mayAsk(uid) {
		_ = writeLine(conn, answer{Error: "only the user who runs it, and root, may ask"})
		return
	}
	var r Request
	var a answer
	err := readLine(conn, maxRequest, &r)
	if err == nil {
		a.State, err = s.do(ctx, r)
	}
	if err != nil {
		a = answer{Error: err.Error()}
	}
	_ = writeLine(conn, a) // whoever has gone away is told nothing
}

func (s *Server) do(ctx context.Context, r Request) (*State, error) {
	switch r.Op {
	case OpStatus:
	case OpDrain:
		s.sweep.Drain()
	case OpHalt:
		s.sweep.Halt()
	case OpJobs:
		if err := s.sweep.SetJobs(r.Jobs); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no request %.40q", r.Op)
	}
	state, err := s.sweep.State(ctx)
	state.Run, state.PID = s.run, os.Getpid()
	return &state, err
}
