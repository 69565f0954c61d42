package score

import (
	"context"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/controls"
	"cabra-run/tasks/merge"
)

const mergeHead = "from abc import ABC, abstractmethod\n\n\n"

const mergeTail = `

if __name__ == '__main__':
    args = (1, 2, 3)
    print(CalculateA().compute(*args))
    print(CalculateB().compute(*args))
`

const (
	mergeParent = "class Calculate(ABC):\n    \"\"\"What both have in common.\"\"\"\n\n" +
		"    @abstractmethod\n    def custom_compute_1(self, a, x):\n        ...\n\n" +
		"    @abstractmethod\n    def custom_compute_2(self, b, y):\n        ...\n\n" +
		"    def compute(self, a, b, c):\n        x = 2 * a - b\n        y = self.custom_compute_1(a, x)\n" +
		"        z = self.custom_compute_2(b, y)\n        return z * x + c\n\n\n"
	mergeA1 = "    def custom_compute_1(self, a, x):\n        return 3 * (a * x) + 1\n\n"
	mergeA2 = "    def custom_compute_2(self, b, y):\n        return y - b\n"
	mergeB1 = "    def custom_compute_1(self, a, x):\n        return -3 * (a * x) + 1\n\n"
	mergeB2 = "    def custom_compute_2(self, b, y):\n        return y - 4 * b\n"
	mergeA  = "class CalculateA(Calculate):\n\n" + mergeA1 + mergeA2 + "\n\n"
	mergeB  = "class CalculateB(Calculate):\n\n" + mergeB1 + mergeB2
)

// mergeTask has two differences, of two and at most three operators.
func mergeTask() *tasks.Task {
	starter := mergeHead + "class Calculate(ABC):\n    pass\n\n\n" +
		"class CalculateA(Calculate):\n\n    def compute(self, a, b, c):\n        x = 2 * a - b\n        y = 3 * (a * x) + 1\n        z = y - b\n        return z * x + c\n\n\n" +
		"class CalculateB(Calculate):\n\n    def compute(self, p, q, r):\n        u = -q + 2 * p\n        v = -3 * (p * u) + 1\n        w = v - 4 * q\n        return r + u * w\n" + mergeTail
	m := &tasks.MergeCheck{Seed: 42, Params: 3, Differences: []tasks.MergeDifference{
		{Target: "y", Kind: "flip_sign", Arguments: []string{"a", "x"}, A: "3 * (a * x) + 1", B: "-3 * (a * x) + 1", Operators: 4},
		{Target: "z", Kind: "change_coeff", Arguments: []string{"b", "y"}, A: "y - b", B: "y - 4 * b", Operators: 2},
	}, Vectors: [][]int{{1, 2, 3}}}
	for i := 1; i < 20; i++ {
		m.Vectors = append(m.Vectors, []int{i%7 - 3, 5*i%11 - 5, i})
	}
	cell := tasks.Cell{Axis: tasks.Merge, Size: 5}
	return &tasks.Task{ID: tasks.CellID(cell, 1), Cell: cell, Instance: 1, Starter: solution(starter),
		Reference: solution(mergeHead + mergeParent + mergeA + mergeB + mergeTail), Check: tasks.Check{Kind: tasks.MergeKind, Merge: m}}
}

