package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/tasks"
)

func newScore(a *app) *cobra.Command {
	var jobs int
	cmd := &cobra.Command{
		Use:   "score RUN",
		Short: "score the stored code of a run again",
		Long: `Scores the code that every judged trial of the run left, with the scorer of this
version, and prints which verdicts changed. Replaced verdicts are kept in the run.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if jobs < 1 {
				return usagef("--jobs %d: at least 1", jobs)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return scoreRun(ctx, a, args[0], jobs)
		},
	}
	cmd.Flags().IntVar(&jobs, "jobs", runtime.NumCPU(), "trials scored at the same time")
	return cmd
}

// scored is a stored attempt to be judged again.
type scored struct {
	key     string
	attempt results.Attempt
	was     *results.AttemptVerdict
}

func scoreRun(ctx context.Context, a *app, run string, jobs int) (err error) {
	store, err := a.openRun(run, results.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := recoverRun(ctx, a, store); err != nil {
		return err
	}
	todo, err := storedCode(ctx, store)
	if err != nil {
		return err
	}
	lock := store.Lock()
	grid, err := tasks.ParseGrid(lock.Tasks.Grid)
	if err != nil {
		return fmt.Errorf("the run's grid: %w", err)
	}
	src, err := source(grid, generationOf(lock.Tasks))
	if err != nil {
		return err
	}
	k, err := a.openKit(ctx, "", "", min(jobs, runtime.NumCPU()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close(context.WithoutCancel(ctx))) }()
	r := &rescoring{app: a, store: store, scorer: k.scorer, todo: todo}
	if err := r.run(ctx, src, jobs); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "scored %d trials, %d verdicts changed\n", r.done, r.changed)
	return nil
}

// storedCode lists the attempts whose code is judged, by task.
func storedCode(ctx context.Context, store *results.Store) (map[tasks.ID][]scored, error) {
	todo := map[tasks.ID][]scored{}
	for t, err := range store.Results(ctx) {
		if err != nil {
			return nil, err
		}
		final := t.Final()
		if final == nil || !final.Outcome.HasCode() || final.Unscored || (t.Verdict == nil && t.State != results.StateUnscored) {
			continue
		}
		todo[t.TaskID] = append(todo[t.TaskID], scored{t.Key, final.Attempt, t.Verdict})
	}
	return todo, nil
}

// rescoring judges stored code again.
type rescoring struct {
	app    *app
	store  *results.Store
	scorer runner.Scorer
	todo   map[tasks.ID][]scored

	mu            sync.Mutex
	done, changed int
}

func (r *rescoring) run(ctx context.Context, src tasks.Source, jobs int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for task, err := range src.Tasks(ctx) {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		for _, s := range r.todo[task.ID] {
			g.Go(func() error { return r.one(ctx, &task, s) })
		}
	}
	return g.Wait()
}

func (r *rescoring) one(ctx context.Context, task *tasks.Task, s scored) error {
	code, err := runner.StoredCode(r.store, s.attempt, task)
	if err != nil {
		return err
	}
	v, err := r.scorer.Score(ctx, task, code)
	if err != nil {
		return err
	}
	if err := r.store.ReplaceVerdict(ctx, s.key, s.attempt.Number, v); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if s.was == nil || s.was.Solved != v.Solved {
		r.changed++
		fmt.Fprintf(r.app.stdout, "%s: now %s: %s\n", task.ID, word(v.Solved), v.Reason)
	}
	return nil
}

func word(solved bool) string {
	if solved {
		return results.Solved
	}
	return results.Failed
}
