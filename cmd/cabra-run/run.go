package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/tasks"
)

// runNew makes a new run and works it off.
func runNew(ctx context.Context, a *app, o *sweepOptions) error {
	p, err := o.parse()
	if err != nil {
		return err
	}
	src, err := source(p.grid, o.generation)
	if err != nil {
		return err
	}
	a.sayOddities(src)
	src = limited(src, p.limit)
	if n := src.Len() * p.settings.Repetitions * len(p.pairs); p.shard.Index > n {
		a.say(fmt.Sprintf("part %s of this plan is empty: it has only %d trials", p.shard, n))
	}
	if o.dryRun {
		return dryRun(ctx, a, o, p, src)
	}
	name := o.run
	if name == "" {
		name = runName(time.Now(), p)
	}
	dir := a.runPath(name)
	if _, err := os.Stat(dir); err == nil {
		return hinted(fmt.Errorf("there is a run or folder %q already", name), "continue it: "+a.command("resume", name)+"\nor choose another --run NAME")
	}
	if err := a.preflightAll(ctx, o.providerOptions, p.pairs); err != nil {
		return err
	}
	lock, k, err := prepare(ctx, a, o, p, src)
	if err != nil {
		return err
	}
	lock.Run, lock.Budget = filepath.Base(dir), o.budgetOptions.locked()
	store, err := results.Create(dir, lock)
	if err != nil {
		return errors.Join(err, k.close(ctx))
	}
	s := a.sweep(k, src, store, p.pairs, p.settings)
	if s.Budget, err = openBudget(ctx, p.budget, store); err != nil {
		return errors.Join(err, k.close(ctx), store.Close())
	}
	return a.finishSweep(ctx, name, k, store, s)
}

// prepare readies everything outside of the run folder; an interrupt ends it.
func prepare(ctx context.Context, a *app, o *sweepOptions, p parsed, src tasks.Source) (results.Lock, *kit, error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	lock, err := newLock(ctx, o, p, src)
	if err != nil {
		return lock, nil, err
	}
	k, err := a.openKit(ctx, agentsOf(p.pairs), o.base, min(p.settings.Jobs, runtime.NumCPU()))
	if err != nil {
		return lock, nil, err
	}
	fillEnvironment(&lock, k)
	return lock, k, nil
}

var unsafeInName = regexp.MustCompile(`[^a-z0-9.]+`)

// runName is a readable name that sorts by time.
func runName(now time.Time, p parsed) string {
	grid := unsafeInName.ReplaceAllString(strings.ToLower(p.grid.Name), "-")
	who := p.pairs[0].agent.Name() + "-" + p.pairs[0].model.Name
	if n := len(p.pairs); n > 1 {
		who = fmt.Sprintf("%d-pairings", n)
	}
	who = unsafeInName.ReplaceAllString(strings.ToLower(who), "-")
	name := fmt.Sprintf("%s-%s-%s", now.UTC().Format("20060102-150405"), who, grid)
	if p.shard.Count > 1 {
		name += fmt.Sprintf("-%dof%d", p.shard.Index, p.shard.Count)
	}
	return strings.Trim(name[:min(len(name), 100)], "-.")
}

// newLock is what can be said of a run before an engine is asked.
func newLock(ctx context.Context, o *sweepOptions, p parsed, src tasks.Source) (results.Lock, error) {
	set, statements, err := tasks.SetDigest(ctx, src)
	if err != nil {
		return results.Lock{}, fmt.Errorf("generating tasks: %w", err)
	}
	s := p.settings
	prompts := ownPrompts
	if o.prompts != "" {
		// A resume may be called from another folder.
		if prompts, err = absolute(o.prompts); err != nil {
			return results.Lock{}, err
		}
	}
	files, err := absolute(o.files)
	if err != nil {
		return results.Lock{}, err
	}
	lock := results.Lock{
		Created: time.Now().UTC(), Program: programVersion(),
		Tasks: results.TaskSet{Grid: p.grid.Name, Seed: o.seed, Scheme: o.scheme(), Count: src.Len(),
			Digest: set, Statements: statements, Prompts: prompts, Files: files},
		Limit: p.limit, Shard: p.shard, Repetitions: s.Repetitions, Network: string(s.Network),
		Limits: results.Limits{MemoryBytes: s.Limits.MemoryBytes, Pids: s.Limits.Pids, CPUs: s.Limits.CPUs,
			OpenFiles: s.Limits.OpenFiles, TmpBytes: s.Limits.TmpBytes, HomeBytes: s.Limits.HomeBytes,
			ShmBytes: s.Limits.ShmBytes, WorkspaceBytes: s.Limits.WorkspaceBytes, OutputBytes: s.OutputBytes},
		TimeoutSeconds: s.Timeout.Seconds(), StallSeconds: s.Stall.Seconds(),
		Scorer: scorerFacts(), Jobs: s.Jobs, Host: hostFacts(),
	}
	setPairings(&lock, locked(p.pairs))
	return lock, nil
}

