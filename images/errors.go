package images

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/docker/docker/client"

	"cabra-run/sandbox"
)

// Error is a failed build or look-up, for a person to read.
type Error struct {
	What string // what happened, one line
	Hint string // what to do about it, one line; may be empty
	Log  string // the last lines of the build's output, or empty
	Err  error  // the cause, or nil
}

// Error returns what happened and why, on one line; Hint and Log are for whoever
// shows it.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + oneLine(e.Err.Error())
}

// ErrNoDebootstrap says that the program which bootstraps a base, or Debian's
// keys, which it needs, are missing on this host.
var ErrNoDebootstrap = errors.New("debootstrap with Debian's keys is not installed")

func (e *Error) Unwrap() error { return e.Err }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// explain turns a failure of a step into an Error with the best hint that its
// text allows. Errors that explain themselves and cancellations stay as they are.
func explain(what string, err error, log string) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &Error{What: what, Hint: hintFor(err, log), Log: log, Err: err}
}

// failedURL finds what apt and debootstrap could not get.
var failedURL = regexp.MustCompile(
	`(?:Failed to fetch|Couldn't download|Failed getting release file|Err:\d+) +(\S+://\S+)`)

func hintFor(err error, log string) string {
	text := err.Error() + "\n" + log
	url := failedURL.FindStringSubmatch(text)
	switch {
	case sandbox.IsFault(err, sandbox.FaultUnreachable), client.IsErrConnectionFailed(err):
		return "start a Docker engine, or name one with DOCKER_HOST"
	case errors.Is(err, syscall.ENOSPC), strings.Contains(text, "no space left on device"),
		strings.Contains(text, "No space left on device"):
		return "free some disk space: `cabra-run images prune` removes what is out of date"
	case url != nil:
		return fmt.Sprintf("%s cannot be fetched: check the network, set %s to a mirror, or %s=host",
			url[1], mirrorVar, networkVar)
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long: check network and disk, then try again"
	case log != "":
		return "the last lines of its output tell more"
	}
	return ""
}
