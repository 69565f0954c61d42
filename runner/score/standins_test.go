package score

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// evaluate runs a program without parameters and returns what its functions
// f0, f1, … give, by the reference's workers.
func evaluate(t *testing.T, s *Scorer, code string, stubs [4]int, head string, expressions []string) []string {
	t.Helper()
	var source strings.Builder
	source.WriteString(head)
	job := runJob{Op: "run", Code: code, Failures: len(expressions) + 1, Trials: []trial{{Stubs: stubs, Values: map[string]string{}}}}
	for i, e := range expressions {
		fmt.Fprintf(&source, "def f%d():\n    return %s\n", i, e)
		job.Calls = append(job.Calls, testCall{Name: "f" + strconv.Itoa(i)})
	}
	parsed, err := s.parse(context.Background(), parseJob{Programs: 1}, source.String())
	if err != nil {
		t.Fatal(err)
	}
	job.Program = parsed[0].Program
	reply, err := s.pools[roleReference].run(context.Background(), job, s.limits.wire())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := readRun(&job, reply.body)
	if err != nil || !answer.Complete || len(answer.Trials) != 1 {
		t.Fatalf("answer %+v: %v", answer, err)
	}
	var out []string
	for _, outcome := range answer.Trials[0].Outcomes {
		out = append(out, outcomeText(outcome))
	}
	return out
}

func checkExpressions(t *testing.T, s *Scorer, code string, stubs [4]int, head string, rows [][2]string) {
	t.Helper()
	var expressions, want []string
	for _, row := range rows {
		expressions, want = append(expressions, row[0]), append(want, row[1])
	}
	got := evaluate(t, s, code, stubs, head, expressions)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s = %s, want %s", expressions[i], got[i], want[i])
		}
	}
}

// The library of string functions against its table of definitions; results
// worked out by hand.
func TestStrops(t *testing.T) {
	checkExpressions(t, newScorer(t, 1), "string", [4]int{}, "import strops\n", [][2]string{
		{`strops.rot13("Hello, xyz 9")`, `"Uryyb, klm 9"`},
		{`strops.rot13("é")`, `"é"`},
		{`strops.reverse("abc1é")`, `"é1cba"`},
		{`strops.swap_case("aBc1")`, `"AbC1"`},
		{`strops.swap_case("ß")`, `"SS"`},
		{`strops.char_rotate("azAZ09")`, `"baBA09"`},
		{`strops.char_rotate_by_3("azAZ09")`, `"dcDC09"`},
		// é is lower case and lies 136 behind a: (136 + 1) mod 26 = 7 is h. É is
		// 136 behind A; Ω (937) is upper case: (872 + 3) mod 26 = 17 is R.
		{`strops.char_rotate("é É 中")`, `"h H 中"`},
		{`strops.char_rotate_by_3("Ω")`, `"R"`},
		// ª (170) is lower case to Python; (73 + 1) mod 26 = 22 is w.
		{`strops.char_rotate("ª")`, `"w"`},
		{`strops.mirror("abyzABYZ09é")`, `"zybaZYBA09é"`},
		{`strops.interleave("abcd", "efgh")`, `"aecf"`},
		{`strops.interleave("abcde", "xy")`, `"ax"`},
		{`strops.interleave("abc", "xyzuv")`, `"axc"`},
		{`strops.swap_halves("abcd", "efgh")`, `"cdef"`},
		{`strops.swap_halves("abcde", "xyzuv")`, `"cdexy"`},
		{`strops.swap_halves("abc", "x")`, `"a"`},
		{`strops.zip_chars("abcd", "ef")`, `"af"`},
		{`strops.zip_chars("abcde", "vwxyz")`, `"awcye"`},
		{`strops.alternate_chars("abcd", "efgh")`, `"acfh"`},
		{`strops.alternate_chars("abc", "x")`, `"ac"`},
		// a ^ b = 3, 1 ^ 2 = 3, a ^ a = 0, é ^ 0 = 217, and 217 mod 26 = 9.
		{`strops.xor_chars("a1aé", "b2a0")`, `"ddaj"`},
		{`strops.xor_chars("abc", "a")`, `"a"`},
		{`[getattr(strops, n)("") for n in ("rot13", "reverse", "swap_case", "char_rotate", "char_rotate_by_3", "mirror")]`, `["", "", "", "", "", ""]`},
		{`[getattr(strops, n)("", "ab") for n in ("interleave", "swap_halves", "zip_chars", "xor_chars", "alternate_chars")]`, `["", "", "", "", "b"]`},
		{`[getattr(strops, n)("ab", "") for n in ("interleave", "swap_halves", "zip_chars", "xor_chars", "alternate_chars")]`, `["", "", "", "", "a"]`},
		{`len([n for n in vars(strops) if not n.startswith("_")])`, `11`},
	})
}

// The variants of mylibrary against their table.
func TestLibraryVariants(t *testing.T) {
	s := newScorer(t, 1)
	numbers := []string{"0.21", "-0.42", "0.63", "-0.84", "1.02"}
	names := []string{"cabra", "goat", "chevre", "capra", "geit"}
	mathHelper := [][2]string{{"1.0", "-1.0"}, {"0.5", "0.5"}, {"0.3", "-0.25"}, {"0.21", "-0.25"}, {"0.31", "-0.24"}}
	// Of [1, 3] and [-1, -3]; the standard deviation of both is 1.
	arrayHelper := [][2]string{{"1.0", "-1.0"}, {"0.5", "0.5"}, {"1.0", "1.0"}, {"0.21", "-3.0"}, {"2.01", "-1.99"}}
	// "aZ" has the codes 97 and 122.
	keys := []string{"05", "38", "61"}
	for v := range 5 {
		stubs := [4]int{v, v, v % 3, v}
		checkExpressions(t, s, "string", stubs, "from mylibrary import *\n", [][2]string{
			{`external("x")`, fmt.Sprintf(`("x", "%d00")`, v+1)}, {"default()", fmt.Sprintf(`"%d"`, v)},
			{"slow()", fmt.Sprintf(`"%d"`, v)}, {`get_key("a1Zé")`, strconv.Quote(keys[v%3])}, {`get_key("12")`, `"0"`}, {`get_key("")`, `"0"`},
		})
		stubs[2] = v
		common := [][2]string{
			{"external(2.5)", fmt.Sprintf(`(2.5, "%s")`, names[v])}, {"default()", numbers[v]}, {"slow()", numbers[v]},
		}
		checkExpressions(t, s, "math", stubs, "from mylibrary import *\n", append(slices.Clone(common),
			[2]string{"get_multiplier(0.3)", mathHelper[v][0]}, [2]string{"get_multiplier(-0.25)", mathHelper[v][1]}))
		checkExpressions(t, s, "array", stubs, "from mylibrary import *\nimport numpy as np\n", append(common,
			[2]string{"get_multiplier(np.array([1.0, 3.0]))", arrayHelper[v][0]},
			[2]string{"get_multiplier(np.array([-1.0, -3.0]))", arrayHelper[v][1]}))
	}
}
