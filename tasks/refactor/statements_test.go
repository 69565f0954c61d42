package refactor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cabra-run/tasks"
)

func ownText(t *testing.T, r tasks.Refactoring, code tasks.CodeType) string {
	t.Helper()
	text, err := Statement(tasks.Cell{Axis: tasks.Traversal, Size: 5, Refactoring: r, Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// textOf is the own text of an axis, with its placeholder.
func textOf(t *testing.T, axis tasks.Axis, r tasks.Refactoring, code tasks.CodeType) string {
	t.Helper()
	own, err := OwnStatements()
	if err != nil {
		t.Fatal(err)
	}
	name, err := statementName(tasks.Cell{Axis: axis, Size: 5, Refactoring: r, Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return own[name]
}

// textAxes holds one axis for each set of statements.
func textAxes() []tasks.Axis {
	return []tasks.Axis{tasks.Traversal, tasks.Runtime, tasks.Instructions, tasks.CommentCopy}
}

// example is the worked example of a statement.
type example struct {
	Axis        tasks.Axis        `json:"axis"`
	Refactoring tasks.Refactoring `json:"refactoring"`
	Code        tasks.CodeType    `json:"code"`
	Before      string            `json:"before"`
	After       string            `json:"after"`
	Filled      string            `json:"filled"` // a function with inserted lines
	explanation string            // the text between the programs
}

var fence = regexp.MustCompile("(?s)```python\n(.*?)\n```\n")

func exampleOf(t *testing.T, axis tasks.Axis, r tasks.Refactoring, code tasks.CodeType) example {
	t.Helper()
	text := textOf(t, axis, r, code)
	blocks := fence.FindAllStringSubmatchIndex(text, -1)
	want := 2
	if axis == tasks.Instructions || axis == tasks.CommentCopy {
		want = 3
	}
	if len(blocks) != want {
		t.Fatalf("%s %s %s: %d programs, want %d", axis, r, code, len(blocks), want)
	}
	between := strings.TrimSpace(text[blocks[0][1]:blocks[1][0]])
	e := example{Axis: axis, Refactoring: r, Code: code, Before: text[blocks[0][2]:blocks[0][3]],
		After: text[blocks[1][2]:blocks[1][3]], explanation: strings.TrimSpace(strings.TrimSuffix(between,
			"After:"))}
	if axis == tasks.Instructions {
		e.Filled = text[blocks[2][2]:blocks[2][3]]
	}
	return e
}

// eachStatement checks the base texts.
func eachStatement(t *testing.T, check func(t *testing.T, r tasks.Refactoring, code tasks.CodeType)) {
	t.Helper()
	eachOf(t, tasks.Traversal, check)
}

// eachOf checks the texts of an axis.
func eachOf(t *testing.T, axis tasks.Axis, check func(t *testing.T, r tasks.Refactoring,
	code tasks.CodeType)) {
	t.Helper()
	set, err := setOf(axis)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range set.refactorings {
		for _, code := range tasks.CodeTypes() {
			t.Run(set.name(r, code), func(t *testing.T) { check(t, r, code) })
		}
	}
}

// CABRA_UPDATE_GOLDEN=1 writes the texts; read them before keeping them.
func TestStatementsGolden(t *testing.T) {
	own, err := OwnStatements()
	if err != nil {
		t.Fatal(err)
	}
	if len(own) != 15+15+12+12 {
		t.Errorf("%d statements", len(own))
	}
	for name, text := range own {
		t.Run(name, func(t *testing.T) { goldenText(t, filepath.FromSlash(name)+".md", text) })
	}
}

// goldenText compares a text with a file in testdata/statements.
func goldenText(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", "statements", name)
	if os.Getenv("CABRA_UPDATE_GOLDEN") == "1" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("the text is not that of %s:\n%s", file, text)
	}
}

// The examples are run: they keep to the rules, have the shape of generated
// programs, and before and after compute the same.
func TestStatementExamplesRun(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on the path")
	}
	var cases []example
	for _, axis := range textAxes()[:3] { // those of comment-copy are those of instructions
		eachOf(t, axis, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
			cases = append(cases, exampleOf(t, axis, r, code))
		})
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "statements.py")
	cmd.Dir = filepath.Join("testdata", "python")
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("checked %d\n", len(cases)); err != nil || string(output) != want {
		t.Errorf("%v\n%s", err, output)
	}
}

// blocks splits a program into its parts between blank lines; functions are
// found under their names, import lines under "", the last part under "if".
func blocks(program string) map[string]string {
	parts := map[string]string{}
	for _, block := range strings.Split(program, "\n\n") {
		name := ""
		if rest, ok := strings.CutPrefix(block, "def "); ok {
			name, _, _ = strings.Cut(rest, "(")
		} else if strings.HasPrefix(block, "if ") {
			name = "if"
		}
		parts[name] = block
	}
	return parts
}

// What the example of each refactoring has to show.
func TestStatementExamplesShow(t *testing.T) {
	checkShown(t, tasks.Traversal, map[tasks.Refactoring]shown{
		tasks.DeadCode: {same: "b", gone: "a",
			before: []string{"    b_val = b(val)", "    return (b(val))"},
			after:  []string{"    return (b(val))"}},
		tasks.AddParameter: {same: "a", changed: "b c",
			before: []string{"def b(val: T, V: H=default()) -> T:", "    c_val = c(val)",
				"    return TWO(c_val)", "    return THREE(val)"},
			after: []string{"    b_val = b(val)", "    c_val = c(val, V=V)", "    return TWO(c_val)",
				"def c(val: T, V: H=default()) -> T:", "    return V * THREE(val)"}},
		tasks.AddReturn: {same: "c", changed: "a b",
			before: []string{"    return external(TWO(val))"},
			after: []string{"def b(val: T) -> tuple[T, str]:", "    return external(TWO(val))",
				"def a(val: T) -> tuple[T, str]:",
				"    b_val, b_str = b(val)", "    c_val = c(val)",
				"    return (PAIR(b_val, c_val), b_str)"}},
		tasks.CacheFunction: {same: "a e", changed: "b c d",
			before: []string{"    return slow() + TWO(val)", "    return slow() + THREE(e_val)"},
			after: []string{"def b(val: T) -> T:", "    temp: H = slow()", "    c_val = c(val, temp)",
				"    d_val = d(val, temp)",
				"def c(val: T, temp: H=0) -> T:", "    return temp + TWO(val)", "    e_val = e(val)",
				"    return temp + THREE(e_val)"}},
		tasks.DontRepeat: {same: "a e", changed: "b c d",
			before: []string{"    V: H = G(val)", "    return V * PAIR(d_val, e_val)",
				"    return V * TWO(d_val)"},
			after: []string{"def d(val: T) -> tuple[T, H]:", "    V: H = G(val)",
				"    return (THREE(e_val), V)",
				"def b(val: T) -> T:", "    d_val, V = d(val)", "    return V * PAIR(d_val, e_val)",
				"    return V * TWO(d_val)"}},
	})
}

// shown is what an example has to show.
type shown struct {
	same, changed, gone string   // functions
	before, after       []string // lines, with words of the code type
}

// shownWords replaces words that stand for those of a code type: T and H for
// types, V for the passed value, G for its getter.
func shownWords(code tasks.CodeType) *strings.Replacer {
	return map[tasks.CodeType]*strings.Replacer{
		tasks.Math: strings.NewReplacer("T:", "float:", "T,", "float,", "T]", "float]", "val: T",
			"val: float", "V", "mult", "H=0", "float=0.0",
			"H", "float", "G(", "get_multiplier(", "TWO", "abs", "THREE", "math.cos", "PAIR", "max"),
		tasks.String: strings.NewReplacer("T:", "str:", "T,", "str,", "T]", "str]", "val: T", "val: str",
			"V *", "prefix +", "V1 *", "prefix1 +", "V2 *", "prefix2 +", "V", "prefix",
			"H=0", "str=''", "H", "str", "G(", "get_key(", "TWO", "strops.reverse", "THREE",
			"strops.mirror", "PAIR", "strops.zip_chars"),
		tasks.Array: strings.NewReplacer("T:", "np.ndarray:", "T,", "np.ndarray,", "T]", "np.ndarray]",
			"val: T", "val: np.ndarray", "V", "mult",
			"H=0", "float=0.0", "H", "float", "G(", "get_multiplier(", "TWO", "np.abs", "THREE", "np.cos",
			"PAIR", "np.maximum"),
	}[code]
}

func checkShown(t *testing.T, axis tasks.Axis, shows map[tasks.Refactoring]shown) {
	t.Helper()
	eachOf(t, axis, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
		e, show, words := exampleOf(t, axis, r, code), shows[r], shownWords(code)
		before, after := blocks(e.Before), blocks(e.After)
		for _, name := range append(strings.Fields(show.same), "", "main", "if") {
			if before[name] == "" || before[name] != after[name] {
				t.Errorf("%q does not stay as it was", name)
			}
		}
		for _, name := range strings.Fields(show.changed) {
			if before[name] == "" || after[name] == "" || before[name] == after[name] {
				t.Errorf("%q is not changed", name)
			}
		}
		for _, name := range strings.Fields(show.gone) {
			if before[name] == "" || after[name] != "" {
				t.Errorf("%q is not removed", name)
			}
		}
		if want := len(before) - len(strings.Fields(show.gone)); len(after) != want {
			t.Errorf("%d parts after, want %d", len(after), want)
		}
		for _, line := range show.before {
			if line = words.Replace(line); !strings.Contains(e.Before+"\n", line+"\n") {
				t.Errorf("no line %q before", line)
			}
		}
		for _, line := range show.after {
			if line = words.Replace(line); !strings.Contains(e.After+"\n", line+"\n") {
				t.Errorf("no line %q after", line)
			}
		}
	})
}

func TestStatementExamplesCallTheEntry(t *testing.T) {
	for r, want := range map[tasks.Refactoring]string{tasks.DeadCode: "return (b(val))",
		tasks.AddParameter: "return a(val)",
		tasks.AddReturn:    "return a(val)", tasks.CacheFunction: "return a(val)",
		tasks.DontRepeat: "return a(val)"} {
		for _, code := range tasks.CodeTypes() {
			if main := blocks(exampleOf(t, tasks.Traversal, r,
				code).Before)["main"]; !strings.HasSuffix(main, "    "+want) {
				t.Errorf("%s %s: %q", r, code, main)
			}
		}
	}
}

// Each text has to say all of this, in these words or in better ones: whoever
// changes a text changes the words here too.
func TestStatementsSayTheRules(t *testing.T) {
	common := []string{"`solution.py`",
		"Do not add functions or imports, nor variables outside of the given functions.",
		"must keep its name.", "Do not change `main()` or the `if __name__ == '__main__':` block."}
	changing := []string{"Follow this procedure exactly.",
		"parameters or return values other than those described here",
		"automatically marked wrong", "New variables inside of functions are allowed.", "`mylibrary`",
		"supplied later", "do not define them"}
	says := map[tasks.Refactoring][]string{
		tasks.DeadCode: {"never used when the script runs", "cannot be reached from `main()`", "call graph",
			"`main()` calls `b`", "`b` is used and stays as it was"},
		tasks.AddParameter: {"Start with every function that has the parameter", "must pass", "recursively",
			"=default()`",
			"terminal", "without calling any function of the file; library functions",
			"instead of `X` it returns",
			"Only terminal functions apply", "Functions upstream", "stay unchanged",
			"may be changed later. Do not rely on its value",
			"`a` is upstream of `b` and stays as it was", "keeps its own operation",
			"brackets where that is needed", "function `default`"},
		tasks.AddReturn: {"It used to return a single value of type", "Now it returns a `tuple[",
			"result of the original computation",
			"up the call chain", "directly or indirectly",
			"any one of them: they are guaranteed to be equal",
			"`c` does not use `external()` and stays as it was", "function `external`"},
		tasks.CacheFunction: {"costly", "deterministic", "as rarely as possible",
			"exactly once, in the lowest common ancestor",
			"variable named `temp`", "additional argument to the functions that use it",
			"is F itself or is called by F, directly or indirectly",
			"No function that F calls, directly or indirectly, meets condition 1",
			"Do not use global variables",
			"not always a function that `main()` calls",
			"Do not pass `temp` beyond the functions that use it",
			"all calls of `slow()` return the same value",
			"Making the call in `a` would work too, but `b` is lower, so `b` is right",
			"`e` does not use the value, so `d` passes nothing to it", "function `slow`"},
		tasks.DontRepeat: {"Several functions", "each call the library function `G(val)`",
			"defined only once, in the nearest shared downstream function",
			"found by following the calls of each", "returned from there up to the functions that need it",
			"Never move the call of `G(val)` to a caller", "also calls F, directly or indirectly",
			"no other function that all of them call, directly or indirectly, and that in turn calls F",
			"Do not return the value further up than to the functions that need it",
			"could also be defined in `e`, which both reach, but `d` comes earlier", "`a` gets nothing",
			"function `G`"},
	}
	eachStatement(t, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
		text := ownText(t, r, code)
		getter := map[tasks.CodeType]string{tasks.Math: "get_multiplier", tasks.String: "get_key",
			tasks.Array: "get_multiplier"}[code]
		want := append(append([]string{}, common...), says[r]...)
		if r != tasks.DeadCode {
			want = append(want, changing...)
		}
		if code == tasks.String {
			want = append(want, "`strops` ", "supplied later")
		}
		for _, phrase := range want {
			if phrase = strings.ReplaceAll(phrase, "G", getter); !strings.Contains(text, phrase) {
				t.Errorf("does not say %q", phrase)
			}
		}
		checkOrder(t, text, "`solution.py`", "\n## Example\n", "\nBefore:\n", "\nAfter:\n", "\n## Rules\n",
			"\n* Do not add functions")
		if r != tasks.DeadCode {
			checkOrder(t, text, "\n## Rules\n\n* Follow this procedure exactly.", "* Make all changes in")
		}
	})
}

