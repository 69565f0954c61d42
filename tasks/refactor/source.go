package refactor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"cabra-run/tasks"
)

// DefaultSeed is the seed of the published benchmark.
const DefaultSeed = 42

// fixedNodes is the size of the graph that traversal and search do not scale,
// smallNodes that of both graphs where the size counts something else.
const (
	fixedNodes = 25
	smallNodes = 10
)

// Bounds on what a grid may ask for.
const (
	maxInstance = 10_000 // samples that are drawn before the one wanted
	maxSize     = 10_000 // functions, or steps of a guard, or words of a comment
)

// Options says how tasks are generated. Everything but Parallel changes them.
type Options struct {
	// Seed of graphs, operators, file order, guards and rules. It is taken as
	// it is: 0 is a seed like any other.
	Seed int64
	// Decorrelate draws every cell from a seed of its own, which Seed and the
	// cell decide. Without it cells share samples, operators and rules as those
	// of the published benchmark do.
	Decorrelate bool
	// Statements replace our own problem statements where they have a text.
	Statements Statements
	// Parallel is the number of tasks that are generated at the same time;
	// below 1 it is the number of processors.
	Parallel int
}

// NewSource returns the tasks of a grid in its order. A task depends on its id
// and the options, not on the rest of the grid. Cells that this package cannot
// generate are an error.
func NewSource(g tasks.Grid, o Options) (tasks.Source, error) {
	if o.Parallel < 1 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	src := &source{options: o}
	for i, cell := range g.Cells {
		if err := checkCell(cell); err != nil {
			return nil, err
		}
		if err := o.Statements.Check(cell); err != nil {
			return nil, fmt.Errorf("statement of %s %s: %w", cell.Refactoring, cell.Code, err)
		}
		for _, instance := range g.InstancesOf(i) {
			if instance < 1 || instance > maxInstance {
				return nil, fmt.Errorf("instance %d is not between 1 and %d", instance, maxInstance)
			}
			src.jobs = append(src.jobs, job{cell: cell, instance: instance, seed: o.seedOf(cell)})
		}
	}
	return src, nil
}

// seedOf returns the seed that the tasks of a cell are drawn from.
func (o Options) seedOf(c tasks.Cell) int64 {
	if !o.Decorrelate {
		return o.Seed
	}
	text := fmt.Sprintf("cabra-seed-1/%d/%s/%d/%s/%s", o.Seed, c.Axis, c.Size, c.Refactoring, c.Code)
	sum := sha256.Sum256([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:]) >> 1)
}

func checkCell(c tasks.Cell) error {
	if _, ok := sizesOf(c); !ok {
		return fmt.Errorf("axis %q is not generated", c.Axis)
	}
	_, ok := editOf(c.Refactoring)
	if !ok && (c.Refactoring != tasks.DeadCode || numbered(c.Axis)) {
		return fmt.Errorf("refactoring %q is not generated on axis %q", c.Refactoring, c.Axis)
	}
	if languageOf(c.Code) == nil {
		return fmt.Errorf("unknown code type %q", c.Code)
	}
	if c.Variant != "" {
		return fmt.Errorf("unknown variant %q", c.Variant)
	}
	if c.Size < 1 || c.Size > maxSize {
		return fmt.Errorf("size %d is not between 1 and %d", c.Size, maxSize)
	}
	return nil
}

// numbered reports whether the programs of an axis pass numbered values around.
// There is no dead code on these axes, where something is added everywhere.
func numbered(a tasks.Axis) bool { return a == tasks.Instructions || a == tasks.CommentCopy }

// sizePair is what a stream of samples depends on beside the seed.
type sizePair struct{ init, edit int }

