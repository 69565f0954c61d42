package score

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// table is a set of candidates for one task with their verdicts. The names of
// rows carry the ids of the holes (FP, M) and of the wrongly failing right
// solutions (FN, M) that the description of the published scorer lists.
type table struct {
	name     string
	task     *tasks.Task
	strict   []edit
	official []officialRow
}

func allTables(t *testing.T) []table {
	return []table{
		tinyTable(), deadTable(), returnTable(), cacheTable(), repeatTable(), guardedTable(), guardedDeadTable(),
		ruledTable(), copiedTable(), mergeTable(), generatedRenameTable(t), strictMoreTable(),
		officialTinyTable(), officialGuardedTable(), officialGuardedDeadTable(), officialRuledTable(),
		officialCopiedTable(), officialMergeTable(), narrowTable(), overflowTable(), arrayTable(), zeroTable(),
		raisingTable(), boolTable(), mergedOnceTable(),
	}
}

// TestCandidates gives each candidate of each table and each file of the
// folders right and wrong its verdicts.
func TestCandidates(t *testing.T) {
	s := scorerWith(t, Options{Workers: 2, Limits: hostileLimits})
	for _, a := range familyFiles(t) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.verdicts(t, s)
		})
	}
	for _, tab := range allTables(t) {
		for _, row := range tab.strict {
			t.Run("strict/"+tab.name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				row.check(t, s, tab.task)
			})
		}
		for _, row := range tab.official {
			t.Run("official/"+tab.name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				row.check(t, s, tab.task)
			})
		}
	}
}

// specIDs are the ids of the lists of wrong passes and right failures, written
// down by hand.
var specIDs = strings.Fields(`
	FP-1 FP-2 FP-3 FP-4 FP-5 FP-6 FP-7 FP-8 FP-9 FP-10 FP-11 FP-12 FP-13 FP-14 FP-15 FP-16 FP-17 FP-18 FP-19 FP-20
	FN-1 FN-2 FN-3 FN-4 FN-5 FN-6 FN-7 FN-8 FN-9 FN-10 FN-11 FN-12 FN-13 FN-14 FN-15
	M-1 M-2 M-3 M-4 M-5 M-6 M-7 M-8 M-9 M-10 M-11 M-12 M-13 M-14`)

// elsewhere are ids whose rows are not in a table of candidates, with the test
// that has them.
var elsewhere = map[string]string{
	"FN-2 strict":   "TestMissingAndOtherFiles: the file has another name",
	"FN-2 official": "TestMissingAndOtherFiles: the file has another name",
}

// excluded are ids that no row can represent, with the reason.
var excluded = map[string]string{}

var idPattern = regexp.MustCompile(`\b(FP|FN|M)-\d+\b`)

// Every id of the lists has a row under both readings, or a reason.
func TestEveryListedHoleHasARow(t *testing.T) {
	got := map[string]bool{}
	for _, tab := range allTables(t) {
		for _, row := range tab.strict {
			for _, id := range idPattern.FindAllString(row.name, -1) {
				got[id+" strict"] = true
			}
		}
		for _, row := range tab.official {
			for _, id := range idPattern.FindAllString(row.name, -1) {
				got[id+" official"] = true
			}
		}
	}
	for _, more := range []map[string]string{elsewhere, excluded} {
		for id, why := range more {
			if got[id] || why == "" {
				t.Errorf("%s has a row, or no reason", id)
			}
			got[id] = true
		}
	}
	var want []string
	for _, id := range specIDs {
		want = append(want, id+" strict", id+" official")
	}
	slices.Sort(want)
	if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, want) {
		for _, id := range want {
			if !got[id] {
				t.Errorf("no row for %s", id)
			}
		}
		for _, id := range have {
			if !slices.Contains(want, id) {
				t.Errorf("%s is in no list", id)
			}
		}
	}
}

