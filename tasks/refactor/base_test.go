package refactor

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// The published permutation of twelve functions.
func TestFileOrderOfTwelve(t *testing.T) {
	if got := fileOrder(42, 12); !slices.Equal(got, []int{3, 5, 7, 6, 11, 0, 4, 9, 10, 8, 2, 1}) {
		t.Errorf("file order %v", got)
	}
}

// Published: the operators of these functions at seed 42 in math programs, and
// those of b in every code type.
func TestOperatorsBySeedAndName(t *testing.T) {
	b := newBase(tasks.Math)
	for name, want := range map[string]string{"n": "abs", "b": "abs", "f": "abs", "a": "operator.neg",
		"i": "math.degrees", "j": "math.cos", "l": "math.tanh", "s": "round"} {
		if got := b.operators(name, 0); !slices.Equal(got, []string{want}) {
			t.Errorf("%s without callee: %v, want %s", name, got, want)
		}
		if got := b.operators(name, 1); !slices.Equal(got, []string{want}) {
			t.Errorf("%s with one callee: %v, want %s", name, got, want)
		}
	}
	for name, want := range map[string][]string{"d": {"operator.add"}, "g": {"max"},
		"q": {"math.hypot", "min", "operator.sub"}, "r": {"math.hypot", "math.hypot"}} {
		if got := b.operators(name, len(want)+1); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for code, want := range map[tasks.CodeType]string{tasks.String: "strops.rot13", tasks.Array: "np.abs"} {
		if got := newBase(code).operators("b", 0); !slices.Equal(got, []string{want}) {
			t.Errorf("b in %s: %v, want %s", code, got, want)
		}
	}
}

func TestBanksHaveTheirSizes(t *testing.T) {
	for code, want := range map[tasks.CodeType][2]int{tasks.Math: {10, 7}, tasks.String: {6, 5}, tasks.Array: {10, 7}} {
		l := languageOf(code)
		if got := [2]int{len(l.unary), len(l.binary)}; got != want {
			t.Errorf("%s: %v operators, want %v", code, got, want)
		}
	}
}

// A program written twice is the same, and writing one leaves the sample alone.
func TestGenerateDoesNotDependOnWhatWasBefore(t *testing.T) {
	sample, untouched := paperSample(t), paperSample(t)
	for _, code := range tasks.CodeTypes() {
		shared := newBase(code)
		for _, r := range tasks.Refactorings() {
			shared.generate(r, sample)
		}
		for _, r := range tasks.Refactorings() {
			if !reflect.DeepEqual(shared.generate(r, sample), newBase(code).generate(r, untouched)) {
				t.Errorf("%s %s differs the second time", r, code)
			}
		}
	}
	if !reflect.DeepEqual(sample, untouched) {
		t.Error("the sample was changed")
	}
}

// Published line shapes that the goldens and the check with Python rest on.
func TestLineShapes(t *testing.T) {
	sample := paperSample(t)
	for _, c := range []struct {
		refactoring        tasks.Refactoring
		code               tasks.CodeType
		starter, reference []string
	}{
		{tasks.AddParameter, tasks.String,
			[]string{"from mylibrary import default\nimport strops\nimport sys\n\n",
				"def s(val: str, prefix: str=default()) -> str:\n    q_val = q(val)\n"},
			[]string{"    q_val = q(val, prefix=prefix)\n", "    return prefix + strops.rot13(val)\n"}},
		{tasks.AddReturn, tasks.Array,
			[]string{"import numpy as np\nimport sys\n", "    return external(np.sign(val))\n"},
			[]string{") -> tuple[np.ndarray, str]:\n    m_val, m_str = m(val)\n    return (np.abs(m_val), m_str)\n",
				"    main(np.array(eval(sys.argv[1])))"}},
		{tasks.CacheFunction, tasks.String,
			[]string{"    return slow() + strops.char_rotate_by_3(val)\n"},
			[]string{"def c(val: str, temp: str='') -> str:\n    return temp + ", "    temp: str = slow()\n",
				"    o_val = o(val, temp)\n"}},
		{tasks.DontRepeat, tasks.Array,
			[]string{"    mult: float = get_multiplier(val)\n    h_val = h(val)\n    return mult * np.flip(h_val)\n"},
			[]string{"    h_val, mult = h(val)\n    return mult * np.flip(h_val)\n",
				") -> tuple[np.ndarray, float]:\n    mult: float = get_multiplier(val)\n    return (np.flip(val), mult)\n"}},
	} {
		got := newBase(c.code).generate(c.refactoring, sample)
		for _, want := range c.starter {
			if !strings.Contains(got.starter, want) {
				t.Errorf("%s %s: starter lacks %q", c.refactoring, c.code, want)
			}
		}
		for _, want := range c.reference {
			if !strings.Contains(got.reference, want) {
				t.Errorf("%s %s: reference lacks %q", c.refactoring, c.code, want)
			}
		}
	}
}
