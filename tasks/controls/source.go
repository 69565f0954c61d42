package controls

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the statement
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"cabra-run/tasks"
)

// Options says how tasks are generated.
type Options struct {
	// Seed of programs, names and renames. Any number is one.
	Seed int64
	// Decorrelate draws every cell from a seed of its own, which Seed and the
	// cell decide. Without it the sizes of one instance share a program, and
	// what a smaller size renames a larger one renames too.
	Decorrelate bool
}

const maxInstance = 10_000

// NewSource returns the tasks of a grid in its order. All cells must be those of
// rename. A task depends on its id and the options, not on the rest of the grid.
func NewSource(g tasks.Grid, o Options) (tasks.Source, error) {
	src := &source{}
	for i, cell := range g.Cells {
		if cell != (tasks.Cell{Axis: tasks.Rename, Size: cell.Size}) {
			return nil, fmt.Errorf("axis %q is not generated, or has words that it cannot have", cell.Axis)
		}
		if cell.Size < 1 || cell.Size > maxRenames {
			return nil, fmt.Errorf("size %d is not between 1 and %d", cell.Size, maxRenames)
		}
		for _, instance := range g.InstancesOf(i) {
			if instance < 1 || instance > maxInstance {
				return nil, fmt.Errorf("instance %d is not between 1 and %d", instance, maxInstance)
			}
			src.jobs = append(src.jobs, job{cell, instance, o.seedOf(cell)})
		}
	}
	return src, nil
}

// seedOf returns the seed that the tasks of a cell are drawn from.
func (o Options) seedOf(c tasks.Cell) int64 {
	if !o.Decorrelate {
		return o.Seed
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "cabra-seed-1/%d/%s/%d", o.Seed, c.Axis, c.Size))
	return int64(binary.BigEndian.Uint64(sum[:]) >> 1)
}

// job is one task to be generated.
type job struct {
	cell     tasks.Cell
	instance int
	seed     int64
}

type source struct{ jobs []job }

func (s *source) Len() int { return len(s.jobs) }

func (s *source) Tasks(ctx context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for _, j := range s.jobs {
			if err := ctx.Err(); err != nil {
				yield(tasks.Task{}, err)
				return
			}
			if !yield(j.task(), nil) {
				return
			}
		}
	}
}

func (j job) task() tasks.Task {
	s := drawSheet(j.seed, j.instance)
	renames := s.renames(j.cell.Size)
	return tasks.Task{
		ID: tasks.CellID(j.cell, j.instance), Cell: j.cell, Instance: j.instance,
		SampleID:  fmt.Sprintf("%d-%d", j.seed, j.instance),
		Statement: statement(renames),
		Starter:   tasks.Files{tasks.SolutionFile: s.text(0)},
		Reference: tasks.Files{tasks.SolutionFile: s.text(j.cell.Size)},
		Check:     tasks.Check{Kind: tasks.RenameKind, Edited: []string{"main"}, Renames: renames},
	}
}

//go:embed rename.md
var statementText string

const renamesPlaceholder = "{{RENAMES}}"

// statement lists the demands, one a line.
func statement(renames []tasks.Renaming) string {
	lines := make([]string, len(renames))
	for i, r := range renames {
		lines[i] = fmt.Sprintf("* `%s` → `%s`", r.Old, r.New)
	}
	return strings.Replace(statementText, renamesPlaceholder, strings.Join(lines, "\n"), 1)
}
