package runner

import (
	"io"
	"sync"
	"time"
)

// outputs bounds what an agent prints: both streams together may be limit
// bytes long; what comes after is dropped, and full is closed once.
type outputs struct {
	limit int64
	full  chan struct{}

	mu      sync.Mutex
	written int64
	last    time.Time
	err     error // first failure to keep something
}

func newOutputs(limit int64) *outputs {
	return &outputs{limit: limit, full: make(chan struct{})}
}

// to returns a writer that copies into w within the bound.
func (o *outputs) to(w io.Writer) io.Writer { return &boundedWriter{o, w} }

type boundedWriter struct {
	o *outputs
	w io.Writer
}

// Write always takes all of p, so that the reader of the stream goes on and the
// agent does not block on a full pipe before it is ended.
func (b *boundedWriter) Write(p []byte) (int, error) {
	if keep := b.o.admit(int64(len(p))); keep > 0 {
		// A full disk must not look like a broken stream.
		_, err := b.w.Write(p[:keep])
		b.o.failed(err)
	}
	return len(p), nil
}

// admit counts n bytes and returns how many of them are kept.
func (o *outputs) admit(n int64) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := max(0, min(n, o.limit-o.written))
	crossed := o.written <= o.limit && o.written+n > o.limit
	o.written += n
	o.last = time.Now()
	if crossed {
		close(o.full)
	}
	return keep
}

func (o *outputs) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// failure is the first error of keeping what was printed.
func (o *outputs) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// seen returns how much was printed and when the last of it came.
func (o *outputs) seen() (int64, time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written, o.last
}