func sizesOf(c tasks.Cell) (sizes sizePair, ok bool) {
	switch c.Axis {
	case tasks.Traversal:
		return sizePair{init: fixedNodes, edit: c.Size}, true
	case tasks.Search:
		return sizePair{init: c.Size, edit: fixedNodes}, true
	case tasks.Combined:
		return sizePair{init: c.Size, edit: c.Size}, true
	case tasks.Runtime, tasks.Instructions, tasks.CommentCopy:
		return sizePair{init: smallNodes, edit: smallNodes}, true
	}
	return sizePair{}, false
}

// job is one task to be generated.
type job struct {
	cell     tasks.Cell
	instance int
	seed     int64
}

// source is safe for concurrent use.
type source struct {
	options Options
	jobs    []job
}

func (s *source) Len() int { return len(s.jobs) }

// result is a generated task or why there is none.
type result struct {
	task tasks.Task
	err  error
}

// Tasks generates ahead of the consumer, by a few tasks per worker.
func (s *source) Tasks(ctx context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		results, wait := s.start(ctx)
		defer wait()
		defer cancel()
		for range s.jobs {
			r, err := next(ctx, results)
			if err != nil {
				yield(tasks.Task{}, err)
				return
			}
			if !yield(r.task, r.err) || r.err != nil {
				return
			}
		}
	}
}

// next returns the result of the job whose turn it is.
func next(ctx context.Context, results <-chan chan result) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, ctx.Err()
	}
	select {
	case slot := <-results:
		select {
		case r := <-slot:
			return r, nil
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	return result{}, ctx.Err()
}

// start runs the workers until all jobs are done or ctx ends; wait returns when
// they are gone. Each job has a slot, and slots are queued in the order of the
// jobs, so that the order does not depend on who is first.
func (s *source) start(ctx context.Context) (results <-chan chan result, wait func()) {
	const ahead = 2 // finished tasks per worker that wait for the consumer
	type work struct {
		job  job
		slot chan result
	}
	queue := make(chan chan result, ahead*min(s.options.Parallel, len(s.jobs)))
	todo := make(chan work)
	drawn := newDrawn(s.jobs)
	var group sync.WaitGroup
	group.Go(func() {
		defer close(todo)
		for _, j := range s.jobs {
			w := work{job: j, slot: make(chan result, 1)}
			select {
			case queue <- w.slot:
			case <-ctx.Done():
				return
			}
			select {
			case todo <- w:
			case <-ctx.Done():
				return
			}
		}
	})
	for range min(s.options.Parallel, len(s.jobs)) {
		group.Go(func() {
			for w := range todo {
				task, err := s.generate(drawn, w.job)
				w.slot <- result{task, err}
			}
		})
	}
	return queue, group.Wait
}

// generate leaves drawn without what only this job needed.
func (s *source) generate(drawn *drawn, j job) (tasks.Task, error) {
	id := tasks.CellID(j.cell, j.instance)
	draws, samples := drawn.of(j)
	defer drawn.done(j)
	sample, err := samples.get(j.instance)
	if err != nil {
		return tasks.Task{}, fmt.Errorf("generating %s: %w", id, err)
	}
	b := &base{language: languageOf(j.cell.Code), seed: j.seed, draws: draws}
	programs, err := b.generateCell(j.cell, sample)
	if err != nil {
		return tasks.Task{}, fmt.Errorf("generating %s: %w", id, err)
	}
	statement, err := s.options.Statements.of(j.cell, programs.check)
	if err != nil {
		return tasks.Task{}, fmt.Errorf("statement of %s: %w", id, err)
	}
	return tasks.Task{
		ID: id, Cell: j.cell, Instance: j.instance, SampleID: sample.ID,
		Statement: statement,
		Starter:   tasks.Files{tasks.SolutionFile: programs.starter},
		Reference: tasks.Files{tasks.SolutionFile: programs.reference},
		Check:     programs.check,
	}, nil
}

// of returns the statement of a task with the given check.
func (s Statements) of(c tasks.Cell, check tasks.Check) (string, error) {
	if c.Axis == tasks.CommentCopy {
		return s.RenderComment(c, check.Comment)
	}
	return s.Render(c, check.Rules)
}
