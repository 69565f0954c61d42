package refactor

import (
	"strings"
	"testing"

	"cabra-run/tasks"
)

// What the examples of the axis runtime have to show, beside what stays as it
// was: the changed line in the branch that runs, the old one in the other.
func TestRuntimeExamplesShow(t *testing.T) {
	guarded := func(lines ...string) []string {
		out := []string{"def check() -> bool:", "    return True", "    if check():", "    else:"}
		return append(out, lines...)
	}
	checkShown(t, tasks.Runtime, map[tasks.Refactoring]shown{
		tasks.DeadCode: {same: "b check", changed: "a", gone: "c",
			before: guarded("        b_val = b(val)", "        c_val = c(val)", "    return (a(val))"),
			after:  guarded("        b_val = b(val)", "        c_val = val", "        return TWO(c_val)")},
		tasks.AddParameter: {same: "a check", changed: "b c",
			before: guarded("def b(val: T, V: H=default()) -> T:", "        c_val = c(val)"),
			after: guarded("    b_val = b(val)", "        c_val = c(val, V=V)", "        c_val = c(val)",
				"def c(val: T, V: H=default()) -> T:", "    return V * THREE(val)")},
		tasks.AddReturn: {same: "c check", changed: "a b",
			before: guarded("        return external(TWO(val))", "        return TWO(val)"),
			after: guarded("def b(val: T) -> tuple[T, str]:", "        return external(TWO(val))",
				"def a(val: T) -> tuple[T, str]:", "        return TWO(val)",
				"        b_val, b_str = b(val)", "        b_val = b(val)",
				"        return (PAIR(b_val, c_val), b_str)", "        return PAIR(b_val, c_val)")},
		tasks.CacheFunction: {same: "a check", changed: "b c d",
			before: guarded("        return slow() + TWO(val)", "        return slow() + THREE(val)"),
			after: guarded("def b(val: T) -> T:", "        temp: H = slow()",
				"        c_val = c(val, temp)",
				"        c_val = c(val)", "        d_val = d(val, temp)", "        d_val = d(val)",
				"def c(val: T, temp: H=0) -> T:", "        return temp + TWO(val)",
				"        return slow() + TWO(val)", "        return temp + THREE(val)")},
		tasks.DontRepeat: {same: "a e check", changed: "b c d",
			before: guarded("        V: H = G(val)", "        return V * PAIR(d_val, e_val)"),
			after: guarded("def d(val: T) -> tuple[T, H]:", "        V: H = G(val)",
				"        return (THREE(e_val), V)", "        return THREE(e_val)",
				"        d_val, V = d(val)",
				"        d_val = d(val)", "        return V * TWO(d_val)")},
	})
}

