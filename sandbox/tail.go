package sandbox

import (
	"bytes"
	"sync"
)

// MaxStderr is how much of PID 1's standard error is kept.
const MaxStderr = 64 << 10

// Tail keeps the last MaxStderr bytes written to it, for engines. The zero
// value is ready.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-MaxStderr):]...)
	if over := len(t.data) - MaxStderr; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// Bytes returns a copy of what is kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.data)
}
