//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"cabra-run/sandbox/relay/internal/wire"
)

const (
	spareThreads = 12       // started before the agent is; see startThreads
	heapGoal     = 64 << 20 // the collector works harder above it
	linger       = 2 * time.Second
)

// serveCommand is PID 1. It returns when the stream to the host has ended.
func serveCommand(args []string) (int, error) {
	port, deadline := int64(wire.Port), int64(0)
	options := arguments{numbers: map[string]*int64{"--port": &port, "--deadline": &deadline}}
	words, err := options.parse(args)
	if err == nil {
		err = none(words)
	}
	if err != nil {
		return exitUsage, err
	}
	if err := prepare(); err != nil {
		return exitFailed, err
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
	if err != nil {
		return exitFailed, fmt.Errorf("listening: %w", err)
	}
	session, err := yamux.Client(stdio{}, wire.Config())
	if err != nil {
		return exitFailed, fmt.Errorf("setting up the stream: %w", err)
	}
	err = greet(session, listener.Addr().(*net.TCPAddr).Port)
	if errors.Is(err, yamux.ErrSessionShutdown) {
		return exitDone, nil // the host has hung up already; a write may still report that
	}
	if err != nil {
		return exitFailed, err
	}
	go accept(listener, session)
	return wait(session, time.Duration(deadline)*time.Second), nil
}

// prepare makes this process hard to hurt: nobody of another uid can look into
// it or trace it, no signal that it could take ends it, and it does not depend
// on new threads later.
func prepare() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming undumpable: %w", err)
	}
	ignoreSignals()
	runtime.GOMAXPROCS(2)
	debug.SetMemoryLimit(heapGoal)
	startThreads(spareThreads)
	return nil
}

// ignoreSignals drops every signal that can be dropped, but the one that the
// runtime sends to itself. With SIGCHLD ignored, the kernel reaps the orphans
// that a PID 1 inherits; no loop of ours can fall behind.
func ignoreSignals() {
	var all []os.Signal
	for s := syscall.Signal(1); s <= 64; s++ {
		if s != syscall.SIGURG {
			all = append(all, s)
		}
	}
	signal.Ignore(all...)
}

// startThreads makes the runtime own n idle threads, which it never gives
// back. Later, when a fork bomb has used up the box's processes, a runtime
// that needed a new thread would end the program.
func startThreads(n int) {
	var all, started sync.WaitGroup
	release := make(chan struct{})
	all.Add(n)
	started.Add(n)
	for range n {
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		}()
	}
	started.Wait()
	close(release)
	all.Wait()
}

// stdio is the stream to the host. It cannot be closed before the process
// ends: a pending Write would outlive it.
type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return nil }

// greet tells the host that connections are taken from now on.
func greet(session *yamux.Session, port int) error {
	s, err := session.OpenStream()
	if err == nil {
		_, err = io.WriteString(s, wire.Hello(port))
	}
	if err != nil {
		return fmt.Errorf("greeting the host: %w", err)
	}
	_ = s.Close() // a host that has heard enough may have ended the stream already
	return nil
}

// wait returns the exit code when the stream or the time has ended. The
// multiplexer may still hang in a write; nobody waits for it.
func wait(session *yamux.Session, deadline time.Duration) int {
	var over <-chan time.Time
	if deadline > 0 {
		over = time.After(deadline)
	}
	select {
	case <-session.CloseChan():
		return exitDone
	case <-over:
		return exitDeadline
	}
}

// accept carries the agent's connections, 64 at once; the next ones wait in
// the kernel's backlog.
func accept(listener *net.TCPListener, session *yamux.Session) {
	places := make(chan struct{}, wire.Connections)
	for {
		places <- struct{}{}
		conn, err := listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of memory or descriptors, for a while
			<-places
			time.Sleep(50 * time.Millisecond)
			continue
		}
		s, err := session.OpenStream()
		if err != nil {
			conn.Close()
			return // the stream has ended, and so will the process
		}
		go func() {
			carry(conn, s)
			<-places
		}()
	}
}

// carry copies both ways until the host has closed its side. Only then is the
// place free again, so that the host never sees more connections than there
// are places.
func carry(conn *net.TCPConn, s *yamux.Stream) {
	defer conn.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		copyPieces(s, conn)
		s.Close()
		copyPieces(io.Discard, conn) // a reset would make the agent lose the end of an answer
	}()
	copyPieces(conn, s)
	copyPieces(io.Discard, s) // the agent is gone and the host does not know yet
	conn.CloseWrite()
	conn.SetReadDeadline(time.Now().Add(linger))
	s.SetWriteDeadline(time.Now())
	<-sent
}

// copyPieces copies without the shortcuts that io.Copy takes for sockets: they
// use larger buffers, and a frame must not be longer than one piece.
func copyPieces(dst io.Writer, src io.Reader) {
	buf := make([]byte, wire.FrameBytes)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
