package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cabra-run/runner/bench"
)

// The parts of a benchmark run.
const (
	partOverhead = "overhead"
	partStart    = "start"
	partMemory   = "memory"
	partStore    = "store"
	partBig      = "big"
)

func benchParts() []string {
	return []string{partOverhead, partStart, partMemory, partStore, partBig}
}

// benchOptions say what is measured, and how much of it.
type benchOptions struct {
	trials int
	jobs   []int
	only   []string
	quick  bool
	boxes  int
	big    int
	agent  string
	dir    string
	base   string
}

func newBench(a *app) *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure what cabra-run itself costs on this machine",
		Long: `Measures in one run, and prints as one table, each with its aim:
  overhead  a trial of an agent that does nothing against a bare container with the
            same engine calls, and against create, start, wait, remove
  start     from the command to its first attempt
  memory    the orchestrator with 10,000 simulated boxes in flight at once
  store     trials per second with full sync, and bytes on disk per trial
  big       resume, status and report on a run of 100,000 trials
The boxes of overhead, start and store are real ones; no model is asked but the
scripted one. Runs and folders are made in a temporary folder and removed.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return runBench(ctx, a, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.trials, "trials", 30, "trials that are measured, of each kind")
	f.IntSliceVar(&o.jobs, "jobs", []int{1, 2}, "how many at a time, one measurement for each")
	f.StringSliceVar(&o.only, "only", nil, "parts: "+strings.Join(benchParts(), ", "))
	f.BoolVar(&o.quick, "quick", false, "a short form that shows whether everything can be measured")
	f.IntVar(&o.boxes, "boxes", 10_000, "simulated boxes")
	f.IntVar(&o.big, "big-run", 100_000, "trials of the large run")
	f.StringVar(&o.agent, "agent", "copilot", "agent of the run whose bytes on disk are counted")
	f.StringVar(&o.dir, "dir", "", "folder for what is written, on the disk that counts (default: the temporary folder)")
	f.StringVar(&o.base, "base", "", "base image: pull, bootstrap or an image")
	f.BoolVar(&a.json, "json", false, "print JSON")
	cmd.AddCommand(newBenchOrchestrator(), newBenchBoxes())
	return cmd
}

func (o *benchOptions) check() error {
	for _, part := range o.only {
		if !slices.Contains(benchParts(), part) {
			return usagef("no part %q; there is: %s", part, strings.Join(benchParts(), ", "))
		}
	}
	if o.quick {
		o.trials, o.boxes, o.big = min(o.trials, 2), min(o.boxes, 40), min(o.big, 500)
	}
	if o.trials < 1 || o.boxes < 1 || o.big < 1 || len(o.jobs) == 0 || slices.Min(o.jobs) < 1 {
		return usagef("bench needs at least one of everything: --trials, --jobs, --boxes, --big-run")
	}
	return nil
}

func (o *benchOptions) wants(part string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, part)
}

// runBench measures part by part. What was measured before an error is printed.
func runBench(ctx context.Context, a *app, o *benchOptions) (err error) {
	dir, err := os.MkdirTemp(o.dir, "cabra-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &benchRun{app: a, o: o, dir: dir, report: bench.NewReport(programVersion())}
	if b.exe, err = os.Executable(); err != nil {
		return err
	}
	for _, part := range benchParts() {
		if !o.wants(part) {
			continue
		}
		a.say("measuring: " + part)
		if err = b.measure(ctx, part); err != nil {
			err = fmt.Errorf("measuring %s: %w", part, err)
			break
		}
	}
	b.report.End()
	print := b.report.Text
	if a.json {
		print = b.report.JSON
	}
	return errors.Join(err, print(a.stdout))
}

// benchRun is one benchmark run under way.
type benchRun struct {
	*app
	o      *benchOptions
	dir    string
	exe    string
	report *bench.Report
}

// program is this program as the measurements start it.
func (b *benchRun) program() bench.Program {
	p := bench.Program{Path: b.exe, Flags: []string{"--state-dir", b.stateDir}}
	if b.engineHost != "" {
		p.Flags = append(p.Flags, "--engine", b.engineHost)
	}
	return p
}

func (b *benchRun) measure(ctx context.Context, part string) error {
	switch part {
	case partOverhead:
		return b.overhead(ctx)
	case partStart:
		return bench.MeasureStart(ctx, b.report, b.program(), b.dir, min(b.o.trials, 10))
	case partMemory:
		dir := filepath.Join(b.dir, "memory")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return bench.MeasureMemory(ctx, b.report, b.o.boxes, dir, []string{b.exe, "bench", "orchestrator"})
	case partStore:
		if err := bench.MeasureStore(ctx, b.report, b.dir, 10*b.o.trials); err != nil {
			return err
		}
		return bench.MeasureDisk(ctx, b.report, b.program(), b.dir, b.o.agent, min(b.o.trials, 8))
	}
	return bench.MeasureBig(ctx, b.report, b.program(), b.dir, b.o.big)
}

func (b *benchRun) overhead(ctx context.Context) error {
	if err := os.MkdirAll(b.stateDir, 0o700); err != nil {
		return err
	}
	builder, err := b.images(b.o.base)
	if err != nil {
		return err
	}
	img, err := builder.Ensure(ctx, "base")
	if err = errors.Join(err, builder.Close()); err != nil {
		return err
	}
	return bench.Overhead{Engine: b.engineHost, StateDir: b.stateDir, Image: img.ID, Dir: b.dir,
		Trials: b.o.trials, Jobs: b.o.jobs}.Measure(ctx, b.report)
}

// newBenchOrchestrator is the process that has thousands of attempts in flight.
func newBenchOrchestrator() *cobra.Command {
	return &cobra.Command{
		Use: "orchestrator BOXES DIR", Hidden: true, Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return usagef("%q boxes", args[0])
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			m, err := bench.Orchestrate(cmd.Context(), n, args[1], []string{exe, "bench", "boxes"})
			return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(m))
		},
	}
}

// newBenchBoxes is the process with the simulated boxes.
func newBenchBoxes() *cobra.Command {
	return &cobra.Command{
		Use: "boxes DIR", Hidden: true, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.ServeBoxes(cmd.Context(), standardStreams{cmd.InOrStdin(), cmd.OutOrStdout()}, args[0])
		},
	}
}

type standardStreams struct {
	io.Reader
	io.Writer
}

// Close ends the output, which is all that the other side can see.
func (s standardStreams) Close() error {
	if c, ok := s.Writer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
