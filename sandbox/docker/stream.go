package docker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types"

	"cabra-run/sandbox"
)

// The engine's frames: a byte for the stream, three of nothing, four of length.
const (
	frameHeader = 8
	frameStdout = 1
	frameStderr = 2
	frameSystem = 3
)

// maxSystem bounds an error text that the engine puts among the frames.
const maxSystem = 4 << 10

// copyBuffer is what a frame goes through. Hundreds of streams wait for their
// next frame most of the time, so that they borrow it when one comes.
type copyBuffer [32 << 10]byte

var copyBuffers = sync.Pool{New: func() any { return new(copyBuffer) }}

// demux copies the frames of src to stdout and stderr until it ends. The
// contents are a box's, the frames the engine's; still no frame is held whole,
// whatever length it announces. A writer that fails is given nothing more. A
// stream that ends within a frame is an error.
func demux(src io.Reader, stdout, stderr io.Writer) error {
	outs := map[byte]io.Writer{frameStdout: stdout, frameStderr: stderr}
	var header [frameHeader]byte
	for {
		if _, err := io.ReadFull(src, header[:]); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		kind, size := header[0], int64(binary.BigEndian.Uint32(header[4:]))
		if kind == frameSystem {
			text, err := io.ReadAll(io.LimitReader(src, min(size, maxSystem)))
			return errors.Join(fmt.Errorf("engine reports: %q", text), err)
		}
		out, known := outs[kind]
		if !known {
			return fmt.Errorf("unknown stream %d among the engine's frames", kind)
		}
		buf := copyBuffers.Get().(*copyBuffer)
		failed, err := copyFrame(out, src, size, buf[:])
		copyBuffers.Put(buf)
		if err != nil {
			return err
		}
		if failed {
			outs[kind] = nil
		}
	}
}

// copyFrame copies size bytes and reports whether out refused some. The rest
// is read and dropped then, so that the program behind it is not blocked.
func copyFrame(out io.Writer, src io.Reader, size int64, buf []byte) (failed bool, err error) {
	for size > 0 {
		n, err := src.Read(buf[:min(size, int64(len(buf)))])
		if n > 0 && out != nil && !failed {
			_, werr := out.Write(buf[:n])
			failed = werr != nil
		}
		size -= int64(n)
		if err == io.EOF && size > 0 {
			return failed, io.ErrUnexpectedEOF
		}
		if err != nil && err != io.EOF {
			return failed, err
		}
	}
	return failed, nil
}

// stdio is PID 1's attached streams.
type stdio struct {
	conn   types.HijackedResponse
	out    *sandbox.Pipe
	stderr sandbox.Tail
	done   chan struct{} // closed when the copying has ended
	close  sync.Once
}

// newStdio takes over an attached connection.
func newStdio(conn types.HijackedResponse) *stdio {
	s := &stdio{conn: conn, out: sandbox.NewPipe(), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.out.CloseWrite(demux(conn.Reader, s.out, &s.stderr))
	}()
	return s
}

func (s *stdio) Read(p []byte) (int, error) { return s.out.Read(p) }

func (s *stdio) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// Close ends PID 1's standard input. What it still writes can be read.
func (s *stdio) Close() error { return s.conn.CloseWrite() }

// shut ends the connection, and with it every pending Read and Write.
func (s *stdio) shut() {
	s.close.Do(func() {
		s.conn.Close()
		s.out.CloseRead()
		<-s.done
	})
}

// lift takes the deadline of the connecting off an attached connection.
func lift(conn types.HijackedResponse) error {
	if err := conn.Conn.SetDeadline(time.Time{}); err != nil {
		return errors.Join(err, conn.Conn.Close())
	}
	return nil
}
