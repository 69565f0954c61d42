package refactor

import (
	"reflect"
	"testing"

	"cabra-run/tasks"
)

// The seed is taken as it is: 0 does not stand for another one.
func TestZeroIsASeed(t *testing.T) {
	g := grid(1, allAxes(), 5)
	zero, forty := collect(t, newSource(t, g, Options{})), collect(t, newSource(t, g, Options{Seed: DefaultSeed}))
	for i := range zero {
		if zero[i].SampleID == forty[i].SampleID || zero[i].Starter.Equal(forty[i].Starter) {
			t.Errorf("%s is the same with seeds 0 and 42", zero[i].ID)
		}
	}
}

// Cells that share their samples in the published benchmark have their own.
func TestDecorrelatedCellsShareNothing(t *testing.T) {
	g := grid(2, allAxes(), 10, 25)
	shared := collect(t, newSource(t, g, Options{Seed: DefaultSeed}))
	own := collect(t, newSource(t, g, Options{Seed: DefaultSeed, Decorrelate: true}))
	seen := map[string]tasks.ID{}
	for i, task := range own {
		if task.ID != shared[i].ID || task.SampleID == shared[i].SampleID {
			t.Errorf("%s with sample %s", task.ID, task.SampleID)
		}
		if other, ok := seen[task.SampleID]; ok {
			t.Errorf("%s and %s have the same sample", task.ID, other)
		}
		seen[task.SampleID] = task.ID
		if len(task.Check.Edited) != len(shared[i].Check.Edited) || len(task.Check.Rules) != len(shared[i].Check.Rules) ||
			len(task.Check.Live) != len(shared[i].Check.Live) {
			t.Errorf("%s has another size", task.ID)
		}
	}
}

// A decorrelated task depends on the seed and its id alone.
func TestDecorrelatedTasksAreReproducible(t *testing.T) {
	o := Options{Seed: 7, Decorrelate: true}
	all := collect(t, newSource(t, grid(3, allAxes(), 5), o))
	again := o
	again.Parallel = 7
	if !reflect.DeepEqual(collect(t, newSource(t, grid(3, allAxes(), 5), again)), all) {
		t.Error("other tasks with other workers")
	}
	last := all[len(all)-1]
	part := tasks.Grid{Cells: []tasks.Cell{last.Cell}, Only: [][]int{{last.Instance}}}
	if got := collect(t, newSource(t, part, o)); !reflect.DeepEqual(got, all[len(all)-1:]) {
		t.Errorf("%s differs when it is generated alone", last.ID)
	}
	o.Seed = 8
	if got := collect(t, newSource(t, part, o)); got[0].SampleID == last.SampleID {
		t.Error("the seed does not matter")
	}
}

// Published: the combined cell of size 5 has the paper's example as its 11th
// instance. The goldens are those of TestProgramsOfThePaperSample.
func TestCombinedHasThePaperSample(t *testing.T) {
	for _, cell := range grid(1, []tasks.Axis{tasks.Combined}, 5).Cells {
		g := tasks.Grid{Cells: []tasks.Cell{cell}, Only: [][]int{{1, 11}}}
		list := collect(t, newSource(t, g, Options{Seed: DefaultSeed}))
		if list[0].SampleID != "5715bd6f-a416-1293-c4c2-e2e3444ea7c8" ||
			list[1].SampleID != "0a8076ec-e558-2e16-bd29-ede9cab4923b" {
			t.Errorf("samples %s, %s", list[0].SampleID, list[1].SampleID)
		}
		name := string(cell.Refactoring) + "-" + string(cell.Code)
		golden(t, name+"-starter.py", list[1].Starter[tasks.SolutionFile])
		golden(t, name+"-reference.py", list[1].Reference[tasks.SolutionFile])
	}
}

// Published: these axes have the same samples at all sizes.
func TestSmallAxesShareSamples(t *testing.T) {
	axes := []tasks.Axis{tasks.Runtime, tasks.Instructions, tasks.CommentCopy}
	samples := map[int]string{1: "1825bc54-30be-b45f-6835-14f2ceb81f9d"}
	for _, task := range collect(t, newSource(t, grid(2, axes, 5, 50), Options{Seed: DefaultSeed})) {
		if want, ok := samples[task.Instance]; ok && task.SampleID != want {
			t.Errorf("%s: sample %s, want %s", task.ID, task.SampleID, want)
		}
		samples[task.Instance] = task.SampleID
	}
}

// What a check says beside the edited functions, per axis.
func TestCheckOfEachAxis(t *testing.T) {
	for _, task := range collect(t, newSource(t, grid(1, allAxes(), 5, 100), Options{Seed: DefaultSeed})) {
		c, want := task.Check, tasks.Check{}
		switch task.Cell.Axis {
		case tasks.Runtime:
			want.Branches = true
			if len(c.Live) != 22 {
				t.Errorf("%s: %d live branches", task.ID, len(c.Live))
			}
		case tasks.Instructions:
			want.Values = 10
			if len(c.Rules) != task.Cell.Size || len(c.Inserted) != task.Cell.Size {
				t.Errorf("%s: %d rules, %d lines", task.ID, len(c.Rules), len(c.Inserted))
			}
		case tasks.CommentCopy:
			want.Values, want.Comment = 10, c.Inserted[0]
			if len(c.Inserted) != 1 {
				t.Errorf("%s: %d lines", task.ID, len(c.Inserted))
			}
		}
		if c.Branches != want.Branches || c.Values != want.Values || c.Comment != want.Comment {
			t.Errorf("%s: %+v", task.ID, c)
		}
	}
}

func TestSourceRefusesMoreCells(t *testing.T) {
	good := tasks.Cell{Axis: tasks.Instructions, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	for name, change := range map[string]func(*tasks.Cell){
		"dead code with rules":     func(c *tasks.Cell) { c.Refactoring = tasks.DeadCode },
		"dead code with a comment": func(c *tasks.Cell) { c.Axis, c.Refactoring = tasks.CommentCopy, tasks.DeadCode },
		"variant":                  func(c *tasks.Cell) { c.Variant = "hint" },
		"merge":                    func(c *tasks.Cell) { *c = tasks.Cell{Axis: tasks.Merge, Size: 5} },
		"no size":                  func(c *tasks.Cell) { c.Size = 0 },
		"endless steps":            func(c *tasks.Cell) { c.Axis, c.Size = tasks.Runtime, 1<<40 },
	} {
		cell := good
		change(&cell)
		if _, err := NewSource(tasks.Grid{Cells: []tasks.Cell{cell}, Instances: 1}, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// More rules than there can be: the error comes with the task.
	good.Size = 731
	g := tasks.Grid{Cells: []tasks.Cell{good}, Instances: 1}
	for _, err := range newSource(t, g, Options{}).Tasks(t.Context()) {
		if err == nil {
			t.Error("731 rules for ten values")
		}
	}
}
