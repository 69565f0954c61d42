package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

// debugOptions are the flags of debug.
type debugOptions struct {
	attempt    int
	repetition int
	filter     string
	model      string
	keep       string
	base       string
}

func newDebug(a *app) *cobra.Command {
	o := &debugOptions{}
	cmd := &cobra.Command{
		Use:   "debug RUN TASK",
		Short: "open a shell in a box like that of a trial",
		Long: `Makes a box as the trial's attempts had it, by the lock of the run: image, limits,
network and lock-down, the task's starter in /workspace (or, with --attempt, the code
as that attempt left it), the agent's uid, home and environment. A shell is opened in
it; without a terminal it runs what comes on standard input:

  echo 'ls -la; python3 solution.py' | cabra-run debug RUN TASK

Nothing is recorded in the run. No model answers, unless --model scripted gives the
box one that costs nothing. The box is removed at the end.`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, scripted := scriptedBehaviour(o.model); o.model != "" && !scripted {
				return usagef("--model %q: a box for looking about gets none but scripted[:BEHAVIOUR]", o.model)
			}
			if cmd.Flags().Changed("attempt") && o.attempt < 1 {
				return usagef("--attempt %d: attempts are counted from 1", o.attempt)
			}
			return debugTrial(cmd.Context(), a, o, args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.attempt, "attempt", 0, "begin with the code as this attempt left it")
	f.IntVar(&o.repetition, "repetition", 0, "this repetition of the task")
	f.StringVar(&o.filter, "filter", "",
		"which of several trials of the task, such as 'agent=codex' (see: cabra-run rerun --help)")
	f.StringVar(&o.model, "model", "", "model connection of the box: scripted[:BEHAVIOUR] (default: none)")
	f.StringVar(&o.keep, "keep-output", "", "new or empty folder to copy the workspace into at the end")
	f.StringVar(&o.base, "base", "", "base image: pull, bootstrap or an image")
	return cmd
}

func debugTrial(ctx context.Context, a *app, o *debugOptions, run, task string) (err error) {
	store, err := a.openRun(run, results.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// A closed terminal ends it, too, and everything is removed.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = debugIn(ctx, a, o, store, task)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return silent(exitInterrupt)
	}
	return err
}

func debugIn(ctx context.Context, a *app, o *debugOptions, store *results.Store, task string) (err error) {
	trial, err := o.pick(ctx, store, task)
	if err != nil {
		return err
	}
	what, err := o.workspace(ctx, store, trial)
	if err != nil {
		return err
	}
	keep, err := openOutput(o.keep)
	if err != nil {
		return err
	}
	if keep != nil {
		defer keep.Close()
	}
	k, p, err := o.ready(ctx, a, store.Lock(), trial.Trial)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close(context.WithoutCancel(ctx))) }()
	sweep := a.sweep(k, nil, store, nil, settingsOf(store.Lock(), runner.Settings{}))
	sweep.Observer = func(e runner.Event) { a.say(e.Reason) }
	box, err := o.openBox(ctx, a, sweep, p, what)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close(ctx)) }()
	if err := a.shell(ctx, box); err != nil {
		return err
	}
	return a.keepOutput(ctx, box, keep, o.keep)
}

