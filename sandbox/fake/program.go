package fake

import (
	"context"
	"errors"
	"io"

	"cabra-run/sandbox"
)

// Program stands in for an executable: it does its work and returns its exit
// code. It must return soon after its context or its streams end.
type Program func(ctx context.Context, p *Proc) int

// Proc is one running program.
type Proc struct {
	Box    *Box
	Args   []string
	Env    []string
	Dir    string
	UID    int
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// killed is the exit code of a program ended by force.
const killed = 137

// noProgram is the exit code for a program that does not exist.
const noProgram = 127

// run runs a program and turns its being killed into an exit code. A panic is
// the program's own and not caught.
func run(ctx context.Context, program Program, p *Proc) int {
	if program == nil {
		io.WriteString(p.Stderr, p.Args[0]+": not found\n")
		return noProgram
	}
	code := program(ctx, p)
	if ctx.Err() != nil {
		return killed
	}
	return code
}

// process is a command of Box.Exec.
type process struct {
	box  *Box
	done chan struct{}
	code int // after done
}

// Exec starts a command.
func (b *Box) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	exit, err := b.enter(ctx, OpExec)
	if err != nil {
		return nil, err
	}
	if len(cmd.Args) == 0 {
		return nil, b.fault(OpExec, sandbox.FaultBadSpec, errors.New("no command"))
	}
	if err := exit(nil); err != nil {
		return nil, err
	}
	p := &process{box: b, done: make(chan struct{})}
	stdin := sandbox.NewPipe()
	proc := &Proc{
		Box: b, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, UID: b.uid,
		Stdin: stdin, Stdout: orDrop(cmd.Stdout), Stderr: orDrop(cmd.Stderr),
	}
	running := b.begin(func(ctx context.Context) {
		defer close(p.done)
		defer stdin.CloseRead()
		defer context.AfterFunc(ctx, stdin.CloseRead)()
		p.code = run(ctx, b.engine.host.program(cmd.Args), proc)
	})
	if !running {
		return nil, b.fault(OpExec, sandbox.FaultNotRunning, errors.New("the box is not running"))
	}
	feed(stdin, cmd.Stdin)
	return p, nil
}

// feed copies a command's input in the background. As with a real engine, a
// source that never says anything is waited for even after the command ended.
func feed(stdin *sandbox.Pipe, source io.Reader) {
	if source == nil {
		stdin.CloseWrite(nil)
		return
	}
	go func() {
		io.Copy(stdin, source)
		stdin.CloseWrite(nil)
	}()
}

// Wait returns the exit code.
func (p *process) Wait(ctx context.Context) (int, error) {
	exit, err := p.box.engine.enter(ctx, OpAwait, p.box)
	if err != nil {
		return -1, err
	}
	select {
	case <-p.done:
		return p.code, exit(nil)
	case <-p.box.engine.dead:
		return -1, p.box.engine.alive(ctx, OpAwait)
	case <-ctx.Done():
		return -1, ended(ctx, OpAwait)
	}
}

// orDrop makes a writer for a command: nil drops, and one that fails is not
// written to again, while the command goes on.
func orDrop(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return &forgiving{w: w}
}

type forgiving struct {
	w      io.Writer
	failed bool
}

func (f *forgiving) Write(p []byte) (int, error) {
	if !f.failed {
		_, err := f.w.Write(p)
		f.failed = err != nil
	}
	return len(p), nil
}
