package refactor

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cabra-run/tasks"
)

// Whoever follows the statements to the letter arrives at the references: one
// instance of every cell, with CABRA_TEST_ALL=1 all tasks.
func TestStatementsLeadToTheReferences(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on the path")
	}
	grid := "axis=traversal,search,runtime,instructions,comment-copy; instances=1"
	if os.Getenv("CABRA_TEST_ALL") == "1" {
		grid = "axis=traversal,search,runtime,instructions,comment-copy"
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "follow.py")
	cmd.Dir = filepath.Join("testdata", "python")
	cmd.Stdin = bytes.NewReader(taskLines(t, grid))
	output, err := cmd.CombinedOutput()
	if err != nil || len(output) > 0 {
		t.Errorf("%v\n%s", err, output)
	}
}

// taskLines writes the tasks of a grid as lines of JSON.
func taskLines(t *testing.T, grid string) []byte {
	t.Helper()
	g, err := tasks.ParseGrid(grid)
	if err != nil {
		t.Fatal(err)
	}
	src, err := NewSource(g, Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for task, err := range src.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		err := json.NewEncoder(&lines).Encode(map[string]any{
			"id": task.ID, "axis": task.Cell.Axis, "refactoring": task.Cell.Refactoring, "code": task.Cell.Code,
			"statement": task.Statement,
			"starter":   task.Starter[tasks.SolutionFile], "reference": task.Reference[tasks.SolutionFile],
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines.Bytes()
}
