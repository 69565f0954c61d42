package relay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cabra-run/sandbox/relay"
)

// Frames as a box could send them, in the multiplexer's format.
const (
	data, window, ping, goAway = 0, 1, 2, 3
	syn, ack, fin, rst         = 1, 2, 4, 8
)

func header(kind byte, flags uint16, id, length uint32) []byte {
	h := []byte{0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(h[2:], flags)
	binary.BigEndian.PutUint32(h[4:], id)
	binary.BigEndian.PutUint32(h[8:], length)
	return h
}

func payload(id uint32, text []byte) []byte {
	return append(header(data, 0, id, uint32(len(text))), text...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// greeting is what every honest relay says first.
var greeting = join(header(window, syn, 1, 0), payload(1, []byte("cabra-relay 1 8017\n")), header(window, fin, 1, 0))

// box is the other end of a stream: a test that plays PID 1. What the host
// sends is read and dropped.
func box(t *testing.T, b relay.Bounds) (*relay.Conn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { theirs.Close() })
	go io.Copy(io.Discard, theirs)
	go theirs.Write(greeting)
	c, err := relay.Accept(context.Background(), ours, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, theirs
}

func wantProtocol(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, relay.ErrProtocol) || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want ErrProtocol with %q", err, text)
	}
}

func TestFramesOfNoHonestRelay(t *testing.T) {
	open := header(window, syn, 3, 0)
	full := bytes.Repeat(payload(3, make([]byte, 32<<10)), 8) // one window
	tests := []struct {
		name, want string
		send       []byte
	}{
		{"text", "version 72", []byte("HTTP/1.1 200 OK\r\n\r\n")},
		{"version", "version 1", append([]byte{1}, header(window, syn, 3, 0)[1:]...)},
		{"kind", "kind 9", header(9, 0, 0, 0)},
		{"ping", "ping with flags 0x1", header(ping, syn, 0, 1)},
		{"answer to no ping", "answer to no ping", header(ping, ack, 0, 0)},
		{"going away", "kind 3", header(goAway, 0, 0, 0)},
		{"going away in error", "kind 3", header(goAway, 0, 0, 1)},
		{"data on nothing", "stream 3, which is not open", payload(3, []byte("x"))},
		{"data on stream 0", "stream 0, which is not open", payload(0, []byte("x"))},
		{"data that opens", "flags 0x1", header(data, syn, 3, 4)},
		{"empty data", "data frame of 0 bytes", join(open, header(data, 0, 3, 0))},
		{"long data", "data frame of 32769 bytes", join(open, header(data, 0, 3, 32769))},
		{"4 GiB of data", "data frame of 4294967295 bytes", join(open, header(data, 0, 3, 1<<32-1))},
		{"data after the end", "stream 3, which is not open", join(open, header(window, fin, 3, 0), payload(3, []byte("x")))},
		{"data after reset", "stream 3, which is not open", join(open, header(window, rst, 3, 0), payload(3, []byte("x")))},
		{"two ends", "finished twice", join(open, header(window, fin, 3, 0), header(window, fin, 3, 0))},
		{"opened twice", "out of order", join(open, open)},
		{"opened backwards", "out of order", join(header(window, syn, 7, 0), header(window, syn, 5, 0))},
		{"the host's number", "out of order", header(window, syn, 4, 0)},
		{"opened with window", "window of its own", header(window, syn, 3, 1<<31)},
		{"acknowledged", "flags 0x2", join(open, header(window, ack, 3, 0))},
		{"all flags", "flags 0xf", header(window, 15, 3, 0)},
		{"unknown flags", "flags 0x8000", header(window, 0x8000, 3, 0)},
		{"window from nothing", "more than was sent", join(open, header(window, 0, 3, 1))},
		{"window of the unknown", "never was", header(window, 0, 99, 1)},
		{"beyond the window", "beyond the window", join(open, full, payload(3, []byte("x")))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, box := box(t, relay.Bounds{})
			go box.Write(test.send)
			within(t, "the end", c.Done())
			wantProtocol(t, c.Err(), test.want)
		})
	}
}

func TestOpeningLines(t *testing.T) {
	tests := []struct{ name, want, line string }{
		{"other version", `version "2"`, "cabra-relay 2 8017\n"},
		{"other program", "opening line", "SSH-2.0-x\n"},
		{"no line end", "opening line", "cabra-relay 1 8017"},
		{"more", "opening line", "cabra-relay 1 8017 x\n"},
		{"port", "opening line", "cabra-relay 1 +8017\n"},
		{"too long", "opening line", strings.Repeat("a", 1000) + "\n"},
		{"nothing", "opening line", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			go io.Copy(io.Discard, theirs)
			line := []byte{}
			if test.line != "" {
				line = payload(1, []byte(test.line))
			}
			go theirs.Write(join(header(window, syn, 1, 0), line, header(window, fin, 1, 0)))
			_, err := relay.Accept(context.Background(), ours, relay.Bounds{})
			wantProtocol(t, err, test.want)
		})
	}
	t.Run("silence", func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		_, err := relay.Accept(context.Background(), ours, relay.Bounds{Hello: time.Millisecond})
		wantProtocol(t, err, "no opening line")
	})
	t.Run("death", func(t *testing.T) {
		ours, theirs := net.Pipe()
		theirs.Close()
		if _, err := relay.Accept(context.Background(), ours, relay.Bounds{}); !errors.Is(err, relay.ErrEnded) {
			t.Errorf("Accept gives %v, want ErrEnded", err)
		}
	})
}

