package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"cabra-run/sandbox"
)

// How often the engine is asked whether a command still runs: it has no call
// that waits for one. While its output is open, seldom; after it was closed,
// the end is at hand.
const (
	pollOpen   = 500 * time.Millisecond
	pollClosed = 10 * time.Millisecond
)

// maxExitCode is the largest that a process can have.
const maxExitCode = 255

// drainTime is how long output is still copied after the end of a command
// whose descendants keep it open.
const drainTime = 2 * time.Second

// Exec starts a command under the guest's uid.
func (b *Box) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	const op = "starting command"
	if err := b.check(op); err != nil {
		return nil, err
	}
	if len(cmd.Args) == 0 {
		return nil, &sandbox.Fault{Op: op, Kind: sandbox.FaultBadSpec, Err: errors.New("no command")}
	}
	dir := cmd.Dir
	if dir == "" {
		dir = "/"
	}
	p := &process{
		box: b, copied: make(chan struct{}), stdout: sandbox.NewPipe(), stderr: sandbox.NewPipe(),
	}
	err := b.e.call(ctx, op, func(ctx context.Context) error {
		created, err := b.e.api.ContainerExecCreate(ctx, b.id, container.ExecOptions{
			User: userOf(b.uid), Cmd: cmd.Args, WorkingDir: dir,
			Env:          exactEnv(cmd.Env, append(envNames(b.env), b.image.env...), b.e.podman),
			AttachStdin:  cmd.Stdin != nil,
			AttachStdout: true, AttachStderr: true, Tty: cmd.Terminal != nil,
		})
		if err != nil {
			return err
		}
		p.id = created.ID
		if p.conn, err = b.e.api.ContainerExecAttach(ctx, p.id, container.ExecAttachOptions{Tty: cmd.Terminal != nil}); err != nil {
			return err
		}
		return lift(p.conn)
	})
	if err != nil {
		return nil, err
	}
	p.copy(cmd)
	return p, nil
}

// process is one command.
type process struct {
	box    *Box
	id     string
	conn   types.HijackedResponse
	stdout *sandbox.Pipe // between the engine and the caller's writers, so that
	stderr *sandbox.Pipe // one that blocks does not block the end of the box
	copied chan struct{} // closed when no more output comes
	broken error         // why the output ended early; read after copied

	wait sync.Mutex
	done bool
	code int
	err  error
}

// copy starts the copying of the three streams.
func (p *process) copy(cmd sandbox.Command) {
	if cmd.Stdin != nil {
		// Ends with the source, or with the connection when that closes and
		// the source has something to say.
		go func() {
			if _, err := io.Copy(p.conn.Conn, cmd.Stdin); err == nil {
				p.conn.CloseWrite() // the command reads an end of file
			}
		}()
	}
	p.box.mu.Lock()
	p.box.commands[p] = struct{}{}
	p.box.mu.Unlock()
	var copies sync.WaitGroup
	copies.Go(func() { p.stdout.Pour(cmd.Stdout) })
	copies.Go(func() { p.stderr.Pour(cmd.Stderr) })
	go func() {
		if cmd.Terminal != nil { // which has one output, and no frames
			p.broken = copyTerminal(p.conn.Reader, p.stdout)
		} else {
			p.broken = demux(p.conn.Reader, p.stdout, p.stderr)
		}
		p.stdout.CloseWrite(nil)
		p.stderr.CloseWrite(nil)
		copies.Wait()
		p.box.mu.Lock()
		delete(p.box.commands, p)
		p.box.mu.Unlock()
		close(p.copied)
	}()
	if cmd.Terminal != nil {
		go p.keepSize(*cmd.Terminal)
	}
}

// Wait returns the command's exit code.
func (p *process) Wait(ctx context.Context) (int, error) {
	p.wait.Lock()
	defer p.wait.Unlock()
	if p.done {
		return p.code, p.err
	}
	code, err := p.await(ctx)
	if ctx.Err() == nil || err == nil {
		p.done, p.code, p.err = true, code, err
		p.conn.Close()
	}
	return code, err
}

func (p *process) await(ctx context.Context) (int, error) {
	const op = "waiting for command"
	ticker := time.NewTicker(pollOpen)
	defer ticker.Stop()
	copied := p.copied
	failures := 0
	for {
		select {
		case <-copied:
			copied = nil
			ticker.Reset(pollClosed)
		case <-ticker.C:
		case <-ctx.Done():
			return -1, fault(ctx, op, ctx.Err())
		}
		state, err := p.inspect(ctx, op)
		if failures++; err != nil && failures < maxInspects && bearable(err) {
			continue // a hiccup must not void what was paid for
		}
		if err != nil {
			return -1, err
		}
		failures = 0
		if state.Running {
			continue
		}
		if err := p.drain(ctx); err != nil {
			return -1, fault(ctx, op, err)
		}
		if state.ExitCode < 0 || state.ExitCode > maxExitCode {
			return -1, fault(ctx, op, fmt.Errorf("the engine lost the exit code and reports %d", state.ExitCode))
		}
		return state.ExitCode, nil
	}
}

// maxInspects is how many inspections in a row may fail.
const maxInspects = 5

// bearable reports whether asking again can help.
func bearable(err error) bool {
	return sandbox.IsFault(err, sandbox.FaultUnreachable) || sandbox.IsFault(err, sandbox.FaultTimeout) ||
		sandbox.IsFault(err, sandbox.FaultEngine)
}

func (p *process) inspect(ctx context.Context, op string) (container.ExecInspect, error) {
	var state container.ExecInspect
	err := p.box.e.call(ctx, op, func(ctx context.Context) (err error) {
		state, err = p.box.e.api.ContainerExecInspect(ctx, p.id)
		return err
	})
	return state, err
}

// drain waits for the rest of the output of an ended command.
func (p *process) drain(ctx context.Context) error {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-p.copied:
		if p.broken != nil {
			return fmt.Errorf("reading output: %w", p.broken)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C: // held open by what the command left running
	}
	p.conn.Close()
	select {
	case <-p.copied:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
