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
	began := time.Now()
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
	report.Elapsed = time.Since(began)
	return report, err
}

// validateTask returns the violations of both verdicts.
func validateTask(ctx context.Context, s *Scorer, t *tasks.Task) (strict, official []Violation, err error) {
	v, err := s.ScoreAll(ctx, t, t.Reference)
	var broken *TaskDefect
	if errors.As(err, &broken) {
		return []Violation{{t.ID, "task", broken.Reason}}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found := [2][]Violation{}
	for i := range found {
		if !v[i].Solved {
			found[i] = append(found[i], Violation{t.ID, "reference", v[i].Reason})
		}
	}
	if v, err = s.ScoreAll(ctx, t, t.Starter); err != nil {
		return nil, nil, err
	}
	for i := range found {
		if v[i].Solved {
			found[i] = append(found[i], Violation{t.ID, "starter", "is solved"})
		}
	}
	return found[0], found[1], nil
}
