package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// KeyCommand is a program that prints a provider's key, the client of a
// password store for one. It is started without a shell, gets no input, and is
// given a bounded time; what it prints is used for a while.
type KeyCommand struct {
	Args    []string
	Timeout time.Duration // 20 s
	Keep    time.Duration // 5 min; a key that is refused is asked for again at once

	mu   sync.Mutex
	key  []byte
	read time.Time
}

// Read returns the key, running the command when the last one is too old.
// Calls wait for each other, so that it is not run twice at a time.
func (c *KeyCommand) Read(ctx context.Context) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != nil && time.Since(c.read) < orDuration(c.Keep, 5*time.Minute) {
		return c.key, nil
	}
	key, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	c.key, c.read = key, time.Now()
	return key, nil
}

// forget drops the key, unless it has been renewed since.
func (c *KeyCommand) forget(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(c.key, key) {
		c.key = nil
	}
}

func (c *KeyCommand) run(ctx context.Context) ([]byte, error) {
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("%w: the key command is empty", ErrKey)
	}
	timeout := orDuration(c.Timeout, 20*time.Second)
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, c.Args[0], c.Args[1:]...)
	// The whole group is ended, whatever the program has started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, complaint := &head{limit: maxKey + 1}, &head{limit: maxErrorMessage}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: key command %q printed no key within %v", ErrKey, c.Args[0], timeout)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("%w: key command %q: %w: %s", ErrKey, c.Args[0], err, oneLine(complaint.buf.String()))
	}
	return cleanKey(out.buf.Bytes(), fmt.Sprintf("what key command %q printed", c.Args[0]))
}

// head keeps the beginning of what is written to it.
type head struct {
	buf   bytes.Buffer
	limit int
}

var _ io.Writer = (*head)(nil)

func (h *head) Write(p []byte) (int, error) {
	h.buf.Write(p[:min(len(p), h.limit-h.buf.Len())])
	return len(p), nil
}
