package fake

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

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

// Getenv returns a variable of the program's environment, "" without it.
func (p *Proc) Getenv(name string) string {
	for _, e := range p.Env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
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
	stdin, stdout, stderr := sandbox.NewPipe(), sandbox.NewPipe(), sandbox.NewPipe()
	proc := &Proc{
		Box: b, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, UID: b.uid,
		Stdin: stdin, Stdout: forgiving{stdout}, Stderr: forgiving{stderr},
	}
	var rest sync.WaitGroup // the program and the copying of its output
	rest.Add(1)
	running := b.begin(func(ctx context.Context) {
		defer rest.Done()
		defer context.AfterFunc(ctx, func() {
			stdin.CloseRead()
			stdout.Drop()
			stderr.Drop()
		})()
		p.code = run(ctx, b.engine.host.program(cmd.Args), proc)
		stdin.CloseRead()
		stdout.CloseWrite(nil)
		stderr.CloseWrite(nil)
	})
	if running {
		rest.Go(func() { stdout.Pour(cmd.Stdout) })
		rest.Go(func() { stderr.Pour(cmd.Stderr) })
		go func() {
			rest.Wait()
			close(p.done)
		}()
	} else {
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

// forgiving hides from a program that nobody takes its output.
type forgiving struct{ w io.Writer }

func (f forgiving) Write(p []byte) (int, error) {
	f.w.Write(p)
	return len(p), nil
}
