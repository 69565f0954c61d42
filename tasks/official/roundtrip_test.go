package official_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/merge"
	"cabra-run/tasks/official"
	"cabra-run/tasks/refactor"
)

const seed = refactor.DefaultSeed

// source is all that has an official form.
func source(grid tasks.Grid) (tasks.Source, error) {
	programs, err := refactor.NewSource(grid.Of(append(tasks.Axes(), tasks.Combined)...), refactor.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	merging, err := merge.NewSource(grid.Of(tasks.Merge), merge.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	comments, err := refactor.NewSource(grid.Of(tasks.CommentCopy), refactor.Options{Seed: seed})
	return tasks.Join(programs, merging, comments), err
}

// own yields the generator's tasks of a cell.
func own(c tasks.Cell) (tasks.Source, error) {
	if _, _, err := tasks.ParseID(tasks.CellID(c, 1)); err != nil {
		return nil, nil
	}
	return source(tasks.Grid{Cells: []tasks.Cell{c}, Instances: tasks.InstancesOfAxis(c.Axis)})
}

func gridSource(t *testing.T, text string) tasks.Source {
	t.Helper()
	grid, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source(grid)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// write writes a grid's tasks into a new folder.
func write(t *testing.T, text string, o official.WriteOptions) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root := openRoot(t, dir)
	src := gridSource(t, text)
	o.Seed = seed
	n, err := official.Write(t.Context(), root, src, o)
	if err != nil {
		t.Fatal(err)
	}
	if n.Tasks != src.Len() {
		t.Errorf("%d tasks written, want %d", n.Tasks, src.Len())
	}
	return root, dir
}

func openTree(t *testing.T, root *os.Root, o official.TreeOptions) *official.Tree {
	t.Helper()
	tree, err := official.OpenTree(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func digests(t *testing.T, src tasks.Source) [2]string {
	t.Helper()
	set, statements, err := tasks.SetDigest(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{set, statements}
}

func collect(t *testing.T, src tasks.Source) []tasks.Task {
	t.Helper()
	var all []tasks.Task
	for task, err := range src.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, task)
	}
	if len(all) != src.Len() {
		t.Errorf("%d tasks, Len says %d", len(all), src.Len())
	}
	return all
}

// What we write is read as what it was.
func TestRoundTrip(t *testing.T) {
	for _, text := range []string{
		"smoke",
		"axis=traversal; size=5; code=string; task=add-parameter",
		"axis=runtime; size=200; code=math,array; instances=2",
		"axis=instructions; size=200; code=string; instances=2",
		"axis=combined; size=10; code=array; instances=3",
		"axis=comment-copy; size=10; instances=1",
		"axis=merge; size=5,25; instances=3",
		"merge/only-reorder/n050/02", "merge/without-multi-lines/n050/07", "merge/no-transforms/n050/01",
		"merge/differences-3/n050/02", "merge/hint/n010/04",
	} {
		t.Run(text, func(t *testing.T) {
			root, _ := write(t, text, official.WriteOptions{NoTestCases: true})
			tree := openTree(t, root, official.TreeOptions{Own: own})
			if n := tree.Notices(); len(n) != 0 {
				t.Errorf("notices %v", n)
			}
			src := gridSource(t, text)
			if got, want := digests(t, tree), digests(t, src); got != want {
				t.Errorf("digests %v, want %v", got, want)
			}
			keys := tree.Keys()
			for _, task := range collect(t, src) {
				if task.Cell.Axis == tasks.Merge && !strings.HasPrefix(text, "axis=") {
					continue // a file without the instances before it
				}
				if k, ok := official.KeyOf(&task); !ok || keys[k] != task.ID {
					t.Errorf("%s: key %v is that of %q", task.ID, k, keys[k])
				}
			}
		})
	}
}

// Without the generator the check comes out of the files: it differs in what
// official files do not hold, and in nothing else.
func TestDerivedChecks(t *testing.T) {
	for _, text := range []string{
		"axis=search; size=5; instances=2", "axis=runtime; size=10; instances=2",
		"axis=instructions; size=25; instances=2", "axis=comment-copy; size=5; instances=2",
		"axis=merge; size=10; instances=3", "merge/differences-3/n050/02",
	} {
		t.Run(text, func(t *testing.T) {
			root, _ := write(t, text, official.WriteOptions{NoTestCases: true})
			want := map[string]tasks.Task{}
			for _, task := range collect(t, gridSource(t, text)) {
				want[task.Starter[tasks.SolutionFile]+string(task.Cell.Refactoring)] = task
			}
			tree := openTree(t, root, official.TreeOptions{})
			for _, got := range collect(t, tree) {
				w := want[got.Starter[tasks.SolutionFile]+string(got.Cell.Refactoring)]
				if got.Cell != w.Cell || !got.Reference.Equal(w.Reference) || got.Statement != w.Statement {
					t.Fatalf("%s: cell %v, want %v; or other texts", got.ID, got.Cell, w.Cell)
				}
				compareChecks(t, got, w)
			}
		})
	}
}

// compareChecks compares all but what official files do not say.
func compareChecks(t *testing.T, got, want tasks.Task) {
	t.Helper()
	g, w := got.Check, want.Check
	byValue := func(rules []tasks.Rule) []tasks.Rule {
		rules = slices.Clone(rules)
		for i := range rules {
			rules[i].Phrasing = 0
		}
		slices.SortStableFunc(rules, func(a, b tasks.Rule) int { return a.Value - b.Value })
		return rules
	}
	if !reflect.DeepEqual(byValue(g.Rules), byValue(w.Rules)) {
		t.Errorf("%s: rules %+v, want %+v", got.ID, g.Rules, w.Rules)
	}
	g.Rules, w.Rules = nil, nil
	if g.Merge != nil && w.Merge != nil {
		g.Merge.Seed = w.Merge.Seed
		for i := range g.Merge.Differences {
			g.Merge.Differences[i].Kind = w.Merge.Differences[i].Kind
		}
		if len(g.Merge.Vectors) != 50 || !slices.Equal(g.Merge.Vectors[0], w.Merge.Vectors[0]) {
			t.Errorf("%s: vectors %v", got.ID, g.Merge.Vectors)
		}
		g.Merge.Vectors, w.Merge.Vectors = nil, nil
	}
	if !reflect.DeepEqual(g, w) {
		a, _ := json.Marshal(g)
		b, _ := json.Marshal(w)
		t.Errorf("%s:\ncheck %s\nwant  %s", got.ID, a, b)
	}
}

// The tree has the published names and the published order.
func TestTreeOfFiles(t *testing.T) {
	root, dir := write(t, "axis=traversal; size=5; code=math; task=add-parameter; instances=3", official.WriteOptions{})
	const run = "function_traversal_cn=(25,25)_en=(5,5)_prop=(0.45,0.55)_psame=(0.9,0.9)_ce=(0.3,0.3)_ee=(0.3,0.3)_attach=(0.3,0.3)_centry=(1,1)_eentry=(1,1)"
	var files []string
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const first = "1b66b5a9-e3c4-3657-1d8c-bbac43b409ef" // of the spec's vectors
	for _, want := range []string{
		"dag/" + run + "/" + first + "/dag.json",
		"tasks/" + run + "/math_function/add_parameter.json",
		"test_cases/" + run + "/math_function/add_parameter.json",
	} {
		if !slices.Contains(files, want) {
			t.Errorf("no file %s", want)
		}
	}
	if len(files) != 5 {
		t.Errorf("files %v, want three dag.json and two others", files)
	}
	text, err := os.ReadFile(filepath.Join(dir, "tasks", run, "math_function", "add_parameter.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []struct {
		Name  string `json:"name"`
		DagID string `json:"dag_id"`
	}
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(records, func(a, b struct {
		Name  string `json:"name"`
		DagID string `json:"dag_id"`
	}) int {
		return strings.Compare(a.DagID, b.DagID)
	}) {
		t.Errorf("records %v are not in the order of dag_id", records)
	}
	for _, r := range records {
		if r.Name != "math_function_add_parameter_"+r.DagID {
			t.Errorf("name %q of %q", r.Name, r.DagID)
		}
	}
	if bytes.ContainsFunc(text, func(r rune) bool { return r > 126 }) {
		t.Error("the file is not ASCII only")
	}
}

// A failure leaves no file that is not whole.
func TestWriteFailure(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := official.Write(ctx, root, gridSource(t, "smoke"), official.WriteOptions{Seed: seed}); err == nil {
		t.Error("no error of a cancelled context")
	}
	if _, err := official.Write(t.Context(), root, gridSource(t, "smoke"), official.WriteOptions{Seed: 7}); err == nil ||
		!strings.Contains(err.Error(), "not of seed 7") {
		t.Errorf("error %v, want one of the seed", err)
	}
	if _, err := official.Write(t.Context(), root, gridSource(t, "merge/n005/01"), official.WriteOptions{Seed: 7}); err == nil ||
		!strings.Contains(err.Error(), "seed 7") {
		t.Errorf("error %v, want one of the seed in the names of merge runs", err)
	}
	err := fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".unfinished") {
			t.Errorf("%s was left", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnwritable(t *testing.T) {
	grid, err := tasks.ParseGrid("controls")
	if err != nil {
		t.Fatal(err)
	}
	if got := official.Unwritable(grid); !slices.Equal(got, []tasks.Axis{tasks.Rename}) {
		t.Errorf("unwritable %v, want rename alone", got)
	}
}
