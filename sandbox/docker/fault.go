package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"cabra-run/sandbox"
)

// fault turns an error of the engine's client or of the host into a Fault. An
// error that is the echo of the caller's cancelled context stays one of that
// context; a deadline of our own becomes a time-out.
func fault(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	var known *sandbox.Fault
	if errors.As(err, &known) {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		return &contextError{op: op, cause: cause}
	}
	return &sandbox.Fault{Op: op, Kind: faultKind(err), Err: err}
}

// contextError is what a call returns when its caller gave up.
type contextError struct {
	op    string
	cause error
}

func (e *contextError) Error() string { return e.op + ": " + e.cause.Error() }

func (e *contextError) Unwrap() error { return e.cause }

// faultKind sorts an error by what a caller can do about it. The engine's
// messages are looked at only where its status codes do not tell.
func faultKind(err error) sandbox.FaultKind {
	text := strings.ToLower(err.Error())
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT),
		strings.Contains(text, "no space left on device"), strings.Contains(text, "disk quota exceeded"):
		return sandbox.FaultNoSpace
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return sandbox.FaultTimeout
	case isUnreachable(err):
		return sandbox.FaultUnreachable
	case cerrdefs.IsNotFound(err) && strings.Contains(text, "no such image"):
		return sandbox.FaultNoImage
	case cerrdefs.IsNotFound(err) && strings.Contains(text, "no such"),
		strings.Contains(text, "is marked for removal"):
		// Other things that are not found are calls that the engine does not have.
		return sandbox.FaultGone
	case notRunning(text):
		return sandbox.FaultNotRunning
	case cerrdefs.IsInvalidArgument(err):
		return sandbox.FaultBadSpec
	}
	return sandbox.FaultEngine
}

// notRunning knows the words of Docker and of Podman.
func notRunning(text string) bool {
	return strings.Contains(text, "is not running") || strings.Contains(text, "is not started") ||
		strings.Contains(text, "container state improper")
}

func isUnreachable(err error) bool {
	var op *net.OpError
	return client.IsErrConnectionFailed(err) || errors.As(err, &op) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

func removalRuns(err error) bool {
	return err != nil && strings.Contains(err.Error(), "already in progress")
}
