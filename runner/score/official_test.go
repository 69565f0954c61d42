package score

import (
	"context"
	"math"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/mt"
)

// officialRow is a candidate with the official verdict and, per kind, "pass",
// "fail" or "error".
type officialRow struct {
	edit
	kinds string // "E pass B fail P fail X fail"
}

// kindLetters are the columns of the conformance table.
var kindLetters = map[string]string{
	"E": kindExistence, "B": kindBehavioral, "P": kindEditPath, "X": kindBranches,
	"C": kindConstraints, "F": kindComments, "D": kindDifferences, "K": kindCompilation,
}

func (row officialRow) check(t *testing.T, s *Scorer, task *tasks.Task) {
	verdicts, err := s.ScoreAll(context.Background(), task, solution(row.apply(t, task)))
	if err != nil || len(verdicts) != 2 || verdicts[0].Scorer != "strict" || verdicts[1].Scorer != "official" {
		t.Fatalf("%+v, %v", verdicts, err)
	}
	official := verdicts[1]
	if solved := row.expect == "1"; official.Solved != solved || (official.Reason == "") != solved {
		t.Errorf("want score %s, got %+v", row.expect, official)
	}
	fields := strings.Fields(row.kinds)
	for i := 0; i+1 < len(fields); i += 2 {
		if got := statusOf(official, kindLetters[fields[i]]); got != fields[i+1] {
			t.Errorf("%s: want %s, got %s in %+v", fields[i], fields[i+1], got, official.Checks)
		}
	}
}

func statusOf(v Verdict, kind string) string {
	for _, c := range v.Checks {
		if c.Name != kind {
			continue
		}
		if c.Pass {
			return "pass"
		}
		status, _, _ := strings.Cut(c.Detail, ":")
		return status
	}
	return "not there"
}

func row(name, from string, old []string, score, kinds string) officialRow {
	return officialRow{edit{name, from, old, score}, kinds}
}

