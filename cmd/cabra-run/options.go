package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
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
	agent, model, grid string
	run                string
	repetitions        int
	generation
	dryRun bool
	sweepKnobs
	providerOptions
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
	retryClass []string
	timeout    time.Duration
	stall      time.Duration
}

// pace are the flags that a resume has too.
type pace struct {
	jobs       int
	maxWait    time.Duration
	breakAfter int
}

// providerOptions say where the model's answers come from. Keys are read on
// this machine at every use and never enter a box.
type providerOptions struct {
	baseURL    string
	apiKey     string
	apiKeyEnv  string
	apiKeyFile string
}

func (o *sweepOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.agent, "agent", "", "agent under test (see: cabra-run agents)")
	f.StringVar(&o.model, "model", "", `model name; "scripted[:BEHAVIOUR]" needs no key and costs nothing`)
	f.StringVar(&o.grid, "grid", "", "preset, task id or expression (see: cabra-run tasks list --help)")
	f.StringVar(&o.run, "run", "", "name or path of the new run (default: made from time, agent and grid)")
	f.IntVar(&o.repetitions, "repetitions", 1, "trials of each task")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be run and stop")
	f.StringVar(&o.base, "base", "", "base image: pull, bootstrap or an image (default: pull, else bootstrap)")
	f.StringVar(&o.network, "network", "none", "network of the boxes: none, or bridge as in the paper's first runs")
	f.StringVar(&o.memory, "memory", "2GiB", "memory of a box, without swap")
	f.StringVar(&o.disk, "disk", "256MiB", "size of a box's workspace")
	f.Int64Var(&o.pids, "pids", 256, "processes and threads in a box")
	f.Float64Var(&o.cpus, "cpus", 2, "processors of a box")
	o.generation.addFlags(f)
	o.sweepKnobs.addFlags(f)
	o.providerOptions.addFlags(f)
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
	f.IntVar(&o.attempts, "attempts", 3, "attempts of a trial whose agent failed by itself")
	f.StringSliceVar(&o.retryClass, "retry-class", nil, "further outcomes that are tried again: timeout, stalled, limit")
}

func (o *pace) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "attempts at the same time")
	f.DurationVar(&o.maxWait, "max-wait", 30*time.Minute, "the most that waiting for the provider may add to the time-out")
	f.IntVar(&o.breakAfter, "break-after", 5, "attempts in a row that fail outside of the agent before the run pauses")
}

func (o *providerOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.baseURL, "base-url", os.Getenv("CABRA_BASE_URL"), "OpenAI-compatible endpoint, ending in /v1 (or CABRA_BASE_URL)")
	f.StringVar(&o.apiKeyEnv, "api-key-env", "", "environment variable that holds the key (default CABRA_API_KEY)")
	f.StringVar(&o.apiKeyFile, "api-key-file", "", "file that holds the key")
	f.StringVar(&o.apiKey, "api-key", "", "the key itself; others can see it in the process list")
}

// parsed is a sweepOptions whose values were all checked.
type parsed struct {
	agent    agent.Agent
	model    runner.Model
	provider results.Provider
	grid     tasks.Grid
	settings runner.Settings
}

// parse checks every value before anything is made; its errors are usage errors.
func (o *sweepOptions) parse() (parsed, error) {
	var p parsed
	if o.files != "" && o.grid == "" {
		o.grid = wholeTree
	}
	for _, need := range []struct{ flag, value, list string }{
		{"--agent", o.agent, "cabra-run agents"}, {"--model", o.model, "cabra-run --help"}, {"--grid", o.grid, "cabra-run tasks list --help"},
	} {
		if need.value == "" {
			return p, usagef("%s is missing; what there is: %s", need.flag, need.list)
		}
	}
	var err error
	if p.agent, err = agent.Find(o.agent); err != nil {
		return p, err
	}
	if p.grid, err = o.parseGrid(o.grid); err != nil {
		return p, err
	}
	if p.model, p.provider, err = parseModel(o.model, o.providerOptions); err != nil {
		return p, err
	}
	if p.settings, err = o.settings(); err != nil {
		return p, err
	}
	if p.provider.Scripted {
		p.settings.Retry.Provider = 0 // its failures are meant
	}
	return p, nil
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
	return s, nil
}

