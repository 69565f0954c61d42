package refactor

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// DefaultSeed is the seed of the published benchmark.
const DefaultSeed = 42

// fixedNodes is the size of the graph that an axis does not scale.
const fixedNodes = 25

// maxInstance bounds the samples that have to be drawn before the one wanted.
const maxInstance = 10_000

// Options says how tasks are generated. Everything but Parallel changes them.
type Options struct {
	// Seed of graphs, operators and file order; 0 stands for DefaultSeed.
	Seed int64
	// Statements replace our own problem statements where they have a text.
	Statements Statements
	// Parallel is the number of tasks that are generated at the same time;
	// below 1 it is the number of processors.
	Parallel int
}

// NewSource returns the tasks of a grid in its order. A task depends on its id
// and the options' seed and statements, not on the rest of the grid. Cells that
// this package cannot generate are an error.
func NewSource(g tasks.Grid, o Options) (tasks.Source, error) {
	if o.Seed == 0 {
		o.Seed = DefaultSeed
	}
	if o.Parallel < 1 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	src := &source{options: o, bases: make(map[tasks.CodeType]*base)}
	draws := newOperatorCache(o.Seed)
	for i, cell := range g.Cells {
		if err := checkCell(cell); err != nil {
			return nil, err
		}
		statement, err := o.Statements.For(cell)
		if err != nil {
			return nil, fmt.Errorf("statement of %s %s: %w", cell.Refactoring, cell.Code, err)
		}
		if src.bases[cell.Code] == nil {
			src.bases[cell.Code] = &base{language: languageOf(cell.Code), seed: o.Seed, draws: draws}
		}
		for _, instance := range g.InstancesOf(i) {
			if instance < 1 || instance > maxInstance {
				return nil, fmt.Errorf("instance %d is not between 1 and %d", instance, maxInstance)
			}
			src.jobs = append(src.jobs, job{cell: cell, instance: instance, statement: statement})
		}
	}
	return src, nil
}

func checkCell(c tasks.Cell) error {
	if _, ok := sizesOf(c); !ok {
		return fmt.Errorf("axis %q is not generated", c.Axis)
	}
	if _, ok := editOf(c.Refactoring); !ok && c.Refactoring != tasks.DeadCode {
		return fmt.Errorf("unknown refactoring %q", c.Refactoring)
	}
	if languageOf(c.Code) == nil {
		return fmt.Errorf("unknown code type %q", c.Code)
	}
	return nil
}

// sizePair is what a stream of samples depends on beside the seed.
type sizePair struct{ init, edit int }

func sizesOf(c tasks.Cell) (sizes sizePair, ok bool) {
	switch c.Axis {
	case tasks.Traversal:
		return sizePair{init: fixedNodes, edit: c.Size}, true
	case tasks.Search:
		return sizePair{init: c.Size, edit: fixedNodes}, true
	}
	return sizePair{}, false
}

// job is one task to be generated.
type job struct {
	cell      tasks.Cell
	instance  int
	statement string
}

// source is safe for concurrent use.
type source struct {
	options Options
	bases   map[tasks.CodeType]*base
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
	samples := newSampleCache(s.options.Seed)
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
				task, err := s.generate(samples, w.job)
				w.slot <- result{task, err}
			}
		})
	}
	return queue, group.Wait
}

func (s *source) generate(samples *sampleCache, j job) (tasks.Task, error) {
	id := tasks.CellID(j.cell, j.instance)
	sizes, _ := sizesOf(j.cell)
	sample, err := samples.get(sizes, j.instance)
	if err != nil {
		return tasks.Task{}, fmt.Errorf("generating %s: %w", id, err)
	}
	programs := s.bases[j.cell.Code].generate(j.cell.Refactoring, sample)
	return tasks.Task{
		ID: id, Cell: j.cell, Instance: j.instance, SampleID: sample.ID,
		Statement: j.statement,
		Starter:   tasks.Files{tasks.SolutionFile: programs.starter},
		Reference: tasks.Files{tasks.SolutionFile: programs.reference},
		Check:     programs.check,
	}, nil
}

// sampleCache keeps the samples of each pair of sizes, which all refactorings
// and code types share. It is safe for concurrent use.
type sampleCache struct {
	seed    int64
	mu      sync.Mutex
	streams map[sizePair]*sampleStream
}

func newSampleCache(seed int64) *sampleCache {
	return &sampleCache{seed: seed, streams: make(map[sizePair]*sampleStream)}
}

func (c *sampleCache) get(sizes sizePair, instance int) (*callgraph.Sample, error) {
	c.mu.Lock()
	stream := c.streams[sizes]
	if stream == nil {
		stream = &sampleStream{}
		stream.sampler, stream.err = callgraph.NewSampler(c.seed, sizes.init, sizes.edit)
		c.streams[sizes] = stream
	}
	c.mu.Unlock()
	return stream.get(instance)
}

// sampleStream holds the samples that were drawn so far: each depends on those
// before it.
type sampleStream struct {
	mu      sync.Mutex
	sampler *callgraph.Sampler
	drawn   []*callgraph.Sample
	err     error // why no more can be drawn
}

func (s *sampleStream) get(instance int) (*callgraph.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.drawn) < instance {
		if s.err != nil {
			return nil, s.err
		}
		sample, err := s.sampler.Next()
		if err != nil {
			s.err = fmt.Errorf("sample %d: %w", len(s.drawn)+1, err)
			continue
		}
		s.drawn = append(s.drawn, sample)
	}
	return s.drawn[instance-1], nil
}
