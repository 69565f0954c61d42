package score

import (
	"context"
	"testing"

	"cabra-run/tasks"
)

const tinyHead = "from mylibrary import default\nimport math\nimport operator\nimport sys\n\n"

const tinyTail = `def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))`

// The functions of the tiny task: S starter, R reference.
const (
	tinyFS = "def f(val: float, mult: float=default()) -> float:\n    g_val = g(val)\n    return math.sin(g_val)\n\n"
	tinyFR = "def f(val: float, mult: float=default()) -> float:\n    g_val = g(val, mult=mult)\n    return math.sin(g_val)\n\n"
	tinyGS = "def g(val: float) -> float:\n    return abs(val)\n\n"
	tinyGR = "def g(val: float, mult: float=default()) -> float:\n    return mult * abs(val)\n\n"
	tinyH  = "def h(val: float) -> float:\n    return math.cos(val)\n\n"
)

// tinyTask is the task T of the scorer's conformance table.
func tinyTask() *tasks.Task {
	return &tasks.Task{
		ID:        "traversal/add-parameter/math/n001/01",
		Cell:      tasks.Cell{Axis: tasks.Traversal, Size: 1, Refactoring: tasks.AddParameter, Code: tasks.Math},
		Instance:  1,
		Starter:   solution(tinyHead + tinyFS + tinyGS + tinyH + tinyTail),
		Reference: solution(tinyHead + tinyFR + tinyGR + tinyH + tinyTail),
		Check:     tasks.Check{Kind: tasks.CallGraphCheck, Edited: []string{"f", "g"}, Library: []string{"default"}},
	}
}

func solution(text string) tasks.Files { return tasks.Files{tasks.SolutionFile: text} }

func TestTinyTask(t *testing.T) {
	s := newScorer(t, 1)
	task := tinyTask()
	for name, files := range map[string]tasks.Files{"reference": task.Reference, "starter": task.Starter} {
		v, err := s.Score(context.Background(), task, files)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", name, v)
		if v.Solved != (name == "reference") {
			t.Errorf("%s: solved = %v, reason %q", name, v.Solved, v.Reason)
		}
	}
}
