package score

import (
	"context"
	"errors"
	"iter"
	"os"
	"runtime"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/controls"
	"cabra-run/tasks/merge"
	"cabra-run/tasks/refactor"
)

// sourceOf returns the tasks of a grid, whatever their families.
func sourceOf(t testing.TB, text string) tasks.Source {
	t.Helper()
	grid, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	programs := append(tasks.Axes(), tasks.Combined, tasks.CommentCopy)
	first, err := refactor.NewSource(grid.Of(programs...), refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	merging, err := merge.NewSource(grid.Of(tasks.Merge), merge.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	renaming, err := controls.NewSource(grid.Of(tasks.Rename), controls.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	return tasks.Join(first, merging, renaming)
}

// smallGrids have each refactoring and code type of each family once.
var smallGrids = []string{
	"axis=traversal; size=5; instances=1", "axis=runtime; size=5; instances=1",
	"axis=instructions; size=25; instances=1", "axis=comment-copy; size=5; instances=1",
	"axis=merge; size=5; instances=1", "axis=rename; size=5; instances=1",
}

// TestValidate proves under both verdicts that references score 1 and starters
// 0: of some tasks, with CABRA_TEST_ALL=1 of all, or of those of the grids in
// CABRA_TEST_GRIDS, which stand between bars.
func TestValidate(t *testing.T) {
	grids := smallGrids
	if os.Getenv("CABRA_TEST_ALL") == "1" {
		grids = []string{"full", "merge", "controls"}
	}
	if text := os.Getenv("CABRA_TEST_GRIDS"); text != "" {
		grids = strings.Split(text, "|")
	}
	workers := runtime.GOMAXPROCS(0)
	s := newScorer(t, workers)
	for _, text := range grids {
		t.Run(text, func(t *testing.T) {
			src := sourceOf(t, text)
			report, err := Validate(context.Background(), src, s, workers, func(done, total int) {
				if done%100 == 0 {
					t.Logf("%d of %d", done, total)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Tasks != src.Len() || report.Tasks == 0 {
				t.Errorf("%d of %d tasks validated", report.Tasks, src.Len())
			}
			for _, v := range report.Violations {
				t.Errorf("strict: %v", v)
			}
			for _, v := range report.Official {
				t.Errorf("official: %v", v)
			}
			t.Logf("%d tasks in %v", report.Tasks, report.Elapsed)
		})
	}
}

// listed is a source of given tasks that may end in an error.
type listed struct {
	tasks []tasks.Task
	err   error
}

func (l listed) Len() int { return len(l.tasks) }

func (l listed) Tasks(context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for _, t := range l.tasks {
			if !yield(t, nil) {
				return
			}
		}
		if l.err != nil {
			yield(tasks.Task{}, l.err)
		}
	}
}

func TestValidateListsViolations(t *testing.T) {
	var set listed
	for instance, change := range []func(*tasks.Task){
		func(*tasks.Task) {},
		func(t *tasks.Task) { t.Starter = t.Reference },
		func(t *tasks.Task) { t.Check.Edited = []string{"f"} },
		func(t *tasks.Task) { t.Reference = solution("(") },
	} {
		task := tinyTask()
		task.Instance = instance + 1
		task.ID = tasks.CellID(task.Cell, task.Instance)
		change(task)
		set.tasks = append(set.tasks, *task)
	}
	var steps []int
	s := newScorer(t, 2)
	report, err := Validate(context.Background(), set, s, 2, func(done, total int) { steps = append(steps, done*10+total) })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range report.Violations {
		got = append(got, strings.TrimPrefix(v.String(), "traversal/add-parameter/math/n001/"))
	}
	want := "02: starter: is solved\n03: task: its check does not list g as edited\n04: task: its own program does not compile"
	if strings.Join(got, "\n") != want {
		t.Errorf("violations:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
	}
	if report.Tasks != 4 || len(steps) != 4 || steps[3] != 44 {
		t.Errorf("%d tasks, progress %v", report.Tasks, steps)
	}
	set.err = errors.New("generation failed")
	if _, err := Validate(context.Background(), set, s, 2, nil); !errors.Is(err, set.err) {
		t.Errorf("a failing source: %v", err)
	}
}
