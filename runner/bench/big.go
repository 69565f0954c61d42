package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/results/resultsbench"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

const bigAim = 1000.0 // milliseconds, for each

// MeasureBig adds how long planning, status and report take on a run of n
// trials, by the functions that the commands call and by the program itself.
func MeasureBig(ctx context.Context, r *Report, p Program, dir string, n int) error {
	run := filepath.Join(dir, "big")
	if err := resultsbench.Build(ctx, run, n, true); err != nil {
		return err
	}
	name := func(what string) string { return fmt.Sprintf("%s, %d trials", what, n) }
	trials := resultsbench.Trials(n)
	for _, m := range []struct {
		name, how string
		f         func() error
	}{
		{"resume: put in order and plan", "open for writing, recover, record the plan again, read what is not done",
			func() error { return planAgain(ctx, run, trials) }},
		{"status", "open, count, print", func() error { return statusOf(ctx, run) }},
		{"report", "open, build all tables, print", func() error { return reportOf(ctx, run) }},
		{"status, the whole program", "cabra-run status RUN", func() error { _, err := p.run(ctx, "status", run); return err }},
		{"report, the whole program", "cabra-run report RUN", func() error { _, err := p.run(ctx, "report", run); return err }},
	} {
		before := processorTime()
		took, err := repeat(1, bigTimes, m.f)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		r.aim(Figure{Part: "big", Name: name(m.name), Unit: "ms", How: m.how}, bigAim, took)
		r.add(Figure{Part: "big", Name: "  processor time of " + m.name, Unit: "ms"},
			[]float64{milliseconds(processorTime()-before) / bigTimes})
	}
	took, err := repeat(1, bigTimes, func() error { return generateFull(ctx) })
	if err != nil {
		return err
	}
	r.add(Figure{Part: "big", Name: "generating the 6,840 tasks of the full grid", Unit: "ms",
		How: "what planning needs beside the store: every task with its digests"}, took)
	return nil
}

// bigTimes is how often each is measured.
const bigTimes = 5

// processorTime is what this process and those that it has waited for have used
// of all processors: it tells more than the clock where others use them too.
func processorTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// planAgain is what a resume does with the store before anything is started.
func planAgain(ctx context.Context, run string, trials []results.Trial) (err error) {
	store, err := results.Open(run, results.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := store.Recover(ctx); err != nil {
		return err
	}
	if err := store.Plan(ctx, trials); err != nil {
		return err
	}
	// Those that ended without an agent outcome are looked for.
	for _, err := range store.Ended(ctx, results.Cancelled, results.InfraError, results.ProviderError) {
		if err != nil {
			return err
		}
	}
	if _, err := store.Counts(ctx); err != nil {
		return err
	}
	for _, err := range store.Unfinished(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

func statusOf(ctx context.Context, run string) (err error) {
	store, err := results.Open(run, results.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s, err := report.BuildStatus(store.Brief(ctx), store.Lock(), time.Now())
	if err != nil {
		return err
	}
	return report.StatusText(io.Discard, s)
}

func reportOf(ctx context.Context, run string) (err error) {
	store, err := results.Open(run, results.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rep, err := report.Build(store.Brief(ctx), store.Lock(), report.Options{})
	if err != nil {
		return err
	}
	return report.Text(io.Discard, rep)
}

func generateFull(ctx context.Context) error {
	grid, err := tasks.ParseGrid("full")
	if err != nil {
		return err
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		return err
	}
	_, _, err = tasks.SetDigest(ctx, src)
	return err
}
