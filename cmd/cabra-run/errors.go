package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"cabra-run/images"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// The exit codes of every command.
const (
	exitOK         = 0
	exitError      = 1
	exitUsage      = 2
	exitIncomplete = 3 // finished, but some trials have no agent outcome
	exitBudget     = 4
	exitPaused     = 5
	exitInterrupt  = 130
	exitTerminate  = 143
)

// codedError carries an exit code, and optionally what to do next.
type codedError struct {
	err  error
	hint string
	code int
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usagef is a mistake in how the program was called.
func usagef(format string, args ...any) error {
	return &codedError{err: fmt.Errorf(format, args...), code: exitUsage}
}

// hinted adds what to do next.
func hinted(err error, hint string) error {
	return &codedError{err: err, hint: hint, code: exitError}
}

// silent is an exit code whose message was printed already.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// printError prints err once and returns the exit code: one line of what happened
// and, where it is known, one of what to do.
func printError(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var s silent
	if errors.As(err, &s) {
		return int(s)
	}
	var build *images.Error
	if errors.As(err, &build) && build.Log != "" {
		fmt.Fprintln(w, strings.TrimRight(build.Log, "\n"))
	}
	hint, code := explain(err)
	fmt.Fprintf(w, "cabra-run: %s\n", strings.TrimSpace(err.Error()))
	for line := range strings.Lines(hint) {
		fmt.Fprintf(w, "  %s\n", strings.TrimRight(line, "\n"))
	}
	return code
}

// explain maps an error to what to do next and the exit code.
func explain(err error) (hint string, code int) {
	var coded *codedError
	var grid *tasks.GridError
	var unknown *agent.UnknownError
	switch {
	case errors.As(err, &coded):
		hint, code = coded.hint, coded.code
		if hint == "" && coded.code != exitUsage {
			hint, _ = explain(coded.err)
		}
		return hint, code
	case errors.As(err, &grid), errors.As(err, &unknown):
		return "", exitUsage
	case errors.Is(err, context.Canceled):
		return "", exitInterrupt
	}
	return hintFor(err), exitError
}

// advisor is an error that knows what to do next.
type advisor interface{ Hint() string }

func hintFor(err error) string {
	var build *images.Error
	var adv advisor
	switch {
	case errors.As(err, &build) && build.Hint != "":
		return build.Hint
	case errors.As(err, &adv) && adv.Hint() != "":
		return adv.Hint()
	case sandbox.IsFault(err, sandbox.FaultUnreachable):
		return "start an engine or let cabra-run do it: cabra-run doctor --fix"
	case sandbox.IsFault(err, sandbox.FaultNoImage):
		return "build the images: cabra-run images build"
	case sandbox.IsFault(err, sandbox.FaultNoSpace), errors.Is(err, syscall.ENOSPC):
		return "make room on that disk (cabra-run clean; cabra-run images prune), then: cabra-run resume RUN"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "choose a folder that you may write to (--runs DIR), or change its permissions"
	}
	return ""
}
