package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/runner/score"
)

type reportOptions struct {
	scorer  verdictFlag
	partial bool
	usage   bool
	json    bool
	csv     bool
	charts  []string
	// Of a run of several pairings, only those.
	agent, model string
}

func newReport(a *app) *cobra.Command {
	o := reportOptions{scorer: verdictFlag{both: true}}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "print accuracies, outcomes, time and tokens of a run",
		Long: `Prints the tables of a run: accuracy with n and standard error per axis and size,
per refactoring and per code type, over all trials and over the trials with an
outcome of the agent; outcomes; time and tokens. An unfinished run shows no
accuracy unless --partial asks for it.

A trial counts as solved by the strict verdict, which asks for all that the task
says. The official one follows the published scorer, so that its rates compare
with published ones. --scorer both prints both rates side by side, and the trials
on which the verdicts differ with the reason of each.

--usage prints tokens in millions (in thousands for a small run) and cost per model
and family of tasks, over all attempts of the run, with the part of those without a
verdict. A sum from which something is missing that nobody told is marked by ≥.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.json && o.csv {
				return usagef("--json and --csv exclude each other")
			}
			if err := o.scorer.check(); err != nil {
				return err
			}
			if o.usage && (o.agent+o.model != "" || o.scorer.name != "" || o.partial || len(o.charts) > 0) {
				return usagef("--usage counts every attempt: --scorer, --partial, --agent, --model and --chart say nothing to it")
			}
			if len(o.charts) > 0 && o.scorer.name == bothVerdicts {
				return usagef("a chart is drawn by one verdict: --scorer %s", strings.Join(score.Verdicts(), " or --scorer "))
			}
			store, err := a.openRun(args[0], results.ReadOnly)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			if o.usage {
				return printUsage(cmd.Context(), a, store, o)
			}
			return printReport(cmd.Context(), a, store, o)
		},
	}
	o.scorer.addFlag(cmd, "verdict that the tables go by")
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", "", "of a run of several agents only this one: NAME or NAME@VERSION")
	f.StringVar(&o.model, "model", "", "of a run of several models only this one")
	f.BoolVar(&o.partial, "partial", false, "show accuracies of an unfinished run")
	f.BoolVar(&o.usage, "usage", false, "print tokens and cost per model and family, failed attempts apart")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.csv, "csv", false, "print the accuracies, or the usage, as CSV")
	f.StringArrayVar(&o.charts, "chart", nil, "write accuracy against size into a FILE.png or FILE.svg (repeatable)")
	return cmd
}

func printReport(ctx context.Context, a *app, store *results.Store, o reportOptions) error {
	drift, err := store.Drifts(ctx)
	if err != nil {
		return err
	}
	opts := report.Options{Agent: o.agent, Model: o.model, Partial: o.partial, Drift: drift, Scorer: o.scorer.of(store.Lock())}
	if o.scorer.name == bothVerdicts {
		return printBoth(ctx, a, store, o, opts)
	}
	r, err := report.Build(store.BriefBy(ctx, opts.Scorer), store.Lock(), opts)
	if err != nil {
		return err
	}
	for _, file := range o.charts {
		if err := writeChart(file, r); err != nil {
			return err
		}
		a.say("chart: " + file)
	}
	switch {
	case o.json:
		return report.JSON(a.stdout, r)
	case o.csv:
		return report.CSV(a.stdout, r)
	}
	return report.Text(a.stdout, r)
}

func printBoth(ctx context.Context, a *app, store *results.Store, o reportOptions, opts report.Options) error {
	both, err := report.BuildBoth(store.Results(ctx), store.Lock(), opts, score.Strict, score.Official)
	switch {
	case err != nil:
		return err
	case o.json:
		return report.JSONBoth(a.stdout, both)
	case o.csv:
		return report.CSV(a.stdout, both.Reports...)
	}
	return report.TextBoth(a.stdout, both)
}

func printUsage(ctx context.Context, a *app, store *results.Store, o reportOptions) error {
	spending, _, err := store.Spending(ctx)
	if err != nil {
		return err
	}
	u, err := report.BuildUsage(store.Brief(ctx), store.Lock(), &spending)
	switch {
	case err != nil:
		return err
	case o.json:
		return report.UsageJSON(a.stdout, u)
	case o.csv:
		return report.UsageCSV(a.stdout, u)
	}
	return report.UsageText(a.stdout, u)
}

func writeChart(file string, r *report.Report) error {
	format := report.Picture(strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), "."))
	if format != report.PNG && format != report.SVG {
		return usagef("--chart %q: a name that ends in .png or .svg", file)
	}
	return writeFile(file, func(w io.Writer) error {
		err := report.Chart(w, r, format)
		if errors.Is(err, report.ErrNoAccuracy) {
			return hinted(err, "draw what there is so far: --partial")
		}
		return err
	})
}

// writeFile writes a file whole or not at all.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".cabra-run-*")
	if err != nil {
		return hinted(fmt.Errorf("writing %q: %w", name, errors.Unwrap(err)), "name a file in a folder that exists and can be written")
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func newStatus(a *app) *cobra.Command {
	var scorer verdictFlag
	var watch bool
	every := 2 * time.Second
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "print how far a run is, also while it runs; without RUN list the runs",
		Long: `Prints how far a run is, also while it runs. With --watch it follows the run from
another terminal until nobody works on it any more: as a block that renews itself,
or, where the output is no terminal, as a line whenever something has changed.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := scorer.check(); err != nil {
				return err
			}
			switch {
			case watch && len(args) == 0:
				return usagef("--watch needs a RUN")
			case cmd.Flags().Changed("every") && !watch:
				return usagef("--every says how often --watch looks, and there is none")
			case every < minEvery || every > longest:
				return usagef("--every %s: %s to %s", every, minEvery, longest)
			case watch:
				return watchRun(cmd.Context(), a, args[0], scorer.name, every)
			case len(args) == 0:
				return listRuns(cmd.Context(), a)
			}
			s, err := a.readStatus(cmd.Context(), args[0], scorer.name)
			if err != nil {
				return err
			}
			if a.json {
				return report.StatusJSON(a.stdout, s)
			}
			_, held, heldErr := results.Held(a.runPath(args[0]))
			idle := heldErr == nil && !held && !s.Complete
			if idle { // at no rate
				s.TrialsPerHour, s.Remaining = nil, nil
			}
			if err := report.StatusText(a.stdout, s); err != nil || !idle {
				return err
			}
			a.say("\n" + a.ending(args[0], view{Status: s}))
			return nil
		},
	}
	scorer.addFlag(cmd, "verdict that the outcomes go by, and without which a trial is not done")
	f := cmd.Flags()
	f.BoolVar(&a.json, "json", false, "print JSON; a line for each run without RUN, and for each change with --watch")
	f.BoolVar(&watch, "watch", false, "follow the run until nobody works on it any more")
	f.DurationVar(&every, "every", every, "time between two looks of --watch")
	return cmd
}

