package score

import (
	"context"
	"fmt"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// sizes are those of the grid.
var sizes = []int{5, 10, 25, 50, 100, 200}

// BenchmarkCandidates gives both verdicts on references whose tasks the cache
// knows: what one more answer to a task costs.
func BenchmarkCandidates(b *testing.B) {
	for _, code := range []string{"math", "string", "array"} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/n%03d", code, size), func(b *testing.B) {
				benchmarkCandidates(b, code, size, Strict, Official)
			})
		}
	}
}

// BenchmarkLinear gives the strict verdict alone. With shared inputs and
// memoisation the evaluations of a candidate are inputs times functions: the
// time per function stays what it is while the programs grow.
func BenchmarkLinear(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("n%03d", size), func(b *testing.B) { benchmarkCandidates(b, "math", size, Strict) })
	}
}

func benchmarkCandidates(b *testing.B, code string, size int, verdicts ...string) {
	s := newScorer(b, 1)
	text := fmt.Sprintf("axis=traversal; task=add-parameter; instances=1; size=%d; code=%s", size, code)
	task := oneTask(b, text)
	ctx := context.Background()
	if _, err := s.ScoreBy(ctx, task, task.Reference, verdicts...); err != nil { // prepares the task
		b.Fatal(err)
	}
	e, err := s.cache.get(ctx, task.Digest(), nil)
	if err != nil {
		b.Fatal(err)
	}
	before := s.Usage()
	for b.Loop() {
		given, err := s.ScoreBy(ctx, task, task.Reference, verdicts...)
		if err != nil {
			b.Fatal(err)
		}
		for _, v := range given {
			if !v.Solved {
				b.Fatalf("%+v", v)
			}
		}
	}
	report(b, since(before, s.Usage()), len(e.job.Calls))
}

// report adds where the time went.
func report(b *testing.B, stages []Stage, functions int) {
	var all Stage
	for _, s := range stages {
		all = s.plus(all)
	}
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "candidates/s")
	b.ReportMetric(all.CPU.Seconds()*1000/n, "process-ms/op")
	b.ReportMetric(all.Evaluated.Seconds()*1000/n, "evaluated-ms/op")
	b.ReportMetric(100*all.Evaluated.Seconds()/b.Elapsed().Seconds(), "%evaluated")
	b.ReportMetric(float64(functions), "functions")
	b.ReportMetric(all.CPU.Seconds()*1e6/n/float64(functions), "process-µs/function")
}

// BenchmarkValidate validates one instance of every cell of the full grid, its
// references and starters under both verdicts, two tasks at a time.
func BenchmarkValidate(b *testing.B) {
	src := sourceOf(b, "axis=traversal,search,runtime,instructions; instances=1")
	s := newScorer(b, 2)
	for b.Loop() {
		r, err := Validate(context.Background(), src, s, 3, nil)
		if err != nil || len(r.Violations)+len(r.Official) > 0 {
			b.Fatalf("%v %v, %v", r.Violations, r.Official, err)
		}
		b.ReportMetric(r.PerSecond(), "candidates/s")
		for _, stage := range r.Stages {
			b.Logf("%-9s %-8s %6d jobs, %8.2f s of CPU, %8.2f s evaluating, %8.2f s asked for", stage.Role, stage.Kind,
				stage.Jobs, stage.CPU.Seconds(), stage.Evaluated.Seconds(), stage.Wall.Seconds())
		}
		b.ReportMetric(100*r.Evaluated(), "%evaluated")
	}
}

// oneTask returns the only task of a grid.
func oneTask(b *testing.B, text string) *tasks.Task {
	b.Helper()
	grid, err := tasks.ParseGrid(text)
	if err != nil {
		b.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{})
	if err != nil || src.Len() != 1 {
		b.Fatalf("%d tasks, %v", src.Len(), err)
	}
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			b.Fatal(err)
		}
		return &task
	}
	return nil
}
