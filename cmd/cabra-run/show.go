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

	"github.com/spf13/cobra"

	"cabra-run/results"
)

func newShow(a *app) *cobra.Command {
	var patch bool
	var repetition int
	cmd := &cobra.Command{
		Use:   "show RUN [TASK]",
		Short: "print the lock of a run, or all about one trial",
		Args:  usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
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
			return showTrial(cmd.Context(), a, store, args[1], repetition, patch)
		},
	}
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

func showTrial(ctx context.Context, a *app, store *results.Store, task string, repetition int, patch bool) error {
	found := false
	for t, err := range store.Results(ctx) {
		if err != nil {
			return err
		}
		if string(t.TaskID) != task || (repetition > 0 && t.Repetition != repetition) {
			continue
		}
		found = true
		var err error
		switch {
		case a.json:
			err = a.printJSON(t)
		case patch:
			err = printPatch(a.stdout, store, &t)
		default:
			printTrial(a.stdout, store, &t)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return usagef("no trial of task %q in this run; see: cabra-run export RUN --csv", task)
	}
	return nil
}

func printTrial(w io.Writer, store *results.Store, t *results.TrialResult) {
	fmt.Fprintf(w, "task        %s, repetition %d\nagent       %s %s, model %s\nresult      %s\n", t.TaskID, t.Repetition, t.Agent, t.Version, t.Model, t.Word)
	if r := t.Reason(); r != "" {
		fmt.Fprintf(w, "reason      %s\n", printableLine(r))
	}
	if v := t.Verdict; v != nil {
		fmt.Fprintf(w, "verdict     %s (%s)\n", word(v.Solved), v.Version)
		for _, c := range v.Checks {
			mark := "ok  "
			if !c.Pass {
				mark = "FAIL"
			}
			fmt.Fprintf(w, "            %s %-10s %s\n", mark, c.Name, printableLine(c.Detail))
		}
	}
	for _, at := range t.Attempts {
		printAttempt(w, store, &at)
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
	fmt.Fprintf(w, "\n            started %s, %.1f s at work, %d requests, %d answers, tokens %s in %s out, trace %s\n",
		at.Started.Local().Format(time.DateTime), at.WallSeconds, at.Requests, at.Answers,
		tokensText(at.Usage.Input), tokensText(at.Usage.Output), orNone(at.TraceState))
	if at.HasArtefacts {
		fmt.Fprintf(w, "            %s\n", store.AttemptDir(at.Attempt))
	}
}

func tokensText(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
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

// printableText keeps an agent's code from driving the terminal.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(s, "?"))
}
