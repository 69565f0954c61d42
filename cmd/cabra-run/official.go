package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
	"cabra-run/tasks/official"
)

// wholeTree is the name of the grid that is all tasks of a folder of official
// files.
const wholeTree = "all"

// parseGrid is tasks.ParseGrid; where tasks are read from files, no text means
// all of them.
func (g generation) parseGrid(text string) (tasks.Grid, error) {
	if g.files != "" && (text == "" || text == wholeTree) {
		return tasks.Grid{Name: wholeTree}, nil
	}
	return tasks.ParseGrid(text)
}

// lockedGrid is the grid of a run.
func lockedGrid(t results.TaskSet) (tasks.Grid, error) {
	grid, err := generationOf(t).parseGrid(t.Grid)
	if err != nil {
		return grid, fmt.Errorf("the run's grid: %w", err)
	}
	return grid, nil
}

// officialSource returns those tasks of a folder of official files that a grid
// selects. The folder stays open until the program ends.
func officialSource(grid tasks.Grid, g generation) (tasks.Source, error) {
	switch {
	case g.prompts != "":
		return nil, usagef("--prompts cannot be used with --tasks: the files have problem statements of their own")
	case g.decorrelate:
		return nil, usagef("--decorrelate cannot be used with --tasks: the files hold tasks of the official scheme")
	}
	root, err := os.OpenRoot(g.files)
	if err != nil {
		return nil, hinted(err, "give --tasks a folder that holds a folder \"tasks\" of official files")
	}
	own := func(c tasks.Cell) (tasks.Source, error) {
		if _, _, err := tasks.ParseID(tasks.CellID(c, 1)); err != nil {
			return nil, nil // a cell that only the files have
		}
		cell := tasks.Grid{Cells: []tasks.Cell{c}, Instances: tasks.InstancesOfAxis(c.Axis)}
		return source(cell, generation{seed: g.seed})
	}
	// An interrupt ends the program here: nothing is under way yet.
	tree, err := official.OpenTree(context.Background(), root, official.TreeOptions{Own: own})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the folder %q: %w", g.files, err), root.Close())
	}
	if grid.Name == wholeTree {
		return tree, nil
	}
	wanted := map[tasks.ID]bool{}
	for _, id := range grid.IDs() {
		wanted[id] = true
	}
	tree = tree.Only(func(id tasks.ID) bool { return wanted[id] })
	if tree.Len() == 0 {
		return nil, hinted(fmt.Errorf("the folder %q has no task of grid %q", g.files, grid.Name),
			"see what it has: cabra-run tasks list --tasks "+g.files)
	}
	return tree, nil
}

// sayOddities says what was odd in the files that tasks come from, if they do.
func (a *app) sayOddities(src tasks.Source) {
	if tree, ok := src.(*official.Tree); ok {
		a.sayNotices(tree.Notices())
	}
}

func (a *app) sayNotices(list []official.Notice) {
	for _, n := range list {
		where := ""
		if len(n.Where) > 0 {
			where = " (first: " + printableText(n.Where[0]) + ")"
		}
		a.say(fmt.Sprintf("warning: %s (%d): %s%s", n.Name, n.Count, n.Text, where))
	}
}

// writeOfficial writes tasks as official files.
func writeOfficial(ctx context.Context, a *app, o *taskOptions, dir string, noTestCases bool) error {
	if o.decorrelate || o.files != "" {
		return usagef("--format official writes generated tasks of the official scheme only, without --tasks and --decorrelate")
	}
	src, err := o.source()
	if err != nil {
		return err
	}
	grid, err := tasks.ParseGrid(o.grid)
	if err != nil {
		return err
	}
	if axes := official.Unwritable(grid); len(axes) > 0 {
		return usagef("tasks of %s have no official form; leave them out of --grid", axisWords(axes))
	}
	root, err := newFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	n, err := official.Write(ctx, root, src, official.WriteOptions{Seed: o.seed, NoTestCases: noTestCases})
	if err != nil {
		return fmt.Errorf("after %d tasks in %q: %w", n.Tasks, dir, err)
	}
	a.say(fmt.Sprintf("%d tasks in %d files in %s", n.Tasks, n.Files, dir))
	return nil
}

func axisWords(axes []tasks.Axis) string {
	words := make([]string, len(axes))
	for i, axis := range axes {
		words[i] = string(axis)
	}
	return strings.Join(words, " and ")
}

// newFolder makes a folder, or opens an empty one.
func newFolder(dir string) (*os.Root, error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, hinted(fmt.Errorf("the folder %q is not empty", dir), "name a new folder")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// absolute is a folder as a lock names it: a run is resumed from anywhere.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	return filepath.Abs(dir)
}
