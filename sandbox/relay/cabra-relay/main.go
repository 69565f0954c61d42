//go:build linux

// Command cabra-relay is what a box runs besides the agent: PID 1, which
// carries the agent's model connections to the host (serve), and small tools
// that the host runs under the agent's uid (guest, signal, kill, archive,
// unpack, usage, clear). It is static, imports nothing of ours from outside of sandbox/relay,
// and must hold nothing from which a task could be solved: the agent can read
// and run it.
package main

import (
	"errors"
	"fmt"
	"os"
)

const usageText = `usage:
  relay serve [--port N] [--deadline SECONDS]
  relay guest [--processes N] -- COMMAND [ARGUMENT ...]
  relay signal NAME
  relay kill [--seconds N]
  relay archive [--files N] [--entries N] [--bytes N] [--file-bytes N] [--depth N] [--only PATH ...] DIR
  relay unpack [--files N] [--bytes N] [--replace 0|1] DIR
  relay usage [--entries N] DIR
  relay clear DIR
`

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1 // the command could not do its work
	exitUsage    = 2
	exitPartial  = 3 // usage: not everything was counted
	exitDeadline = 4 // serve: its time was over
)

// errUsage is wrapped by errors of the command line.
var errUsage = errors.New("usage")

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "relay: %v\n", err)
	}
	if errors.Is(err, errUsage) {
		fmt.Fprint(os.Stderr, usageText)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 0 {
		return exitUsage, fmt.Errorf("%w: no command", errUsage)
	}
	commands := map[string]func([]string) (int, error){
		"serve": serveCommand, "guest": guestCommand, "signal": signalCommand,
		"kill": killCommand, "archive": archiveCommand, "unpack": unpackCommand,
		"usage": usageCommand, "clear": clearCommand,
	}
	command := commands[args[0]]
	if command == nil {
		return exitUsage, fmt.Errorf("%w: unknown command %q", errUsage, args[0])
	}
	return command(args[1:])
}
