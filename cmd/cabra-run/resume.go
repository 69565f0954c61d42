package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

type resumeOptions struct {
	pace
	providerOptions
	budgetOptions
	base       string
	allowDrift bool
	retryClass []string
	classes    []results.Outcome // the same, checked
}

func newResume(a *app) *cobra.Command {
	o := &resumeOptions{}
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "continue a run; finished trials are not touched",
		Long: `Continues a run: what is pending is worked off, and trials that ended without saying
anything about the agent (infra_error, provider_error) are tried again with the full
number of retries. With --retry-class trials that ended otherwise are tried again as
well; what they had is kept in the run, and their verdicts are superseded.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return resume(cmd.Context(), a, o, args[0]) },
	}
	o.pace.addFlags(cmd.Flags())
	o.providerOptions.addFlags(cmd.Flags())
	o.budgetOptions.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.base, "base", "", "base image: pull, bootstrap or an image")
	cmd.Flags().StringSliceVar(&o.retryClass, "retry-class", nil,
		"further outcomes that are tried again: timeout, stalled, limit, agent_error, no_output")
	cmd.Flags().BoolVar(&o.allowDrift, "allow-drift", false, "continue although the environment differs, and record how")
	return cmd
}

func resume(ctx context.Context, a *app, o *resumeOptions, run string) (err error) {
	knobs, err := o.pace.settings()
	if err != nil {
		return err
	}
	if o.classes, err = retryClasses(o.retryClass, results.Timeout, results.Stalled, results.Limit,
		results.AgentError, results.NoOutput); err != nil {
		return err
	}
	store, err := a.openRun(run, results.ReadWrite)
	if err != nil {
		return err
	}
	setUp, stop := interruptible(ctx)
	s, k, err := resumeSweep(setUp, a, o, store, knobs)
	stop()
	if err != nil {
		return errors.Join(err, store.Close())
	}
	release, err := a.followOrigin(ctx, s, store)
	if err != nil {
		return errors.Join(err, k.close(ctx), store.Close())
	}
	defer func() { err = errors.Join(err, release()) }()
	return a.finishSweep(ctx, run, k, store, s, func(ctx context.Context) error {
		return printBesideOrigin(ctx, a, store)
	})
}

// resumeSweep makes the sweep that the run's lock describes.
func resumeSweep(ctx context.Context, a *app, o *resumeOptions, store *results.Store, s runner.Settings) (*runner.Sweep, *kit, error) {
	lock := store.Lock()
	src, err := lockedSource(lock)
	if err != nil {
		return nil, nil, err
	}
	pairs, err := lockedPairings(lock, o.providerOptions)
	if err != nil {
		return nil, nil, err
	}
	budget, err := o.budgetOptions.over(lock.Budget).parseFor(pairs)
	if err != nil {
		return nil, nil, err
	}
	if err := recoverRun(ctx, a, store); err != nil {
		return nil, nil, err
	}
	money, err := openBudget(ctx, budget, store)
	if err != nil {
		return nil, nil, err
	}
	if err := budgetLeft(a, store, money); err != nil {
		return nil, nil, err
	}
	if !lock.Replays() {
		if err := a.preflightAll(ctx, o.providerOptions, pairs); err != nil {
			return nil, nil, err
		}
	}
	k, err := a.openKit(ctx, agentsOf(pairs), o.base, min(s.Jobs, runtime.NumCPU()))
	if err != nil {
		return nil, nil, err
	}
	s = settingsOf(lock, s)
	now, err := lockNow(ctx, lock, src, pairs, s, k)
	if err == nil {
		err = checkDrift(ctx, a, store, lock.Diff(now), o.allowDrift)
	}
	if err == nil {
		err = o.reopen(ctx, a, store, budget.Trial)
	}
	if err != nil {
		return nil, nil, errors.Join(err, k.close(ctx))
	}
	sweep := a.sweep(k, src, store, pairs, s)
	sweep.Budget = money
	sweep.SameTasks = now.Tasks.Digest == lock.Tasks.Digest && now.Tasks.Statements == lock.Tasks.Statements
	return sweep, k, nil
}

// reopen makes trials pending again that say nothing about the agent, and those
// whose outcome is of one of the classes. One whose budget leaves no room for
// another attempt keeps what it has: that would replace its code by nothing.
func (o *resumeOptions) reopen(ctx context.Context, a *app, store *results.Store, trial gateway.Caps) error {
	again := append([]results.Outcome{results.Cancelled, results.InfraError, results.ProviderError}, o.classes...)
	var spent map[string]results.Spending
	if trial != (gateway.Caps{}) && len(o.classes) > 0 {
		var err error
		if _, spent, err = store.Spending(ctx); err != nil {
			return err
		}
	}
	var keys []string
	poor := 0
	for t, err := range store.Ended(ctx, again...) {
		if err != nil {
			return err
		}
		final := t.Final()
		if t.State != results.StateDone || final == nil || !slices.Contains(again, final.Outcome) {
			continue
		}
		stopped := final.LimitHit == runner.LimitBudget && o.trial == ""
		if p, some := spent[t.Key]; some && final.Outcome.OfAgent() && (stopped || usedUp(p, trial)) {
			poor++
			continue
		}
		keys = append(keys, t.Key)
	}
	if poor > 0 {
		a.say(fmt.Sprintf("%d finished trials are not tried again: their budget leaves no room; give a higher --trial-budget", poor))
	}
	if len(keys) == 0 {
		return nil
	}
	a.say(fmt.Sprintf("%d finished trials are tried again: they ended without an agent outcome, or as --retry-class says", len(keys)))
	return store.Reopen(ctx, keys)
}

// usedUp reports whether nothing is left of a budget.
func usedUp(p results.Spending, c gateway.Caps) bool {
	return c.USD > 0 && p.USD+p.WorstUSD >= c.USD || c.Tokens > 0 && p.Tokens+p.WorstTokens >= c.Tokens
}

// lockedSource returns the tasks of a lock.
func lockedSource(lock results.Lock) (tasks.Source, error) {
	grid, err := lockedGrid(lock.Tasks)
	if err != nil {
		return nil, err
	}
	src, err := source(grid, generationOf(lock.Tasks))
	if err != nil {
		return nil, err
	}
	return limited(src, lock.Limit), nil
}

// recoverRun brings the run into order and says what it found.
func recoverRun(ctx context.Context, a *app, store *results.Store) error {
	rec, err := store.Recover(ctx)
	if err != nil {
		return err
	}
	if n := len(rec.Adopted) + len(rec.Closed); n > 0 {
		a.say(fmt.Sprintf("the run was cut off: %d attempts in flight are closed as cancelled with their usage, %d finished ones are taken over",
			len(rec.Closed), len(rec.Adopted)))
	}
	if n := len(rec.Missing); n > 0 {
		a.say(fmt.Sprintf("warning: the artefacts of %d attempts are gone", n))
	}
	return nil
}

// settingsOf takes what determines outcomes and what makes a trial done from the
// lock, the rest from the flags.
func settingsOf(l results.Lock, s runner.Settings) runner.Settings {
	s.Repetitions = l.Repetitions
	s.Timeout = time.Duration(l.TimeoutSeconds * float64(time.Second))
	s.Stall = time.Duration(l.StallSeconds * float64(time.Second))
	s.Network = sandbox.Network(l.Network)
	s.OutputBytes = l.Limits.OutputBytes
	s.Limits = sandbox.Limits{MemoryBytes: l.Limits.MemoryBytes, Pids: l.Limits.Pids, CPUs: l.Limits.CPUs,
		OpenFiles: l.Limits.OpenFiles, TmpBytes: l.Limits.TmpBytes, HomeBytes: l.Limits.HomeBytes,
		ShmBytes: l.Limits.ShmBytes, WorkspaceBytes: l.Limits.WorkspaceBytes}
	return s
}

// lockNow is the lock that a new run with the same wishes would get today.
func lockNow(ctx context.Context, was results.Lock, src tasks.Source, pairs []chosen, s runner.Settings, k *kit) (results.Lock, error) {
	o := &sweepOptions{generation: generationOf(was.Tasks)}
	grid, err := lockedGrid(was.Tasks)
	if err != nil {
		return results.Lock{}, err
	}
	now, err := newLock(ctx, o, parsed{pairs: pairs, grid: grid, limit: was.Limit, shard: was.Shard, settings: s}, src)
	if err != nil {
		return results.Lock{}, err
	}
	fillEnvironment(&now, k)
	return now, nil
}

// checkDrift stops a resume under another environment, or records the differences.
func checkDrift(ctx context.Context, a *app, store *results.Store, diffs []results.Difference, allowed bool) error {
	if len(diffs) == 0 {
		return nil
	}
	var lines []string
	for _, d := range diffs {
		lines = append(lines, d.String())
	}
	if !allowed {
		return hinted(fmt.Errorf("the run was made under another environment:\n  %s", strings.Join(lines, "\n  ")),
			"continue all the same, recording this: "+a.command("resume", store.Dir())+" --allow-drift\nor start a new run")
	}
	a.say("recorded as drift: " + strings.Join(lines, "; "))
	return store.RecordDrift(ctx, diffs)
}