// strictMoreTable has rows for the tiny task that the published table lacks.
func strictMoreTable() table {
	const body = "    return mult * abs(val)"
	return table{name: "tiny", task: tinyTask(), strict: []edit{
		{"slow but right (FN-7)", "R", []string{body, "    for _ in range(200000):\n        pass\n" + body}, "solved"},
		{"too slow (FN-7)", "R", []string{body, "    for _ in range(10**9):\n        pass\n" + body}, "failed behaviour: took more than"},
		{"another association order (FN-9)", "R", []string{body, "    return abs(val) * 0.5 * (mult * 2.0)"}, "solved"},
		{"global variable in the file (FN-13)", "R", []string{tinyGR, "VERSION: int = 1\n\n" + tinyGR}, "failed structure: Assign at module level"},
		{"callee replaced under its name", "R", []string{"g_val = g(val, mult=mult)", "g_val = (lambda g: g(val, mult=mult))(lambda val, mult: mult * abs(val))"}, "failed structure: function f: gives the name g to something else"},
		{"callee's name in a comprehension", "R", []string{"g_val = g(val, mult=mult)", "g_val = [g(val, mult=mult) for g in [lambda val, mult: mult * abs(val)]][0]"}, "failed structure: function f: gives the name g to something else"},
		{"callee's name in a pattern", "R", []string{"    g_val = g(val, mult=mult)", "    match [lambda val, mult: mult * abs(val)]:\n        case [g]:\n            pass\n    g_val = g(val, mult=mult)"}, "failed structure: function f: gives the name g to something else"},
		{"another function's name for a variable", "R", []string{"    g_val = g(val, mult=mult)\n    return math.sin(g_val)", "    h = g(val, mult=mult)\n    return math.sin(h)"}, "solved"},
		{"patched library (FP-14)", "R", []string{body, "    math.sin = math.cos = lambda x: 0.0\n    return 0.0"}, "failed structure: changes the attribute cos"},
		{"wrong return annotation (FP-19)", "R", []string{"mult: float=default()) -> float:\n    return", "mult: float=default()) -> str:\n    return"}, "solved"},
		{"value that changes beside the argument (FN-14)", "R", []string{
			body, "    if not hasattr(math, 'seen'):\n        math.seen = 1\n        raise ValueError\n" + body,
		}, "failed structure: changes the attribute seen"},
		{"equal to everything (FP-13)", "R", []string{"return mult * abs(val)", "return type('E', (), {'__eq__': lambda s, o: True})()"}, "failed behaviour: not plain data"},
	}, official: []officialRow{
		row("slow but right (FN-7)", "R", []string{body, "    for _ in range(200000):\n        pass\n" + body}, "1", "B pass"),
		row("too slow (FN-7)", "R", []string{body, "    for _ in range(10**9):\n        pass\n" + body}, "0", "B error"),
		row("another association order (FN-9)", "R", []string{body, "    return abs(val) * 0.5 * (mult * 2.0)"}, "1", "B pass"),
		row("wrong return annotation (FP-19)", "R", []string{"mult: float=default()) -> float:\n    return", "mult: float=default()) -> str:\n    return"}, "1", "E pass B pass P pass"),
	}}
}

// narrowTask adds a parameter to a program on texts. On digits, which are all
// that the published scorer draws, most of its operations change nothing.
func narrowTask() *tasks.Task {
	head := "from mylibrary import default\nimport strops\n"
	h := "def h(val: str) -> str:\n    return strops.swap_case(val)\n\n"
	starter := program(head, "def f(val: str, prefix: str=default()) -> str:\n    g_val = g(val)\n    return strops.mirror(g_val)\n\n"+
		"def g(val: str) -> str:\n    return strops.rot13(val)\n\n"+h, "str", "(f(val), h(val))", "str(sys.argv[1])")
	reference := program(head, "def f(val: str, prefix: str=default()) -> str:\n    g_val = g(val, prefix=prefix)\n    return strops.mirror(g_val)\n\n"+
		"def g(val: str, prefix: str=default()) -> str:\n    return prefix + strops.rot13(val)\n\n"+h, "str", "(f(val), h(val))", "str(sys.argv[1])")
	return tinyOf(tasks.AddParameter, tasks.String, starter, reference, tasks.Check{Edited: []string{"f", "g"}, Library: []string{"default"}})
}

