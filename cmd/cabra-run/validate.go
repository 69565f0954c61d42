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
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return validateTasks(ctx, a, o, jobs)
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
	a.sayOddities(src)
	k, err := a.openKit(ctx, "", "", min(jobs, runtime.NumCPU()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close(context.WithoutCancel(ctx))) }()
	last := time.Now()
	rep, err := score.Validate(ctx, src, k.scorer, jobs, func(done, total int) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			a.say(fmt.Sprintf("%d of %d tasks", done, total))
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
	bad := map[string]int{}
	for _, v := range rep.Violations {
		bad[v.Part]++
	}
	fmt.Fprintf(a.stdout, "%d tasks in %s: %d of %d references score 1, %d of %d starters score 0, %d defective tasks\n",
		rep.Tasks, rep.Elapsed.Round(time.Second), rep.Tasks-bad["reference"], rep.Tasks, rep.Tasks-bad["starter"], rep.Tasks, bad["task"])
	if len(rep.Violations) > 0 {
		return silent(exitError)
	}
	return nil
}