// What a box can make the host hold, in every way that we know.
func TestHeapUnderAttack(t *testing.T) {
	const limit = 64 << 20
	piece := make([]byte, 32<<10)
	tests := []struct {
		name, want string
		bounds     relay.Bounds
		accept     bool // the host takes connections, and closes them unread
		attack     func(w io.Writer) error
	}{
		{"pings", "ping", relay.Bounds{}, true, func(w io.Writer) error {
			return repeat(w, 1e6, func(int) []byte { return header(ping, syn, 0, 7) })
		}},
		{"openings", "more than 64 connections at once", relay.Bounds{}, false, func(w io.Writer) error {
			return repeat(w, 1e6, func(i int) []byte { return header(window, syn, uint32(2*i+3), 0) })
		}},
		{"resets", "more than 64 connections at once", relay.Bounds{}, false, func(w io.Writer) error {
			return repeat(w, 1e6, func(i int) []byte {
				id := uint32(2*i + 3)
				return join(header(window, syn, id, 0), payload(id, piece), header(window, rst, id, 0))
			})
		}},
		{"full windows", "that nobody reads", relay.Bounds{}, false, func(w io.Writer) error {
			for i := range 64 {
				id := uint32(2*i + 3)
				if _, err := w.Write(header(window, syn, id, 0)); err != nil {
					return err
				}
				if err := repeat(w, 8, func(int) []byte { return payload(id, piece) }); err != nil {
					return err
				}
			}
			return nil
		}},
		{"small frames", "that nobody reads", relay.Bounds{}, false, func(w io.Writer) error {
			for i := range 64 {
				if _, err := w.Write(header(window, syn, uint32(2*i+3), 0)); err != nil {
					return err
				}
			}
			return repeat(w, 1e6, func(i int) []byte { return payload(uint32(2*(i%64)+3), piece[:513]) })
		}},
		{"fill and close", "connections", relay.Bounds{Opened: 3000}, true, func(w io.Writer) error {
			return repeat(w, 1e4, func(i int) []byte {
				id := uint32(2*i + 3)
				return join(header(window, syn, id, 0), bytes.Repeat(payload(id, piece), 8), header(window, fin, id, 0))
			})
		}},
		{"empty updates", "more than 300000 frames", relay.Bounds{Frames: 300_000}, true, func(w io.Writer) error {
			return repeat(w, 1e6, func(int) []byte { return header(window, 0, 1, 0) })
		}},
		{"noise", "", relay.Bounds{}, true, func(w io.Writer) error {
			noise := rand.NewChaCha8([32]byte{})
			_, err := io.CopyN(w, noise, 100<<20)
			return err
		}},
		{"bytes", "more than 50000000 bytes", relay.Bounds{Bytes: 50_000_000}, true, func(w io.Writer) error {
			return repeat(w, 1e5, func(i int) []byte {
				id := uint32(2*i + 3)
				return join(header(window, syn, id, 0), bytes.Repeat(payload(id, piece), 8), header(window, fin, id, 0))
			})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			heap := watchHeap(t)
			c, box := box(t, test.bounds)
			if test.accept {
				go func() {
					for link, err := c.Accept(); err == nil; link, err = c.Accept() {
						link.Close()
					}
				}()
			}
			if err := test.attack(box); err == nil {
				t.Error("the host took everything")
			}
			within(t, "the end", c.Done())
			wantProtocol(t, c.Err(), test.want)
			grown := heap()
			t.Logf("heap %d KiB, goroutines +%d", grown>>10, runtime.NumGoroutine()-goroutines)
			if grown > limit {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		})
	}
}

func repeat(w io.Writer, n int, frame func(i int) []byte) error {
	for i := range n {
		if _, err := w.Write(frame(i)); err != nil {
			return err
		}
	}
	return nil
}

// Half a frame holds up nobody on our side: reads keep their deadlines, and
// Close returns.
func TestHalfAFrame(t *testing.T) {
	c, box := box(t, relay.Bounds{})
	go box.Write(join(header(window, syn, 3, 0), payload(3, []byte("first")), header(data, 0, 3, 1000), []byte("half")))
	link, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(link, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	link.SetReadDeadline(time.Now().Add(time.Millisecond))
	var timeout net.Error
	if _, err := link.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("reading behind half a frame gives %v, want a time-out", err)
	}
	link.Close()
	c.Close()
	if !errors.Is(c.Err(), relay.ErrClosed) {
		t.Errorf("Err is %v, want ErrClosed", c.Err())
	}
}

func TestBoxThatReadsNothing(t *testing.T) {
	out, box := io.Pipe()
	stream := &deafStream{Reader: out, killed: make(chan struct{})}
	go box.Write(join(greeting, header(window, syn, 3, 0)))
	c, err := relay.Accept(context.Background(), stream, relay.Bounds{Stuck: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	stream.deaf.Store(true)
	if _, err := link.Write(make([]byte, 100)); err == nil {
		t.Error("a write that nobody reads succeeds")
	}
	within(t, "the end", c.Done())
	wantProtocol(t, c.Err(), "it has read nothing")
	close(stream.killed)
	box.Close()
}

func TestBoxThatAnswersNoPing(t *testing.T) {
	c, _ := box(t, relay.Bounds{Ping: time.Millisecond, Stuck: 20 * time.Millisecond})
	within(t, "the end", c.Done())
	wantProtocol(t, c.Err(), "no answer for")
}

// deafStream is a stream of an engine whose Close ends the box's input only:
// pending calls go on until the box is killed.
type deafStream struct {
	io.Reader
	deaf   atomic.Bool
	killed chan struct{}
}

func (d *deafStream) Write(p []byte) (int, error) {
	if d.deaf.Load() {
		<-d.killed
		return 0, net.ErrClosed
	}
	return len(p), nil
}

func (d *deafStream) Close() error { return nil }

func TestCloseDoesNotWaitForTheBox(t *testing.T) {
	out, box := io.Pipe()
	stream := &deafStream{Reader: out, killed: make(chan struct{})}
	go box.Write(join(greeting, header(window, syn, 3, 0)))
	c, err := relay.Accept(context.Background(), stream, relay.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	stream.deaf.Store(true)
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		link.Write([]byte("x"))
	}()
	c.Close() // with a Read and perhaps a Write pending that it cannot end
	if !errors.Is(c.Err(), relay.ErrClosed) {
		t.Errorf("Err is %v, want ErrClosed", c.Err())
	}
	within(t, "the end of a write", wrote)
	close(stream.killed)
	box.Close()
}

// The real relay answers pings for as long as it is asked.
func TestPingsAreAnswered(t *testing.T) {
	c, _ := connect(t, relay.Bounds{Ping: time.Millisecond})
	for c.Stats().Frames < 103 && c.Err() == nil { // three are the opening's
		runtime.Gosched()
	}
	if c.Err() != nil {
		t.Errorf("the stream ended: %v", c.Err())
	}
}

// After our side has closed a connection, the box may send what its window
// still allows, but not more, and may not keep the place for others.
func TestBoxGoesOnAfterClose(t *testing.T) {
	c, box := box(t, relay.Bounds{})
	go box.Write(header(window, syn, 3, 0))
	link, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	link.Close()
	full := bytes.Repeat(payload(3, make([]byte, 32<<10)), 8)
	if _, err := box.Write(full); err != nil {
		t.Fatalf("one window after the close: %v", err)
	}
	if c.Err() != nil {
		t.Fatalf("one window after the close ended the stream: %v", c.Err())
	}
	go box.Write(payload(3, []byte("x")))
	within(t, "the end", c.Done())
	wantProtocol(t, c.Err(), "beyond the window")
}

func FuzzStream(f *testing.F) {
	f.Add(greeting)
	f.Add(join(greeting, header(window, syn, 3, 0), payload(3, []byte("GET / HTTP/1.1\r\n\r\n")), header(window, fin, 3, 0)))
	f.Add(join(greeting, header(window, syn, 3, 0), header(window, rst, 3, 0)))
	f.Add(join(greeting, header(ping, syn, 0, 1)))
	f.Fuzz(func(t *testing.T, sent []byte) {
		ours, theirs := net.Pipe()
		go io.Copy(io.Discard, theirs)
		go func() {
			theirs.Write(sent)
			theirs.Close()
		}()
		c, err := relay.Accept(context.Background(), ours, relay.Bounds{})
		if err != nil {
			return
		}
		for link, err := c.Accept(); err == nil; link, err = c.Accept() {
			go func() {
				io.Copy(link, link)
				link.Close()
			}()
		}
		<-c.Done()
		if err := c.Err(); !errors.Is(err, relay.ErrProtocol) && !errors.Is(err, relay.ErrEnded) {
			t.Errorf("the stream ended with %v", err)
		}
		if err := c.Err(); strings.Contains(err.Error(), "multiplexer") {
			t.Errorf("the multiplexer saw a frame that the guard should have refused: %v", err)
		}
	})
}
