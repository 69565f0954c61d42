package official

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cabra-run/tasks"
)

const (
	traversalRun = "function_traversal_cn=(25,25)_en=(5,5)" + sampling
	addFile      = "tasks/" + traversalRun + "/math_function/add_parameter.json"
)

// folder makes a folder of the given files and opens it.
func folder(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// record is a small but whole task record, changed by edit.
func record(t *testing.T, id string, edit func(r map[string]any)) string {
	t.Helper()
	r := map[string]any{"name": "math_function_add_parameter_" + id, "dag_id": id, "prompt": "Do it.",
		"starter_code":  "def a(val):\n    return b(val)\n\ndef b(val):\n    return val\n\ndef main(val):\n    return a(val)",
		"solution_code": "def a(val):\n    return b(val)\n\ndef b(val):\n    return 2 * val\n\ndef main(val):\n    return a(val)",
		"metadata":      map[string]any{}}
	if edit != nil {
		edit(r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func set(key string, value any) func(map[string]any) {
	return func(r map[string]any) { r[key] = value }
}

func readAll(t *testing.T, tree *Tree) []tasks.Task {
	t.Helper()
	var all []tasks.Task
	for task, err := range tree.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, task)
	}
	return all
}

func TestOddRecords(t *testing.T) {
	good := record(t, "good", nil)
	tests := []struct {
		name, record string
		notice       string // of the odd record; "" when it is fine
		files        int    // of its starter
	}{
		{"plain", record(t, "x", nil), "", 1},
		{"a map of files", record(t, "x", set("starter_code", map[string]string{"solution.py": "def b(val):\n    return val", "lib/more.py": "y"})), "", 2},
		{"no metadata", record(t, "x", func(r map[string]any) { delete(r, "metadata") }), "", 1},
		{"the same again", good, RepeatedTask, 0},
		{"no id", record(t, "", nil), UnusableTask, 0},
		{"an id that is a path", record(t, "../../x", nil), UnusableTask, 0},
		{"no prompt", record(t, "x", set("prompt", " \n")), UnusableTask, 0},
		{"no starter", record(t, "x", set("starter_code", "")), UnusableTask, 0},
		{"another file", record(t, "x", set("starter_code", map[string]string{"main.py": "x"})), UnusableTask, 0},
		{"a file outside", record(t, "x", set("starter_code", map[string]string{"solution.py": "x", "../x": "y"})), UnusableTask, 0},
		{"a file of the host", record(t, "x", set("starter_code", map[string]string{"solution.py": "x", "/etc/x": "y"})), UnusableTask, 0},
		{"nothing edited", record(t, "x", set("solution_code", "def a(val):\n    return b(val)\n\ndef b(val):\n    return val")), UnusableTask, 0},
		{"odd metadata", record(t, "x", set("metadata", "none")), UnusableTask, 0},
		{"an unknown rule", record(t, "x", set("metadata", map[string]any{"num_values": 1, "constraint_rules": []any{
			map[string]any{"var": "m", "rules": []any{map[string]any{"check_key": "all_functions", "template_key": "dance"}}}}})), UnusableTask, 0},
		{"too many values", record(t, "x", set("metadata", map[string]any{"num_values": 1 << 40})), UnusableTask, 0},
		{"endless guards", record(t, "x", set("starter_code",
			"def b(val):\n    if check(1, 9, 9, 1, num_steps=99999):\n        return 1\n"+
				strings.Repeat("def c(val):\n    if check(1, 9, 9, 1, num_steps=99999):\n        return 1\n", 20))), UnusableTask, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := folder(t, map[string]string{addFile: "[" + good + "," + tt.record + "]"})
			tree, err := OpenTree(t.Context(), root, TreeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			if tt.notice != "" {
				want[tt.notice] = 1
			}
			if got := counts(tree.Notices()); !reflect.DeepEqual(got, want) {
				t.Errorf("notices %v, want %v", tree.Notices(), want)
			}
			all := readAll(t, tree)
			if len(all) != tree.Len() || len(all) != 2-len(want) {
				t.Fatalf("%d tasks, Len %d", len(all), tree.Len())
			}
			if tt.notice == "" && len(all[1].Starter) != tt.files {
				t.Errorf("starter %v", all[1].Starter.Paths())
			}
			for i, task := range all {
				if !task.ID.Valid() || task.ID != tasks.CellID(task.Cell, i+1) || !slices.Contains(task.Check.Edited, "b") {
					t.Errorf("task %s edits %v", task.ID, task.Check.Edited)
				}
			}
		})
	}
}

func TestUnreadableTrees(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", map[string]string{"dag/x": ""}, "no folder \"tasks\""},
		{"no tasks", map[string]string{"tasks/readme": ""}, "no files of tasks"},
		{"not an array", map[string]string{addFile: "{}"}, "not a JSON array"},
		{"cut off", map[string]string{addFile: "[" + record(t, "x", nil)}, "does not end"},
		{"cut off in a record", map[string]string{addFile: "[" + record(t, "x", nil)[:50]}, "record 1"},
		{"a program that is a number", map[string]string{addFile: "[" + record(t, "x", set("starter_code", 7)) + "]"}, "record 1"},
	}
	for _, tt := range tests {
		_, err := OpenTree(t.Context(), folder(t, tt.files), TreeOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Runs of which we know nothing, two runs of one cell, and files that do not
// belong there.
func TestOddFiles(t *testing.T) {
	one := "[" + record(t, "x", nil) + "," + record(t, "y", nil) + "]"
	const old = "main_sweep_fair_cn=(25,25)_en=(5,5)" + sampling
	root := folder(t, map[string]string{
		addFile: one,
		"tasks/" + old + "/math_function/add_parameter.json":               one,
		"tasks/" + traversalRun + "/math_function/dance.json":              one,
		"tasks/" + traversalRun + "/repository/add_parameter.json":         one,
		"tasks/" + traversalRun + "/math_function/notes.txt":               "x",
		"tasks/my_run/string_function/cache_function.json":                 one,
		"tasks/" + traversalRun + "/array_constraints/cache_function.json": one, // a set of another axis
		"tasks/readme.md": "x",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(root.Name(), "tasks", traversalRun, "math_function", "dead_code.json")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "tasks", traversalRun, "math_function", "cache_function.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := OpenTree(t.Context(), root, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{ForeignFile: 6, UnknownRun: 2}; !reflect.DeepEqual(counts(tree.Notices()), want) {
		t.Errorf("notices %v, want %v", tree.Notices(), want)
	}
	seen := map[tasks.ID]bool{}
	for _, task := range readAll(t, tree) {
		if seen[task.ID] || !task.ID.Valid() {
			t.Errorf("id %q again, or not valid", task.ID)
		}
		seen[task.ID] = true
	}
	if len(seen) != 8 || !seen["traversal/add-parameter/math/n005/01"] || !seen["traversal/add-parameter/math/n005/02"] {
		t.Errorf("ids %v", seen)
	}
	keys := tree.Keys()
	if id := keys[Key{Run: "my_run", Set: "string_function", Type: "cache_function", DagID: "y"}]; !strings.HasPrefix(string(id), "official/cache-function/string/run-") {
		t.Errorf("id %q of an unknown run", id)
	}
	part := tree.Only(func(id tasks.ID) bool { return id == "traversal/add-parameter/math/n005/02" })
	if all := readAll(t, part); len(all) != 1 || part.Len() != 1 || all[0].SampleID != "y" || tree.Len() != 8 {
		t.Errorf("part %v of %d", all, tree.Len())
	}
}

// The graph order comes from dag.json, in either spelling, and only where it is
// that of the program.
func TestGraphOrder(t *testing.T) {
	starter := "def a(val):\n    return 1\n\ndef b(val):\n    return 2\n\ndef c(val):\n    return 3"
	solution := strings.ReplaceAll(starter, "return", "return -")
	one := "[" + record(t, "x", func(r map[string]any) { r["starter_code"], r["solution_code"] = starter, solution }) + "]"
	tests := []struct {
		name, dag string
		want      []string
	}{
		{"edges", `{"add_parameter_dags": [{"nodes": [{"id": "c"}, {"id": "a"}, {"id": "b"}], "edges": [{"source": "c", "target": "a"}]}]}`, []string{"c", "a", "b"}},
		{"links", `{"add_parameter_dags": [{"nodes": [{"id": "b"}, {"id": "c"}, {"id": "a"}], "links": [{"source": "c", "target": "a"}]}]}`, []string{"b", "c", "a"}},
		{"an edge to nowhere", `{"add_parameter_dags": [{"nodes": [{"id": "b"}, {"id": "c"}, {"id": "a"}], "links": [{"source": "c", "target": "z"}]}]}`, []string{"a", "b", "c"}},
		{"another program's", `{"add_parameter_dags": [{"nodes": [{"id": "c"}, {"id": "z"}]}]}`, []string{"a", "b", "c"}},
		{"none", `{}`, []string{"a", "b", "c"}},
		{"not JSON", `{`, []string{"a", "b", "c"}},
	}
	for _, tt := range tests {
		root := folder(t, map[string]string{addFile: one, "dag/" + traversalRun + "/x/dag.json": tt.dag})
		tree, err := OpenTree(t.Context(), root, TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if all := readAll(t, tree); len(all) != 1 || !slices.Equal(all[0].Check.Edited, tt.want) {
			t.Errorf("%s: edited %v, want %v", tt.name, all[0].Check.Edited, tt.want)
		}
	}
}

func TestChangedFile(t *testing.T) {
	root := folder(t, map[string]string{addFile: "[" + record(t, "x", nil) + "]"})
	tree, err := OpenTree(t.Context(), root, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile(addFile, []byte("["+record(t, "z", nil)+"]"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range tree.Tasks(t.Context()) {
		if err == nil || !strings.Contains(err.Error(), "has changed") {
			t.Errorf("error %v", err)
		}
	}
}

// Instances that the generator does not know get the numbers that are left.
func TestNumbers(t *testing.T) {
	f := file{key: Key{Set: "math_function"}, entries: []entry{
		{dagID: "c"}, {dagID: "d", instance: 2}, {dagID: "a"}, {dagID: "b", instance: 2}, {dagID: "e", instance: 5}}}
	f.number()
	got := map[string]int{}
	for _, e := range f.entries {
		got[e.dagID] = e.instance
	}
	if want := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}; !reflect.DeepEqual(got, want) {
		t.Errorf("instances %v, want %v", got, want)
	}
}

// The running branch is the one that the function check would choose.
func TestLiveBranches(t *testing.T) {
	text := func(name, guard string) string {
		return "def " + name + "(val: float) -> float:\n    if check(" + guard + "):\n        return 1\n    else:\n        return 2\n\n"
	}
	// The guards that the benchmark's description gives.
	programText := text("a", "32, 3, 9, 1, num_steps=5") + text("b", "73, 7, 1, 1, num_steps=5") +
		text("n", "52, 9, 9, 1, num_steps=5") + "def main(val):\n    return a(val)\n"
	live, err := liveBranches(functionsOf(programText))
	if want := map[string]bool{"a": true, "b": false, "n": false}; err != nil || !reflect.DeepEqual(live, want) {
		t.Errorf("live %v %v, want %v", live, err, want)
	}
	live, err = liveBranches(functionsOf(text("a", "32, 3, 9, 0, num_steps=200") + text("b", "73, 7, 1, 1, num_steps=200")))
	if want := map[string]bool{"a": true, "b": false}; err != nil || !reflect.DeepEqual(live, want) {
		t.Errorf("live %v %v, want %v", live, err, want)
	}
	if live, err = liveBranches(functionsOf(programText + "def p(val):\n    return 1\n")); live != nil || err != nil {
		t.Errorf("live %v %v of a program without guards everywhere", live, err)
	}
}

// Whatever a file of tasks holds, there are tasks, notices or an error.
func FuzzTaskFile(f *testing.F) {
	f.Add(`[{"dag_id": "a", "prompt": "p", "starter_code": "def a(v):\n    return v", "solution_code": "def a(v):\n    return 1"}]`, false)
	f.Add(`[{"input": "x", "input_with_space": "y", "solution": "z", "prompt": "p", "allowed_transformations": []}]`, true)
	f.Fuzz(func(t *testing.T, text string, merged bool) {
		dir := t.TempDir()
		name := filepath.Join(dir, filepath.FromSlash(addFile))
		if merged {
			name = filepath.Join(dir, "tasks", "merge_codebases_n=5_d=1_p=10_b=2_seed=42_tf=0.json")
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		tree, err := OpenTree(t.Context(), root, TreeOptions{})
		if err != nil {
			return
		}
		seen := map[tasks.ID]bool{}
		for task, err := range tree.Tasks(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if !task.ID.Valid() || seen[task.ID] || task.Statement == "" || len(task.Starter) == 0 {
				t.Errorf("task %q", task.ID)
			}
			seen[task.ID] = true
		}
	})
}
