package tasks

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func mustParse(t *testing.T, text string) Grid {
	t.Helper()
	g, err := ParseGrid(text)
	if err != nil {
		t.Fatalf("ParseGrid(%q): %v", text, err)
	}
	return g
}

func TestParseGridSizesAndNames(t *testing.T) {
	for _, c := range []struct {
		text, name string
		tasks      int
	}{
		// 6 sizes x 5 refactorings x 3 code types x 20 instances on each axis
		{"traversal", "traversal", 1800},
		{" search ", "search", 1800},
		{"runtime", "runtime", 1800},
		{"instructions", "instructions", 1440}, // without dead code
		{"full", "full", 6840},
		{"combined", "combined", 1800},
		{"merge", "merge", 6 * 50},
		{"controls", "controls", 6*4*3*20 + 6*20},
		{"sandbox-rerun", "sandbox-rerun", 6*(5+5+5+4)*20 + 6*20},
		{"merge-transforms", "merge-transforms", 2 * (1 + 1 + 5 + 5) * 50},
		{"merge-differences", "merge-differences", 3 * 50},
		{"merge-hint", "merge-hint", 6 * 50},
		{"full,combined", "full,combined", 8640},
		{"traversal,full", "traversal,full", 6840},
		{"search,traversal", "traversal,search", 3600},
		{"traversal, search, traversal", "traversal,search", 3600},
		{"smoke", "smoke", 30},
		{"axis=traversal,search", "axis=traversal,search", 3600},
		{"axis=instructions,runtime,search,traversal", "axis=traversal,search,runtime,instructions", 6840},
		{"size=5..200", "axis=traversal,search,runtime,instructions", 6840},
		{"axis=combined; size=5", "axis=combined; size=5", 300},
		{"axis=merge", "axis=merge", 300},
		{"axis=merge; instances=20", "axis=merge; instances=20", 120},
		{"axis=merge; instances=41..50; size=5", "axis=merge; size=5; instances=41..50", 10},
		{"instances=30; axis=merge,search; task=dead-code,add-return,add-parameter,cache-function,dont-repeat",
			"axis=search,merge; instances=30", 1800 + 6*30},
		{"axis=merge,search; code=math", "axis=search,merge; code=math", 600},
		{"axis=merge; variant=hint,no-transforms", "axis=merge; variant=no-transforms,hint", (2 + 6) * 50},
		{"axis=rename,comment-copy; size=25", "axis=comment-copy,rename; size=25", 13 * 20},
		{"task=dead-code", "task=dead-code", 3 * 6 * 3 * 20},
		{"axis=search,traversal; size=5..50; code=math; task=add-parameter; instances=5",
			"axis=traversal,search; size=5..50; code=math; task=add-parameter; instances=5", 2 * 4 * 5},
		{"size=5; instances=1", "size=5; instances=1", 57},
		{"refactoring = dont-repeat , dead-code;size = 25 , 5;", "size=5,25; task=dead-code,dont-repeat",
			2 * (4 + 3) * 3 * 20},
		{"size=5..25,200", "size=5,10,25,200", 4 * 57 * 20},
		{"instances=3..7;axis=search;size=100;code=string;task=add-return",
			"axis=search; size=100; code=string; task=add-return; instances=3..7", 5},
		{"size=10; instances=1..4", "size=10; instances=4", 57 * 4},
		{"size=5,10,5..5; instances=20", "size=5,10", 2 * 57 * 20},
		{"traversal/add-parameter/math/n050/07", "traversal/add-parameter/math/n050/07", 1},
		{"merge/n050/50", "merge/n050/50", 1},
		{"merge/hint/n200/07,rename/n005/20,merge/n200/07",
			"merge/n200/07,merge/hint/n200/07,rename/n005/20", 3},
		{"comment-copy/add-parameter/math/n025/01", "comment-copy/add-parameter/math/n025/01", 1},
		{"combined/dead-code/math/n025/01,instructions", "instructions,combined/dead-code/math/n025/01", 1441},
		{"search/dead-code/array/n005/02, traversal/dont-repeat/string/n200/20,search/dead-code/array/n005/01",
			"traversal/dont-repeat/string/n200/20,search/dead-code/array/n005/01,search/dead-code/array/n005/02", 3},
		{"traversal/add-parameter/math/n050/07,traversal", "traversal", 1800},
		{"search/add-return/math/n005/01,traversal", "traversal,search/add-return/math/n005/01", 1801},
	} {
		g := mustParse(t, c.text)
		if g.Name != c.name || g.Len() != c.tasks {
			t.Errorf("ParseGrid(%q) = %q with %d tasks, want %q with %d", c.text, g.Name, g.Len(), c.name,
				c.tasks)
		}
		checkGrid(t, g)
	}
}

