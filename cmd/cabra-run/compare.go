package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/results/report"
)

// compareOptions say how a comparison is printed.
type compareOptions struct {
	json, csv, partial bool
	charts             []string
	scorer             string // "" for the original's first verdict
}

func newCompare(a *app) *cobra.Command {
	var o compareOptions
	var scorer verdictFlag
	cmd := &cobra.Command{
		Use:   "compare RUN OTHER",
		Short: "compare two runs trial by trial: accuracy, flips, calls and tokens, trends",
		Long: `Compares a run with another one of the same tasks, trial by trial: coverage first,
then accuracy of both per axis and size with a paired test, which trials flipped, tool
calls and tokens side by side, and for each axis whether its trend stays.`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.json && o.csv {
				return usagef("compare prints one of --json and --csv")
			}
			if err := scorer.check(); err != nil {
				return err
			}
			o.scorer = scorer.name
			first, err := a.openRun(args[0], results.ReadOnly)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, first.Close()) }()
			second, err := a.openRun(args[1], results.ReadOnly)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, second.Close()) }()
			return printComparison(cmd.Context(), a, first, second, o)
		},
	}
	scorer.addFlag(cmd, "verdict that is compared")
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.csv, "csv", false, "print comma-separated values")
	f.BoolVar(&o.partial, "partial", false, "compare although one of the runs is unfinished")
	f.StringSliceVar(&o.charts, "chart", nil, "draw both runs by axis and size into a file (.png, .svg)")
	return cmd
}

func printComparison(ctx context.Context, a *app, first, second *results.Store, o compareOptions) error {
	scorer := o.scorer
	if scorer == "" {
		scorer = first.Lock().Verdict()
	}
	one, err := comparedRun(ctx, first, scorer)
	if err != nil {
		return err
	}
	two, err := comparedRun(ctx, second, scorer)
	if err != nil {
		return err
	}
	c, err := report.Compare(one, two, report.CompareOptions{Scorer: scorer, Partial: o.partial})
	if err != nil {
		return err
	}
	for _, file := range o.charts {
		if err := writeComparisonChart(file, c); err != nil {
			return err
		}
		a.say("chart: " + file)
	}
	switch {
	case o.json:
		return report.CompareJSON(a.stdout, c)
	case o.csv:
		return report.CompareCSV(a.stdout, c)
	}
	fmt.Fprintln(a.stdout)
	return report.CompareText(a.stdout, c)
}

func comparedRun(ctx context.Context, store *results.Store, scorer string) (report.Compared, error) {
	drift, err := store.Drifts(ctx)
	return report.Compared{Lock: store.Lock(), Results: store.ResultsBy(ctx, scorer), Drift: drift}, err
}

func writeComparisonChart(file string, c *report.Comparison) error {
	format := report.Picture(strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), "."))
	if format != report.PNG && format != report.SVG {
		return usagef("--chart %q: a name that ends in .png or .svg", file)
	}
	return writeFile(file, func(w io.Writer) error {
		err := report.CompareChart(w, c, format)
		if errors.Is(err, report.ErrNoAccuracy) {
			return hinted(err, "draw what there is so far: --partial")
		}
		return err
	})
}

// printBesideOrigin prints for a rerun that was continued what a rerun ends with;
// for other runs nothing. Without the original the run is what it is all the same.
func printBesideOrigin(ctx context.Context, a *app, store *results.Store) error {
	from := store.Lock().Origin
	switch {
	case from == nil:
		return nil
	case from.Replay:
		return printReplay(ctx, a, store)
	}
	old, err := openOrigin(from)
	if err != nil {
		a.say(fmt.Sprintf("not compared with the run that this one runs again: %v", err))
		return nil
	}
	return errors.Join(printComparison(ctx, a, old, store, compareOptions{}), old.Close())
}
