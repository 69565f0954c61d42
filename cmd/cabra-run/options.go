package main

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// sweepOptions are the flags of a new run.
type sweepOptions struct {
	agents, models []string
	grid           string
	limit          int
	shard          string
	sweepFile      string
	run            string
	repetitions    int
	asking
	generation
	dryRun bool
	sweepKnobs
	providerOptions
	budgetOptions
	base    string
	network string
	memory  string
	disk    string
	pids    int64
	cpus    float64
}

// sweepKnobs are the flags that say how an attempt is bounded and tried again;
// a resume takes them from the lock.
type sweepKnobs struct {
	pace
	attempts   int
	given      func(flag string) bool // whether the user has set it; nil when nobody has
	retryClass []string
	timeout    time.Duration
	stall      time.Duration
}

// pace are the flags that a resume has too.
type pace struct {
	jobs       int
	maxWait    time.Duration
	breakAfter int
	room
}

func (o *sweepOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.agents, "agent", nil, "agent under test: NAME, NAME@VERSION or a FILE.toml of your own (see: cabra-run agents); "+
		"several are each given every model")
	f.StringSliceVar(&o.models, "model", nil, `model name, or several; "scripted[:BEHAVIOUR]" needs no key and costs nothing`)
	f.StringVar(&o.grid, "grid", "", "preset, task id or expression (see: cabra-run tasks list --help)")
	f.StringVar(&o.run, "run", "", "name or path of the new run (default: made from time, agent and grid)")
	f.IntVar(&o.repetitions, "repetitions", 1, "trials of each task (or --repeat)")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "repeat" {
			name = "repetitions"
		}
		return pflag.NormalizedName(name)
	})
	f.IntVar(&o.limit, "limit", 0, "run only the first N tasks of the grid")
	f.StringVar(&o.shard, "shard", "", "run only part I of N of the plan, as I/N; unite the finished parts by: cabra-run merge")
	f.StringVar(&o.sweepFile, "sweep", "", "TOML file that holds what these flags hold, by their names; a flag given beside it wins")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be run and stop")
	f.StringVar(&o.base, "base", "", "base image: pull, bootstrap or an image (default: pull, else bootstrap)")
	f.StringVar(&o.network, "network", "none", "network of the boxes: none, or bridge as in the paper's first runs")
	f.StringVar(&o.memory, "memory", "2GiB", "memory of a box, without swap")
	f.StringVar(&o.disk, "disk", "256MiB", "size of a box's workspace")
	f.Int64Var(&o.pids, "pids", 256, "processes and threads in a box")
	f.Float64Var(&o.cpus, "cpus", 2, "processors of a box")
	o.asking.addFlags(f)
	o.generation.addFlags(f)
	o.sweepKnobs.addFlags(f)
	o.providerOptions.addFlags(f)
	o.budgetOptions.addFlags(f)
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "wall clock of an attempt, without waiting for the provider")
	f.DurationVar(&o.stall, "stall", time.Hour, "time without any sign of work after which an attempt is ended")
}

func (g *generation) addFlags(f *pflag.FlagSet) {
	f.Int64Var(&g.seed, "seed", refactor.DefaultSeed, "seed of the task generation")
	f.BoolVar(&g.decorrelate, "decorrelate", false, "draw each cell from a seed of its own instead of the official scheme")
	f.StringVar(&g.prompts, "prompts", "", "folder of problem statements that replace our own")
	f.StringVar(&g.files, "tasks", "", "folder of official files to take the tasks from, as they are; --grid then selects among them")
}

func (o *sweepKnobs) addFlags(f *pflag.FlagSet) {
	o.pace.addFlags(f)
	f.IntVar(&o.attempts, "attempts", 3, "attempts of a trial whose agent failed by itself (llm: 1, which asks up to ten times)")
	o.given = f.Changed
	f.StringSliceVar(&o.retryClass, "retry-class", nil, "further outcomes that are tried again: timeout, stalled, limit")
}

func (o *pace) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "attempts at the same time")
	f.DurationVar(&o.maxWait, "max-wait", 30*time.Minute, "the most that waiting for the provider may add to the time-out")
	f.IntVar(&o.breakAfter, "break-after", 5, "attempts in a row that fail outside of the agent before the run pauses")
	o.room.addFlags(f)
}

// parsed is a sweepOptions whose values were all checked.
type parsed struct {
	pairs    []chosen // at least one
	grid     tasks.Grid
	limit    int
	shard    results.Shard
	settings runner.Settings
	budget   gateway.BudgetOptions
}

// parse checks every value before anything is made; its errors are usage errors.
func (o *sweepOptions) parse() (parsed, error) {
	p := parsed{limit: o.limit}
	if o.files != "" && o.grid == "" {
		o.grid = wholeTree
	}
	err := missing("--agent", strings.Join(o.agents, ""), "cabra-run agents")
	if err == nil {
		err = o.checkNeeds()
	}
	if err != nil {
		return p, err
	}
	if p.grid, err = o.parseGrid(o.grid); err != nil {
		return p, err
	}
	if p.pairs, err = o.pairings(); err != nil {
		return p, err
	}
	if p.settings, err = o.settings(); err != nil {
		return p, err
	}
	if p.shard, err = parseShard(o.shard); err != nil {
		return p, err
	}
	p.budget, err = o.budgetOptions.parseFor(p.pairs)
	return p, err
}