// pick finds the trial that is meant.
func (o *debugOptions) pick(ctx context.Context, store *results.Store, task string) (results.TrialResult, error) {
	filter, err := results.ParseFilter(o.filter)
	if err != nil {
		return results.TrialResult{}, &codedError{err: fmt.Errorf("--filter: %w", err), code: exitUsage}
	}
	var found []results.TrialResult
	for t, err := range store.Results(ctx) {
		if err != nil {
			return t, err
		}
		if string(t.TaskID) == task && filter.Match(t) && (o.repetition == 0 || t.Repetition == o.repetition) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return results.TrialResult{}, usagef("no such trial of task %q in this run; see: cabra-run export RUN --csv", task)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, t := range found {
		names = append(names, fmt.Sprintf("repetition %d of %s with %s", t.Repetition, t.Agent, t.Model))
	}
	return found[0], usagef("task %q has several trials here: %s; choose by --repetition and --filter",
		task, strings.Join(names, ", "))
}

// workspace is what the box is to hold.
func (o *debugOptions) workspace(
	ctx context.Context, store *results.Store, t results.TrialResult,
) (runner.DebugOptions, error) {
	out := runner.DebugOptions{Trial: t.Trial, Number: max(o.attempt, 1), Offline: o.model == ""}
	task, err := plannedTask(ctx, store.Lock(), t.Trial)
	if err != nil {
		return out, err
	}
	out.Task = task
	if o.attempt == 0 {
		return out, nil
	}
	i := slices.IndexFunc(t.Attempts, func(at results.AttemptResult) bool { return at.Number == o.attempt })
	if i < 0 {
		return out, usagef("--attempt %d: the trial has %d attempts", o.attempt, len(t.Attempts))
	}
	at := t.Attempts[i].Attempt
	if !at.HasArtefacts || at.Unscored {
		return out, fmt.Errorf("attempt %d has left no solution (%s: %s)", at.Number, at.Outcome, printableLine(at.Reason))
	}
	out.Code, err = runner.StoredCode(store, at, task)
	return out, err
}

// plannedTask generates the task of a trial again.
func plannedTask(ctx context.Context, lock results.Lock, t results.Trial) (*tasks.Task, error) {
	src, err := lockedSource(lock)
	if err != nil {
		return nil, err
	}
	for task, err := range src.Tasks(ctx) {
		if err != nil {
			return nil, fmt.Errorf("generating tasks: %w", err)
		}
		if task.ID != t.TaskID {
			continue
		}
		if planned, _, _ := strings.Cut(t.TaskDigest, "+"); planned != task.Digest() {
			break
		}
		return &task, nil
	}
	return nil, hinted(fmt.Errorf("this version does not generate task %s as the run was made with", t.TaskID),
		"use the version in its run.json (cabra-run show RUN)")
}

// ready connects to the engine and makes the pairing of the trial again, without
// the model that it had.
func (o *debugOptions) ready(
	ctx context.Context, a *app, lock results.Lock, t results.Trial,
) (_ *kit, _ *runner.Pairing, err error) {
	p, ag, err := o.pairing(lock, t)
	if err != nil {
		return nil, nil, err
	}
	if ag.Traits().Bare != "" {
		return nil, nil, fmt.Errorf("agent %s is a model without tools and has no box", ag.Name())
	}
	k := &kit{}
	if k.engine, err = a.engine(ctx); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close(context.WithoutCancel(ctx)))
		}
	}()
	if k.info, err = k.engine.Info(ctx); err != nil {
		return nil, nil, err
	}
	p.Image = lockedImage(lock, ag)
	a.sayDebugDrift(lock, k)
	return k, p, nil
}

// pairing is the trial's, told all that it was told then.
func (o *debugOptions) pairing(lock results.Lock, t results.Trial) (*runner.Pairing, agent.Agent, error) {
	pairs := lock.Pairs()
	i := slices.IndexFunc(pairs, func(p results.Pairing) bool {
		return p.Agent.Name == t.Agent && p.Agent.Version == t.Version && p.Model == t.Model
	})
	if i < 0 {
		return nil, nil, fmt.Errorf("the run's lock has no agent %s %s with %s", t.Agent, t.Version, t.Model)
	}
	was := pairs[i].Agent
	ag, err := agent.Restore(was.Name, was.Version, was.Definition, was.File)
	if err != nil {
		return nil, nil, err
	}
	p := &runner.Pairing{Agent: ag, Ask: runner.Ask{Wire: was.Wire, Effort: was.Effort, Instructions: was.Instructions}}
	if o.model == "" || !ag.Traits().AsksModel() {
		name := t.Model
		if _, after, ok := strings.Cut(name, "/"); ok { // which the CLI is not told
			name = after
		}
		if _, scripted := scriptedBehaviour(name); scripted {
			name = scriptedModel
		}
		p.Model = runner.Model{Name: t.Model, Agent: name, Wire: "none"}
		p.Model.Upstream, err = gateway.NewScripted("idle") // which is not asked
		return p, ag, err
	}
	if p.Model, _, err = agentModel(ag, o.model, providerOptions{}); err != nil {
		return nil, nil, err
	}
	p.Ask, err = (asking{was.Effort, was.Instructions}).choose(ag, p.Model)
	return p, ag, err
}