func (o *sweepKnobs) settings() (runner.Settings, error) {
	s, err := o.pace.settings()
	if err != nil {
		return s, err
	}
	if o.attempts < 1 {
		return s, usagef("--attempts %d: at least 1", o.attempts)
	}
	s.Retry = results.DefaultRetry()
	s.Retry.Attempts = o.attempts
	for _, c := range o.retryClass {
		class := results.Outcome(c)
		if !slices.Contains([]results.Outcome{results.Timeout, results.Stalled, results.Limit}, class) {
			return s, usagef("--retry-class %q; there is: timeout, stalled, limit", c)
		}
		s.Retry.Classes = append(s.Retry.Classes, class)
	}
	return s, nil
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

// scriptedModel is what the CLI is told when the scripted upstream plays the model.
const scriptedModel = "scripted-1"

var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$`)

// parseModel turns the model's name and the provider flags into an upstream.
func parseModel(name string, o providerOptions) (runner.Model, results.Provider, error) {
	if behaviour, ok := scriptedBehaviour(name); ok {
		up, err := gateway.NewScripted(behaviour)
		if behaviour == "" { // a name that says less than it seems to
			err = &gateway.BehaviourError{Why: "none given"}
		}
		if err != nil {
			return runner.Model{}, results.Provider{}, usagef("--model %q: %w", name, err)
		}
		return runner.Model{Name: name, Agent: scriptedModel, Wire: scriptedModel, Upstream: up},
			results.Provider{Description: "scripted policy, no model", Scripted: true}, nil
	}
	if !modelName.MatchString(name) {
		return runner.Model{}, results.Provider{}, usagef("--model %q: letters, digits and . _ : / @ + - only", name)
	}
	u, err := url.Parse(o.baseURL)
	if o.baseURL == "" || err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return runner.Model{}, results.Provider{}, usagef(
			"--model %s needs --base-url, an http(s) endpoint such as https://api.example.com/v1; without a key there is: --model scripted", name)
	}
	key, err := o.key()
	if err != nil {
		return runner.Model{}, results.Provider{}, err
	}
	up, err := gateway.NewHTTP(gateway.HTTPOptions{BaseURL: o.baseURL, Key: key})
	if err != nil {
		return runner.Model{}, results.Provider{}, &codedError{err: err, code: exitUsage}
	}
	return runner.Model{Name: name, Agent: name, Wire: name, Upstream: up},
		results.Provider{Description: "OpenAI-compatible endpoint " + u.Scheme + "://" + u.Host + u.Path}, nil
}

func scriptedBehaviour(model string) (string, bool) {
	if model == "scripted" {
		return "solve", true
	}
	return strings.CutPrefix(model, "scripted:")
}

// key says where the key is, and reads it once so that a missing one shows
// before anything is made.
func (o providerOptions) key() (gateway.KeySource, error) {
	k := gateway.KeySource{Value: o.apiKey, Env: o.apiKeyEnv, File: o.apiKeyFile}
	if k == (gateway.KeySource{}) && os.Getenv("CABRA_API_KEY") != "" {
		k.Env = "CABRA_API_KEY"
	}
	if k == (gateway.KeySource{}) {
		return k, hinted(fmt.Errorf("no key for the model's endpoint"),
			"give one by --api-key-env NAME, --api-key-file FILE or CABRA_API_KEY (any text, if the endpoint needs none)")
	}
	if _, err := k.Read(); err != nil {
		return k, hinted(err, "check --api-key-env, --api-key-file or CABRA_API_KEY")
	}
	return k, nil
}
