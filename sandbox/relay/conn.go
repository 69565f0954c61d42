package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"cabra-run/sandbox/relay/internal/wire"
)

// Port is where the relay listens in the box, on 127.0.0.1.
const Port = wire.Port

// Conn is the host's end of a relay's stream. It is a net.Listener: Accept
// gives one connection of the agent at a time. All methods may be called from
// several goroutines.
type Conn struct {
	guard   *guard
	session *yamux.Session
	done    chan struct{}
	port    int // announced by the relay
}

// Accept takes over stdio, the standard streams of a box's PID 1, and returns
// when the relay there has said that it listens. ctx bounds this waiting, not
// the life of the Conn. stdio is closed when Accept fails and at the end of the
// Conn. If that does not end its pending Read and Write, the killing of the box
// has to: a goroutine for each waits for it. The errors are those of Conn.Err.
func Accept(ctx context.Context, stdio io.ReadWriteCloser, b Bounds) (*Conn, error) {
	b = b.OrDefaults()
	g := newGuard(stdio, b)
	session, err := yamux.Server(g, wire.Config())
	if err != nil {
		g.end(ErrClosed)
		return nil, fmt.Errorf("setting up the relay's stream: %w", err)
	}
	c := &Conn{guard: g, session: session, done: make(chan struct{})}
	go c.finish()
	if err := c.greet(ctx); err != nil || c.Err() != nil {
		c.guard.end(err)
		<-c.done
		return nil, fmt.Errorf("waiting for the relay: %w", c.Err())
	}
	go c.watch()
	return c, nil
}

// greet reads the opening line.
func (c *Conn) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.guard.bounds.Hello,
		broken("no opening line within %v", c.guard.bounds.Hello))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.guard.end(context.Cause(ctx)) })
	defer stop()
	first, err := c.Accept()
	if err != nil {
		return err
	}
	defer first.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(first, wire.HelloBytes), wire.HelloBytes).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: no opening line: %w", ErrProtocol, err)
	}
	c.port, err = wire.ParseHello(line)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// finish waits for the end of the session, whoever wanted it.
func (c *Conn) finish() {
	<-c.session.CloseChan()
	c.session.Close() // returns when its goroutines have ended
	c.guard.Close()   // in case that it ended without a cause
	close(c.done)
}

// watch ends the connection when the box does not answer for too long.
func (c *Conn) watch() {
	tick := time.NewTicker(c.guard.bounds.Ping)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		silence := time.AfterFunc(c.guard.bounds.Stuck, func() {
			c.guard.end(broken("no answer for %v", c.guard.bounds.Stuck))
		})
		_, err := c.session.Ping()
		silence.Stop()
		if err != nil {
			return // the session has ended
		}
	}
}

// Accept waits for the next connection of the agent. After the end of the
// stream it returns the error of Err.
func (c *Conn) Accept() (net.Conn, error) {
	s, err := c.session.AcceptStream()
	if err != nil {
		c.guard.Close()
		return nil, c.guard.why()
	}
	return &link{Stream: s, guard: c.guard}, nil
}

// Addr is the address that the agent connects to, in its box.
func (c *Conn) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: c.port}
}

// Done is closed when the stream has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the stream ended: it wraps ErrProtocol, ErrEnded or ErrClosed,
// or is the error of the context of Accept. It is nil before the end.
func (c *Conn) Err() error { return c.guard.why() }

// Close ends the stream, and with it the relay and its box. It returns when
// everything has stopped, always nil.
func (c *Conn) Close() error {
	c.guard.end(ErrClosed)
	c.session.Close()
	<-c.done
	return nil
}

// Stats is what a box has sent.
type Stats struct {
	Bytes, Frames, Opened int64
}

// Stats counts what has arrived so far.
func (c *Conn) Stats() Stats {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	a := &c.guard.account
	return Stats{Bytes: a.bytes, Frames: a.frames, Opened: a.opened}
}

// link is one connection of the agent. It keeps the guard's account, and
// writes in small pieces, because the multiplexer keeps a copy of the largest
// piece that it has ever sent.
type link struct {
	*yamux.Stream
	guard *guard
	once  sync.Once
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Stream.Read(p)
	l.guard.consumed(l.StreamID(), n)
	return n, err
}

func (l *link) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		piece := p[:min(len(p), wire.FrameBytes)]
		n, err := l.Stream.Write(piece)
		total += n
		if err != nil {
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}

// Close gives the connection up in both directions: what the agent still
// sends is dropped, and what was not read is freed at once.
func (l *link) Close() error {
	l.once.Do(func() {
		l.guard.left(l.StreamID())
		l.Stream.Close()
		l.SetReadDeadline(time.Unix(1, 0))
		var scrap [4096]byte
		for {
			if _, err := l.Stream.Read(scrap[:]); err != nil {
				break
			}
		}
		l.Shrink()
	})
	return nil
}