// fillEnvironment adds what the engine and the images say.
func fillEnvironment(l *results.Lock, k *kit) {
	i := k.info
	l.Engine = results.Engine{Name: i.Name, Version: i.Version, Endpoint: i.Endpoint, OS: i.OS, Arch: i.Arch,
		Kernel: i.Kernel, CgroupVersion: i.CgroupVersion, StorageDriver: i.StorageDriver, Rootless: i.Rootless,
		CPUs: i.CPUs, MemoryBytes: i.MemoryBytes, Transport: i.Transport}
	l.Images = nil
	for _, img := range k.images {
		l.Images = append(l.Images, results.Image{Name: img.Name, ID: img.ID, Tag: img.Tag, Recipe: img.Recipe,
			Base: img.Base, How: img.How, Bytes: img.Bytes, Packages: img.Packages})
	}
}

func hostFacts() results.Host {
	h := results.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
	return h
}

// finishSweep works a run off and says how it ended; afterwards is printed
// between the report and the last lines.
func (a *app) finishSweep(ctx context.Context, name string, k *kit, store *results.Store, s *runner.Sweep,
	afterwards ...func(context.Context) error) error {
	cleanup := context.WithoutCancel(ctx)
	sig, stopSignals := a.obeySignals(s.Stop)
	defer stopSignals()
	p := newProgress(a, name, s.Settings.Jobs)
	s.Observer = p.observe
	endSteering := a.steer(store, s)
	sum, err := s.Run(ctx)
	p.close()
	if err == nil {
		err = printReport(cleanup, a, store, reportOptions{})
	}
	for _, print := range afterwards {
		if err == nil {
			err = print(cleanup)
		}
	}
	scanning, cancel := untilAbort(cleanup, s.Stop)
	err = errors.Join(err, a.scanForKeys(scanning, store, s.Pairings))
	cancel()
	endSteering()
	err = errors.Join(err, k.close(cleanup), store.Close())
	if err != nil {
		return err
	}
	return a.verdictOf(name, sum, sig())
}

// untilAbort ends with the third interrupt: reading a large run takes minutes.
func untilAbort(ctx context.Context, stop *runner.Stopper) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop.Reached(runner.Abort):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// verdictOf turns a summary into the last lines and the exit code.
func (a *app) verdictOf(name string, sum runner.Summary, sig os.Signal) error {
	a.say(fmt.Sprintf("\nresults: %s   again: %s", a.runPath(name), a.command("report", name)))
	next := "continue: " + a.command("resume", name)
	switch {
	case sum.Paused != "":
		a.say(fmt.Sprintf("paused with %d of %d trials to do: %s\n%s", sum.Pending, sum.Planned, sum.Paused, next))
		return silent(exitPaused)
	case sum.Budget != "" && sum.Pending > 0:
		a.say(fmt.Sprintf("the budget is used up with %d of %d trials to do: %s\n%s --budget …, more than before",
			sum.Pending, sum.Planned, sum.Budget, next))
		return silent(exitBudget)
	case sig != nil && sum.Pending > 0:
		a.say(fmt.Sprintf("stopped with %d of %d trials to do\n%s", sum.Pending, sum.Planned, next))
		if sig == syscall.SIGTERM {
			return silent(exitTerminate)
		}
		return silent(exitInterrupt)
	case sum.Stopped == toldBy && sum.Pending > 0:
		a.say(fmt.Sprintf("stopped with %d of %d trials to do: %s\n%s", sum.Pending, sum.Planned, sum.Stopped, next))
		return silent(exitInterrupt)
	case sum.Pending > 0:
		a.say(fmt.Sprintf("%d of %d trials are not done\n%s", sum.Pending, sum.Planned, next))
		return silent(exitError)
	case sum.WithoutOutcome > 0:
		a.say(fmt.Sprintf("%d of %d trials say nothing about the agent (see the outcomes above)", sum.WithoutOutcome, sum.Planned))
		return silent(exitIncomplete)
	}
	return nil
}

// obeySignals raises the stopper by one level with each interrupt; a
// termination stops the boxes in order at once. The function returns the first
// signal that came.
func (a *app) obeySignals(stop *runner.Stopper) (first func() os.Signal, done func()) {
	ch := make(chan os.Signal, 4)
	quit := make(chan struct{})
	ended := make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	var seen os.Signal
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-ch:
				if seen == nil {
					seen = s
				}
				a.obey(stop, s)
			case <-quit:
				return
			}
		}
	}()
	halt := func() {
		signal.Stop(ch)
		select {
		case <-quit:
		default:
			close(quit)
		}
		<-ended
	}
	return func() os.Signal { halt(); return seen }, halt
}

func (a *app) obey(stop *runner.Stopper, s os.Signal) {
	level := stop.Level() + 1
	if s == syscall.SIGTERM {
		level = max(level, runner.Halt)
	}
	stop.Raise(level, "stopped by "+s.String())
	switch level {
	case runner.Drain:
		a.say("\nstopping: what runs finishes, nothing new starts; Ctrl-C again ends the attempts in order")
	case runner.Halt:
		a.say("\nending the attempts in order, keeping what they did; Ctrl-C again ends at once")
	default:
		a.say("\nending at once")
	}
}
