package relay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"cabra-run/sandbox/relay/internal/wire"
)

// A guard stands between a box's stream and the multiplexer. It reads whole
// frames, admits what an honest relay sends, and ends the stream at the first
// frame that one would not send. The multiplexer alone is no defence: it
// starts a goroutine for every ping, lets the peer grant any window, keeps
// half-closed streams for ever, and reads a frame's body under the lock that
// the stream's reader needs.
//
// The box's stream itself is touched by two goroutines only, one for each
// direction: closing it need not end a pending Read or Write, and the
// multiplexer, which would wait for them and spin meanwhile, must end at once.
type guard struct {
	rw     io.ReadWriteCloser
	bounds Bounds
	in     *bufio.Reader
	pipe   *io.PipeReader // behind in
	frame  [headerBytes + wire.FrameBytes]byte
	rest   []byte // admitted, and not yet handed to the multiplexer
	out    []byte // to be sent; a header waits here for its body

	writes  chan []byte
	written chan error
	ended   chan struct{} // closed at the end

	mu      sync.Mutex
	cause   error // the first reason for an end
	account account
}

func newGuard(rw io.ReadWriteCloser, b Bounds) *guard {
	r, w := io.Pipe()
	g := &guard{
		rw: rw, bounds: b, pipe: r, in: bufio.NewReaderSize(r, 2*wire.FrameBytes),
		writes: make(chan []byte), written: make(chan error), ended: make(chan struct{}),
		account: account{bounds: b, streams: map[uint32]*stream{}},
	}
	go g.pull(w)
	go g.push()
	return g
}

// pull reads the box's stream until it ends. What comes after the guard's end
// is dropped, not left: engines do not report the end of a box, or do not even
// kill it, before its output is read.
func (g *guard) pull(w *io.PipeWriter) {
	buf := make([]byte, 2*wire.FrameBytes)
	for {
		n, err := g.rw.Read(buf)
		if n > 0 {
			_, _ = w.Write(buf[:n]) // fails at once after the end
		}
		if err != nil {
			w.CloseWithError(err)
			return
		}
	}
}

// push writes to the box's stream what flush gives it.
func (g *guard) push() {
	for {
		select {
		case p := <-g.writes:
			_, err := g.rw.Write(p)
			select {
			case g.written <- err:
			case <-g.ended:
				return
			}
		case <-g.ended:
			return
		}
	}
}

// Read hands admitted frames to the multiplexer.
func (g *guard) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// next reads one frame and keeps it in rest when the multiplexer shall see it.
func (g *guard) next() error {
	h, err := g.header()
	if err != nil {
		return err
	}
	pass, err := g.judge(h)
	if err != nil {
		return g.end(err)
	}
	body := g.frame[headerBytes : headerBytes+h.payload()]
	if _, err := io.ReadFull(g.in, body); err != nil {
		return g.end(streamError(err))
	}
	if pass {
		g.rest = g.frame[:headerBytes+len(body)]
	}
	return nil
}

func (g *guard) header() (frameHeader, error) {
	raw := g.frame[:headerBytes]
	if _, err := io.ReadFull(g.in, raw); err != nil {
		return frameHeader{}, g.end(streamError(err))
	}
	return parseHeader(raw), nil
}

// judge enters a frame into the account.
func (g *guard) judge(h frameHeader) (pass bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.account.enter(h)
}

// Write passes on what the multiplexer sends: a header, and then the body of a
// data frame. Both leave together. A box that does not take them for too long
// has ended the stream.
func (g *guard) Write(p []byte) (int, error) {
	if len(g.out) == 0 {
		h := parseHeader(p)
		g.mu.Lock()
		g.account.sent(h)
		g.mu.Unlock()
		if h.payload() > 0 {
			g.out = append(g.out, p...)
			return len(p), nil
		}
	}
	g.out = append(g.out, p...)
	err := g.flush()
	g.out = g.out[:0]
	return len(p), err
}

func (g *guard) flush() error {
	watch := time.AfterFunc(g.bounds.Stuck, func() {
		g.end(broken("it has read nothing for %v", g.bounds.Stuck))
	})
	defer watch.Stop()
	select {
	case g.writes <- g.out:
	case <-g.ended:
		return g.why()
	}
	select {
	case err := <-g.written:
		if err != nil {
			return g.end(fmt.Errorf("%w: %w", ErrEnded, err))
		}
		return nil
	case <-g.ended:
		g.out = nil // push may still be reading it
		return g.why()
	}
}

// Close ends the stream from our side. It is what the multiplexer calls when
// it gives up, so a cause that nobody has named before is the box's fault.
func (g *guard) Close() error {
	g.end(fmt.Errorf("%w: the multiplexer refused a frame", ErrProtocol))
	return nil
}

// end closes the stream, once, and returns the first cause.
func (g *guard) end(cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause != nil {
		return g.cause
	}
	g.cause = cause
	close(g.ended)
	g.pipe.CloseWithError(cause)
	g.rw.Close()
	return cause
}

// why is the cause of the end, nil before it.
func (g *guard) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// consumed notes bytes of a stream that were read by our side.
func (g *guard) consumed(id uint32, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account.consume(id, int64(n))
}

// left notes that our side has closed a stream and will read no more of it.
func (g *guard) left(id uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.account.leave(id)
}

// streamError names an end that came while reading.
func streamError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrEnded
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}