// The rows of the scorer's conformance table, under the official reading.
func officialTinyTable() table {
	whole := tinyTask().Reference["solution.py"]
	return table{name: "tiny", task: tinyTask(), official: []officialRow{
		row("the reference", "R", nil, "1", "K pass E pass B pass P pass C pass X pass"),
		row("main first, quotes, comments", "R", []string{
			tinyTail, "", "import sys\n\n", "import sys\n\n" + tinyTail + "\n\n# here\n", "'__main__'", "\"__main__\"",
		}, "1", "E pass B pass P pass X pass"),
		row("the starter", "S", nil, "0", "E pass B fail P fail X fail"),
		row("starter without h (FP-1)", "S", []string{tinyH, "", "(f(val), h(val))", "f(val)"}, "0", "E fail B error P fail X fail"),
		row("only a variable (FP-2)", "R", []string{whole, "x = 1\n"}, "1", "E fail B pass P fail X pass"),
		row("only h (FP-1)", "R", []string{whole, "import math\n\n" + tinyH}, "1", "E fail B pass P fail X pass"),
		row("commuted product", "R", []string{"mult * abs(val)", "abs(val) * mult"}, "1", "E pass B pass P pass X pass"),
		row("other parameter name (FP-5)", "R", []string{"def g(val: float, mult:", "def g(val: float, m:", "mult * abs", "m * abs", "g(val, mult=mult)", "g(val, m=mult)"}, "1", "E pass B pass P pass X pass"),
		row("other parameter order (FP-5)", "R", []string{"def g(val: float, mult: float=default())", "def g(mult, val)", "g(val, mult=mult)", "g(val=val, mult=mult)"}, "1", "E pass B pass P pass X pass"),
		row("renamed and reordered parameters (FN-10)", "R", []string{"def g(val: float, mult: float=default())", "def g(m, v)", "mult * abs(val)", "m * abs(v)", "g(val, mult=mult)", "g(mult, val)"}, "0", "E pass B fail P pass X pass"),
		row("helper in use (FN-5)", "R", []string{"return mult * abs(val)", "return k(val, mult)", tinyH, tinyH + "def k(v, m):\n    return m * abs(v)\n\n"}, "0", "E fail B fail P fail X pass"),
		row("helper not in use", "R", []string{tinyH, tinyH + "def k(v):\n    return v\n\n"}, "1", "E fail B pass P fail X pass"),
		row("module variable", "R", []string{tinyGR, "CACHE = {}\n\n" + tinyGR}, "1", "E fail B pass P pass X pass"),
		row("typing name with its import (FN-3)", "R", []string{"import math\n", "import math\nfrom typing import Optional\n", "mult: float=default()) -> float:\n    return mult", "mult: float=default()) -> Optional[float]:\n    return mult"}, "0", "E pass B error P pass X pass"),
		row("local import (FN-4)", "R", []string{"    return mult * abs(val)", "    import math\n    return mult * math.fabs(val)"}, "0", "E pass B fail P pass X pass"),
		row("builtin outside of the table (FN-4)", "R", []string{"return mult * abs(val)", "return mult * next(iter([abs(val)]))"}, "0", "E pass B fail"),
		row("class in a function (FN-4)", "R", []string{"    return mult * abs(val)", "    class K:\n        pass\n    return mult * abs(val)"}, "0", "B fail"),
		row("async def (FP-3)", "R", []string{"def h", "async def h"}, "1", "E fail B pass P fail X pass"),
		row("numpy number", "R", []string{"mult * abs(val)", "numpy.float64(mult * abs(val))"}, "1", "E pass B pass P pass X pass"),
		row("raises on its first call only (FP-15)", "R", []string{
			"def g(val: float, mult: float=default()) -> float:\n", "def g(val: float, mult: float=default(), seen=[]) -> float:\n    if not seen:\n        seen.append(1)\n        raise ValueError\n",
		}, "1", "E pass B pass P pass X fail"),
		row("banner comment (FN-1), files are not cut", "R", []string{"def g", "# ==== part 2 ====\ndef g"}, "1", "E pass B pass P pass X pass"),
		row("endless loop", "R", []string{"    return mult * abs(val)", "    while True:\n        pass"}, "0", "B error"),
		row("syntax error", "R", []string{"return mult * abs(val)", "return mult * abs(val"}, "0", "K error B error"),
		row("identifier ending in np (FN-6)", "R", []string{"    return mult * abs(val)", "    inp = [1.0]\n    inp.append(val)\n    return mult * abs(inp[1])"}, "0", "B fail"),
		row("extra parameter with a default (FP-5)", "R", []string{"def h(val: float)", "def h(val: float, extra: int=0)"}, "1", "E pass B pass P fail X pass"),
		row("broken main (FP-6)", "R", []string{"(f(val), h(val))", "nothing"}, "1", "B pass P fail"),
		row("needless edit elsewhere (FP-7)", "R", []string{"return math.cos(val)", "result = math.cos(val)\n    return result"}, "1", "B pass P fail X fail"),
		row("ints as floats (FP-10)", "R", []string{"return mult * abs(val)", "x = mult * abs(val)\n    return x if x else 0"}, "1", "B pass"),
		row("tiny differences (FP-11)", "R", []string{"return mult * abs(val)", "return mult * abs(val) + 1e-10"}, "1", "B pass"),
		row("equal to everything (FP-13), not had", "R", []string{"return mult * abs(val)", "return type('E', (), {'__eq__': lambda s, o: True})()"}, "0", "B fail"),
		row("patched library (FP-14), not had", "R", []string{"    return mult * abs(val)", "    math.sin = math.cos = lambda x: 0.0\n    return 0.0"}, "0", "B fail"),
		row("state in a function (FP-16)", "R", []string{"    return mult * abs(val)", "    g.seen = val\n    return mult * abs(val)"}, "1", "B pass"),
	}}
}