// minEvery is the shortest time between two looks at a run.
const minEvery = 100 * time.Millisecond

// listRuns prints one line per run in the runs folder. What cannot be read is
// said beside the list and does not hide the rest.
func listRuns(ctx context.Context, a *app) error {
	names, err := a.runNames()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		a.say(fmt.Sprintf("there are no runs in %q yet", a.runsDir))
	}
	enc := json.NewEncoder(a.stdout)
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		s, err := a.readStatus(ctx, filepath.Join(a.runsDir, name), "")
		switch {
		case err != nil:
			a.say("not readable: " + printableLine(err.Error()))
		case a.json:
			err = enc.Encode(s)
		default:
			t := s.Trials
			_, err = fmt.Fprintf(a.stdout, "%-*s  %d of %d trials done  %s %s\n", width, name, t.Done, t.Planned, s.Agent, s.Model)
		}
		if err != nil && s != nil {
			return err
		}
	}
	return nil
}

func newExport(a *app) *cobra.Command {
	var csv, jsonl, pack, withImages bool
	var out string
	scorer := verdictFlag{both: true}
	cmd := &cobra.Command{
		Use:   "export RUN --csv|--jsonl|--bundle",
		Short: "print one line per trial, or pack the whole run into one file",
		Long: `With --bundle packs the run with all its artefacts into one file (tar in zstd), also
while the run goes on; with --with-images the images that it was made with too. On
another machine "import bundle" unpacks it, to be looked at, scored again or replayed.

Otherwise prints one line per trial. Each line has both verdicts with their reasons; its
outcome, reason and state go by the one that --scorer names (with both: strict).`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case pack && (csv || jsonl), !pack && csv == jsonl:
				return usagef("export needs one of --csv, --jsonl and --bundle")
			case pack && out == "":
				return usagef("--out names the file to write, - for standard output")
			case withImages && !pack:
				return usagef("--with-images goes with --bundle")
			case pack:
				return a.exportBundle(cmd.Context(), args[0], out, withImages)
			}
			if err := scorer.check(); err != nil {
				return err
			}
			o := report.ExportOptions{Format: report.FormatJSONL}
			if csv {
				o.Format = report.FormatCSV
			}
			store, err := a.openRun(args[0], results.ReadOnly)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			o.Scorer = scorer.of(store.Lock())
			all := store.Results(cmd.Context())
			if scorer.name != "" && scorer.name != bothVerdicts {
				all = store.ResultsBy(cmd.Context(), scorer.name)
			}
			export := func(w io.Writer) error { return report.Export(w, all, store.Lock(), o) }
			if out == "" {
				return export(a.stdout)
			}
			return writeFile(out, export)
		},
	}
	scorer.addFlag(cmd, "verdict that the outcomes go by")
	cmd.Flags().BoolVar(&csv, "csv", false, "comma-separated values with a header")
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "one JSON object per line")
	cmd.Flags().BoolVar(&pack, "bundle", false, "the whole run in one file, named by --out")
	cmd.Flags().BoolVar(&withImages, "with-images", false, "with --bundle: the images of the run as well")
	cmd.Flags().StringVar(&out, "out", "", "write into a file")
	return cmd
}
