package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"golang.org/x/term"

	"cabra-run/runner"
	"cabra-run/sandbox"
)

// plainTerm is a name of a kind of terminal that can be passed on.
var plainTerm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+-]{0,40}$`)

// runOnTerminal runs a command on this terminal: keys go to it as they are,
// Ctrl-C too, and it is told the terminal's size. The terminal is put back into
// order at the end.
func runOnTerminal(ctx context.Context, box *runner.DebugBox, cmd sandbox.Command, out *os.File) (err error) {
	in := int(os.Stdin.Fd())
	before, err := term.MakeRaw(in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, term.Restore(in, before)) }()
	sizes, stop := terminalSizes(out)
	defer stop()
	name := os.Getenv("TERM")
	if !plainTerm.MatchString(name) {
		name = "xterm"
	}
	cmd.Env = append(cmd.Env, "TERM="+name)
	cmd.Terminal = &sandbox.Terminal{Size: terminalSize(out), Resize: sizes}
	_, err = box.Run(ctx, cmd) // how a person leaves a shell is no failure
	return err
}

func terminalSize(f *os.File) sandbox.TerminalSize {
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil || w < 1 || h < 1 {
		return sandbox.TerminalSize{Rows: 24, Cols: 80}
	}
	return sandbox.TerminalSize{Rows: uint(h), Cols: uint(w)}
}

// terminalSizes passes on each new size of the terminal until stop is called. A
// size that was not taken yet gives way to the next one.
func terminalSizes(f *os.File) (sizes <-chan sandbox.TerminalSize, stop func()) {
	changed := make(chan os.Signal, 1)
	quit, ended := make(chan struct{}), make(chan struct{})
	ch := make(chan sandbox.TerminalSize, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		defer close(ended)
		for {
			select {
			case <-changed:
				select {
				case <-ch:
				default:
				}
				ch <- terminalSize(f)
			case <-quit:
				return
			}
		}
	}()
	return ch, func() {
		signal.Stop(changed)
		close(quit)
		<-ended
	}
}
