package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cabra-run/results"
)

func newMerge(a *app) *cobra.Command {
	var o results.MergeOptions
	var name string
	cmd := &cobra.Command{
		Use:   "merge RUN… --run NAME",
		Short: "unite the finished shards of one plan into a run",
		Long: `Unites runs that were made with --shard 1/N … N/N and otherwise the same flags, on
one machine or several, into a new run. Their locks must agree in all that determines
outcomes; every part must be there once, and finished. The parts stay as they are;
where file system and permissions allow it the new run shares their files.`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				return usagef("--run is missing: a name for the new run")
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			var dirs []string
			for _, run := range args {
				dirs = append(dirs, a.runPath(run))
			}
			r, err := results.Merge(ctx, a.runPath(name), dirs, o)
			if err != nil {
				return err
			}
			if a.json {
				return json.NewEncoder(a.stdout).Encode(r)
			}
			a.sayMerged(name, r)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "run", "", "name or path of the new run")
	f.BoolVar(&o.AllowDrift, "allow-drift", false, "unite parts whose environments differ, and record how")
	f.BoolVar(&o.Partial, "partial", false, "unite parts that are not finished too; resume does the rest")
	f.BoolVar(&o.Copy, "copy", false, "copy the files even where they can be shared")
	f.BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func (a *app) sayMerged(name string, r *results.MergeReport) {
	how := "copied"
	if r.Linked {
		how = "shared with the parts"
	}
	fmt.Fprintf(a.stdout, "united %s: %d of %d trials done, %d attempts (%d folders, %s), %d model requests, %d verdicts\n",
		strings.Join(r.Shards, ", "), r.Counts.Done, r.Counts.Planned, r.Attempts, r.Folders, how, r.Exchanges, r.Verdicts)
	for _, d := range r.Drift {
		a.say("recorded as drift: " + d.String())
	}
	next := a.command("report", name)
	if r.Counts.Done < r.Counts.Planned {
		next = a.command("resume", name)
	}
	fmt.Fprintf(a.stdout, "results: %s   next: %s\n", filepath.Clean(a.runPath(name)), next)
}