// checkNeeds reports at once all that is missing beside the agent.
func (o *sweepOptions) checkNeeds() error {
	var errs []error
	for _, name := range o.agents {
		ag, err := agent.Find(name)
		if err != nil {
			return &codedError{err: err, code: exitUsage}
		}
		if ag.Traits().AsksModel() {
			errs = append(errs, missing("--model", strings.Join(o.models, ""), "cabra-run --help"))
			break
		}
	}
	return errors.Join(append(errs, missing("--grid", o.grid, "cabra-run tasks list --help"))...)
}

// parseShard reads "I/N"; "" is the whole.
func parseShard(text string) (results.Shard, error) {
	if text == "" {
		return results.Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(i)
	count, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || index < 1 || count < index || count > 10000 {
		return results.Shard{}, usagef("--shard %q: want I/N, such as 1/4 for the first of four parts", text)
	}
	return results.Shard{Index: index, Count: count}, nil
}

// missing is a usage error when a flag that is needed has no value.
func missing(flag, value, list string) error {
	if value == "" {
		return usagef("%s is missing; what there is: %s", flag, list)
	}
	return nil
}

func (o *sweepOptions) settings() (runner.Settings, error) {
	s, err := o.sweepKnobs.settings()
	if err != nil {
		return s, err
	}
	s.Repetitions, s.Timeout, s.Stall = o.repetitions, o.timeout, o.stall
	switch n := sandbox.Network(o.network); n {
	case sandbox.NetworkNone, sandbox.NetworkBridge:
		s.Network = n
	default:
		return s, usagef("--network %q; there is: none, bridge", o.network)
	}
	l := sandbox.DefaultLimits()
	if l.MemoryBytes, err = bytesFlag("--memory", o.memory, 256<<20); err != nil {
		return s, err
	}
	if l.WorkspaceBytes, err = bytesFlag("--disk", o.disk, 1<<20); err != nil {
		return s, err
	}
	l.Pids, l.CPUs = o.pids, o.cpus
	s.Limits = l
	return s, o.checkRanges()
}

// Bounds of what can be asked for; beyond them sums of times overflow.
const (
	maxRepetitions = 10000
	longest        = 30 * 24 * time.Hour
)

func (o *sweepOptions) checkRanges() error {
	switch {
	case o.limit < 0:
		return usagef("--limit %d: 0, which means all, or more", o.limit)
	case o.repetitions < 1 || o.repetitions > maxRepetitions:
		return usagef("--repetitions %d: 1 to %d", o.repetitions, maxRepetitions)
	case o.timeout < time.Second || o.timeout > longest:
		return usagef("--timeout %s: 1s to %s", o.timeout, longest)
	case o.stall < 0 || o.stall > longest:
		return usagef("--stall %s: 0, which means never, to %s", o.stall, longest)
	case o.pids < 128:
		return usagef("--pids %d: at least 128, of which the agent gets 64 less", o.pids)
	case !(o.cpus > 0 && o.cpus <= 1024):
		return usagef("--cpus %g: more than 0", o.cpus)
	}
	return nil
}

func (o *pace) settings() (runner.Settings, error) {
	s := runner.Settings{
		Jobs: o.jobs, MaxWait: o.maxWait, Grace: 10 * time.Second, OutputBytes: 64 << 20, BreakAfter: o.breakAfter,
	}
	switch {
	case o.jobs < 1 || o.jobs > sandbox.GuestSlots:
		return s, usagef("--jobs %d: 1 to %d", o.jobs, sandbox.GuestSlots)
	case o.maxWait < 0 || o.maxWait > longest:
		return s, usagef("--max-wait %s: 0 to %s", o.maxWait, longest)
	case o.breakAfter < 1:
		return s, usagef("--break-after %d: at least 1", o.breakAfter)
	}
	return s, o.room.into(&s)
}

func (o *sweepKnobs) settings() (runner.Settings, error) {
	s, err := o.pace.settings()
	if err != nil {
		return s, err
	}
	if o.attempts < 1 {
		return s, usagef("--attempts %d: at least 1", o.attempts)
	}
	return s, nil
}

// retry is when a trial gets another attempt, by the flags.
func (o *sweepKnobs) retry() (results.Retry, error) {
	r := results.DefaultRetry()
	r.Attempts = o.attempts
	classes, err := retryClasses(o.retryClass, results.Timeout, results.Stalled, results.Limit)
	r.Classes = append(r.Classes, classes...)
	return r, err
}

// retryClasses checks the words of --retry-class.
func retryClasses(words []string, known ...results.Outcome) ([]results.Outcome, error) {
	var classes []results.Outcome
	for _, c := range words {
		if !slices.Contains(known, results.Outcome(c)) {
			return nil, usagef("--retry-class %q; there is: %s", c, joinOutcomes(known))
		}
		classes = append(classes, results.Outcome(c))
	}
	return classes, nil
}

func joinOutcomes(list []results.Outcome) string {
	var words []string
	for _, o := range list {
		words = append(words, string(o))
	}
	return strings.Join(words, ", ")
}

func bytesFlag(flag, text string, atLeast int64) (int64, error) {
	n, err := units.RAMInBytes(text)
	if err != nil {
		return 0, usagef("%s %q is not a size such as 512MiB or 2GiB", flag, text)
	}
	if n < atLeast {
		return 0, usagef("%s %s: at least %s", flag, text, units.BytesSize(float64(atLeast)))
	}
	return n, nil
}