func checkOrder(t *testing.T, text string, phrases ...string) {
	t.Helper()
	at := 0
	for _, p := range phrases {
		i := strings.Index(text[at:], p)
		if i < 0 {
			t.Errorf("%q is missing, or not after what should precede it", p)
			return
		}
		at += i + len(p)
	}
}

// A text speaks of its own code type only, and of nothing that the program is
// not about.
func TestStatementsKeepToTheirCodeType(t *testing.T) {
	foreign := map[tasks.CodeType][]string{
		tasks.Math:   {"strops", "np.", "numpy", "prefix", "get_key", "str(", "in front of"},
		tasks.String: {"math", "np.", "numpy", "mult", "float", "multipl"},
		tasks.Array:  {"strops", "math", "prefix", "get_key", "in front of"},
	}
	check := func(t *testing.T, text string, code tasks.CodeType) {
		for _, placeholder := range []string{rulesPlaceholder, commentPlaceholder} {
			text = strings.ReplaceAll(text, placeholder, "…")
		}
		for _, word := range append(foreign[code], "<no value>", "{{", "}}", "\t", "\r", "  \n", "\n\n\n") {
			if strings.Contains(text, word) {
				t.Errorf("holds %q", word)
			}
		}
		if len(text) > 9000 {
			t.Errorf("%d bytes", len(text))
		}
	}
	for _, axis := range textAxes() {
		eachOf(t, axis, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
			text := textOf(t, axis, r, code)
			check(t, text, code)
			end := map[tasks.Axis]string{tasks.Instructions: "\n\n{{RULES}}\n",
				tasks.CommentCopy: "\n{{COMMENT}}\n```\n"}[axis]
			if end == "" {
				end = "* Do not change `main()` or the `if __name__ == '__main__':` block.\n"
			}
			if !strings.HasSuffix(text, end) {
				t.Errorf("ends in %q", text[len(text)-40:])
			}
		})
	}
}

