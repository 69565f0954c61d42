package runner

import (
	"os"
	"sync"
	"time"
)

// restAfter is how long a file stays open after it was written to.
const restAfter = time.Second

// restingFile is a file of an attempt that is written now and then, for hours.
// Thousands of attempts have three of them each, and a process may have but so
// many open files; so it is open only while it is written to.
type restingFile struct {
	root *os.Root
	name string
	idle *time.Timer

	mu     sync.Mutex
	file   *os.File // nil at rest
	closed bool
}

// newRestingFile makes the file, empty.
func newRestingFile(root *os.Root, name string) (*restingFile, error) {
	file, err := root.Create(name)
	if err != nil {
		return nil, err
	}
	r := &restingFile{root: root, name: name}
	r.idle = time.AfterFunc(restAfter, r.rest)
	r.idle.Stop()
	return r, file.Close()
}

// Write appends p.
func (r *restingFile) Write(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, os.ErrClosed
	}
	if r.file == nil {
		if r.file, err = r.root.OpenFile(r.name, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return 0, err
		}
	}
	r.idle.Reset(restAfter)
	return r.file.Write(p)
}

func (r *restingFile) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.release() // what was written is written
}

func (r *restingFile) release() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Close ends the writing; more than once is not an error.
func (r *restingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.idle.Stop()
	return r.release()
}