// Only the branch of the example that runs changes, but for calls of what dead
// code removes.
func TestRuntimeExamplesKeepTheOtherBranch(t *testing.T) {
	others := func(program string) string {
		var lines []string
		keep := false
		for line := range strings.Lines(program) {
			if !strings.HasPrefix(line, "        ") {
				keep = strings.HasPrefix(line, "    else:")
			}
			if keep {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	eachOf(t, tasks.Runtime, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
		e := exampleOf(t, tasks.Runtime, r, code)
		want := others(e.Before)
		if r == tasks.DeadCode {
			want = strings.Replace(want, "c_val = c(val)", "c_val = val", 1)
		}
		if want == "" || others(e.After) != want {
			t.Errorf("the other branches are\n%s\nwant\n%s", others(e.After), want)
		}
	})
}

func TestInstructionExamplesShow(t *testing.T) {
	checkShown(t, tasks.Instructions, map[tasks.Refactoring]shown{
		tasks.AddParameter: {same: "a", changed: "b c",
			before: []string{"def b(val: T, V1: H=default(1), V2: H=default(2)) -> T:",
				"    c_val = c(val)"},
			after: []string{"    c_val = c(val, V1=V1, V2=V2)", "    return TWO(c_val)",
				"def c(val: T, V1: H=default(1), V2: H=default(2)) -> T:",
				"    return V1 * V2 * THREE(val)"}},
		tasks.AddReturn: {same: "c", changed: "a b d",
			before: []string{"    key1, key2 = external(2)", "    return TWO(val)"},
			after: []string{"def b(val: T) -> tuple[T, str, str]:", "    key1, key2 = external(2)",
				"    return (TWO(val), key1, key2)", "    b_val, key1, key2 = b(val)", "    c_val = c(val)",
				"    d_val, _, _ = d(val)", "    return (PAIR(PAIR(b_val, c_val), d_val), key1, key2)"}},
		tasks.CacheFunction: {same: "a e", changed: "b c d",
			before: []string{"    return slow(1) + slow(2) + TWO(val)"},
			after: []string{"    slow1: H = slow(1)", "    slow2: H = slow(2)",
				"    c_val = c(val, slow1=slow1, slow2=slow2)",
				"def c(val: T, slow1: H=0, slow2: H=0) -> T:",
				"    return slow1 + slow2 + TWO(val)", "    e_val = e(val)"}},
		tasks.DontRepeat: {same: "a e", changed: "b c d",
			before: []string{"    V2: H = G(val, 2)\n    V1: H = G(val, 1)",
				"    return V1 * V2 * PAIR(d_val, e_val)"},
			after: []string{"def d(val: T) -> tuple[T, H, H]:",
				"    V1: H = G(val, 1)\n    V2: H = G(val, 2)",
				"    return (THREE(e_val), V1, V2)", "    d_val, V1, V2 = d(val)", "def b(val: T) -> T:",
				"    return V1 * V2 * PAIR(d_val, e_val)", "    return V1 * V2 * TWO(d_val)"}},
	})
}

// What the texts have to say, as for the base texts.
func TestAxisStatementsSayTheRules(t *testing.T) {
	common := []string{"`solution.py`",
		"Do not add functions or imports, nor variables outside of the given functions.",
		"must keep its name.", "Do not change `main()` or the `if __name__ == '__main__':` block."}
	guarded := []string{"Some code of the program is guarded by conditions",
		"Only the branch that runs influences the output", "Do not change any condition",
		"Do not remove, simplify or restructure any `if`/`else`, other control flow or state logic, even where it " +
			"seems redundant or unreachable"}
	running := []string{"Follow this procedure exactly.", "automatically marked wrong",
		"Make the changes described above only in branches that run.",
		"Every branch that does not run stays exactly as it is, even if it holds the same calls."}
	annotation := "the return annotation need not describe what"
	instructed := []string{"`mylibrary`", "supplied later", "do not define them", "Keep the indexes", "ten",
		"The programs of this example have only two values instead of ten."}
	required := []string{"listed at the end, shuffled, and not grouped by ",
		"Each requirement applies in every eligible function.",
		"No line is inserted in `main()` or in any other function.",
		"first all comments, then all assertions, then all prints, then all assignments of temporary variables",
		"after the values have been received or computed, and before they are passed on, used or returned",
		"real Python comments, each on a line of its own, exactly as given, with the name of the value",
		"Assertions, prints and assignments are separate statements.",
		"uses exactly the name that is given and does not change the value. Go on using the value itself",
		"several requirements of the same kind, insert one line for each", "not `example_"}
	says := map[tasks.Axis]map[tasks.Refactoring][]string{
		tasks.Runtime: {
			tasks.DeadCode: {"do not influence the output of `main()`", "Ignore branches that do not run",
				"replace the call by `val`, so that the branch stays valid", "`q_val = val`"},
			tasks.AddParameter: {"Start with every function that has the parameter", "=default()`",
				"only in the branch that runs"},
			tasks.AddReturn: {"up the call chain", annotation},
			tasks.CacheFunction: {"exactly once, in the lowest common ancestor",
				"inside the branch of the lowest common ancestor that runs, not before the `if`"},
			tasks.DontRepeat: {"in the nearest shared downstream function", annotation,
				"only in branches that run. Branches that do not run keep their own call of `G(val)`"},
		},
		tasks.Instructions: {
			tasks.AddParameter: {"`V1: H=default(1)`", "`V10: H=default(10)`", "applies all of them",
				"it returns `V1 * V2 * … * V10 * X`",
				"never call `default` without its index", "Do not swap", "recursively",
				"Functions upstream",
				"Only terminal functions apply", "Do not rely on its values",
				"if it must take the parameters"},
			tasks.AddReturn: {"`external(10)`", "returns only its value",
				"first its value, then all keys in the order of their indexes",
				"keeps the keys of the first of these calls", "unpacks those of the other calls into `_`",
				"Do not mix the keys of different calls",
				"Do not change, move or repeat the calls of `external(10)`",
				"tuple[T, str, str, …, str]", "if it must return the keys"},
			tasks.CacheFunction: {"`slow(1)`, `slow(2)`, …, `slow(10)`", "`slow1`, `slow2`, …, `slow10`",
				"exactly once, in the lowest common ancestor",
				"Do not use global variables", "never call `slow` without its index",
				"if it defines the cached values or takes them as parameters"},
			tasks.DontRepeat: {"`G(val, 1)`, `G(val, 2)`, …, `G(val, 10)`", "`V1` to `V10`",
				"in the nearest shared downstream function",
				"Never move the calls of `G` to a caller", "never call `G` without its index",
				"if it defines, uses or returns"},
		},
	}
	says[tasks.CommentCopy] = map[tasks.Refactoring][]string{}
	for r, phrases := range says[tasks.Instructions] {
		// The last one is about requirements.
		says[tasks.CommentCopy][r] = append([]string{
			"In every function that you change, put the following comment, word for word",
			"a single line of its own, at the top of the function's body"}, phrases[:len(phrases)-1]...)
	}
	for _, axis := range textAxes()[1:] {
		eachOf(t, axis, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
			want := append([]string{}, common...)
			switch {
			case axis == tasks.Runtime && r == tasks.DeadCode:
				want = append(want, guarded...)
			case axis == tasks.Runtime:
				want = append(append(want, guarded...), running...)
			case axis == tasks.Instructions:
				want = append(append(want, instructed...), required...)
			default:
				want = append(want, instructed...)
			}
			want = append(want, says[axis][r]...)
			if code == tasks.String {
				want = append(want, "`strops` ", "supplied later")
			}
			text := textOf(t, axis, r, code)
			for _, phrase := range want {
				if phrase = sayingIn(code, phrase); !strings.Contains(text, phrase) {
					t.Errorf("does not say %q", phrase)
				}
			}
		})
	}
}

// sayingIn replaces the words for the passed value, its type and its getter.
func sayingIn(code tasks.CodeType, phrase string) string {
	words := strings.NewReplacer("`V1 * V2 * … * V10 *", "`mult1 * mult2 * … * mult10 *", "`V", "`mult",
		"H=", "float=",
		"`G", "`get_multiplier", "[T,", "[float,")
	switch code {
	case tasks.String:
		words = strings.NewReplacer("`V1 * V2 * … * V10 *", "`prefix1 + prefix2 + … + prefix10 +", "`V",
			"`prefix", "H=", "str=",
			"`G", "`get_key", "[T,", "[str,")
	case tasks.Array:
		words = strings.NewReplacer("`V1 * V2 * … * V10 *", "`mult1 * mult2 * … * mult10 *", "`V",
			"`mult", "H=", "float=",
			"`G", "`get_multiplier", "[T,", "[np.ndarray,")
	}
	return words.Replace(phrase)
}

// The strictness of the other texts is not in these.
func TestInstructionStatementsAreNotStrict(t *testing.T) {
	for _, axis := range []tasks.Axis{tasks.Instructions, tasks.CommentCopy} {
		eachOf(t, axis, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
			if text := textOf(t, axis, r, code); strings.Contains(text, "marked wrong") ||
				strings.Contains(text, "exactly.") {
				t.Error("the text threatens")
			}
			headings := []string{"`solution.py`", "\n## Example\n", "\nBefore:\n", "\nAfter:\n",
				"\n## Rules\n"}
			last := "\n## Requirements\n"
			if axis == tasks.CommentCopy {
				last = "\n## Comment\n"
			}
			checkOrder(t, textOf(t, axis, r, code), append(headings, last)...)
		})
	}
}

func TestRuntimeStatementsInOrder(t *testing.T) {
	eachOf(t, tasks.Runtime, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
		checkOrder(t, textOf(t, tasks.Runtime, r, code), "`solution.py`", "\n## Conditions\n",
			"\n## Example\n", "\nBefore:\n",
			"\nAfter:\n", "\n## Rules\n", "\n* Do not add functions")
	})
}