// The golden draws of the published scorer's generator.
func TestOfficialInputs(t *testing.T) {
	floats := mt.NewStream(42)
	if stubs := officialStubs(floats, tasks.Math); stubs != [4]int{0, 4, 2, 4} { // 114 of 625
		t.Errorf("stubs %v", stubs)
	}
	for _, want := range []float64{-0.9499784895546661, -0.4499413632617615, -0.5535785237023545} {
		if got := drawOfficialValue(floats, "float"); got != floatTag(want) {
			t.Errorf("got %s, want %v", got, want)
		}
	}
	texts := mt.NewStream(42)
	if stubs := officialStubs(texts, tasks.String); stubs != [4]int{4, 1, 2, 2} { // 327 of 375
		t.Errorf("stubs %v", stubs)
	}
	if got := drawOfficialValue(texts, "str"); got != "s2:04" {
		t.Errorf("got %s", got)
	}
	arrays := mt.NewStream(42)
	officialStubs(arrays, tasks.Array)
	if got := drawOfficialValue(arrays, "array"); got != arrayTag([]float64{0.4831009995196658}) {
		t.Errorf("got %s", got)
	}
	ints := mt.NewStream(42)
	officialStubs(ints, tasks.Math)
	for _, want := range []string{"i1;", "i3;", "i2;", "i2;", "i2;"} {
		if got := drawOfficialValue(ints, "int"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The comparison cases of the conformance table, and their neighbours.
func TestOfficialComparison(t *testing.T) {
	float := floatTag
	nan, inf := float(math.NaN()), float(math.Inf(1))
	for _, row := range []struct {
		name, actual, expected string
		want                   string // "equal", "unequal" or "error"
	}{
		{"int and float", "i1;", float(1), "equal"},
		{"bool and float", "T", float(1), "equal"},
		{"int and bool", "i1;", "T", "unequal"},
		{"not a number", nan, nan, "equal"},
		{"infinities", inf, inf, "equal"},
		{"infinities of other sign", float(math.Inf(-1)), inf, "unequal"},
		{"small and zero", float(1e-10), float(0), "equal"},
		{"larger and zero", float(2e-9), float(0), "unequal"},
		{"within the tolerance", float(1.0000005), float(1), "equal"},
		{"beyond the tolerance", float(1.000002), float(1), "unequal"},
		{"list and number", "[" + float(1) + "]", float(1), "unequal"},
		{"tuples", "(" + float(1) + "s1:x)", "(" + float(1) + "s1:x)", "equal"},
		{"list and tuple", "[" + float(1) + "s1:x]", "(" + float(1) + "s1:x)", "unequal"},
		{"list and array", "[" + float(1) + float(2) + "]", arrayTag([]float64{1, 2}), "equal"},
		{"nested list and array", "[[" + float(1) + "]]", "a<f8|1,1|000000000000f03f;", "equal"},
		{"ragged list and array", "[[" + float(1) + "]" + float(1) + "]", arrayTag([]float64{1, 2}), "unequal"},
		{"ints and floats", "a<i8|1|0100000000000000;", arrayTag([]float64{1}), "equal"},
		{"negative small ints", "a<i2|1|ffff;", arrayTag([]float64{-1}), "equal"},
		{"half as long floats", "a<f4|1|0000803f;", arrayTag([]float64{1}), "equal"},
		{"array and number", arrayTag([]float64{1}), float(1), "unequal"},
		{"texts and array", "[s1:a]", arrayTag([]float64{1}), "error"},
		{"texts", "s1:1", "s1:1", "equal"},
		{"nothing", "N", "N", "equal"},
		{"nothing and zero", "N", float(0), "unequal"},
		{"zero and nothing", float(0), "N", "unequal"},
		{"dicts", "{s1:a" + float(1) + "}", "{s1:ai1;}", "equal"},
		{"other dicts", "{s1:a" + float(1) + "}", "{s1:bi1;}", "unequal"},
		{"big ints", "iffffffffffffffffffff;", "iffffffffffffffffffff;", "equal"},
	} {
		e, err := parseValue(row.expected)
		a, errA := parseValue(row.actual)
		if err != nil || errA != nil {
			t.Fatalf("%s: %v, %v", row.name, err, errA)
		}
		equal, ok := officialEqual(e, a)
		got := map[bool]string{true: "equal", false: "unequal"}[equal]
		if !ok {
			got = "error"
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
