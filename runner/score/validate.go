package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cabra-run/tasks"
)

// ValidateReport says whether the tasks of a set can be scored.
type ValidateReport struct {
	Tasks      int
	Violations []Violation // of the strict verdict, in the order of the tasks' ids
	// Official holds those of the official verdict, whose rules may make it
	// impossible to tell a starter or a reference for what it is.
	Official []Violation
	Elapsed  time.Duration
	// Candidates is how many were scored under both verdicts: two of each task
	// that is not defective. Stages is what the scorer's jobs took meanwhile,
	// of these candidates and of their tasks' own references.
	Candidates int
	Stages     []Stage
}

// PerSecond is how many candidates were scored in a second.
func (r ValidateReport) PerSecond() float64 { return float64(r.Candidates) / r.Elapsed.Seconds() }

// Evaluated is the part of all processes' CPU time that Python spent in the
// functions of programs, from 0 to 1.
func (r ValidateReport) Evaluated() float64 {
	var all Stage
	for _, s := range r.Stages {
		all = s.plus(all)
	}
	return all.Evaluated.Seconds() / max(all.CPU.Seconds(), 1e-9)
}

// Violation is a task whose reference is not solved, whose starter is, or that
// is defective.
type Violation struct {
	Task   tasks.ID
	Part   string // "reference", "starter" or "task"
	Reason string
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Task, v.Part, v.Reason) }

// Validate scores the reference and the starter of every task, parallel tasks
// at a time: 1 and 0 is right. progress, if any, is called after each task,
// never at the same time as itself. An error means that the validation did not
// come to its end.
func Validate(
	ctx context.Context, src tasks.Source, s *Scorer, parallel int, progress func(done, total int),
) (ValidateReport, error) {
	began, before := time.Now(), s.Usage()
	var report ValidateReport
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	var broken error
	for t, err := range src.Tasks(groupCtx) {
		if err != nil || groupCtx.Err() != nil {
			broken = err
			break
		}
		group.Go(func() error {
			strict, official, err := validateTask(groupCtx, s, &t)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			report.Tasks++
			report.Violations = append(report.Violations, strict...)
			report.Official = append(report.Official, official...)
			if progress != nil {
				progress(report.Tasks, src.Len())
			}
			return nil
		})
	}
	err := cmp.Or(group.Wait(), broken, ctx.Err()) // the first is the cause of the others
	for _, found := range [][]Violation{report.Violations, report.Official} {
		slices.SortFunc(found, func(a, b Violation) int { return strings.Compare(a.String(), b.String()) })
	}
	report.Candidates = 2 * report.Tasks
	for _, v := range report.Violations {
		if v.Part == "task" {
			report.Candidates -= 2
		}
	}
	report.Elapsed, report.Stages = time.Since(began), since(before, s.Usage())
	return report, err
}

// validateTask returns the violations of both verdicts.
func validateTask(ctx context.Context, s *Scorer, t *tasks.Task) (strict, official []Violation, err error) {
	for _, p := range []struct {
		name   string
		code   tasks.Files
		solved bool
	}{{"reference", t.Reference, true}, {"starter", t.Starter, false}} {
		verdicts, err := s.ScoreAll(ctx, t, p.code)
		var broken *TaskDefect
		switch {
		case errors.As(err, &broken) && len(verdicts) == 0:
			return []Violation{{t.ID, "task", broken.Reason}}, nil, nil
		case errors.As(err, &broken): // only the official verdict cannot be given
			official = []Violation{{t.ID, "task", broken.Reason}}
		case err != nil:
			return nil, nil, err
		}
		for _, v := range verdicts {
			if v.Solved == p.solved {
				continue
			}
			found := Violation{t.ID, p.name, cmp.Or(v.Reason, "is solved")}
			if v.Scorer == Strict {
				strict = append(strict, found)
			} else {
				official = append(official, found)
			}
		}
	}
	return strict, official, nil
}
