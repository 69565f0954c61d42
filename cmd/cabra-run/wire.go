package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"cabra-run/images"
	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/runner/score"
	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
	"cabra-run/tasks/controls"
	"cabra-run/tasks/merge"
	"cabra-run/tasks/refactor"
)

// interruptible returns a context that an interrupt or a termination ends, for
// everything but the sweep itself, which has its own way of being stopped. A
// second signal ends the program at once, whatever still hangs.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// say prints a line about what is going on; results go to stdout, this does not.
func (a *app) say(line string) { fmt.Fprintln(a.stderr, line) }

// runPath is the folder of a run given by name or path.
func (a *app) runPath(run string) string {
	if strings.ContainsRune(run, filepath.Separator) || run == "." || run == ".." {
		return filepath.Clean(run)
	}
	return filepath.Join(a.runsDir, run)
}

// openRun opens an existing run.
func (a *app) openRun(run string, mode results.Mode) (*results.Store, error) {
	store, err := results.Open(a.runPath(run), mode)
	var none *results.NotRunError
	if errors.As(err, &none) && none.Hint() == (&results.NotRunError{}).Hint() { // no advice of its own
		return nil, hinted(fmt.Errorf("no run %q: %s", run, none.Reason), a.knownRuns())
	}
	return store, err
}

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./+@%=:,-]+$`)

// command is the line to type for a command on a run: by its name where that is
// enough, quoted where a shell needs it.
func (a *app) command(verb, run string) string {
	if a.runsDir != defaultRunsDir {
		run = a.runPath(run)
		if !strings.ContainsRune(run, filepath.Separator) {
			run = "./" + run
		}
	}
	return "cabra-run " + verb + " " + shellWord(run)
}

// knownRuns lists the runs that exist, as a hint.
func (a *app) knownRuns() string {
	names, err := a.runNames()
	switch {
	case err != nil:
		return fmt.Sprintf("the folder %q cannot be read; a run can also be given as a path", a.runsDir)
	case len(names) == 0:
		return fmt.Sprintf("there are no runs in %q yet", a.runsDir)
	}
	return fmt.Sprintf("there is in %q: %s", a.runsDir, strings.Join(names, ", "))
}

// runNames lists what looks like a run in the runs folder, which may be missing.
func (a *app) runNames() ([]string, error) {
	entries, err := os.ReadDir(a.runsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(a.runsDir, e.Name(), "run.json")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// engine connects to the container engine and reaps what dead owners left.
func (a *app) engine(ctx context.Context) (*docker.Engine, error) {
	if err := os.MkdirAll(a.stateDir, 0o700); err != nil {
		return nil, hinted(fmt.Errorf("making the state folder: %w", err), "choose one that you may write to: --state-dir DIR")
	}
	e, err := docker.New(ctx, docker.Options{Host: a.engineHost, StateDir: a.stateDir})
	if err != nil {
		return nil, err
	}
	gone, err := e.Reap(ctx)
	if ctx.Err() != nil {
		return nil, errors.Join(err, e.Close())
	}
	if err != nil {
		// What cannot be removed must not keep everything else from running.
		a.say(fmt.Sprintf("what a dead cabra-run left could not be removed: %v", err))
	}
	if gone != (sandbox.Reaped{}) {
		a.say(fmt.Sprintf("removed what a dead cabra-run left: %d boxes, %d volumes, %d workspaces", gone.Boxes, gone.Volumes, gone.Workspaces))
	}
	return e, nil
}

func (a *app) images(base string) (*images.Builder, error) {
	return images.New(images.Options{Host: a.engineHost, Base: base, StateDir: a.stateDir, Log: a.say})
}

// kit is everything that a sweep needs of the outside.
type kit struct {
	engine *docker.Engine
	info   sandbox.Info
	scorer *score.Scorer
	images []images.Image // of the agent and of the scorer
}

// openKit connects to the engine, builds missing images and readies the scorer.
// Without agents there are no images of them.
func (a *app) openKit(ctx context.Context, agents []agent.Agent, base string, workers int) (_ *kit, err error) {
	k := &kit{}
	if k.engine, err = a.engine(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close(context.WithoutCancel(ctx)))
		}
	}()
	if k.info, err = k.engine.Info(ctx); err != nil {
		return nil, err
	}
	builder, err := a.images(base)
	if err != nil {
		return nil, err
	}
	defer builder.Close()
	for _, ag := range agents {
		if ag.Traits().Bare != "" {
			continue
		}
		img, err := agentImage(ctx, builder, ag)
		if err != nil {
			return nil, err
		}
		k.images = append(k.images, img)
	}
	img, err := builder.Ensure(ctx, "scorer")
	if err != nil {
		return nil, err
	}
	k.images = append(k.images, img)
	k.scorer, err = score.New(score.Options{Engine: k.engine, Image: k.image("scorer"), Workers: workers})
	return k, err
}

func (k *kit) image(name string) string {
	for _, img := range k.images {
		if img.Name == name {
			return img.ID
		}
	}
	return ""
}

func (k *kit) close(ctx context.Context) error {
	var err error
	if k.scorer != nil {
		err = k.scorer.Close(ctx)
	}
	if k.engine != nil {
		err = errors.Join(err, k.engine.Close())
	}
	return err
}

// generation is what determines generated tasks beside the grid.
type generation struct {
	seed        int64
	decorrelate bool
	prompts     string // folder of statements, "" for our own
	files       string // folder of official files that tasks are read from, "" for generated ones
}

// scheme is the word for how seeds are used, as the lock has it.
func (g generation) scheme() string {
	if g.files != "" {
		return "files"
	}
	if g.decorrelate {
		return "decorrelated"
	}
	return "official"
}

// generationOf is how a run's tasks were generated.
func generationOf(t results.TaskSet) generation {
	g := generation{seed: t.Seed, decorrelate: t.Scheme == "decorrelated", prompts: t.Prompts, files: t.Files}
	if g.prompts == ownPrompts {
		g.prompts = ""
	}
	return g
}

// ownPrompts is the lock's word for our own problem statements.
const ownPrompts = "own"

// source returns the tasks of a grid, family by family in the grid's order.
func source(grid tasks.Grid, g generation) (tasks.Source, error) {
	if g.files != "" {
		return officialSource(grid, g)
	}
	o := refactor.Options{Seed: g.seed, Decorrelate: g.decorrelate}
	programs := grid.Of(append(tasks.Axes(), tasks.Combined)...)
	comments := grid.Of(tasks.CommentCopy)
	if g.prompts != "" {
		var err error
		if o.Statements, err = refactor.LoadStatements(g.prompts, slices.Concat(programs.Cells, comments.Cells)...); err != nil {
			return nil, err
		}
	}
	first, err := refactor.NewSource(programs, o)
	if err != nil {
		return nil, err
	}
	merging, err := merge.NewSource(grid.Of(tasks.Merge), merge.Options{Seed: g.seed, Decorrelate: g.decorrelate})
	if err != nil {
		return nil, err
	}
	copying, err := refactor.NewSource(comments, o)
	if err != nil {
		return nil, err
	}
	renaming, err := controls.NewSource(grid.Of(tasks.Rename), controls.Options{Seed: g.seed, Decorrelate: g.decorrelate})
	if err != nil {
		return nil, err
	}
	return tasks.Join(first, merging, copying, renaming), nil
}

// limited is a source, or its beginning where a limit is set. It remembers what
// the lock was made of, so that planning does not generate all tasks again.
func limited(src tasks.Source, limit int) tasks.Source {
	if limit > 0 {
		src = tasks.First(src, limit)
	}
	return tasks.Remembered(src)
}

// sweep joins the parts.
func (a *app) sweep(k *kit, src tasks.Source, store *results.Store, pairs []chosen, s runner.Settings) *runner.Sweep {
	sweep := &runner.Sweep{
		Source: src, Store: store, Pairings: pairingsOf(pairs, k), Scorer: k.scorer, Verdicts: score.Verdicts(),
		Engine: k.engine, Gateway: gateway.New(gateway.Options{}),
		Settings: s, Stop: runner.NewStopper(), Connect: connectRelay,
	}
	if shard := store.Lock().Shard; shard.Count > 1 {
		sweep.Select = func(t results.Trial) bool { return shard.Has(t.Seq) }
	}
	return sweep
}

func connectRelay(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
	conn, err := relay.Accept(ctx, stdio, relay.Bounds{})
	if err != nil {
		return nil, err
	}
	return conn, nil
}