// checkGrid asserts what every grid promises: its name parses back to it, its
// ids are distinct and valid, and its cells are ordered.
func checkGrid(t *testing.T, g Grid) {
	t.Helper()
	again, err := ParseGrid(g.Name)
	if err != nil || !reflect.DeepEqual(again, g) {
		t.Errorf("the name %q parses to another grid: %v", g.Name, err)
	}
	ids := g.IDs()
	if len(ids) != g.Len() || len(ids) == 0 {
		t.Errorf("%q: %d ids, Len %d", g.Name, len(ids), g.Len())
	}
	seen := map[ID]bool{}
	for _, id := range ids {
		c, k, err := ParseID(id)
		if err != nil || CellID(c, k) != id || seen[id] || !id.Valid() {
			t.Errorf("%q: id %q is wrong or there twice: %v", g.Name, id, err)
		}
		seen[id] = true
	}
	if !slices.IsSortedFunc(g.Cells, newCellOrder().compare) {
		t.Errorf("%q: cells are out of order", g.Name)
	}
}

func TestGridOrderIsAxisSizeTaskCodeInstance(t *testing.T) {
	g := mustParse(t, "size=5,10; task=dead-code,add-return; code=math,array; instances=2..3; axis=search")
	want := []ID{
		"search/dead-code/math/n005/02", "search/dead-code/math/n005/03",
		"search/dead-code/array/n005/02", "search/dead-code/array/n005/03",
		"search/add-return/math/n005/02", "search/add-return/math/n005/03",
		"search/add-return/array/n005/02", "search/add-return/array/n005/03",
		"search/dead-code/math/n010/02", "search/dead-code/math/n010/03",
		"search/dead-code/array/n010/02", "search/dead-code/array/n010/03",
		"search/add-return/math/n010/02", "search/add-return/math/n010/03",
		"search/add-return/array/n010/02", "search/add-return/array/n010/03",
	}
	if got := g.IDs(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestGridWithMixedInstances(t *testing.T) {
	g := mustParse(t,
		"search/dead-code/math/n005/02,search/dead-code/math/n005/01,search/add-return/math/n005/01")
	if g.Len() != 3 || !reflect.DeepEqual(g.Only, [][]int{{1, 2}, {1}}) {
		t.Errorf("got %+v", g)
	}
	g = mustParse(t, "search/dead-code/math/n005/02,search/dead-code/math/n005/01")
	if g.Only != nil || g.Instances != 2 || len(g.Cells) != 1 {
		t.Errorf("got %+v", g)
	}
}

func TestSmokeTouchesEverything(t *testing.T) {
	g := mustParse(t, "smoke")
	type pair struct{ a, b any }
	seen := map[pair]int{}
	for _, c := range g.Cells {
		for _, p := range []pair{{c.Axis, c.Size}, {c.Refactoring, c.Code}, {c.Axis, c.Refactoring},
			{c.Refactoring, c.Size}, {c.Code, c.Size}, {c.Axis, c.Code}} {
			seen[p]++
		}
	}
	// 2 axes x 2 sizes, 5 x 3, 2 x 5, 5 x 2, 3 x 2, 2 x 3
	if want := 4 + 15 + 10 + 10 + 6 + 6; len(seen) != want {
		t.Errorf("%d pairs of words, want %d", len(seen), want)
	}
}

func TestPresetsAreWhatTheirNamesParseTo(t *testing.T) {
	for _, p := range Presets() {
		if g := mustParse(t, p.Name); !reflect.DeepEqual(g, p.Grid) || g.Name != p.Name {
			t.Errorf("preset %q is not what its name parses to", p.Name)
		}
		if p.Description == "" || strings.Contains(p.Description, "\n") {
			t.Errorf("preset %q: the description is not one line", p.Name)
		}
	}
}

func TestGridErrorsSayWhatExists(t *testing.T) {
	const presets = "(there is: traversal, search, runtime, instructions, full, combined, merge, merge-transforms, " +
		"merge-differences, merge-hint, controls, sandbox-rerun, smoke)"
	const axes = "(there is: traversal, search, runtime, instructions, combined, merge, comment-copy, rename)"
	for _, c := range []struct{ text, want string }{
		{"", `no grid given ` + presets},
		{"serch", `unknown grid "serch": did you mean search? ` + presets},
		{"function_traversal", `unknown grid "function_traversal": did you mean traversal? ` + presets},
		{"Traversal", `did you mean traversal?`},
		{"traversal,", `no grid given`},
		{"runtime_resolution", `did you mean runtime?`},
		{"axis=serach", `unknown axis "serach": did you mean search? ` + axes},
		{"axis=", `no axis given ` + axes},
		{"size=7", `unknown size "7" (there is: 5, 10, 25, 50, 100, 200)`},
		{"size=5..60", `unknown size "60" (there is: 5, 10, 25, 50, 100, 200)`},
		{"size=50..5", `cannot use size range "50..5" (the smaller size comes first)`},
		{"size=-5", `unknown size "-5"`},
		{"size=5..", `no size given`},
		{"size=+5", `unknown size "+5"`},
		{"code=maths", `unknown code "maths": did you mean math? (there is: math, string, array)`},
		{"task=add_parameter",
			`did you mean add-parameter? (there is: dead-code, add-parameter, add-return, cache-function, dont-repeat)`},
		{"task=cache", `did you mean cache-function?`},
		{"variant=hit", `unknown variant "hit": did you mean hint?`},
		{"instances=0", `cannot use instances "0" (a number from 1 to 20, or a range like 3..7)`},
		{"instances=21", `cannot use instances "21" (a number from 1 to 20, or a range like 3..7)`},
		{"instances=51; axis=merge,search", `cannot use instances "51" (a number from 1 to 50, or a range like 3..7)`},
		{"instances=7..3", `cannot use instances "7..3"`},
		{"instances=all", `cannot use instances "all"`},
		{"sizes=5", `unknown key "sizes": did you mean size? (there is: axis, size, code, task, variant, instances)`},
		{"=5", `no key given (there is: axis, size, code, task, variant, instances)`},
		{"size=5; search", `cannot use condition "search" (a condition is key=values)`},
		{"size=5; size=10", `cannot use condition "size=10" (give each key once)`},
		{"task=dead-code; refactoring=add-return", `give each key once`},
		{"axis=instructions; task=dead-code",
			`cannot use grid "axis=instructions; task=dead-code" (these conditions select no task)`},
		{"axis=merge; code=math", `(these conditions select no task)`},
		{"axis=search; variant=hint", `(these conditions select no task)`},
		{"axis=merge; variant=no-transforms; size=5", `(these conditions select no task)`},
		{"axis=rename; instances=20..50", `cannot use instances "20..50" (a number from 1 to 20`},
		{"traversal/add-parameter/math/n050",
			`cannot use task id "traversal/add-parameter/math/n050" (a task id looks like traversal/add-parameter/math/n050/07`},
		{"traversal/add-parameter/math/n050/7", `did you mean traversal/add-parameter/math/n050/07?`},
		{"traversal/add-parameter/math/n050/21", `(instances in ids run from 01 to 20)`},
		{"traversal/add-parameter/math/50/01",
			`unknown size in a task id "50" (there is: n005, n010, n025, n050, n100, n200)`},
		{"instructions/dead-code/math/n050/01",
			`unknown task "dead-code" (there is: add-parameter, add-return, cache-function, dont-repeat)`},
		{"merge/n050", `(a task id looks like traversal/`},
		{"merge/math/n050/01", `unknown variant "math" (there is: no-transforms, `},
		{"merge/hint/x/n050/01", `(a task id looks like merge/n050/07)`},
		{"merge/no-transforms/n005/01", `unknown size in a task id "n005" (there is: n050, n200)`},
		{"merge/n050/51", `(instances in ids run from 01 to 50)`},
		{"rename/add-parameter/math/n050/01", `(a task id looks like rename/n050/07)`},
		{"depth/n050/01", `unknown axis "depth" ` + axes},
	} {
		g, err := ParseGrid(c.text)
		var ge *GridError
		if !errors.As(err, &ge) {
			t.Errorf("ParseGrid(%q): %d tasks, %v, want a *GridError", c.text, g.Len(), err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseGrid(%q): %q\nwant %q", c.text, err, c.want)
		}
	}
}

func TestGridErrorStaysShort(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 100_000), strings.Repeat("é", 2_000_000), "axis=" + strings.Repeat("é/", 5000),
		strings.Repeat("a/", 5000), "traversal/add-parameter/math/n050/" + strings.Repeat("0", 9999)} {
		if _, err := ParseGrid(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("error for %d bytes of text: %v", len(text), err)
		}
	}
}

func TestParseID(t *testing.T) {
	c, k, err := ParseID("search/cache-function/string/n100/13")
	want := Cell{Axis: Search, Size: 100, Refactoring: CacheFunction, Code: String}
	if err != nil || c != want || k != 13 {
		t.Errorf("got %+v %d %v", c, k, err)
	}
	for _, id := range []ID{"", "/", "search/cache-function/string/n100/00", "search/cache-function/string/n100/13/",
		"search/cache-function/string/n0100/13", "search/cache-function/string/n100/013",
		"search//string/n100/13",
		"Search/cache-function/string/n100/13", "merge//n050/07", "merge/hint/hint/n050/07", "merge",
		"instructions/dead-code/math/n005/01", "rename/n005/21", "search/cache-function/string/n100/-1",
		"search/cache-function/string/n007/13"} {
		if c, k, err := ParseID(id); err == nil {
			t.Errorf("ParseID(%q) = %+v, %d", id, c, k)
		}
	}
}

func FuzzParseGrid(f *testing.F) {
	for _, s := range []string{"traversal", "search,smoke", "axis=search; size=5..50,200; code=math; task=add-return; instances=3..7",
		"traversal/add-parameter/math/n050/07,smoke", "refactoring=dead-code;", ";=;", "full", "size=5,,10",
		"\x00="} {
		f.Add(s)
	}
	for _, s := range []string{"axis=merge; variant=hint; instances=50", "merge/hint/n050/07,controls"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGrid(text)
		if err != nil {
			var ge *GridError
			if !errors.As(err, &ge) || !reflect.DeepEqual(g, Grid{}) {
				t.Fatalf("ParseGrid(%q) = %+v, %v", text, g, err)
			}
			return
		}
		checkGrid(t, g)
	})
}

