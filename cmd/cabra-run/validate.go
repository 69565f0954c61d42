package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/runner/score"
	"cabra-run/tasks"
)

func newTasksValidate(a *app) *cobra.Command {
	o := &taskOptions{}
	var jobs int
	require := score.Strict
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "prove that every reference scores 1 and every starter 0",
		Long: `Scores the reference and the starter of every task in the scorer's boxes, under both
verdicts. The exit code is 1 when the strict verdict is wrong anywhere: such a task
can judge nobody. Where the official one is wrong, its rules do not allow better (they
are those of the published scorer); such places are listed by family with the reason,
and count as an error with --require both.

` + gridHelp(),
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if jobs < 1 {
				return usagef("--jobs %d: at least 1", jobs)
			}
			if require != score.Strict && require != bothVerdicts {
				return usagef("--require %q; there is: %s, %s", require, score.Strict, bothVerdicts)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			v, err := validateTasks(ctx, a, o, jobs)
			if err != nil {
				return err
			}
			return v.conclude(a, require)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().IntVar(&jobs, "jobs", runtime.NumCPU(), "tasks at the same time")
	cmd.Flags().StringVar(&require, "require", require, "verdicts that have to be right for exit code 0: strict, both")
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func validateTasks(ctx context.Context, a *app, o *taskOptions, jobs int) (_ validation, err error) {
	src, err := o.source()
	if err != nil {
		return validation{}, err
	}
	a.sayOddities(src)
	k, err := a.openKit(ctx, nil, "", min(jobs, runtime.NumCPU()))
	if err != nil {
		return validation{}, err
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
		return validation{}, err
	}
	return newValidation(rep), nil
}

// validation is what is printed of a validation.
type validation struct {
	Tasks     int          `json:"tasks"`
	Defective int          `json:"defective_tasks"`
	Seconds   float64      `json:"seconds"`
	Verdicts  []validated  `json:"verdicts"`
	Defects   []wrongPlace `json:"defects"`
	// Where the time went: candidates judged per second, the share of the
	// scorer processes' CPU in which Python evaluated programs, and stages.
	PerSecond float64       `json:"candidates_per_second"`
	Evaluated float64       `json:"evaluation_share"`
	Stages    []score.Stage `json:"stages"`
}

// validated says of one verdict where it is right.
type validated struct {
	Scorer     string       `json:"scorer"`
	Version    string       `json:"version"`
	References int          `json:"references_solved"`
	Starters   int          `json:"starters_failed"`
	Wrong      []wrongPlace `json:"wrong"` // in the order of the tasks' ids
}

type wrongPlace struct {
	Task   tasks.ID `json:"task"`
	Part   string   `json:"part"` // reference, starter, or task for what cannot be scored at all
	Reason string   `json:"reason"`
}

func newValidation(rep score.ValidateReport) validation {
	v := validation{Tasks: rep.Tasks, Seconds: rep.Elapsed.Seconds(), Defects: []wrongPlace{},
		PerSecond: rep.PerSecond(), Evaluated: rep.Evaluated(), Stages: rep.Stages}
	var strict []score.Violation
	for _, found := range rep.Violations {
		if found.Part == "task" {
			v.Defects = append(v.Defects, wrongPlace(found))
			continue
		}
		strict = append(strict, found)
	}
	v.Defective = len(v.Defects)
	v.Verdicts = []validated{
		v.verdict(score.Strict, score.StrictVersion, strict),
		v.verdict(score.Official, score.OfficialVersion, rep.Official),
	}
	return v
}

func (v validation) verdict(name, version string, found []score.Violation) validated {
	scored := v.Tasks - v.Defective
	d := validated{Scorer: name, Version: version, References: scored, Starters: scored, Wrong: []wrongPlace{}}
	for _, f := range found {
		d.Wrong = append(d.Wrong, wrongPlace(f))
		switch f.Part {
		case "reference":
			d.References--
		case "starter":
			d.Starters--
		default: // this verdict cannot be given at all
			d.References, d.Starters = d.References-1, d.Starters-1
		}
	}
	return d
}

// conclude prints a validation and returns the exit code.
func (v validation) conclude(a *app, require string) error {
	strict, official := v.Verdicts[0], v.Verdicts[1]
	if a.json {
		if err := a.printJSON(v); err != nil {
			return err
		}
	} else {
		v.print(a.stdout)
	}
	if v.Defective+len(strict.Wrong) > 0 || require == bothVerdicts && len(official.Wrong) > 0 {
		return silent(exitError)
	}
	return nil
}

func (v validation) print(w io.Writer) {
	for _, p := range v.Defects {
		fmt.Fprintf(w, "defective task: %s: %s\n", p.Task, printableLine(p.Reason))
	}
	for _, p := range v.Verdicts[0].Wrong {
		fmt.Fprintf(w, "strict verdict is wrong: %s: %s: %s\n", p.Task, p.Part, printableLine(p.Reason))
	}
	for _, f := range byFamily(v.Verdicts[1].Wrong) {
		fmt.Fprintf(w, "official verdict cannot be right here: %s: %s of %d tasks: %s (first: %s)\n",
			f.name, f.part, f.count, printableLine(f.why()), f.first.Task)
	}
	fmt.Fprintf(w, "%d tasks in %s, %d defective\n", v.Tasks, time.Duration(v.Seconds*float64(time.Second)).Round(time.Second), v.Defective)
	for _, d := range v.Verdicts {
		fmt.Fprintf(w, "%-10s  %d of %d references score 1, %d of %d starters score 0\n",
			d.Version, d.References, v.Tasks, d.Starters, v.Tasks)
	}
	v.printTimes(w)
}

// printTimes says how fast it went and where the time went.
func (v validation) printTimes(w io.Writer) {
	if len(v.Stages) == 0 {
		return
	}
	fmt.Fprintf(w, "%.1f candidates per second; of the scorer processes' CPU, %.0f %% evaluated programs\n", v.PerSecond, 100*v.Evaluated)
	for _, s := range v.Stages {
		fmt.Fprintf(w, "  %-10s %-9s %6d jobs  %8.1f s CPU, %8.1f s of it evaluating\n",
			s.Role, s.Kind, s.Jobs, s.CPU.Seconds(), s.Evaluated.Seconds())
	}
}

// wrongFamily gathers the places of one family that are wrong for one reason.
type wrongFamily struct {
	name, part string
	count      int
	first      wrongPlace
}

// byFamily groups places by the part of their ids before size and instance, by
// part and by the check that decides, in the order of their first ones.
func byFamily(list []wrongPlace) []*wrongFamily {
	type key struct{ name, part, check string }
	known := map[key]*wrongFamily{}
	var families []*wrongFamily
	for _, p := range list {
		check, _, _ := strings.Cut(p.Reason, ":")
		k := key{path.Dir(path.Dir(string(p.Task))), p.Part, check}
		if known[k] == nil {
			known[k] = &wrongFamily{name: k.name, part: k.part, first: p}
			families = append(families, known[k])
		}
		known[k].count++
	}
	return families
}

func (f *wrongFamily) why() string {
	if f.part == "starter" {
		return "solved, as none of the checks that decide tells it from a solution"
	}
	return f.first.Reason
}
