package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/docker/dockerbench"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// The aims of an attempt's overhead.
const (
	overheadAim   = 1.15 // times the same engine calls alone
	overheadMsAim = 60.0 // milliseconds above them
)

// Overhead says how the overhead of an attempt is measured.
type Overhead struct {
	Engine   string // endpoint, "" for the usual ones
	StateDir string
	Image    string // ID of the base image
	Dir      string // for the runs; must exist
	Trials   int    // of each kind, at each parallelism
	Jobs     []int
}

// batch is how many lives of a kind are measured in a row. The kinds take
// turns, because machines change their speed.
const batch = 5

// overhead is a measurement under way.
type overhead struct {
	Overhead
	tap  *tap
	bare *dockerbench.Bare
	runs int

	mu    sync.Mutex
	calls []string // of the engine since they were last taken
}

// Measure adds the overhead of attempts to a report.
func (o Overhead) Measure(ctx context.Context, r *Report) (err error) {
	m := &overhead{Overhead: o}
	engine, err := docker.New(ctx, docker.Options{Host: o.Engine, StateDir: o.StateDir, Observe: m.observe})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	m.tap = newTap(engine)
	calls, err := m.learn(ctx)
	if m.bare != nil {
		defer m.bare.Close()
	}
	if err != nil {
		return err
	}
	for _, jobs := range o.Jobs {
		if err := m.compare(ctx, r, jobs, calls); err != nil {
			return err
		}
	}
	r.add(Figure{Part: "overhead", Name: "engine calls per trial", Unit: "calls",
		How: "counted by the engine's client during one trial of an agent that ends at once: " + countsOf(calls)},
		[]float64{float64(len(calls))})
	return nil
}

func (m *overhead) observe(call string, _ time.Duration, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
}

func (m *overhead) taken() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return calls
}

// learn runs two trials, the first to see what a box is like, the second, when
// images are known, to see which calls it takes.
func (m *overhead) learn(ctx context.Context) ([]string, error) {
	var likeErr error
	m.tap.made = func(box sandbox.Box) {
		m.bare, likeErr = dockerbench.Like(ctx, m.Engine, box.ID(), box.GuestUID())
	}
	for range 2 {
		m.taken()
		if _, err := m.trials(ctx, 1, 1); err != nil {
			return nil, err
		}
	}
	return m.taken(), likeErr
}

// countsOf is "create 1, exec create 3", by name.
func countsOf(calls []string) string {
	n := map[string]int{}
	for _, c := range calls {
		n[c]++
	}
	text := ""
	for _, c := range slices.Sorted(maps.Keys(n)) {
		text += fmt.Sprintf(", %s %d", c, n[c])
	}
	return text[min(2, len(text)):]
}

// compare measures trials, the same calls, and the shortest life, in turns.
func (m *overhead) compare(ctx context.Context, r *Report, jobs int, calls []string) error {
	var ours, same, shortest []float64
	m.tap.reset()
	for left := m.Trials; left > 0; left -= batch {
		n := min(left, batch)
		took, err := m.trials(ctx, jobs, n)
		if err != nil {
			return err
		}
		ours = append(ours, took...)
		if took, err = repeat(jobs, n, func() error { return m.bare.SameCalls(ctx, calls, m.tap.first.again()) }); err != nil {
			return fmt.Errorf("making the same calls: %w", err)
		}
		same = append(same, took...)
		if took, err = repeat(jobs, n, func() error { return m.bare.Shortest(ctx) }); err != nil {
			return fmt.Errorf("making the shortest life: %w", err)
		}
		shortest = append(shortest, took...)
	}
	m.report(r, jobs, ours, same, shortest)
	return nil
}