func TestBaseStatementsServeThreeAxes(t *testing.T) {
	eachStatement(t, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
		for _, axis := range []tasks.Axis{tasks.Search, tasks.Combined} {
			other, err := Statement(tasks.Cell{Axis: axis, Size: 200, Refactoring: r, Code: code})
			if err != nil || other != ownText(t, r, code) {
				t.Errorf("%s differs: %v", axis, err)
			}
		}
	})
}

func TestStatementRefusesUnknownWords(t *testing.T) {
	for _, c := range []tasks.Cell{
		{},
		{Axis: "Runtime", Refactoring: tasks.DeadCode, Code: tasks.Math},
		{Axis: "runtime/", Refactoring: tasks.DeadCode, Code: tasks.Math},
		{Axis: tasks.Merge, Refactoring: tasks.DeadCode, Code: tasks.Math},
		{Axis: tasks.Instructions, Refactoring: tasks.DeadCode, Code: tasks.Math},
		{Axis: tasks.CommentCopy, Refactoring: tasks.DeadCode, Code: tasks.Math},
		{Axis: tasks.Search, Refactoring: "rename", Code: tasks.Math},
		{Axis: tasks.Search, Refactoring: tasks.DeadCode, Code: "list"},
		{Axis: tasks.Search, Refactoring: "dead-code.math", Code: ""},
	} {
		if text, err := Statement(c); err == nil || text != "" {
			t.Errorf("Statement(%+v) = %q, %v", c, text, err)
		}
	}
}
