package score

import (
	"strings"
	"testing"
)

// On the runtime axis the blocks that were edited count, not how.
func officialGuardedTable() table {
	const otherC = "    else:\n        return slow() + math.atan(val)"
	return table{name: "guarded", task: guardedTask(), official: []officialRow{
		row("reference", "R", nil, "1", "K pass E pass B pass P pass C pass X pass"),
		row("starter", "S", nil, "0", "E pass B fail P fail X fail"),
		row("before the if (FN-12)", "R", []string{"    if check(2, 1, 1, 0, num_steps=1):", "    temp: float = slow()\n    if check(2, 1, 1, 0, num_steps=1):", "        temp: float = slow()\n", ""}, "0", "B pass X fail"),
		row("docstring (FN-12)", "R", []string{"def c(val: float, temp: float=0.0) -> float:\n", "def c(val: float, temp: float=0.0) -> float:\n    \"\"\"Text.\"\"\"\n"}, "0", "B pass X fail"),
		row("other branch edited as well", "R", []string{otherC, "    else:\n        return temp + math.atan(val)"}, "0", "B pass X fail"),
		row("only a variable (FP-2)", "R", []string{guardedTask().Reference["solution.py"], "x = 1\n"}, "1", "B pass X pass"),
		row("slow at each call (FP-4)", "R", []string{"c(val, temp)", "c(val, slow())"}, "1", "B pass X pass"),
		row("condition of an unedited function resolved", "R", []string{"    if check(2, 1, 1, 1, num_steps=1):\n        b_val", "    if True:\n        b_val"}, "0", "B pass X fail"),
	}}
}

func officialGuardedDeadTable() table {
	return table{name: "guarded dead code", task: guardedDeadTask(), official: []officialRow{
		row("reference of dead code", "R", nil, "1", "E pass B pass P pass X pass"),
		row("starter of dead code", "S", nil, "0", "E fail B pass X fail"),
		row("other text in the block that does not run (FP-18)", "R", []string{"q_val = val", "q_val = ''"}, "1", "E pass B pass X pass"),
		row("global name (FN-13)", "R", []string{"def a(", "VERSION = 1\n\ndef a("}, "0", "E fail"),
		row("hidden in a condition (FP-3)", "R", []string{"def a(", "if True:\n    def q(val):\n        return val\n\ndef a("}, "1", "E pass B pass X pass"),
	}}
}

