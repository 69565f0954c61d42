// Command cabra-run measures how often coding agents solve controlled tasks.
//
// This package owns flags, wiring, progress and exit codes; what the program
// does is in the packages that it joins.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"cabra-run/results/trace"
)

// version is set by the build.
var version = "unknown"

func main() {
	if trace.ChildMain(os.Args[1:]) {
		return
	}
	boundMemory()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program: one call, one exit.
func run(args []string, stdout, stderr io.Writer) int {
	app := &app{stdout: stdout, stderr: stderr}
	root := newRoot(app)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return printError(stderr, root.ExecuteContext(context.Background()))
}

// app is what every command has: where to print and the flags of all commands.
type app struct {
	stdout, stderr io.Writer

	engineHost string
	stateDir   string
	runsDir    string
	json       bool
}

func programVersion() string {
	if version != "unknown" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return version
}

// usageArgs turns cobra's argument errors into usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%v; see: %s --help", err, cmd.CommandPath())
		}
		return nil
	}
}