// lockedImage is the ID of the image that the run was made with, "" when the
// lock has none.
func lockedImage(lock results.Lock, ag agent.Agent) string {
	for _, img := range lock.Images {
		if img.Name == ag.Recipe() {
			return img.ID
		}
	}
	return ""
}

// openBox makes the box from the run's own image; where the engine has that no
// more, from the one that a new run would get.
func (o *debugOptions) openBox(
	ctx context.Context, a *app, s *runner.Sweep, p *runner.Pairing, what runner.DebugOptions,
) (*runner.DebugBox, error) {
	if p.Image != "" {
		box, err := s.Debug(ctx, p, what)
		if !sandbox.IsFault(err, sandbox.FaultNoImage) {
			return box, err
		}
	}
	b, err := a.images(o.base)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	img, err := agentImage(ctx, b, p.Agent)
	if err != nil {
		return nil, err
	}
	a.say(fmt.Sprintf("different from when the run was made: the image of %s is gone; this is %s, not %s",
		p.Agent.Name(), shortID(img.ID), orNone(shortID(p.Image))))
	p.Image = img.ID
	return s.Debug(ctx, p, what)
}

func shortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(len(id), 12)]
}

// sayDebugDrift says what else of the environment has changed since.
func (a *app) sayDebugDrift(lock results.Lock, k *kit) {
	now := lock
	fillEnvironment(&now, k)
	now.Images, now.Host, now.Program = lock.Images, hostFacts(), programVersion()
	for _, d := range lock.Diff(now) {
		a.say("different from when the run was made: " + printableLine(d.String()))
	}
}

// openOutput makes the folder that is to hold the workspace; nil without a name.
func openOutput(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--keep-output: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("--keep-output: %w", err)
	}
	if len(entries) > 0 {
		return nil, usagef("--keep-output %q: is not empty", dir)
	}
	return os.OpenRoot(dir)
}

func (a *app) keepOutput(ctx context.Context, box *runner.DebugBox, dst *os.Root, dir string) error {
	if dst == nil {
		return nil
	}
	c, err := box.CopyOut(ctx, dst)
	if err != nil {
		return fmt.Errorf("copying the workspace: %w", err)
	}
	a.say(fmt.Sprintf("kept %d files of the workspace in %s", len(c.Files), dir))
	for _, r := range c.Refused {
		a.say(printableLine(fmt.Sprintf("left out: %s (%s)", r.Path, r.Reason)))
	}
	if c.Truncated || c.Dropped > 0 {
		a.say("left out: more than can be copied")
	}
	return nil
}

// shellWords opens bash where there is one.
var shellWords = [...]string{"/bin/sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh"}

// shell runs a shell in the box: for a person at a terminal, else for what
// standard input says.
func (a *app) shell(ctx context.Context, box *runner.DebugBox) error {
	cmd := sandbox.Command{Args: shellWords[:], Stdin: os.Stdin, Stdout: a.stdout, Stderr: a.stderr}
	out, ok := a.stdout.(*os.File)
	if !ok || !isTerminal(out) || !isTerminal(os.Stdin) {
		code, err := box.Run(ctx, cmd)
		if err == nil && code != 0 {
			err = fmt.Errorf("the shell ended with exit code %d", code)
		}
		return err
	}
	a.say(debugGreeting(box.Launch()))
	return runOnTerminal(ctx, box, cmd, out)
}

// debugGreeting says how an attempt would start the agent.
func debugGreeting(l agent.Launch) string {
	var words []string
	for _, arg := range l.Args {
		if len(arg) > 60 {
			arg = arg[:57] + "..."
		}
		words = append(words, shellWord(printableLine(arg)))
	}
	text := "the agent would be started by: " + strings.Join(words, " ")
	if l.Stdin != "" {
		text += " (with the prompt on standard input)"
	}
	return text + "\nthe box is removed when the shell ends"
}
