package merge

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"cabra-run/tasks"
)

// Options says how tasks are generated.
type Options struct {
	// Seed is the first candidate; the tasks of a cell come from it and those
	// behind it, as far as they yield one. It may be negative.
	Seed int64
	// Decorrelate gives every cell a first candidate of its own, which Seed and
	// the cell decide. Without it the variants of one size and number of
	// differences are about the same computations, as in the published
	// benchmark.
	Decorrelate bool
}

// NewSource returns the tasks of a grid in its order. All cells must be those of
// merge. A task depends on its id and the options, not on the rest of the grid.
func NewSource(g tasks.Grid, o Options) (tasks.Source, error) {
	if o.Seed > maxSeed {
		return nil, fmt.Errorf("seed %d leaves no room for those behind it", o.Seed)
	}
	src := &source{}
	for i, cell := range g.Cells {
		cfg, err := configOf(cell)
		if err != nil {
			return nil, fmt.Errorf("merge cell of size %d: %w", cell.Size, err)
		}
		instances := g.InstancesOf(i)
		for _, n := range instances {
			if n < 1 || n > maxSeeds {
				return nil, fmt.Errorf("instance %d is not between 1 and %d", n, maxSeeds)
			}
		}
		src.count += len(instances)
		src.jobs = append(src.jobs, job{cell, cfg, instances, o.seedOf(cell)})
	}
	return src, nil
}

// seedOf returns the first candidate of a cell.
func (o Options) seedOf(c tasks.Cell) int64 {
	if !o.Decorrelate {
		return o.Seed
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "cabra-seed-1/%d/%s/%d/%s", o.Seed, c.Axis, c.Size, c.Variant))
	return int64(binary.BigEndian.Uint64(sum[:]) >> 2)
}

// job is the wanted tasks of one cell.
type job struct {
	cell      tasks.Cell
	config    config
	instances []int // ascending
	seed      int64
}

type source struct {
	jobs  []job
	count int
}

func (s *source) Len() int { return s.count }

func (s *source) Tasks(ctx context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for _, j := range s.jobs {
			if !j.tasks(ctx, yield) {
				return
			}
		}
	}
}

// tasks yields the tasks of one cell. It reports whether to go on.
func (j job) tasks(ctx context.Context, yield func(tasks.Task, error) bool) bool {
	if len(j.instances) == 0 {
		return true
	}
	last := j.instances[len(j.instances)-1]
	instance, stopped := 0, false
	err := problems(j.config, j.seed, func(p *problem) bool {
		instance++
		if err := ctx.Err(); err != nil {
			yield(tasks.Task{}, err)
			stopped = true
			return false
		}
		if slices.Contains(j.instances, instance) {
			stopped = !yield(j.task(p, instance), nil)
		}
		return !stopped && instance < last
	})
	if err != nil {
		yield(tasks.Task{}, fmt.Errorf("generating %s: %w", tasks.CellID(j.cell, instance+1), err))
		return false
	}
	return !stopped
}

func (j job) task(p *problem, instance int) tasks.Task {
	return tasks.Task{
		ID: tasks.CellID(j.cell, instance), Cell: j.cell, Instance: instance, SampleID: strconv.FormatInt(p.seed, 10),
		Statement: statement(j.cell.Variant == hintVariant, j.config.differences),
		Starter:   tasks.Files{tasks.SolutionFile: p.starter()},
		Reference: tasks.Files{tasks.SolutionFile: referenceText(p.drawn)},
		Check:     p.check(j.config),
	}
}
