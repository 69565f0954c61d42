package controls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/program"
)

func gridTasks(t *testing.T, text string, o Options) []tasks.Task {
	t.Helper()
	g, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := NewSource(g.Of(tasks.Rename), o)
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
	if len(list) != src.Len() {
		t.Fatalf("%d tasks, Len %d", len(list), src.Len())
	}
	return list
}

// pythonTask is what testdata/check.py reads.
type pythonTask struct {
	ID        tasks.ID `json:"id"`
	Size      int      `json:"size"` // 0 for a worked example
	Statement string   `json:"statement"`
	Starter   string   `json:"starter"`
	Reference string   `json:"reference"`
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
	cmd := exec.CommandContext(t.Context(), python, "-B", "-X", "utf8", "testdata/check.py")
	cmd.Stdin, cmd.Stderr = &input, &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("check.py: %v\n%s", err, stderr.String())
	}
	return string(output)
}

func pythonTasks(list []tasks.Task) (out []pythonTask) {
	for _, task := range list {
		out = append(out, pythonTask{task.ID, task.Cell.Size, task.Statement, task.Starter[tasks.SolutionFile],
			task.Reference[tasks.SolutionFile]})
	}
	return out
}

func TestTasksWithPython(t *testing.T) {
	list := gridTasks(t, "axis=rename; size=200", Options{Seed: 42})
	list = append(list, gridTasks(t, "axis=rename; size=5..100; instances=4", Options{Seed: 42})...)
	for _, o := range []Options{{Seed: -1}, {Seed: 1 << 60}, {Seed: 42, Decorrelate: true}} {
		list = append(list, gridTasks(t, "axis=rename; size=5,200; instances=2", o)...)
	}
	if got, want := pythonFindings(t, pythonTasks(list)), fmt.Sprintf("checked %d\n", len(list)); got != want {
		t.Errorf("want %q, got\n%s", want, got)
	}
}

// What the checks with Python are worth: mistakes that they must see.
func TestPythonSeesMistakes(t *testing.T) {
	good := pythonTasks(gridTasks(t, "rename/n005/01", Options{Seed: 42}))[0]
	line := regexp.MustCompile(`(?m)^\* .*\n`).FindString(good.Statement)
	for want, change := range map[string]func(*pythonTask){
		"not the renamed starter": func(p *pythonTask) { p.Reference = p.Starter },
		"4 renamings":             func(p *pythonTask) { p.Statement = strings.Replace(p.Statement, line, "", 1) },
		"steps from": func(p *pythonTask) {
			p.Starter = strings.Replace(p.Starter, "    return", "    x = 1\n    return", 1)
		},
	} {
		bad := good
		change(&bad)
		if got := pythonFindings(t, []pythonTask{bad}); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", want, got)
		}
	}
}

func TestExampleOfTheStatementWithPython(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(statementText, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d programs in the statement", len(blocks))
	}
	got := pythonFindings(t, []pythonTask{{Statement: statementText, Starter: blocks[0][1], Reference: blocks[1][1]}})
	if got != "checked 1\n" {
		t.Error(got)
	}
}

func TestSizesOfAnInstanceAreNested(t *testing.T) {
	list := gridTasks(t, "axis=rename; instances=7..7", Options{Seed: 42})
	for i, task := range list {
		if n := len(task.Check.Renames); n != tasks.Sizes()[i] || task.Check.Kind != tasks.RenameKind {
			t.Errorf("%s: %d renames, kind %q", task.ID, n, task.Check.Kind)
		}
		if i == 0 {
			continue
		}
		before := list[i-1]
		if !task.Starter.Equal(before.Starter) || task.Reference.Equal(before.Reference) ||
			!slices.Equal(task.Check.Renames[:len(before.Check.Renames)], before.Check.Renames) {
			t.Errorf("%s does not go on from %s", task.ID, before.ID)
		}
	}
	other := gridTasks(t, "rename/n005/08", Options{Seed: 42})[0]
	apart := gridTasks(t, "axis=rename; instances=7..7", Options{Seed: 42, Decorrelate: true})
	if other.Starter.Equal(list[0].Starter) || apart[0].Starter.Equal(apart[1].Starter) {
		t.Error("instances or decorrelated cells share a program")
	}
}

// Names come from the first of the sequence a, b, …, in random order.
func TestNames(t *testing.T) {
	s := drawSheet(42, 1)
	names := slices.Concat(s.names, s.newNames)
	pool := program.SymbolicNames(401)
	if slices.Equal(names, pool) {
		t.Error("names are in order")
	}
	slices.Sort(names)
	slices.Sort(pool)
	if !slices.Equal(names, pool) {
		t.Errorf("names %v", names)
	}
}

func TestTaskOnItsOwn(t *testing.T) {
	all := gridTasks(t, "axis=rename; size=10; instances=5", Options{Seed: 3})
	alone := gridTasks(t, "rename/n010/04", Options{Seed: 3})
	if !reflect.DeepEqual(alone[0], all[3]) {
		t.Error("rename/n010/04 depends on the grid")
	}
}

func TestSourceRefuses(t *testing.T) {
	cell := tasks.Cell{Axis: tasks.Rename, Size: 5}
	for _, g := range []tasks.Grid{
		{Cells: []tasks.Cell{{Axis: tasks.CommentCopy, Size: 5}}, Instances: 1},
		{Cells: []tasks.Cell{{Axis: tasks.Rename, Size: 0}}, Instances: 1},
		{Cells: []tasks.Cell{{Axis: tasks.Rename, Size: 201}}, Instances: 1},
		{Cells: []tasks.Cell{{Axis: tasks.Rename, Size: 5, Code: tasks.Math}}, Instances: 1},
		{Cells: []tasks.Cell{{Axis: tasks.Rename, Size: 5, Variant: "hint"}}, Instances: 1},
		{Cells: []tasks.Cell{cell}, Instances: maxInstance + 1},
		{Cells: []tasks.Cell{cell}, Only: [][]int{{0}}},
	} {
		if _, err := NewSource(g, Options{Seed: 42}); err == nil {
			t.Errorf("%+v is no error", g.Cells)
		}
	}
}

func TestSourceStops(t *testing.T) {
	src, err := NewSource(tasks.Grid{Cells: []tasks.Cell{{Axis: tasks.Rename, Size: 5}}, Instances: 9}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range src.Tasks(ctx) {
		if n++; n == 2 {
			cancel()
		}
		if n == 3 && !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	}
	if n != 3 {
		t.Errorf("%d tasks", n)
	}
}

type presetDigest struct {
	Tasks      int    `json:"tasks"`
	Set        string `json:"set"`
	Statements string `json:"statements"`
}

// The digest at seed 42 is golden: whoever changes a task or the statement on
// purpose writes it anew with CABRA_UPDATE_GOLDEN=1 and says so.
func TestDigest(t *testing.T) {
	g, err := tasks.ParseGrid("axis=rename")
	if err != nil {
		t.Fatal(err)
	}
	src, err := NewSource(g, Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	if src.Len() != 6*20 {
		t.Errorf("%d tasks, want six sizes of twenty", src.Len())
	}
	set, statements, err := tasks.SetDigest(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]presetDigest{"rename": {src.Len(), set, statements}}
	file := filepath.Join("testdata", "digests.json")
	if os.Getenv("CABRA_UPDATE_GOLDEN") == "1" {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]presetDigest
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
