package official

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// WriteOptions say what a tree gets.
type WriteOptions struct {
	// Seed is that of the tasks: dag.json holds the graphs that it yields.
	Seed int64
	// NoTestCases leaves out the test cases, which take a hundred times the
	// space of everything else.
	NoTestCases bool
}

// Written counts what Write wrote.
type Written struct{ Tasks, Files int }

// Write writes tasks as a tree of official files below root, which should be
// empty. Tasks of a cell have to be neighbours, as in grids. Every file is
// complete or not there. Tasks without an official form are an error.
func Write(ctx context.Context, root *os.Root, src tasks.Source, o WriteOptions) (Written, error) {
	w := &writer{root: root, options: o, graphs: map[string]bool{}}
	var cell []tasks.Task
	for t, err := range src.Tasks(ctx) {
		if err != nil {
			return w.written, err
		}
		if len(cell) > 0 && cell[0].Cell != t.Cell {
			if err := w.cell(cell); err != nil {
				return w.written, err
			}
			cell = cell[:0]
		}
		cell = append(cell, t)
	}
	return w.written, w.cell(cell)
}

// Unwritable returns the axes of a grid's cells that have no official form.
func Unwritable(g tasks.Grid) []tasks.Axis {
	var axes []tasks.Axis
	for _, c := range g.Cells {
		t := tasks.Task{Cell: c}
		if _, ok := KeyOf(&t); !ok && !slices.Contains(axes, c.Axis) {
			axes = append(axes, c.Axis)
		}
	}
	return axes
}

type writer struct {
	root    *os.Root
	options WriteOptions
	written Written
	suites  suiteWriter
	graphs  map[string]bool // paths of dag.json
	samples sampleStream
}

// cell writes the files of a cell's tasks, if there are any.
func (w *writer) cell(list []tasks.Task) error {
	if len(list) == 0 {
		return nil
	}
	k, ok := KeyOf(&list[0])
	if !ok {
		return fmt.Errorf("task %s has no official form", list[0].ID)
	}
	var err error
	if k.Set == "" && w.options.Seed != mergeSeed {
		return fmt.Errorf("merge tasks of seed %d have no official form, only those of seed %d", w.options.Seed, mergeSeed)
	} else if k.Set == "" {
		err = w.merges(k.Run, list)
	} else {
		err = w.programs(k, list)
	}
	if err != nil {
		return fmt.Errorf("writing the cell of %s: %w", list[0].ID, err)
	}
	w.written.Tasks += len(list)
	return nil
}

func (w *writer) merges(run string, list []tasks.Task) error {
	return w.array(path.Join("tasks", run+".json"), len(list), func(i int) ([]byte, error) {
		return indentedJSON(mergeRecordOf(&list[i], i), indentStep)
	})
}

func (w *writer) programs(k Key, list []tasks.Task) error {
	slices.SortFunc(list, func(a, b tasks.Task) int { return strings.Compare(a.SampleID, b.SampleID) })
	keyOf := func(i int) Key {
		k := k
		k.DagID = list[i].SampleID
		return k
	}
	for i := range list {
		if err := w.dag(&list[i]); err != nil {
			return err
		}
	}
	file := path.Join(k.Run, k.Set, k.Type+".json")
	err := w.array(path.Join("tasks", file), len(list), func(i int) ([]byte, error) {
		return indentedJSON(recordOf(&list[i], keyOf(i)), indentStep)
	})
	if err != nil || w.options.NoTestCases {
		return err
	}
	return w.array(path.Join("test_cases", file), len(list), func(i int) ([]byte, error) {
		return w.suites.record(&list[i], keyOf(i))
	})
}

// dag writes the graphs of a task, once for all cells that share them.
func (w *writer) dag(t *tasks.Task) error {
	name := path.Join("dag", graphRun(t.Cell.Axis, t.Cell.Size), t.SampleID, "dag.json")
	if w.graphs[name] {
		return nil
	}
	s, err := w.samples.of(w.options.Seed, t)
	if err != nil {
		return err
	}
	encoded, err := lineJSON(dagOf(s))
	if err != nil {
		return err
	}
	w.graphs[name] = true
	return w.file(name, func(out io.Writer) error {
		_, err := out.Write(encoded)
		return err
	})
}

// array writes a file that holds n records.
func (w *writer) array(name string, n int, record func(i int) ([]byte, error)) error {
	return w.file(name, func(out io.Writer) error {
		for i := range n {
			encoded, err := record(i)
			if err != nil {
				return err
			}
			separator := ",\n"
			if i == 0 {
				separator = "[\n"
			}
			if _, err := io.WriteString(out, separator+indentStep); err != nil {
				return err
			}
			if _, err := out.Write(encoded); err != nil {
				return err
			}
		}
		_, err := io.WriteString(out, "\n]")
		return err
	})
}

// file writes a file under another name and renames it when it is complete.
func (w *writer) file(name string, fill func(io.Writer) error) error {
	if err := w.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	unfinished := name + ".unfinished"
	f, err := w.root.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Close())
	if err == nil {
		err = w.root.Rename(unfinished, name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(unfinished))
	}
	w.written.Files++
	return nil
}

// sampleStream draws samples again. It keeps those of the sizes asked for last,
// which cells of a grid share.
type sampleStream struct {
	init, edit int
	sampler    *callgraph.Sampler
	drawn      []*callgraph.Sample
}

func (s *sampleStream) of(seed int64, t *tasks.Task) (*callgraph.Sample, error) {
	init, edit := graphSizes(t.Cell.Axis, t.Cell.Size)
	if s.sampler == nil || s.init != init || s.edit != edit {
		sampler, err := callgraph.NewSampler(seed, init, edit)
		if err != nil {
			return nil, err
		}
		*s = sampleStream{init: init, edit: edit, sampler: sampler}
	}
	for len(s.drawn) < t.Instance {
		sample, err := s.sampler.Next()
		if err != nil {
			return nil, err
		}
		s.drawn = append(s.drawn, sample)
	}
	if t.Instance < 1 || s.drawn[t.Instance-1].ID != t.SampleID {
		return nil, fmt.Errorf("task %s is not of seed %d: its graphs are not known", t.ID, seed)
	}
	return s.drawn[t.Instance-1], nil
}