// The ids of the families outside of the four axes.
func TestIDsLeaveOutWhatACellHasNot(t *testing.T) {
	for id, want := range map[ID]Cell{
		"merge/n050/07":      {Axis: Merge, Size: 50},
		"merge/hint/n005/07": {Axis: Merge, Size: 5, Variant: "hint"},
		"comment-copy/add-parameter/math/n025/07": {Axis: CommentCopy, Size: 25, Refactoring: AddParameter,
			Code: Math},
		"rename/n100/07": {Axis: Rename, Size: 100},
	} {
		c, k, err := ParseID(id)
		if err != nil || c != want || k != 7 || CellID(want, 7) != id {
			t.Errorf("%s: got %+v %d %v", id, c, k, err)
		}
	}
}

// The parts of a grid, axis after axis, are the grid.
func TestGridOf(t *testing.T) {
	g := mustParse(t, "full,merge,controls,merge/hint/n005/03")
	var ids []ID
	for _, a := range AllAxes() {
		part := g.Of(a)
		if len(part.IDs()) != part.Len() {
			t.Errorf("%s: %d ids, Len %d", a, len(part.IDs()), part.Len())
		}
		ids = append(ids, part.IDs()...)
	}
	if !slices.Equal(ids, g.IDs()) || len(ids) != 6840+300+1560+1 {
		t.Errorf("%d ids of %d", len(ids), g.Len())
	}
	if some := g.Of(Rename, Merge); some.Len() != 300+1+120 || some.Cells[0].Axis != Merge {
		t.Errorf("%d tasks", some.Len())
	}
	if none := g.Of(Combined); none.Len() != 0 || none.Of().Len() != 0 {
		t.Errorf("%d tasks", none.Len())
	}
}

// 19 math cells of six sizes and merge; nothing else.
func TestSandboxRerun(t *testing.T) {
	cells := map[Axis]int{}
	for _, c := range mustParse(t, "sandbox-rerun").Cells {
		cells[c.Axis]++
		if c.Code != Math && c.Axis != Merge || c.Variant != "" {
			t.Errorf("cell %+v", c)
		}
	}
	want := map[Axis]int{Traversal: 30, Search: 30, Runtime: 30, Instructions: 24, Merge: 6}
	if !reflect.DeepEqual(cells, want) {
		t.Errorf("got %v, want %v", cells, want)
	}
}
