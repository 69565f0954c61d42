package score

import (
	"context"
	"regexp"
	"strings"
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

func TestVerdictsTell(t *testing.T) {
	s := newScorer(t, 1)
	task := tinyTask()
	v, err := s.Score(context.Background(), task, task.Reference)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Solved || v.Reason != "" || v.Scorer != "strict" || v.Version != "strict/2" || len(v.Checks) != 5 {
		t.Errorf("reference: %+v", v)
	}
	v, err = s.Score(context.Background(), task, solution(strings.Replace(
		task.Reference[tasks.SolutionFile], "return mult * abs(val)", "return mult + abs(val)", 1)))
	if err != nil {
		t.Fatal(err)
	}
	// Which function, which input, expected and got; f and main differ because of g.
	reason := regexp.MustCompile(`^behaviour: g\(val=[-\d.e]+, mult=[-\d.e]+\): expected [-\d.e]+, got [-\d.e]+ \(and 2 more functions differ\)$`)
	if v.Solved || !reason.MatchString(v.Reason) {
		t.Errorf("a wrong candidate: %+v", v)
	}
}

func TestMissingAndOtherFiles(t *testing.T) {
	s := newScorer(t, 1)
	task := tinyTask()
	for name, row := range map[string]struct {
		files  tasks.Files
		solved bool
	}{
		"no files":        {nil, false},
		"another file":    {tasks.Files{"other.py": task.Reference[tasks.SolutionFile]}, false},
		"files beside it": {tasks.Files{tasks.SolutionFile: task.Reference[tasks.SolutionFile], "math.py": "sin = None"}, true},
	} {
		v, err := s.Score(context.Background(), task, row.files)
		if err != nil || v.Solved != row.solved {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}
