package score

import (
	"context"
	"os"
	"runtime"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// TestValidate scores tasks of every refactoring and code type; with
// CABRA_TEST_GRID those of another grid.
func TestValidate(t *testing.T) {
	text := os.Getenv("CABRA_TEST_GRID")
	if text == "" {
		text = "axis=traversal,search; size=5; instances=1"
	}
	grid, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{Seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	workers := runtime.GOMAXPROCS(0)
	report, err := Validate(context.Background(), src, newScorer(t, workers), workers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Tasks != src.Len() || report.Tasks == 0 {
		t.Errorf("%d of %d tasks validated", report.Tasks, src.Len())
	}
	for _, v := range report.Violations {
		t.Error(v)
	}
	t.Logf("%d tasks in %v", report.Tasks, report.Elapsed)
}
