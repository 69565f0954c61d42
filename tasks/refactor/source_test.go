package refactor

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"cabra-run/tasks"
)

// grid returns all refactorings and code types of the given axes and sizes.
func grid(instances int, axes []tasks.Axis, sizes ...int) tasks.Grid {
	g := tasks.Grid{Instances: instances}
	for _, axis := range axes {
		for _, size := range sizes {
			for _, r := range tasks.Refactorings() {
				if r == tasks.DeadCode && numbered(axis) {
					continue
				}
				for _, c := range tasks.CodeTypes() {
					g.Cells = append(g.Cells, tasks.Cell{Axis: axis, Size: size, Refactoring: r, Code: c})
				}
			}
		}
	}
	return g
}

// graphAxes are the axes that scale a graph, and nothing else.
func graphAxes() []tasks.Axis { return []tasks.Axis{tasks.Traversal, tasks.Search} }

// allAxes are the axes that this package generates.
func allAxes() []tasks.Axis { return append(tasks.Axes(), tasks.Combined, tasks.CommentCopy) }

func newSource(t testing.TB, g tasks.Grid, o Options) tasks.Source {
	t.Helper()
	src, err := NewSource(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func collect(t testing.TB, src tasks.Source) []tasks.Task {
	t.Helper()
	var list []tasks.Task
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, task)
	}
	if len(list) != src.Len() {
		t.Fatalf("%d tasks of %d", len(list), src.Len())
	}
	return list
}

func TestSourceYieldsTheGridInItsOrder(t *testing.T) {
	g := grid(3, allAxes(), 5, 10)
	ids := g.IDs()
	for i, task := range collect(t, newSource(t, g, Options{Seed: DefaultSeed, Parallel: 4})) {
		if task.ID != ids[i] || task.ID != tasks.CellID(task.Cell, task.Instance) || !task.ID.Valid() {
			t.Errorf("task %d is %s, want %s", i, task.ID, ids[i])
		}
		edited := map[tasks.Axis]int{tasks.Traversal: task.Cell.Size, tasks.Search: 25, tasks.Runtime: 10,
			tasks.Instructions: 10, tasks.CommentCopy: 10, tasks.Combined: task.Cell.Size}[task.Cell.Axis]
		if len(task.Check.Edited) != edited+1 || task.Check.Kind != tasks.CallGraphCheck {
			t.Errorf("%s: check %v", task.ID, task.Check)
		}
		if task.Statement == "" || task.Starter.Equal(task.Reference) {
			t.Errorf("%s: no statement, or nothing to do", task.ID)
		}
		if !slices.Equal(task.Starter.Paths(), []string{"solution.py"}) ||
			!slices.Equal(task.Reference.Paths(), []string{"solution.py"}) {
			t.Errorf("%s: files %v, %v", task.ID, task.Starter.Paths(), task.Reference.Paths())
		}
	}
}

func TestSourceIsTheSameWhateverRunsBeside(t *testing.T) {
	g := grid(3, allAxes(), 5, 25)
	first := collect(t, newSource(t, g, Options{Seed: DefaultSeed, Parallel: 1}))
	for _, parallel := range []int{0, 2, 16} {
		src := newSource(t, g, Options{Seed: DefaultSeed, Parallel: parallel})
		for range 2 { // ranging again starts anew
			if !reflect.DeepEqual(collect(t, src), first) {
				t.Fatalf("other tasks with %d workers", parallel)
			}
		}
	}
	// A part of a grid has the same tasks as the whole.
	part := tasks.Grid{Cells: []tasks.Cell{first[len(first)-1].Cell}, Only: [][]int{{3}}}
	if got := collect(t, newSource(t, part, Options{Seed: DefaultSeed})); !reflect.DeepEqual(got, first[len(first)-1:]) {
		t.Errorf("%s differs when it is generated alone", first[len(first)-1].ID)
	}
}

func TestOneRangePerGoroutine(t *testing.T) {
	src := newSource(t, grid(2, graphAxes(), 5), Options{Seed: DefaultSeed, Parallel: 2})
	lists := make(chan []tasks.Task, 2)
	for range cap(lists) {
		go func() {
			var list []tasks.Task
			for task, err := range src.Tasks(context.Background()) {
				if err != nil {
					t.Error(err)
				}
				list = append(list, task)
			}
			lists <- list
		}()
	}
	if a, b := <-lists, <-lists; !reflect.DeepEqual(a, b) || len(a) != src.Len() {
		t.Errorf("%d and %d tasks, or different ones", len(a), len(b))
	}
}

// Both axes have 25 functions on either side at size 25.
func TestAxesShareSize25(t *testing.T) {
	list := collect(t, newSource(t, grid(2, graphAxes(), 25), Options{Seed: DefaultSeed}))
	half := len(list) / 2
	for i, a := range list[:half] {
		b := list[half+i]
		if a.Cell.Axis == b.Cell.Axis || a.SampleID != b.SampleID || !a.Starter.Equal(b.Starter) ||
			!a.Reference.Equal(b.Reference) || a.Digest() == b.Digest() {
			t.Errorf("%s and %s", a.ID, b.ID)
		}
	}
	if list[0].SampleID != "74daaebf-1f11-5b76-d92c-9227eadf5085" {
		t.Errorf("first sample %s", list[0].SampleID)
	}
}