// Lines about values are recognised by form, wherever they stand.
func officialRuledTable() table {
	const inC = "    return mult1 * mult2 * math.cos(val)"
	const last = "    mult2_temp = mult2 + 0.2\n" + inC
	with := func(text string) []string { return []string{last, "    mult2_temp = mult2 + 0.2\n" + text} }
	score := func(name string, old []string, solved string) officialRow {
		kind := map[string]string{"1": "C pass", "0": "C fail"}[solved]
		return row(name, "R", old, solved, "B pass X pass "+kind)
	}
	return table{name: "ruled", task: ruledTask(), official: []officialRow{
		score("reference", nil, "1"),
		row("starter", "S", nil, "0", "E pass B fail C fail X pass"),
		score("turned comparison", []string{"mult2 < 50", "50 > mult2"}, "1"),
		score("float bound", []string{"mult2 < 50", "mult2 < 50.0"}, "1"),
		score("message", []string{"assert mult2 < 50", "assert mult2 < 50, 'large'"}, "1"),
		score("not the opposite", []string{"mult2 < 50", "not mult2 >= 50"}, "0"),
		score("negative bound turned (FN-11)", []string{"mult1 != -30", "-30 != mult1"}, "0"),
		score("negative float bound (FN-11)", []string{"mult1 != -30", "mult1 != -30.0"}, "0"),
		score("parentheses and short number", []string{"mult2 + 0.2", "(mult2 + .20)"}, "1"),
		score("commuted operands (FN-11)", []string{"mult2 + 0.2", "0.2 + mult2"}, "0"),
		score("annotated temporary variable (FN-11)", []string{"mult2_temp = mult2", "mult2_temp: float = mult2"}, "0"),
		score("inside of an if (FN-11)", []string{last, "    if True:\n        mult2_temp = mult2 + 0.2\n" + inC}, "0"),
		score("text and str", []string{"f'Value: {mult1}'", "'Value: ' + str(mult1)"}, "1"),
		score("format of an f-string (FP-17)", []string{"{mult1}'", "{mult1:.3f}'"}, "1"),
		score("keyword of a print (FP-17)", []string{"{mult1}'", "{mult1}', end=''"}, "1"),
		score("two arguments (FN-11)", []string{"f'Value: {mult1}'", "'Value:', mult1"}, "0"),
		score("percent (FN-11)", []string{"f'Value: {mult1}'", "'Value: %s' % mult1"}, "0"),
		score("format method (FN-11)", []string{"f'Value: {mult1}'", "'Value: {}'.format(mult1)"}, "0"),
		score("comment at the end of a line", []string{"    # NOTE: mult1\n", "", "!= -30", "!= -30  # NOTE: mult1"}, "1"),
		score("comment without its blank", []string{"# NOTE", "#NOTE"}, "0"),
		score("comment on the def line (FN-11)", []string{"float:\n    # NOTE: mult1\n", "float:  # NOTE: mult1\n"}, "0"),
		score("comment behind the last statement (FN-11)", []string{"float:\n    # NOTE: mult1\n", "float:\n", inC, inC + "\n    # NOTE: mult1"}, "0"),
		score("explanation (FN-11)", with("    # pass mult1 on\n"+inC), "0"),
		score("lines behind the return (FP-17)", []string{"    mult2_temp = mult2 + 0.2\n" + inC, inC + "\n    mult2_temp = mult2 + 0.2"}, "1"),
		score("another order", []string{"    # NOTE: mult1\n    assert mult1 != -30\n    assert mult2 < 50\n", "    assert mult2 < 50\n    assert mult1 != -30\n    # NOTE: mult1\n"}, "1"),
		score("another annotated variable (FP-17)", with("    x: float = mult1\n"+inC), "1"),
		score("another nested variable (FP-17)", with("    if val:\n        x = mult1 + 1\n"+inC), "1"),
		score("stepwise product (FN-11)", with("    x = mult1 * math.cos(val)\n    x = mult2 * x\n    return x"), "0"),
		score("assertion on another name (FP-17)", with("    assert val == val\n"+inC), "1"),
		score("another assertion", with("    assert mult1 > -50\n"+inC), "0"),
		score("update", with("    mult1 += 0.0\n"+inC), "0"),
		score("line in another function", []string{"    return math.tanh(val)", "    # NOTE: mult1\n    return math.tanh(val)"}, "0"),
	}}
}

func officialCopiedTable() table {
	const line = "    # stature kayak\n"
	return table{name: "copied", task: copiedTask(), official: []officialRow{
		row("reference", "R", nil, "1", "B pass F pass X pass"),
		row("starter", "S", nil, "0", "B fail F fail"),
		row("anywhere in the function", "R", []string{line + "    d_val, prefix1, prefix2 = d(val)\n", "    d_val, prefix1, prefix2 = d(val)\n" + line}, "1", "F pass"),
		row("with another word", "R", []string{"# stature kayak", "# stature kayaks"}, "0", "F fail"),
		row("in another function as well", "R", []string{"def a(val: str) -> str:\n", "def a(val: str) -> str:\n" + line}, "1", "F pass"),
	}}
}

