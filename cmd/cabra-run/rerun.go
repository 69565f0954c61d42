package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// rerunOptions say which trials of a run are made again, and what shall be
// another than in it; everything else is taken from its lock.
type rerunOptions struct {
	pace
	providerOptions
	budgetOptions
	run            string
	filter         string
	agents, models []string
	network        string
	base           string
	replay         bool
	allowDrift     bool
	partial        bool
}

func newRerun(a *app) *cobra.Command {
	o := &rerunOptions{}
	cmd := &cobra.Command{
		Use:   "rerun RUN",
		Short: "make a run again under its lock, and compare the two",
		Long: `Makes a new run, linked to the old one: the same tasks under the same limits, with
the same agents, models and budgets unless others are given. What differs without having been
asked for (another image, another version of this program) stops it; --allow-drift
records it instead. At the end both runs are compared, per axis and size.

  cabra-run rerun RUN --filter 'outcome=failed; size=50..200'   only those trials
  cabra-run rerun RUN --model openai/gpt-5.4-mini               another model
  cabra-run rerun RUN --network bridge                          the paper's question: do trends stay?
  cabra-run rerun RUN --replay                                  no provider: answered from the recording

With --replay the real agent runs again and is given the recorded answers; the code
must come out the same, and a request that does not fit the recording ends the
attempt with the difference. It needs no key and costs nothing.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return rerun(cmd.Context(), a, o, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.run, "run", "", "name or path of the new run (default: the old one's with -rerun-N)")
	f.StringVar(&o.filter, "filter", "", "which trials, such as 'outcome=failed; axis=search; size=50..200' (default: all)")
	f.StringSliceVar(&o.agents, "agent", nil, "another agent, or several")
	f.StringSliceVar(&o.models, "model", nil, "another model, or several")
	f.StringVar(&o.network, "network", "", "another network of the boxes: none, bridge")
	f.StringVar(&o.base, "base", "", "base image: pull, bootstrap or an image")
	f.BoolVar(&o.replay, "replay", false, "answer from the recorded traffic instead of asking a provider")
	f.BoolVar(&o.allowDrift, "allow-drift", false, "run although the environment differs, and record how")
	f.BoolVar(&o.partial, "partial", false, "compare although one of the runs is unfinished")
	o.pace.addFlags(f)
	o.providerOptions.addFlags(f)
	o.budgetOptions.addFlags(f)
	return cmd
}

// check refuses flags that contradict each other.
func (o *rerunOptions) check() error {
	switch {
	case o.replay && len(o.agents)+len(o.models) > 0:
		return usagef("--replay answers from what was recorded of the run's own agents and models: leave out --agent and --model")
	case o.replay && o.budgetOptions != (budgetOptions{}):
		return usagef("--replay asks no provider and costs nothing: leave out the budgets")
	case o.network != "" && o.network != string(sandbox.NetworkNone) && o.network != string(sandbox.NetworkBridge):
		return usagef("--network %q; there is: none, bridge", o.network)
	}
	return nil
}

func rerun(ctx context.Context, a *app, o *rerunOptions, run string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	settings, err := o.pace.settings()
	if err != nil {
		return err
	}
	old, err := a.openRun(run, results.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	origin, err := o.origin(old)
	if err != nil {
		return err
	}
	pairs, err := o.pairs(old.Lock())
	if err != nil {
		return err
	}
	if err := samePart(old.Lock(), pairs); err != nil {
		return err
	}
	bounds := o.budgets(old.Lock())
	budget, err := bounds.parseFor(pairs)
	if err != nil {
		return err
	}
	name, err := a.rerunName(o.run, run)
	if err != nil {
		return err
	}
	r := &rerunning{app: a, o: o, old: old, origin: origin, pairs: pairs, settings: settings}
	if r.chosen, err = r.choose(ctx); err != nil {
		return err
	}
	k, err := r.ready(ctx)
	if err != nil {
		return err
	}
	r.lock.Run, r.lock.Budget = filepath.Base(a.runPath(name)), bounds.locked()
	store, err := results.Create(a.runPath(name), r.lock)
	if err != nil {
		return errors.Join(err, k.close(ctx))
	}
	s := a.sweep(k, r.src, store, pairs, r.settings)
	s.Budget, err = openBudget(ctx, budget, store)
	release := func() error { return nil }
	if err == nil {
		release, err = a.followOrigin(ctx, s, store)
	}
	if err != nil {
		return errors.Join(err, k.close(ctx), store.Close())
	}
	defer func() { err = errors.Join(err, release()) }()
	return a.finishSweep(ctx, name, k, store, s, func(ctx context.Context) error {
		if o.replay {
			return printReplay(ctx, a, store)
		}
		return printComparison(ctx, a, old, store, compareOptions{partial: o.partial})
	})
}

// origin is the link to the old run that the new one's lock holds.
func (o *rerunOptions) origin(old *results.Store) (*results.Origin, error) {
	dir, err := filepath.Abs(old.Dir())
	if err != nil {
		return nil, err
	}
	digest, err := lockDigest(dir)
	if err != nil {
		return nil, err
	}
	f, err := results.ParseFilter(o.filter)
	if err != nil {
		return nil, &codedError{err: fmt.Errorf("--filter: %w", err), code: exitUsage}
	}
	return &results.Origin{Run: old.Lock().Run, Dir: dir, Lock: digest,
		Filter: f.String(), Replay: o.replay}, nil
}

// rerunName is the name that was given, or the first free one after the old run's.
func (a *app) rerunName(given, run string) (string, error) {
	if given != "" {
		if _, err := os.Stat(a.runPath(given)); err == nil {
			return "", hinted(fmt.Errorf("there is a run or folder %q already", given),
				"continue it: "+a.command("resume", given)+"\nor choose another --run NAME")
		}
		return given, nil
	}
	base := strings.TrimRight(run, string(filepath.Separator))
	for n := 1; n < 10000; n++ {
		name := fmt.Sprintf("%s-rerun-%d", base, n)
		if _, err := os.Stat(a.runPath(name)); errors.Is(err, os.ErrNotExist) {
			return name, nil
		}
	}
	return "", usagef("there are 9999 reruns of %q; give a name by --run", run)
}

// rerunning makes a rerun ready.
type rerunning struct {
	app      *app
	o        *rerunOptions
	old      *results.Store
	origin   *results.Origin
	pairs    []chosen
	settings runner.Settings
	chosen   int // trials of the old run
	src      tasks.Source
	lock     results.Lock
}

// choose counts the old run's trials that the filter takes.
func (r *rerunning) choose(ctx context.Context) (int, error) {
	picked, err := pickTrials(ctx, r.old, r.origin.Filter)
	if err == nil && len(picked) == 0 {
		err = usagef("--filter %q takes none of the run's trials", r.origin.Filter)
	}
	return len(picked), err
}

// ready makes the lock of the new run, and refuses to call something the same
// that is not.
func (r *rerunning) ready(ctx context.Context) (*kit, error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	was, err := r.old.Lock(), error(nil)
	if r.src, err = lockedSource(was); err != nil {
		return nil, err
	}
	if !r.o.replay {
		if err := r.app.preflightAll(ctx, r.o.providerOptions, r.pairs); err != nil {
			return nil, err
		}
	}
	k, err := r.app.openKit(ctx, agentsOf(r.pairs), r.o.base, min(r.settings.Jobs, runtime.NumCPU()))
	if err != nil {
		return nil, err
	}
	r.settings = settingsOf(was, r.settings)
	if r.o.network != "" {
		r.settings.Network = sandbox.Network(r.o.network)
	}
	r.lock, err = lockNow(ctx, was, r.src, r.pairs, r.settings, k)
	if err == nil {
		r.lock.Origin, r.lock.Created = r.origin, time.Now().UTC()
		err = r.checkSame(was)
	}
	if err != nil {
		return nil, errors.Join(err, k.close(context.WithoutCancel(ctx)))
	}
	return k, nil
}

// checkSame compares the new lock with the old one in which only that is changed
// which was asked for.
func (r *rerunning) checkSame(was results.Lock) error {
	now := r.lock
	r.origin.Differences = was.Diff(now)
	want := was
	want.Network = now.Network
	if r.o.replay { // nobody is asked: what the wire is priced at says nothing
		setPairings(&want, now.Pairs())
	}
	if len(r.o.agents)+len(r.o.models) > 0 {
		setPairings(&want, kept(was.Pairs(), now.Pairs()))
		want.Images = withAgentImages(was.Images, now.Images)
	}
	drift := want.Diff(now)
	if len(drift) == 0 {
		return nil
	}
	lines := make([]string, len(drift))
	for i, d := range drift {
		lines[i] = d.String()
	}
	if !r.o.allowDrift {
		return hinted(fmt.Errorf("a rerun would not be the same; what differs without having been asked for:\n  %s",
			strings.Join(lines, "\n  ")), "run all the same, recording this: --allow-drift")
	}
	r.app.say("recorded as drift: " + strings.Join(lines, "; "))
	return nil
}