// Samples are shared by the refactorings and code types of an axis and size.
func TestCellsShareSamples(t *testing.T) {
	g := grid(4, []tasks.Axis{tasks.Search}, 5)
	list := collect(t, newSource(t, g, Options{Seed: DefaultSeed}))
	for i, task := range list {
		if want := list[i%4].SampleID; task.SampleID != want {
			t.Errorf("%s: sample %s, want %s", task.ID, task.SampleID, want)
		}
	}
	if list[0].SampleID != "43b409ef-2260-e70f-e0cc-edc5f05db76e" || list[0].SampleID == list[1].SampleID {
		t.Errorf("samples %s, %s", list[0].SampleID, list[1].SampleID)
	}
}

func TestOtherSeedsGiveOtherTasks(t *testing.T) {
	g := grid(1, []tasks.Axis{tasks.Traversal}, 5)
	a, b := collect(t, newSource(t, g, Options{Seed: 1})), collect(t, newSource(t, g, Options{Seed: 2}))
	for i := range a {
		if a[i].SampleID == b[i].SampleID || a[i].Starter.Equal(b[i].Starter) || a[i].ID != b[i].ID {
			t.Errorf("%s with two seeds", a[i].ID)
		}
	}
}

func TestStatementsOverride(t *testing.T) {
	g := grid(1, []tasks.Axis{tasks.Traversal}, 5)
	own := collect(t, newSource(t, g, Options{Seed: DefaultSeed}))
	statements, err := OwnStatements()
	if err != nil {
		t.Fatal(err)
	}
	for name := range statements {
		statements[name] = "do " + name
	}
	for i, task := range collect(t, newSource(t, g, Options{Seed: DefaultSeed, Statements: statements})) {
		want := "do " + string(task.Cell.Refactoring) + "." + string(task.Cell.Code)
		if task.Statement != want || task.Digest() != own[i].Digest() {
			t.Errorf("%s: statement %q, want %q", task.ID, task.Statement, want)
		}
	}
	delete(statements, "dead-code.math")
	if _, err := NewSource(g, Options{Seed: DefaultSeed, Statements: statements}); err == nil {
		t.Error("a missing statement is no error")
	}
}

func TestSourceStopsWhenTheConsumerStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, stopAfter := range []int{1, 2, 40} {
		src := newSource(t, grid(20, graphAxes(), 5), Options{Seed: DefaultSeed, Parallel: 4})
		n := 0
		for _, err := range src.Tasks(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == stopAfter {
				break
			}
		}
		if n != stopAfter {
			t.Errorf("stopped after %d, want %d", n, stopAfter)
		}
	}
}

func TestSourceStopsWhenTheContextEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	src := newSource(t, grid(20, graphAxes(), 5), Options{Seed: DefaultSeed, Parallel: 4})
	n, last := 0, error(nil)
	for _, err := range src.Tasks(ctx) {
		if last != nil {
			t.Fatal("tasks after an error")
		}
		if last = err; err == nil {
			n++
		}
		if n == 7 {
			cancel()
		}
	}
	if n != 7 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d tasks, then %v", n, last)
	}
}

func TestSourceRefusesCells(t *testing.T) {
	good := tasks.Cell{Axis: tasks.Traversal, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	for name, change := range map[string]func(*tasks.Cell){
		"axis":        func(c *tasks.Cell) { c.Axis = "depth" },
		"refactoring": func(c *tasks.Cell) { c.Refactoring = "inline" },
		"code type":   func(c *tasks.Cell) { c.Code = "set" },
	} {
		cell := good
		change(&cell)
		if _, err := NewSource(tasks.Grid{Cells: []tasks.Cell{cell}, Instances: 1}, Options{Seed: DefaultSeed}); err == nil {
			t.Errorf("unknown %s: no error", name)
		}
	}
}

func TestSourceRefusesInstances(t *testing.T) {
	cell := tasks.Cell{Axis: tasks.Search, Size: 5, Refactoring: tasks.DeadCode, Code: tasks.Math}
	for _, instance := range []int{0, -1, 1_000_000_000} {
		g := tasks.Grid{Cells: []tasks.Cell{cell}, Only: [][]int{{instance}}}
		if _, err := NewSource(g, Options{Seed: DefaultSeed}); err == nil {
			t.Errorf("instance %d: no error", instance)
		}
	}
}

func TestEmptyGrid(t *testing.T) {
	if list := collect(t, newSource(t, tasks.Grid{}, Options{Seed: DefaultSeed})); len(list) != 0 {
		t.Errorf("%d tasks", len(list))
	}
}

// A cell that cannot be sampled fails at its turn, after the tasks before it.
func TestSourceReportsWhatCannotBeSampled(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := grid(1, []tasks.Axis{tasks.Traversal}, 5, 1)
	n, last := 0, error(nil)
	for _, err := range newSource(t, g, Options{Seed: DefaultSeed, Parallel: 3}).Tasks(context.Background()) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 15 || last == nil {
		t.Errorf("%d tasks, then %v, want 15 and an error", n, last)
	}
}

// BenchmarkFullGrid generates the 6,840 tasks of the four axes.
func BenchmarkFullGrid(b *testing.B) {
	b.ReportAllocs()
	g, err := tasks.ParseGrid("full")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		for _, err := range newSource(b, g, Options{Seed: DefaultSeed}).Tasks(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 6840 {
			b.Fatalf("%d tasks", n)
		}
	}
}