// The rows of the table of holes, under the official reading.
func officialMergeTable() table {
	all := "        x = 2 * a - b\n        y = 3 * (a * x) + 1\n        z = y - b\n        return z * x + c\n"
	sham := func(a, b string) []string {
		text := mergeTask().Reference["solution.py"]
		body := "class Calculate(ABC):\n    def compute(self, a, b, c):\n        x = self.custom_compute_1(a, b, c)\n        return x + self.custom_compute_2()\n\n\n"
		child := func(name, code string) string {
			return "class " + name + "(Calculate):\n    def custom_compute_1(self, a, b, c):\n" + code + "    def custom_compute_2(self):\n        return 0\n\n\n"
		}
		return []string{text, mergeHead + body + child("CalculateA", a) + child("CalculateB", b) + mergeTail}
	}
	indent := func(text string) string {
		return "        if True:\n" + strings.ReplaceAll(text, "        ", "            ")
	}
	const elsewhere = "        return self.everything(a, b, c)\n\n    def everything(self, a, b, c):\n"
	allB := strings.NewReplacer("3 * (a", "-3 * (a", "y - b", "y - 4 * b").Replace(all)
	return table{name: "merge", task: mergeTask(), official: []officialRow{
		row("reference", "R", nil, "1", "K pass B pass D pass"),
		row("starter", "S", nil, "0", "B pass D fail"),
		row("whole body in a condition (M-1)", "R", sham(indent(all), indent(allB)), "1", "B pass D pass"),
		row("another method in the children (M-2)", "R", sham(elsewhere+all, elsewhere+allB), "1", "B pass D pass"),
		row("module function (M-3)", "R", []string{"class CalculateA", "def less(y, b):\n    return y - b\n\n\nclass CalculateA", "return y - b\n\n\nclass CalculateB", "return less(y, b)\n\n\nclass CalculateB"}, "1", "B pass D pass"),
		row("lambda in a child (M-3)", "R", []string{mergeA1, mergeA1 + "    other = lambda self: 0\n\n"}, "1", "B pass D pass"),
		row("everything in one expression (M-4)", "R", []string{"return 3 * (a * x) + 1", "return 3 * (a * x) + 1 + x - x + a - a + x - x + a - a + x - x"}, "1", "B pass D pass"),
		row("equal to everything (M-5), not had", "R", []string{"return z * x + c", "return type('E', (), {'__eq__': lambda s, o: True})()"}, "0", "B fail D pass"),
		row("import (M-6)", "R", []string{"from abc", "import math\nfrom abc"}, "1", "B pass D pass"),
		row("guard changed (M-6)", "R", []string{"args = (1, 2, 3)", "args = (3, 2, 1)"}, "1", "B pass D pass"),
		row("floats (M-7)", "R", []string{"return y - b", "return y - 1.0 * b"}, "1", "B pass D pass"),
		row("two lines in a helper (M-8)", "R", []string{"        return y - b\n", "        z = y - b\n        return z\n"}, "0", "B pass D fail"),
		row("one version in the parent (M-9)", "R", []string{"    @abstractmethod\n    def custom_compute_2(self, b, y):\n        ...\n", "    def custom_compute_2(self, b, y):\n        return -b + y\n", mergeA2, ""}, "0", "B pass D fail"),
		row("numbered from 0 (M-10)", "R", []string{"custom_compute_1", "custom_compute_0"}, "0", "B pass D fail"),
		row("leading zero", "R", []string{"custom_compute_1", "custom_compute_01"}, "1", "B pass D pass"),
		row("called under another name (M-10)", "R", []string{"        y = self.custom_compute_1(a, x)\n", "        f = self.custom_compute_1\n        y = f(a, x)\n"}, "0", "B pass D fail"),
		row("called in a loop over names (M-10)", "R", []string{"        y = self.custom_compute_1(a, x)\n", "        for name in ['custom_compute_1']:\n            y = getattr(self, name)(a, x)\n"}, "0", "B pass D fail"),
		row("raises once (M-13)", "R", []string{"return z * x + c", "return z * x + c + 0 * (1 // (c - 3))"}, "0", "B error D pass"),
		row("child that delegates (M-14)", "R", []string{mergeA1, "    def compute(self, a, b, c):\n        return super().compute(a, b, c)\n\n" + mergeA1}, "0", "B pass D fail"),
		row("banner comment (M-12), files are not cut", "R", []string{"class CalculateA", "# === A ===\nclass CalculateA"}, "1", "B pass D pass"),
		row("bodies exchanged", "R", []string{"return y - b", "return y - 99 * b", "return y - 4 * b", "return y - b", "y - 99 * b", "y - 4 * b"}, "0", "B fail D pass"),
		row("class missing", "R", []string{mergeB, ""}, "0", "B error D error"),
		row("ends the process", "R", []string{"class CalculateA", "raise SystemExit\n\n\nclass CalculateA"}, "0", "B error"),
		row("endless loop", "R", []string{"        x = 2 * a - b\n", "        while True:\n            pass\n        x = 2 * a - b\n"}, "0", "B error"),
		row("does not compile", "R", []string{"return z * x + c", "return z * x + c +"}, "0", "K error B error D error"),
	}}
}

// The vectors of the published scorer for the first task of five lines, and
// what its classes compute for the first.
func TestOfficialVectors(t *testing.T) {
	task := generatedMerge(t, "axis=merge; size=5; instances=1")
	vectors := officialVectors(task, 3)
	want := [][]int{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, -4, -5, -1, -2, -2, -3, -4, 5, 3}, {-4, 4, 1, -5, -5, -4, -2, -2, 3, 4}}
	for i := range want {
		for k := range want[i] {
			if vectors[i][k] != want[i][k] {
				t.Fatalf("vector %d is %v, want %v", i, vectors[i], want[i])
			}
		}
	}
}
