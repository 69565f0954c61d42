package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/runner/score"
)

func newTasksValidate(a *app) *cobra.Command {
	o := &taskOptions{}
	var jobs int
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "prove that every reference scores 1 and every starter 0",
		Long:  "Scores the reference and the starter of every task in the scorer's boxes.\n\n" + gridHelp(),
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if jobs < 1 {
				return usagef("--jobs %d: at least 1", jobs)
			}
			return validateTasks(cmd.Context(), a, o, jobs)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().IntVar(&jobs, "jobs", runtime.NumCPU(), "tasks at the same time")
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func validateTasks(ctx context.Context, a *app, o *taskOptions, jobs int) (err error) {
	src, err := o.source()
	if err != nil {
		return err
	}
	k, err := a.openKit(ctx, "", "", min(jobs, runtime.NumCPU()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close(context.WithoutCancel(ctx))) }()
	started, last := time.Now(), time.Now()
	rep, err := score.Validate(ctx, src, k.scorer, jobs, func(done int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			a.say(fmt.Sprintf("%d of %d tasks", done, src.Len()))
		}
	})
	if err != nil {
		return err
	}
	if a.json {
		return json.NewEncoder(a.stdout).Encode(rep)
	}
	for _, v := range rep.Violations {
		fmt.Fprintln(a.stdout, v)
	}
	fmt.Fprintf(a.stdout, "%d tasks in %s: %d references scored 1, %d starters scored 0, %d violations\n",
		rep.Tasks, time.Since(started).Round(time.Second), rep.References, rep.Starters, len(rep.Violations))
	if len(rep.Violations) > 0 {
		return silent(exitError)
	}
	return nil
}
