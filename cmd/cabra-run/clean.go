package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/sandbox/docker"
)

// What an engine may take in all, beside the deadlines of its single calls.
const (
	askTime   = time.Minute      // to list something
	cleanTime = 10 * time.Minute // to remove what there is
)

func newClean(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "remove boxes, volumes and workspaces that dead runs left behind",
		Long: `Removes what belongs to cabra-run processes that are dead, and nothing of living
ones. Every other command that uses the engine does the same when it starts. Runs
and images stay; for images there is: cabra-run images prune.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(a.stateDir, 0o700); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, cleanTime)
			defer cancel()
			e, err := docker.New(ctx, docker.Options{Host: a.engineHost, StateDir: a.stateDir})
			if err != nil {
				return err
			}
			defer e.Close()
			gone, err := e.Reap(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "removed %d boxes, %d volumes, %d workspaces\n", gone.Boxes, gone.Volumes, gone.Workspaces)
			return nil
		},
	}
}
