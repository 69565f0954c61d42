package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

const rootHelp = `cabra-run gives coding agents controlled tasks and measures how often they solve them.

Without a command it makes a new run: every task of the grid goes to the agent
in a locked-down box of its own; the edited code is scored in another one, and
everything is kept in a run folder that can be interrupted, resumed and audited.

  cabra-run --agent copilot --model scripted --grid smoke       a demo without key and cost
  cabra-run --agent codex --model openai/gpt-5.5 --grid traversal --budget 200

Exit codes: 0 done; 1 error; 2 wrong usage; 3 done, but some trials say nothing
about the agent; 4 budget used up; 5 paused after failures outside of the agent; 130, 143 stopped.`

func newRoot(a *app) *cobra.Command {
	o := &sweepOptions{}
	cmd := &cobra.Command{
		Use:           "cabra-run",
		Short:         "benchmark coding agents on generated tasks",
		Long:          rootHelp,
		Version:       programVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() == 0 {
				return cmd.Help()
			}
			if o.sweepFile != "" {
				if err := readSweepFile(o.sweepFile, cmd.Flags()); err != nil {
					return err
				}
			}
			return runNew(cmd.Context(), a, o)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see: %s --help", err, cmd.CommandPath())
	})
	cmd.CompletionOptions.HiddenDefaultCmd = true
	p := cmd.PersistentFlags()
	p.StringVar(&a.engineHost, "engine", "", "engine endpoint (default DOCKER_HOST, then the usual sockets)")
	p.StringVar(&a.stateDir, "state-dir", defaultStateDir(), "folder for locks and workspaces of running boxes")
	p.StringVar(&a.runsDir, "runs", defaultRunsDir, "folder that run names are looked up in")
	o.addFlags(cmd.Flags())
	cmd.AddCommand(
		newResume(a), newStatus(a), newReport(a), newShow(a), newScore(a), newExport(a), newRerun(a), newCompare(a), newMerge(a), newAudit(a), newControl(a), newDebug(a), newBench(a),
		newTasks(a), newImport(a), newImages(a), newAgents(a), newDoctor(a), newClean(a),
	)
	return cmd
}

const defaultRunsDir = "runs"

// unknownCommand lists what exists when the first word is not a command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := ""
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names += " " + c.Name()
		}
	}
	return usagef("no command %q; there is:%s", args[0], names)
}

// defaultStateDir is where locks and workspaces live: never below a run, whose
// name a mount path inside of a box would give away.
func defaultStateDir() string {
	if dir := os.Getenv("CABRA_STATE_DIR"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/cabra-run"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "cabra-run")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "cabra-run")
}
