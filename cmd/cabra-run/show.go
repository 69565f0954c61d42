package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner/score"
)

func newShow(a *app) *cobra.Command {
	var patch bool
	var repetition int
	var scorer verdictFlag
	cmd := &cobra.Command{
		Use:   "show RUN [TASK]",
		Short: "print the lock of a run, or all about one trial",
		Args:  usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := scorer.check(); err != nil {
				return err
			}
			store, err := a.openRun(args[0], results.ReadOnly)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			if len(args) == 1 && (patch || repetition > 0) {
				return usagef("--patch and --repetition need a TASK")
			}
			if len(args) == 1 {
				return a.printJSON(store.Lock())
			}
			w := wanted{task: args[1], repetition: repetition, scorer: scorer.of(store.Lock()), patch: patch}
			return showTrial(cmd.Context(), a, store, w)
		},
	}
	scorer.addFlag(cmd, "verdict that the result goes by")
	f := cmd.Flags()
	f.BoolVar(&patch, "patch", false, "print what the last attempt changed")
	f.IntVar(&repetition, "repetition", 0, "only this repetition of the task")
	f.BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// wanted is what show is asked for.
type wanted struct {
	task       string
	repetition int    // 0 for all
	scorer     string // that the result goes by
	patch      bool
}

func showTrial(ctx context.Context, a *app, store *results.Store, want wanted) error {
	found := false
	for t, err := range store.ResultsBy(ctx, want.scorer) {
		if err != nil {
			return err
		}
		if string(t.TaskID) != want.task || (want.repetition > 0 && t.Repetition != want.repetition) {
			continue
		}
		found = true
		var err error
		switch {
		case a.json:
			err = a.printJSON(t)
		case want.patch:
			err = printPatch(a.stdout, store, &t)
		default:
			printTrial(a.stdout, store, &t)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return usagef("no trial of task %q in this run; see: cabra-run export RUN --csv", want.task)
	}
	return nil
}

func printTrial(w io.Writer, store *results.Store, t *results.TrialResult) {
	fmt.Fprintf(w, "task        %s, repetition %d\nagent       %s %s, model %s\nresult      %s\n", t.TaskID, t.Repetition, t.Agent, t.Version, t.Model, t.Word)
	if r := t.Reason(); r != "" {
		fmt.Fprintf(w, "reason      %s\n", printableLine(r))
	}
	for _, name := range score.Verdicts() {
		printVerdict(w, t, name)
	}
	for _, at := range t.Attempts {
		printAttempt(w, store, &at)
	}
}

// printVerdict prints a verdict with all its checks, or that a scored trial
// lacks it.
func printVerdict(w io.Writer, t *results.TrialResult, scorer string) {
	v := t.VerdictOf(scorer)
	if v == nil {
		if len(t.Verdicts) > 0 {
			fmt.Fprintf(w, "%-11s not computed; run cabra-run score RUN\n", scorer)
		}
		return
	}
	fmt.Fprintf(w, "%-11s %s (%s), attempt %d\n", scorer, word(v.Solved), v.Version, v.Attempt)
	for _, c := range v.Checks {
		mark := "ok  "
		if !c.Pass {
			mark = "FAIL"
		}
		line := fmt.Sprintf("            %s %-20s %s", mark, c.Name, printableLine(c.Detail))
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func printAttempt(w io.Writer, store *results.Store, at *results.AttemptResult) {
	fmt.Fprintf(w, "attempt %-3d %s", at.Number, at.Outcome)
	if at.Outcome == "" {
		fmt.Fprint(w, "running, or cut off")
	}
	if at.Reason != "" {
		fmt.Fprintf(w, ": %s", printableLine(at.Reason))
	}
	fmt.Fprintf(w, "\n            started %s, %.1f s at work, %d requests, %d answers, trace %s\n",
		at.Started.Local().Format(time.DateTime), at.WallSeconds, at.Requests, at.Answers, orNone(at.TraceState))
	fmt.Fprintf(w, "            %s\n", usageText(at.Usage))
	if at.UsageNote != "" {
		fmt.Fprintf(w, "            usage differs: %s\n", printableLine(at.UsageNote))
	}
	if at.Effective != "" {
		fmt.Fprintf(w, "            limits differ: %s\n", printableLine(at.Effective))
	}
	if at.HasArtefacts {
		fmt.Fprintf(w, "            %s\n", store.AttemptDir(at.Attempt))
	}
}

// usageText is what was metered: sums that leave out what was not told are
// marked, and what nobody told is unknown.
func usageText(u results.UsageTotal) string {
	k := u.Unknown
	cost := "unknown"
	if u.CostUSD != nil {
		cost = atLeast(k.Cost) + fmt.Sprintf("$%.4f", *u.CostUSD)
	}
	return fmt.Sprintf("tokens %s in (%s cached, %s cache-write), %s out (%s reasoning), cost %s",
		tokensText(u.Input, k.Input), tokensText(u.Cached, k.Cached), tokensText(u.CacheWrite, k.CacheWrite),
		tokensText(u.Output, k.Output), tokensText(u.Reasoning, k.Reasoning), cost)
}

func tokensText(n *int64, unknown int) string {
	if n == nil {
		return "unknown"
	}
	return atLeast(unknown) + fmt.Sprint(*n)
}

// atLeast marks a sum from which some requests are missing.
func atLeast(unknown int) string {
	if unknown > 0 {
		return "≥"
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func printPatch(w io.Writer, store *results.Store, t *results.TrialResult) error {
	final := t.Final()
	if final == nil || !final.HasArtefacts {
		return fmt.Errorf("no attempt of %s has left files", t.TaskID)
	}
	root, err := store.OpenAttempt(final.Attempt)
	if err != nil {
		return err
	}
	defer root.Close()
	text, err := root.ReadFile(results.PatchFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("attempt %d left no solution; see %s", final.Number, store.AttemptDir(final.Attempt))
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, printableText(string(text)))
	return err
}

// printableLine is printableText on one line: what an agent's code says in an
// error must not look like a line of ours.
func printableLine(s string) string {
	return printableText(strings.Join(strings.Fields(s), " "))
}

// printableText keeps an agent's code from driving the terminal, and from
// turning the direction of what is shown.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(s, "?"))
}