func narrowTable() table {
	const right = "return prefix + strops.rot13(val)"
	inside, without := []string{right, "return strops.rot13(prefix + val)"}, []string{right, "return prefix + val"}
	return table{name: "narrow", task: narrowTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"prefix inside of the operation (FP-8)", "R", inside, "failed behaviour: g("},
		{"operation left out (FP-8)", "R", without, "failed behaviour: g("},
		{"identifier that is a function of the library", "R", []string{right, "rot13 = strops.rot13\n    return prefix + rot13(val)"}, "solved"},
	}, official: []officialRow{
		row("reference", "R", nil, "1", "B pass"),
		row("prefix inside of the operation (FP-8)", "R", inside, "1", "B pass"),
		row("operation left out (FP-8)", "R", without, "1", "B pass"),
	}}
}

// overflowTask computes infinities for two fifths of the published
// scorer's inputs.
func overflowTask() *tasks.Task {
	task := tinyTask()
	for _, files := range []tasks.Files{task.Starter, task.Reference} {
		text := strings.Replace(files["solution.py"], "abs(val)", "(val * 1.6e308 * 1.8)", 1)
		files["solution.py"] = strings.Replace(text, "math.sin(g_val)", "g_val * 0.5", 1)
	}
	return task
}

func overflowTable() table {
	wrong := []string{"(val * 1.6e308 * 1.8)", "(val * 1.6e308 * (9.0 if 0.42 < abs(val) < 0.55 else 1.8))"}
	return table{name: "overflow", task: overflowTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"wrong below what overflows (FP-12)", "R", wrong, "failed behaviour: g("},
	}, official: []officialRow{
		row("reference", "R", nil, "1", "B pass"),
		row("wrong below what overflows (FP-12)", "R", wrong, "1", "B pass"),
	}}
}

// arrayTable is about programs on arrays.
func arrayTable() table {
	const inB = "    d_val, mult = d(val)\n    return mult * np.cos(d_val)"
	const state = "def b(val: np.ndarray, seen=[]) -> np.ndarray:\n    if not seen:\n        seen.append(1)\n        val *= 2.0\n        raise ValueError\n"
	return table{name: "arrays", task: repeatTask(), strict: []edit{
		{"argument of the helper is a copy (FP-9)", "R", []string{"get_multiplier(val)", "get_multiplier(val.copy())"}, "solved"},
		{"argument changed by the last caller", "R", []string{
			"    d_val, mult = d(val)\n    return mult * np.sort(d_val)", "    d_val, mult = d(val)\n    val *= 2.0\n    return mult * np.sort(d_val)",
		}, "failed behaviour: changes its argument"},
		{"argument sorted in place", "R", []string{"    return mult * np.sort(d_val)", "    val.sort()\n    return mult * np.sort(d_val)"}, "failed behaviour: changes its argument"},
	}, official: []officialRow{
		row("reference", "R", nil, "1", "B pass"),
		row("argument of the helper is a copy (FP-9)", "R", []string{"get_multiplier(val)", "get_multiplier(val.copy())"}, "1", "B pass"),
		row("helper called everywhere (FP-4)", "R", []string{"d_val, mult = d(val)", "d_val, _ = d(val)\n    mult = get_multiplier(val)"}, "1", "B pass"),
		row("argument changed before the second call (FN-14)", "R", []string{"def b(val: np.ndarray) -> np.ndarray:\n", state, inB, inB}, "0", "B fail"),
	}}
}

// zeroTask tells the signs of zero apart.
func zeroTask() *tasks.Task {
	task := tinyTask()
	for _, files := range []tasks.Files{task.Starter, task.Reference} {
		text := strings.Replace(files["solution.py"], "abs(val)", "math.copysign(1.0, val)", 1)
		text = strings.Replace(text, "    return math.sin(g_val)", "    return g_val + 2.0 * g_more", 1)
		text = strings.Replace(text, "    g_val = g(val)", "    g_val = g(0.0)\n    g_more = g(-0.0)", 1)
		files["solution.py"] = strings.Replace(text, "    g_val = g(val, mult=mult)", "    g_val = g(0.0, mult=mult)\n    g_more = g(-0.0, mult=mult)", 1)
	}
	return task
}

