package sandbox

import (
	"io"
	"sync"
)

// pipeSize is the buffer of a Pipe, the size of the kernel's pipes.
const pipeSize = 64 << 10

// pipeKeep is what an empty Pipe keeps of its buffer: there may be thousands
// that wait for something to be written.
const pipeKeep = 4 << 10

// Pipe is a buffered pipe in memory, for engines: what a program has written
// before its end can still be read after it. A writer waits while the buffer
// is full. Use NewPipe.
type Pipe struct {
	mu    sync.Mutex
	ready sync.Cond // something of the fields below has changed
	buf   []byte    // what was written and not read
	err   error     // what Read returns once buf is empty; nil while open for writing
	gone  bool      // nobody reads any more
	drop  bool      // Write never waits
}

// NewPipe returns an empty open pipe.
func NewPipe() *Pipe {
	p := &Pipe{}
	p.ready.L = &p.mu
	return p
}

// Read waits for bytes, the end, or CloseRead.
func (p *Pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 && p.err == nil && !p.gone && len(b) > 0 {
		p.ready.Wait()
	}
	switch {
	case p.gone:
		return 0, io.ErrClosedPipe
	case len(p.buf) > 0:
		n := copy(b, p.buf)
		p.buf = p.buf[:copy(p.buf, p.buf[n:])]
		if len(p.buf) == 0 && cap(p.buf) > pipeKeep {
			p.buf = nil
		}
		p.ready.Broadcast()
		return n, nil
	case len(b) == 0:
		return 0, nil
	}
	return 0, p.err
}

// WriteTo is what io.Copy uses: it hands the buffer itself to w, so that a
// reader that waits has none of its own.
func (p *Pipe) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		chunk, err := p.take()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return total, err
		}
		n, err := w.Write(chunk)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// take waits as Read does, and takes all that is in the buffer.
func (p *Pipe) take() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 && p.err == nil && !p.gone {
		p.ready.Wait()
	}
	switch {
	case p.gone:
		return nil, io.ErrClosedPipe
	case len(p.buf) == 0:
		return nil, p.err
	}
	chunk := p.buf
	p.buf = nil
	p.ready.Broadcast()
	return chunk, nil
}

// Write waits until all of b is in the buffer, CloseRead, or Drop.
func (p *Pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	written := 0
	for {
		if p.gone || p.err != nil {
			return written, io.ErrClosedPipe
		}
		n := min(len(b)-written, pipeSize-len(p.buf))
		p.buf = append(p.buf, b[written:written+n]...)
		written += n
		if n > 0 {
			p.ready.Broadcast()
		}
		if written == len(b) || p.drop {
			return len(b), nil
		}
		p.ready.Wait()
	}
}

// CloseWrite ends the pipe: Read returns err, or io.EOF for nil, after the
// bytes that are in the buffer. The first call counts.
func (p *Pipe) CloseWrite(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = io.EOF
	if err != nil {
		p.err = err
	}
	p.ready.Broadcast()
}

// CloseRead throws away what is in the buffer; Read and Write fail from now on.
func (p *Pipe) CloseRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.buf = true, nil
	p.ready.Broadcast()
}

// Drop lets Write lose what does not fit, so that a program nobody reads from
// can come to its end.
func (p *Pipe) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = true
	p.ready.Broadcast()
}

// Pour copies the pipe to w until it ends or w fails. After a failure, or with
// a nil w, what is written to the pipe from then on is refused.
func (p *Pipe) Pour(w io.Writer) {
	if w != nil {
		io.Copy(w, p) // an error of w ends the copying, which is all it does
	}
	p.CloseRead()
}
