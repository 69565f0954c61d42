package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// pythonTask is what testdata/check.py reads.
type pythonTask struct {
	ID          tasks.ID                `json:"id"`
	Starter     string                  `json:"starter"`
	Reference   string                  `json:"reference"`
	Vectors     [][]int                 `json:"vectors"`
	Differences []tasks.MergeDifference `json:"differences"` // none for a worked example
}

// checkWithPython runs starters and references, compares what they compute, and
// checks the references' structure and that no helper method can be left out.
func checkWithPython(t *testing.T, list []pythonTask) {
	t.Helper()
	if got, want := pythonFindings(t, list), fmt.Sprintf("checked %d\n", len(list)); got != want {
		problems := strings.Split(got, "\n")
		t.Errorf("want %q, got\n%s", want, strings.Join(problems[:min(len(problems), 20)], "\n"))
	}
}

func pythonFindings(t *testing.T, list []pythonTask) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on PATH to check programs with")
	}
	var input, stderr bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, task := range list {
		if err := encoder.Encode(task); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "testdata/check.py")
	cmd.Stdin, cmd.Stderr = &input, &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("check.py: %v\n%s", err, stderr.String())
	}
	return string(output)
}

// What the checks with Python are worth: mistakes that they must see.
func TestPythonSeesMistakes(t *testing.T) {
	good := pythonTasks(gridTasks(t, "merge/n005/01", Options{Seed: 42}))[0]
	const helper = "return -4 * (b * i) + m03"
	for want, change := range map[string]func(*pythonTask){
		"computes something else": func(p *pythonTask) {
			p.Reference = strings.Replace(p.Reference, helper, "return -4 * (b * i) - m03", 1)
		},
		"more than a return": func(p *pythonTask) {
			p.Reference = strings.Replace(p.Reference, helper, "pass; "+helper, 1)
		},
		"does not need": func(p *pythonTask) {
			p.Reference = strings.Replace(p.Reference, helper, "return -4 * b + m03", 1)
		},
		"other calls": func(p *pythonTask) {
			again := "m05 = m05 + 0 * self.custom_compute_1(b, m03, i)\n        return m05"
			p.Reference = strings.Replace(p.Reference, "return m05", again, 1)
		},
		"is merged already":      func(p *pythonTask) { p.Starter = p.Reference },
		"other number of":        func(p *pythonTask) { p.Differences[0].Operators++ },
		"other expression in":    func(p *pythonTask) { p.Differences[0].A = "0" },
		"the classes hardly dif": func(p *pythonTask) { p.Vectors = p.Vectors[:9] },
	} {
		bad := good
		bad.Differences = slices.Clone(good.Differences)
		change(&bad)
		if got := pythonFindings(t, []pythonTask{bad}); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", want, got)
		}
	}
}

func gridTasks(t *testing.T, text string, o Options) []tasks.Task {
	t.Helper()
	g, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := NewSource(g, o)
	if err != nil {
		t.Fatal(err)
	}
	var list []tasks.Task
	for task, err := range src.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, task)
	}
	if len(list) != src.Len() || len(list) != g.Len() {
		t.Fatalf("%d tasks, Len %d, grid %d", len(list), src.Len(), g.Len())
	}
	return list
}

func pythonTasks(list []tasks.Task) (out []pythonTask) {
	for _, task := range list {
		m := task.Check.Merge
		out = append(out, pythonTask{task.ID, task.Starter[tasks.SolutionFile], task.Reference[tasks.SolutionFile],
			m.Vectors, m.Differences})
	}
	return out
}

func TestTasksWithPython(t *testing.T) {
	t.Parallel()
	for _, grid := range []string{
		"axis=merge; size=5..25",
		"axis=merge; size=50..200; instances=5",
		"axis=merge; variant=differences-3,differences-5; instances=8",
		"axis=merge; size=50; instances=5; " +
			"variant=no-transforms,only-multi-lines,only-logical-equiv,without-rename-variables",
	} {
		t.Run(grid, func(t *testing.T) {
			t.Parallel()
			checkWithPython(t, pythonTasks(gridTasks(t, grid, Options{Seed: 42})))
		})
	}
}

func TestOtherSeedsWithPython(t *testing.T) {
	t.Parallel()
	var list []tasks.Task
	for _, o := range []Options{{Seed: 0}, {Seed: -7}, {Seed: 42, Decorrelate: true}} {
		list = append(list, gridTasks(t, "axis=merge; size=5..50; instances=4", o)...)
	}
	checkWithPython(t, pythonTasks(list))
}

var codeBlock = regexp.MustCompile("(?s)```python\n(.*?)```")

func TestExampleOfTheStatementWithPython(t *testing.T) {
	blocks := codeBlock.FindAllStringSubmatch(statement(false, 1), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d programs in the statement", len(blocks))
	}
	checkWithPython(t, []pythonTask{{ID: "example", Starter: blocks[0][1], Reference: blocks[1][1]}})
}