func zeroTable() table {
	wrong := []string{"g_more = g(-0.0, mult=mult)", "g_more = g(0.0, mult=mult)"}
	narrow := []string{"math.copysign(1.0, val)", "(1.0 if val >= 0 else -1.0)", "g_more = g(-0.0, mult=mult)", "g_more = -g(0.0, mult=mult)"}
	return table{name: "zero", task: zeroTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"the other zero (FP-20)", "R", wrong, "failed behaviour: f("},
		{"sign of zero forgotten (FP-8)", "R", narrow, "failed behaviour: g("},
	}, official: []officialRow{
		row("reference", "R", nil, "1", "B pass"),
		row("the other zero (FP-20)", "R", wrong, "1", "B pass"),
	}}
}

// raisingTask has a reference that raises for half of all inputs.
func raisingTask() *tasks.Task {
	task := tinyTask()
	for _, files := range []tasks.Files{task.Starter, task.Reference} {
		files["solution.py"] = strings.Replace(files["solution.py"], "abs(val)", "math.sqrt(val)", 1)
	}
	return task
}

// Nobody can solve a task whose reference raises on an input; the strict
// verdict takes other inputs, the published one counts it against everybody.
func raisingTable() table {
	return table{name: "raising", task: raisingTask(), strict: []edit{
		{"reference that raises (FN-8)", "R", nil, "solved"},
		{"wrong", "R", []string{"mult * math.sqrt(val)", "math.sqrt(val)"}, "failed behaviour: g("},
	}, official: []officialRow{
		row("reference that raises (FN-8)", "R", nil, "0", "E pass B fail P pass X pass"),
	}}
}

// A reference that always raises is the task's defect, not a candidate's.
func TestReferenceThatAlwaysRaises(t *testing.T) {
	task := tinyTask()
	for _, files := range []tasks.Files{task.Starter, task.Reference} {
		files["solution.py"] = strings.Replace(files["solution.py"], "abs(val)", "math.sqrt(-1.0 - val * val)", 1)
	}
	_, err := newScorer(t, 1).ScoreAll(context.Background(), task, task.Reference)
	var defect *TaskDefect
	if !errors.As(err, &defect) || !strings.Contains(err.Error(), "no usable input") {
		t.Errorf("got %v", err)
	}
}

// Versions of the published scorer's libraries differ on whether 1 is True.
func boolTable() table {
	ints, numpys := []string{"x % 2 == target", "1 if x % 2 == target else 0"}, []string{"x % 2 == target", "numpy.bool_(x % 2 == target)"}
	return table{name: "bools", task: guardedTask(), strict: []edit{
		{"int instead of a bool (FN-15)", "R", ints, "failed structure: function check was changed"},
	}, official: []officialRow{
		row("int instead of a bool (FN-15)", "R", ints, "0", "B fail"),
		row("bool of numpy (FN-15)", "R", numpys, "0", "B pass X fail"),
	}}
}

// mergedOnceTable has a right program with fewer helpers than differences.
// Both verdicts ask for as many helpers as there are differences; the strict
// one can, as it takes only tasks on whose inputs each difference shows.
func mergedOnceTable() table {
	const helper = "    @abstractmethod\n    def custom_compute_2(self, b, y):\n        ...\n\n"
	once := []string{
		helper, "", "        z = self.custom_compute_2(b, y)\n", "", "z * x", "y * x",
		"custom_compute_1(a, x)", "custom_compute_1(a, b, x)", "custom_compute_1(self, a, x)", "custom_compute_1(self, a, b, x)",
		"return 3 * (a * x) + 1\n", "return 3 * (a * x) + 1 - b\n", "return -3 * (a * x) + 1\n", "return -3 * (a * x) + 1 - 4 * b\n",
		mergeA2, "", mergeB2, "",
	}
	return table{name: "merged once", task: mergeTask(), strict: []edit{
		{"two differences in one helper (M-11)", "R", once, "failed structure: class CalculateA: lacks custom_compute_2"},
		{"banner comment (M-12)", "R", []string{"class CalculateA", "# === A ===\nclass CalculateA"}, "solved"},
	}, official: []officialRow{
		row("two differences in one helper (M-11)", "R", once, "0", "B pass D fail"),
	}}
}