// The rows of the table of holes, and other forms, under the strict reading.
func mergeTable() table {
	const callBoth = "        y = self.custom_compute_1(a, x)\n        z = self.custom_compute_2(b, y)\n"
	return table{name: "merge", task: mergeTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed structure: has the method compute"},
		{"other order and names", "R", []string{mergeA1 + mergeA2, mergeA2 + "\n" + strings.TrimSuffix(strings.ReplaceAll(mergeA1, "x", "other"), "\n")}, "solved"},
		{"parent without abstract methods", "R", []string{"    @abstractmethod\n    def custom_compute_1(self, a, x):\n        ...\n\n    @abstractmethod\n    def custom_compute_2(self, b, y):\n        ...\n\n", "", "(ABC)", "", mergeHead, ""}, "solved"},
		{"methods that raise in the parent", "R", []string{"        ...\n", "        raise NotImplementedError\n"}, "solved"},
		{"versions in the parent, both overridden", "R", []string{"    @abstractmethod\n    def custom_compute_2(self, b, y):\n        ...\n", "    def custom_compute_2(self, b, y):\n        return 0\n"}, "solved"},
		{"annotations", "R", []string{"(self, a, x):", "(self, a: int, x: int) -> int:", "x = 2 * a", "x: int = 2 * a"}, "solved"},
		{"docstrings in the children", "R", []string{"(Calculate):\n\n", "(Calculate):\n    \"\"\"Text.\"\"\"\n\n", "x):\n        return 3", "x):\n        \"\"\"Text.\"\"\"\n        return 3"}, "solved"},
		{"two lines in a helper (M-8)", "R", []string{"        return y - b\n", "        z = y - b\n        return z\n"}, "solved"},
		{"helpers in the expression", "R", []string{callBoth, "", "return z * x + c", "return self.custom_compute_2(b, self.custom_compute_1(a, x)) * x + c"}, "solved"},
		{"named arguments", "R", []string{"custom_compute_1(a, x)\n", "custom_compute_1(a=a, x=x)\n"}, "solved"},
		{"common method in the parent", "R", []string{"        x = 2 * a - b\n", "        x = self.first(a, b)\n", "    def compute(", "    def first(self, a, b):\n        return 2 * a - b\n\n    def compute("}, "solved"},
		{"not multiplied out", "R", []string{"return 3 * (a * x) + 1", "return a * x + a * x + a * x + 1"}, "solved"},
		{"static helpers", "R", []string{mergeA2, "    @staticmethod\n" + strings.Replace(mergeA2, "self, ", "", 1), mergeB2, "    @staticmethod\n" + strings.Replace(mergeB2, "self, ", "", 1)}, "solved"},
		{"static in the parent too", "R", []string{"    @abstractmethod\n    def custom_compute_2(self, b, y):", "    @staticmethod\n    @abstractmethod\n    def custom_compute_2(b, y):"}, "solved"},
		{"parameters of the starter's parent", "R", []string{"def compute(self, a, b, c):\n", "def compute(self, *args):\n        a, b, c = args\n"}, "solved"},
		{"parameters by position only", "R", []string{"def compute(self, a, b, c):", "def compute(self, a, b, c, /):"}, "solved"},
		{"numbers exchanged", "R", []string{"custom_compute_1", "custom_compute_9", "custom_compute_2", "custom_compute_1", "custom_compute_9", "custom_compute_2"}, "failed structure: class Calculate: compute uses custom_compute_2, custom_compute_1 in this order, not numbered from 1"},
		{"own decorator as staticmethod", "R", []string{mergeA2, "    def staticmethod(f):\n        return f\n\n    @staticmethod\n" + mergeA2}, "failed structure: class CalculateA: has the method staticmethod"},
		{"power in the parent", "R", []string{"return z * x + c", "return z ** 1 * x + c"}, "solved"},

		{"bodies exchanged", "R", []string{"return y - b", "return y - 99 * b", "return y - 4 * b", "return y - b", "y - 99 * b", "y - 4 * b"}, "failed behaviour: CalculateA().compute("},
		{"same body in both", "R", []string{"return y - 4 * b", "return y - b"}, "failed behaviour: CalculateB().compute("},
		{"whole body in a condition (M-1)", "R", []string{"        return 3 * (a * x) + 1", "        if True:\n            return 3 * (a * x) + 1"}, "failed structure: custom_compute_1 is not a single return"},
		{"conditional expression (M-1)", "R", []string{"return 3 * (a * x) + 1", "return 3 * (a * x) + 1 if a else 1"}, "failed structure: custom_compute_1 has a IfExp"},
		{"walrus (M-1)", "R", []string{"return 3 * (a * x) + 1", "return (q := 3 * a) * x + 1"}, "failed structure: custom_compute_1 has a NamedExpr"},
		{"nested function (M-1)", "R", []string{"        return 3 * (a * x) + 1", "        def f():\n            return 3 * (a * x) + 1\n        return f()"}, "failed structure: custom_compute_1 is not a single return"},
		{"lambda (M-1)", "R", []string{"return 3 * (a * x) + 1", "return (lambda: 3 * (a * x) + 1)()"}, "failed structure: custom_compute_1 calls something"},
		{"another method in a child (M-2)", "R", []string{mergeA1, mergeA1 + "    def more(self, a):\n        return a\n\n"}, "failed structure: class CalculateA: has the method more"},
		{"module function (M-3)", "R", []string{"class CalculateA", "def f(a):\n    return a\n\n\nclass CalculateA"}, "failed structure: FunctionDef at module level"},
		{"another class (M-3)", "R", []string{"class CalculateA", "class Other:\n    pass\n\n\nclass CalculateA"}, "failed structure: class Other was added"},
		{"import (M-3)", "R", []string{"from abc", "import math\nfrom abc"}, "failed structure: new import math"},
		{"attribute of a class (M-3)", "R", []string{mergeA1, "    k = 3\n\n" + mergeA1}, "failed structure: class CalculateA: holds a Assign"},
		{"lambda in a child (M-3)", "R", []string{mergeA1, mergeA1 + "    compute = lambda self, a, b, c: 0\n\n"}, "failed structure: class CalculateA: holds a Assign"},
		{"everything in one expression (M-4)", "R", []string{"return 3 * (a * x) + 1", "return 3 * (a * x) + 1 + x - x + a - a + x - x + a - a + x - x"}, "failed structure: custom_compute_1 has 13 operators, more than 8"},
		{"branch on the class in the parent (M-3)", "R", []string{callBoth, "        y = self.custom_compute_1(a, x)\n        z = self.custom_compute_2(b, y)\n        if isinstance(self, CalculateA):\n            z = y - b\n"}, "failed structure: compute has a If statement"},
		{"type in the parent (M-3)", "R", []string{"return z * x + c", "return z * x + c * (type(self) is type(self))"}, "failed structure: compute"},
		{"starred base", "R", []string{"class CalculateB(Calculate)", "class CalculateB(CalculateA)"}, "failed structure: class CalculateB: is not a subclass of Calculate alone"},
		{"guard changed (M-6)", "R", []string{"args = (1, 2, 3)", "args = (3, 2, 1)"}, "failed structure: If at module level"},
		{"class renamed (M-6)", "R", []string{"CalculateB", "CalculateC"}, "failed structure: class CalculateC was added"},
		{"floats (M-7)", "R", []string{"return y - b", "return y - 1.0 * b"}, "failed behaviour: CalculateA().compute("},
		{"equal to everything (M-5)", "R", []string{"return z * x + c", "return type('E', (), {'__eq__': lambda s, o: True})()"}, "failed behaviour: not plain data: E"},
		{"one version in the parent (M-9)", "R", []string{"    @abstractmethod\n    def custom_compute_2(self, b, y):\n        ...\n", "    def custom_compute_2(self, b, y):\n        return y - b\n", mergeA2, ""}, "failed structure: class CalculateA: lacks custom_compute_2"},
		{"numbered from 0 (M-10)", "R", []string{"custom_compute_1", "custom_compute_0"}, "failed structure: lacks custom_compute_1"},
		{"leading zero", "R", []string{"custom_compute_1", "custom_compute_01"}, "failed structure: lacks custom_compute_1"},
		{"called in another method (M-10)", "R", []string{"        y = self.custom_compute_1(a, x)\n", "        y = self.second(a, x)\n", "    def compute(", "    def second(self, a, x):\n        return self.custom_compute_1(a, x)\n\n    def compute("}, "failed structure: second calls custom_compute_1"},
		{"called under another name (M-10)", "R", []string{"        y = self.custom_compute_1(a, x)\n", "        f = self.custom_compute_1\n        y = f(a, x)\n"}, "failed structure: compute has a Attribute"},
		{"called twice", "R", []string{"return z * x + c", "return z * x + c + 0 * self.custom_compute_1(a, x)"}, "failed structure: compute calls custom_compute_1, custom_compute_1, custom_compute_2"},
		{"called in a loop (M-10)", "R", []string{"        y = self.custom_compute_1(a, x)\n", "        for _ in (1,):\n            y = self.custom_compute_1(a, x)\n"}, "failed structure: compute has a For statement"},
		{"child that delegates (M-14)", "R", []string{mergeA1, "    def compute(self, a, b, c):\n        return super().compute(a, b, c)\n\n" + mergeA1}, "failed structure: class CalculateA: has the method compute"},
		{"raises once (M-13)", "R", []string{"return z * x + c", "return z * x + c + 0 * (1 // (c - 7))"}, "failed behaviour: ZeroDivisionError"},
		{"endless loop", "R", []string{"        x = 2 * a - b\n", "        while True:\n            pass\n        x = 2 * a - b\n"}, "failed behaviour: took more than"},
		{"ends the process when imported", "R", []string{"class Calculate(ABC)", "raise SystemExit\n\nclass Calculate(ABC)"}, "failed behaviour: SystemExit"},
		{"huge numbers", "R", []string{"return z * x + c", "return z * x + c + 10 ** 1000000"}, "failed behaviour: an int of more than 1000000 bits"},
		{"does not compile", "R", []string{"return z * x + c", "return z * x + c +"}, "failed compiles: SyntaxError"},
		{"metaclass", "R", []string{"Calculate(ABC)", "Calculate(metaclass=type)"}, "failed structure: class Calculate is not a plain class"},
	}}
}