func (m *overhead) report(r *Report, jobs int, ours, same, shortest []float64) {
	at := fmt.Sprintf(", jobs %d", jobs)
	r.add(Figure{Part: "overhead", Name: "trial of an agent that does nothing" + at, Unit: "ms",
		How: "whole trials: rows, box, relay, gateway, agent, home, workspace, artefacts, verdict by comparison; " +
			"from the moment that its place was free to its end"}, ours)
	r.add(Figure{Part: "overhead", Name: "bare container, same calls" + at, Unit: "ms",
		How: "the calls of such a trial in their order with the same configuration and commands, nothing else"}, same)
	r.add(Figure{Part: "overhead", Name: "create, start, wait, remove" + at, Unit: "ms",
		How: "without lock-down, home and workspace"}, shortest)
	a, b := quantile(ours, 0.5), quantile(same, 0.5)
	r.aim(Figure{Part: "overhead", Name: "trial ÷ same calls" + at, Unit: "×", How: "of the medians"}, overheadAim, []float64{a / b})
	r.aim(Figure{Part: "overhead", Name: "trial − same calls" + at, Unit: "ms", How: "of the medians"}, overheadMsAim, []float64{a - b})
	rest := a
	for _, step := range steps() {
		values := m.tap.steps[step]
		if len(values) == 0 {
			continue
		}
		rest -= quantile(values, 0.5)
		r.add(Figure{Part: "overhead", Name: "  " + step + at, Unit: "ms"}, values)
	}
	r.add(Figure{Part: "overhead", Name: "  the rest: rows, gateway, artefacts" + at, Unit: "ms",
		How: "the trial's median less those of the steps"}, []float64{max(0, rest)})
}

// repeat runs f n times, jobs at a time, and returns how long each took.
func repeat(jobs, n int, f func() error) ([]float64, error) {
	var g errgroup.Group
	g.SetLimit(jobs)
	took := make([]float64, n)
	for i := range n {
		g.Go(func() error {
			began := time.Now()
			err := f()
			took[i] = milliseconds(time.Since(began))
			return err
		})
	}
	return took, g.Wait()
}

// trials runs n trials of one run and returns how long each took, from the
// moment that its place was free.
func (m *overhead) trials(ctx context.Context, jobs, n int) ([]float64, error) {
	grid, err := tasks.ParseGrid("traversal/add-parameter/math/n005/01")
	if err != nil {
		return nil, err
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		return nil, err
	}
	up, err := gateway.NewScripted("idle")
	if err != nil {
		return nil, err
	}
	m.runs++
	store, err := results.Create(filepath.Join(m.Dir, fmt.Sprintf("overhead-%d", m.runs)), results.Lock{
		Run: "bench", Retry: results.Retry{Attempts: 1}, Scorer: results.Scorer{Verdicts: []string{results.Strict}}})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	var t turns
	s := runner.Sweep{Source: src, Store: store, Scorer: equal{}, Engine: m.tap, Connect: m.tap.connect,
		Pairings: []runner.Pairing{{Agent: nop{"/bin/true"}, Image: m.Image,
			Model: runner.Model{Name: "none", Agent: "none", Wire: "none", Upstream: up}}},
		Gateway: gateway.New(gateway.Options{}), Stop: runner.NewStopper(), Observer: t.observe,
		Settings: runner.Settings{Jobs: jobs, Repetitions: n, Timeout: time.Minute, Grace: time.Second,
			OutputBytes: 1 << 20, Limits: sandbox.DefaultLimits(), Network: sandbox.NetworkNone, BreakAfter: 1}}
	sum, err := s.Run(ctx)
	if err == nil && sum.Done < n {
		err = fmt.Errorf("only %d of %d trials were done: %s", sum.Done, n, sum.Paused)
	}
	return t.took(jobs), err
}

// turns are the moments in which the trials of a run began to be worked on and
// ended. A trial's place is free when that of the trial jobs places before it is.
type turns struct {
	mu    sync.Mutex
	began time.Time
	order []key
	ended map[key]time.Time
	ends  []time.Time
}

type key struct {
	task tasks.ID
	rep  int
}

func (t *turns) observe(e runner.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, k := time.Now(), key{e.Task, e.Repetition}
	switch e.Kind {
	case runner.SweepPlanned:
		t.began, t.ended = now, map[key]time.Time{}
	case runner.AttemptStarted:
		t.order = append(t.order, k)
	case runner.TrialDone:
		t.ended[k] = now
		t.ends = append(t.ends, now)
	}
}

func (t *turns) took(jobs int) []float64 {
	var all []float64
	for i, k := range t.order {
		free := t.began
		if i >= jobs {
			free = t.ends[i-jobs]
		}
		if end, ok := t.ended[k]; ok {
			all = append(all, milliseconds(end.Sub(free)))
		}
	}
	return all
}
