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
		{"search,traversal", "traversal,search", 3600},
		{"traversal, search, traversal", "traversal,search", 3600},
		{"smoke", "smoke", 30},
		{"axis=traversal,search", "axis=traversal,search", 3600},
		{"size=5..200", "axis=traversal,search", 3600},
		{"axis=search,traversal; size=5..50; code=math; task=add-parameter; instances=5",
			"size=5..50; code=math; task=add-parameter; instances=5", 2 * 4 * 5},
		{"axis=traversal,search; size=5; instances=1", "size=5; instances=1", 30},
		{"refactoring = dont-repeat , dead-code;size = 25 , 5;", "size=5,25; task=dead-code,dont-repeat",
			2 * 2 * 3 * 2 * 20},
		{"size=5..25,200", "size=5,10,25,200", 2 * 4 * 15 * 20},
		{"instances=3..7;axis=search;size=100;code=string;task=add-return",
			"axis=search; size=100; code=string; task=add-return; instances=3..7", 5},
		{"size=10; instances=1..4", "size=10; instances=4", 120},
		{"size=5,10,5..5; instances=20", "size=5,10", 2 * 2 * 15 * 20},
		{"traversal/add-parameter/math/n050/07", "traversal/add-parameter/math/n050/07", 1},
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
	if !slices.IsSortedFunc(g.Cells, compareCells) {
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
	for _, c := range []struct{ text, want string }{
		{"", `no grid given (there is: traversal, search, smoke)`},
		{"serch", `unknown grid "serch": did you mean search? (there is: traversal, search, smoke)`},
		{"function_traversal",
			`unknown grid "function_traversal": did you mean traversal? (there is: traversal, search, smoke)`},
		{"Traversal", `did you mean traversal?`},
		{"traversal,", `no grid given`},
		{"full", `grid "full" comes with a later version: this version generates traversal and search`},
		{"search,runtime", `grid "runtime" comes with a later version`},
		{"merge-hint", `grid "merge-hint" comes with a later version`},
		{"axis=runtime",
			`axis "runtime" comes with a later version: this version generates traversal and search (there is: traversal, search)`},
		{"axis=serach", `unknown axis "serach": did you mean search? (there is: traversal, search)`},
		{"axis=", `no axis given (there is: traversal, search)`},
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
		{"instances=0", `cannot use instances "0" (a number from 1 to 20, or a range like 3..7)`},
		{"instances=21", `cannot use instances "21"`},
		{"instances=7..3", `cannot use instances "7..3"`},
		{"instances=all", `cannot use instances "all"`},
		{"sizes=5", `unknown key "sizes": did you mean size? (there is: axis, size, code, task, instances)`},
		{"=5", `no key given (there is: axis, size, code, task, instances)`},
		{"size=5; search", `cannot use condition "search" (a condition is key=values)`},
		{"size=5; size=10", `cannot use condition "size=10" (give each key once)`},
		{"task=dead-code; refactoring=add-return", `give each key once`},
		{"traversal/add-parameter/math/n050",
			`cannot use task id "traversal/add-parameter/math/n050" (a task id looks like traversal/add-parameter/math/n050/07`},
		{"traversal/add-parameter/math/n050/7", `did you mean traversal/add-parameter/math/n050/07?`},
		{"traversal/add-parameter/math/n050/21", `(instances in ids run from 01 to 20)`},
		{"traversal/add-parameter/math/50/01",
			`unknown size in a task id "50" (there is: n005, n010, n025, n050, n100, n200)`},
		{"runtime/add-parameter/math/n050/01", `axis "runtime" comes with a later version`},
	} {
		g, err := ParseGrid(c.text)
		var ge *GridError
		if !errors.As(err, &ge) {
			t.Errorf("ParseGrid(%q) = %v, %v, want a *GridError", c.text, g, err)
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
		"Search/cache-function/string/n100/13", "search/cache-function/string/n100/-1",
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
