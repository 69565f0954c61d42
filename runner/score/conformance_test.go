package score

import (
	"context"
	"math"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// edit is a candidate made from a text by replacements.
type edit struct {
	name   string
	from   string   // "R" or "S"
	old    []string // pairs of old and new text
	expect string
}

func (e edit) apply(t *testing.T, task *tasks.Task) string {
	t.Helper()
	text := task.Reference[tasks.SolutionFile]
	if e.from == "S" {
		text = task.Starter[tasks.SolutionFile]
	}
	for i := 0; i < len(e.old); i += 2 {
		if !strings.Contains(text, e.old[i]) {
			t.Fatalf("%q is not in\n%s", e.old[i], text)
		}
		text = strings.ReplaceAll(text, e.old[i], e.old[i+1])
	}
	return text
}

func (e edit) check(t *testing.T, s *Scorer, task *tasks.Task) {
	v, err := s.Score(context.Background(), task, solution(e.apply(t, task)))
	if err != nil {
		t.Fatal(err)
	}
	if !fulfils(v, e.expect) {
		t.Errorf("want %s, got %+v", e.expect, v)
	}
}

// The rows of the scorer's conformance table, under the strict reading.
func tinyTable() table {
	return table{name: "tiny", task: tinyTask(), strict: []edit{
		{"the reference", "R", nil, "solved"},
		{"the starter", "S", nil, "failed behaviour: mult"},
		{"starter without h (FP-1)", "S", []string{tinyH, "", "(f(val), h(val))", "f(val)"}, "failed functions: function h is missing"},
		{"only a variable (FP-2)", "R", []string{tinyTask().Reference["solution.py"], "x = 1\n"}, "failed functions: function f is missing"},
		{"only h (FP-1)", "R", []string{tinyTask().Reference["solution.py"], "import math\n\n" + tinyH}, "failed functions: function f is missing"},
		{"commuted product", "R", []string{"mult * abs(val)", "abs(val) * mult"}, "solved"},
		{"other parameter name (FP-5)", "R", []string{
			"def g(val: float, mult:", "def g(val: float, m:", "mult * abs", "m * abs", "g(val, mult=mult)", "g(val, m=mult)",
		}, "failed structure: has the parameters (val, m), not (val, mult)"},
		{"other parameter order (FP-5)", "R", []string{
			"def g(val: float, mult: float=default())", "def g(mult, val)", "g(val, mult=mult)", "g(val=val, mult=mult)",
		}, "failed structure: has the parameters (mult, val)"},
		{"renamed and reordered parameters (FN-10)", "R", []string{
			"def g(val: float, mult: float=default())", "def g(m, v)", "mult * abs(val)", "m * abs(v)", "g(val, mult=mult)", "g(mult, val)",
		}, "failed structure: has the parameters (m, v)"},
		{"extra parameter (FP-5)", "R", []string{"def h(val: float)", "def h(val: float, extra: int=0)"}, "failed structure: function h was changed"},
		{"keyword-only parameter (FN-10)", "R", []string{"def g(val: float, mult:", "def g(val: float, *, mult:"}, "failed structure: not plain"},
		{"helper in use (FN-5)", "R", []string{"return mult * abs(val)", "return k(val, mult)", tinyH, tinyH + "def k(v, m):\n    return m * abs(v)\n\n"}, "failed functions: function k was added"},
		{"helper not in use", "R", []string{tinyH, tinyH + "def k(v):\n    return v\n\n"}, "failed functions: function k was added"},
		{"module variable", "R", []string{tinyGR, "CACHE = {}\n\n" + tinyGR}, "failed structure: Assign at module level"},
		{"typing name with a new import (FN-3)", "R", []string{
			"import math\n", "import math\nfrom typing import Optional\n", "mult: float=default()) -> float:\n    return mult", "mult: float=default()) -> Optional[float]:\n    return mult",
		}, "failed structure: new from typing import Optional"},
		{"typing name without an import (FN-3)", "R", []string{
			"mult: float=default()) -> float:\n    return mult", "mult: float=default()) -> Optional[float]:\n    return mult",
		}, "failed behaviour: NameError"},
		{"local import of a module in use (FN-4)", "R", []string{"    return mult * abs(val)", "    import math\n    return mult * math.fabs(val)"}, "solved"},
		{"local import of another module", "R", []string{"    return mult * abs(val)", "    import cmath\n    return mult * abs(val)"}, "failed structure: new import cmath"},
		{"builtin outside of the official table (FN-4)", "R", []string{"    return mult * abs(val)", "    return mult * next(iter([abs(val)]))"}, "solved"},
		{"async def (FP-3)", "R", []string{"def h", "async def h"}, "failed functions: function h is missing"},
		{"numpy number", "R", []string{"import math\n", "import math\nimport numpy\n", "mult * abs(val)", "numpy.float64(mult * abs(val))"}, "failed structure: new import numpy"},
		{"raises on its first call only (FP-15)", "R", []string{
			"    return mult * abs(val)", "    if not hasattr(math, 'seen'):\n        math.seen = 1\n        raise ValueError\n    return mult * abs(val)",
		}, "failed behaviour: ValueError"},
		{"state in a function (FP-16)", "R", []string{"    return mult * abs(val)", "    g.seen = val\n    return mult * abs(val)"}, "failed structure: changes the attribute seen"},
		{"syntax error", "R", []string{"return mult * abs(val)", "return mult * abs(val"}, "failed compiles: does not compile: SyntaxError"},
		{"comment that looks like a file header (FN-1)", "R", []string{"def g", "# ==== part 2 ====\ndef g"}, "solved"},
		{"identifier ending in np (FN-6)", "R", []string{"return mult * abs(val)", "inp = 'np.'\n    return mult * abs(val)"}, "solved"},
		{"import changed (FP-6)", "R", []string{"import math\n", "import math as m\n"}, "failed structure: new import math as m"},
		{"import of the guard missing (FP-6)", "R", []string{"import sys\n", ""}, "failed structure: missing import sys"},
		{"main changed (FP-6)", "R", []string{"(f(val), h(val))", "(f(val), h(val), 0)"}, "failed structure: function main was changed"},
		{"guard changed (FP-6)", "R", []string{"    main(float(", "    print(main(float(", "[1]))", "[1])))"}, "failed structure: If at module level"},
		{"guard missing (FP-6)", "R", []string{"\n\nif __name__ == '__main__':\n    main(float(sys.argv[1]))", "\n"}, "failed structure: the __main__ block is missing or changed"},
		{"guard before a function (FP-6)", "R", []string{tinyTail, tinyTail + "\n\n" + strings.TrimSpace(tinyH), tinyH, ""}, "failed structure: stands behind"},
		{"import behind the guard (FP-6)", "R", []string{"import sys\n", "", tinyTail, tinyTail + "\nimport sys\n"}, "failed structure: stands behind"},
		{"needless edit elsewhere (FP-7)", "R", []string{"return math.cos(val)", "result = math.cos(val)\n    return result"}, "failed structure: function h was changed"},
		{"default that is not the library's", "R", []string{"def g(val: float, mult: float=default())", "def g(val: float, mult: float=0.21)"}, "failed structure: parameter mult has another default"},
		{"not passed on (FP-8)", "R", []string{"g(val, mult=mult)", "g(val)"}, "failed behaviour: f("},
		{"applied twice", "R", []string{"math.sin(g_val)", "mult * math.sin(g_val)"}, "failed behaviour: f("},
		{"integers instead of floats (FP-10)", "R", []string{"return mult * abs(val)", "return int(mult * abs(val))"}, "failed behaviour: g("},
		{"list instead of a number (FP-10)", "R", []string{"return mult * abs(val)", "return [mult * abs(val)]"}, "failed behaviour: g("},
		{"nearly right (FP-11)", "R", []string{"return mult * abs(val)", "return mult * abs(val) + 1e-10"}, "failed behaviour: g("},
		{"rounding noise", "R", []string{"return mult * abs(val)", "return mult * abs(val) * 3.0 / 3.0"}, "solved"},
	}}
}

func TestComparisonRows(t *testing.T) {
	float := floatTag
	const one, yes = "i1;", "T"
	nan, inf := float(math.NaN()), float(math.Inf(1))
	for _, row := range []struct {
		name, actual, expected string
		equal                  bool
	}{
		{"int and float", one, float(1), false},
		{"bool and float", yes, float(1), false},
		{"int and bool", one, yes, false},
		{"bools", yes, yes, true},
		{"other bool", "F", yes, false},
		{"not a number", nan, nan, true},
		{"other not a number", "f7ff8000000000001", nan, true},
		{"infinities", inf, inf, true},
		{"infinities of other sign", float(math.Inf(-1)), inf, false},
		{"finite and infinite", float(math.MaxFloat64), inf, false},
		{"noise around zero", float(1e-13), float(0), true},
		{"small and zero", float(1e-10), float(0), false},
		{"tiny product", float(1e-10), float(3e-10), false},
		{"signs of zero", float(math.Copysign(0, -1)), float(0), true},
		{"within the tolerance", float(1.0000005), float(1), true},
		{"beyond the tolerance", float(1.000002), float(1), false},
		{"list and number", "[" + float(1) + "]", float(1), false},
		{"tuples", "(" + float(1) + "s1:x)", "(" + float(1) + "s1:x)", true},
		{"nearly equal tuples", "(" + float(1.0000005) + "s1:x)", "(" + float(1) + "s1:x)", true},
		{"list and tuple", "[" + float(1) + "s1:x]", "(" + float(1) + "s1:x)", false},
		{"tuples of other length", "(" + float(1) + ")", "(" + float(1) + float(1) + ")", false},
		{"list and array", "[" + float(1) + float(2) + "]", arrayTag([]float64{1, 2}), false},
		{"nearly equal arrays", arrayTag([]float64{1.0000005, 2}), arrayTag([]float64{1, 2}), true},
		{"arrays of other values", arrayTag([]float64{1.1, 2}), arrayTag([]float64{1, 2}), false},
		{"arrays of other lengths", arrayTag([]float64{1}), arrayTag([]float64{1, 2}), false},
		{"arrays of other shape", "a<f8|1,1|" + strings.Repeat("0", 16) + ";", "a<f8|1|" + strings.Repeat("0", 16) + ";", false},
		{"arrays of other dtype", "a<i8|1|" + strings.Repeat("0", 16) + ";", "a<f8|1|" + strings.Repeat("0", 16) + ";", false},
		{"array and number", arrayTag([]float64{1}), float(1), false},
		{"texts", "s1:1", "s1:1", true},
		{"other texts", "s1:2", "s1:1", false},
		{"text beyond ASCII", "u4:c3a9", "u4:c3a9", true},
		{"nothing", "N", "N", true},
		{"nothing and zero", "N", float(0), false},
		{"dicts in another order", "{s1:aNs1:bT}", "{s1:bTs1:aN}", true},
		{"dicts of other values", "{s1:aN}", "{s1:aT}", false},
		{"big ints", "iffffffffffffffffffff;", "iffffffffffffffffffff;", true},
		{"garbage", "zzz", float(1), false},
		{"broken array", "a<f8|9|00;", "a<f8|1|" + strings.Repeat("0", 16) + ";", false},
	} {
		if got := (comparison{}).outcomes("="+row.expected, "="+row.actual); got != row.equal {
			t.Errorf("%s: equal = %v", row.name, got)
		}
	}
	if (comparison{}).outcomes("!ValueError", "!ValueError") {
		t.Error("equal exceptions are equal outcomes")
	}
}

// Where the reference gives now an int and now a float, either will do.
func TestComparisonOfMixedNumbers(t *testing.T) {
	mixed := newComparison([]string{"=i1;", "=" + floatTag(0.5), "=(i1;s1:x)"})
	if !mixed.outcomes("=i1;", "="+floatTag(1)) || !mixed.outcomes("="+floatTag(1), "=i1;") {
		t.Error("numbers of both types are not equal")
	}
	if mixed.outcomes("=i1;", "=T") || mixed.outcomes("=i1;", "=i2;") {
		t.Error("another type or value is equal")
	}
	if mixed.outcomes("=(i1;s1:x)", "=("+floatTag(1)+"s1:x)") {
		t.Error("a place that is never mixed is")
	}
}