// A big merge: results beyond 64 bits are compared as they are.
func TestMergeOfBigNumbers(t *testing.T) {
	task := generatedMerge(t, "axis=merge; size=100; instances=2")
	v, err := newScorer(t, 1).Score(context.Background(), task, task.Reference)
	if err != nil || !v.Solved || !strings.Contains(v.Checks[1].Detail, "2 lines with") {
		t.Fatalf("%+v, %v", v, err)
	}
}

func generatedMerge(t *testing.T, text string) *tasks.Task {
	t.Helper()
	grid, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := merge.NewSource(grid, merge.Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	return onlyTask(t, src)
}

func onlyTask(t *testing.T, src tasks.Source) *tasks.Task {
	t.Helper()
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		return &task
	}
	t.Fatal("no task")
	return nil
}

// generatedRenameTable is about a program of 200 operations, as drawn.
func generatedRenameTable(t *testing.T) table {
	t.Helper()
	grid, err := tasks.ParseGrid("axis=rename; size=5; instances=1")
	if err != nil {
		t.Fatal(err)
	}
	src, err := controls.NewSource(grid, controls.Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	task := onlyTask(t, src)
	first, second := task.Check.Renames[0], task.Check.Renames[1]
	definition := "    " + first.New + " = "
	return table{name: "rename", task: task, strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed renames: renamed 0 of 5 variables at all their places; still has " + first.Old},
		{"comments and annotations", "R", []string{"def main(val: float):\n", "def main(val):\n    \"\"\"Text.\"\"\"\n    # text\n"}, "solved"},
		{"one left", "R", []string{" " + first.New + " ", " " + first.Old + " "}, "failed renames: renamed 4 of 5"},
		{"exchanged", "R", []string{" " + first.New + " ", " @ ", " " + second.New + " ", " " + first.New + " ", " @ ", " " + second.New + " "}, "failed renames: statement"},
		{"something else renamed", "R", []string{"val", "value"}, "failed structure: has the parameters (value), not (val)"},
		{"a line added", "R", []string{definition, "    pass\n" + definition}, "failed renames: differs"},
		{"another function", "R", []string{"def main", "def f():\n    pass\n\ndef main"}, "failed functions: function f was added"},
		{"a variable that nobody named", "R", []string{"    return ", "    zzz = 1\n    return "}, "failed renames: has names that nobody asked for: zzz"},
	}}
}
