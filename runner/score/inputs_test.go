package score

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// Inputs are part of what a verdict means: they may change only together with
// StrictVersion.
func TestInputsGolden(t *testing.T) {
	in := inputs{digest: "sha256:of-a-task", code: tasks.String, keys: []string{"array0", "bool1", "float0", "float1", "int0", "str0", "str1"}}
	var trials []trial
	for _, n := range []int{0, 1, 2, 25, emptyTrial} {
		trials = append(trials, in.draw(n, 0))
	}
	trials = append(trials, in.draw(0, 1), in.draw(0, 9))
	got, err := json.MarshalIndent(trials, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "inputs.golden")
	if os.Getenv("CABRA_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("inputs have changed:\n%s", got)
	}
}

// drawAll returns the values of one key in all trials of a task.
func drawAll(t *testing.T, key, digest string) []value {
	t.Helper()
	in := inputs{digest: digest, code: tasks.Math, keys: []string{key}}
	var out []value
	for n := range Trials {
		v, err := parseValue(in.draw(n, 0).Values[key])
		if err != nil {
			t.Fatalf("input %d of %s: %v", n, key, err)
		}
		out = append(out, v)
	}
	return out
}

func count(values []value, is func(value) bool) int {
	n := 0
	for _, v := range values {
		if is(v) {
			n++
		}
	}
	return n
}

// What the inputs of every task are meant to contain, looked at in 40 tasks.
func TestInputsReachWhatMatters(t *testing.T) {
	var floats, factors, texts, prefixes, arrays []value
	for i := range 40 {
		digest := "task " + string(rune('A'+i))
		floats = append(floats, drawAll(t, "float0", digest)...)
		factors = append(factors, drawAll(t, "float1", digest)...)
		texts = append(texts, drawAll(t, "str0", digest)...)
		prefixes = append(prefixes, drawAll(t, "str1", digest)...)
		arrays = append(arrays, drawAll(t, "array0", digest)...)
	}
	between := func(what string, got, low, high int) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s: %d of %d, want %d to %d", what, got, len(floats), low, high)
		}
	}
	magnitude := func(low, high float64) func(value) bool {
		return func(v value) bool { f := math.Abs(v.Float); return low <= f && f < high }
	}
	// 2,000 of each. Of 50, 24 are in (-1, 1), 14 in (-10, 10), 6 beyond, 6 special: two of them zeros, two ones.
	between("floats below 1", count(floats, magnitude(0, 1)), 1000, 1250)
	between("floats of 1 to 10", count(floats, magnitude(1, 10)), 450, 700)
	between("floats of 10 and more", count(floats, magnitude(10, 1000)), 240, 240)
	between("zeros", count(floats, func(v value) bool { return v.Float == 0 }), 80, 80)
	between("negative zeros", count(floats, func(v value) bool { return v.Float == 0 && math.Signbit(v.Float) }), 40, 40)
	between("negative floats", count(floats, func(v value) bool { return v.Float < 0 }), 850, 1150)
	between("neutral factors", count(factors, func(v value) bool { return v.Float == 0 || v.Float == 1 }), 0, 0)
	between("small factors", count(factors, magnitude(0, 0.1)), 0, 0)
	between("negative factors", count(factors, func(v value) bool { return v.Float < 0 }), 850, 1150)
	digits := func(v value) bool { return v.Text != "" && strings.Trim(v.Text, "0123456789") == "" }
	between("texts of digits", count(texts, digits), 700, 1000)
	between("empty texts", count(texts, func(v value) bool { return v.Text == "" }), 40, 40)
	between("texts beyond ASCII", count(texts, func(v value) bool {
		return strings.ContainsFunc(v.Text, func(r rune) bool { return r > 127 })
	}), 150, 350)
	between("empty prefixes", count(prefixes, func(v value) bool { return v.Text == "" }), 0, 0)
	elements := func(v value) []float64 { f, _ := v.Array.floats(); return f }
	between("empty arrays", count(arrays, func(v value) bool { return len(elements(v)) == 0 }), 0, 0)
	between("arrays of five", count(arrays, func(v value) bool { return len(elements(v)) == 5 }), 300, 500)
	between("arrays with a zero", count(arrays, func(v value) bool { return slices.Contains(elements(v), 0) }), 300, 800)
	between("arrays with equal elements", count(arrays, func(v value) bool {
		f := slices.Sorted(slices.Values(elements(v)))
		return len(slices.Compact(f)) < len(f)
	}), 250, 700)
}

// Every variant of every library function occurs in every task.
func TestInputsRotateVariants(t *testing.T) {
	for code, counts := range map[tasks.CodeType][4]int{
		tasks.Math: {5, 5, 5, 5}, tasks.String: {5, 5, 3, 5}, tasks.Array: {5, 5, 5, 5},
	} {
		seen, together := [4]map[int]bool{}, map[[4]int]bool{}
		for n := range Trials {
			stubs := inputs{digest: "x", code: code}.draw(n, 0).Stubs
			together[stubs] = true
			for i, s := range stubs {
				if seen[i] == nil {
					seen[i] = map[int]bool{}
				}
				seen[i][s] = true
				if s < 0 || s >= counts[i] {
					t.Fatalf("%s: variant %d of library function %d", code, s, i)
				}
			}
		}
		for i, n := range counts {
			if len(seen[i]) != n {
				t.Errorf("%s: %d of %d variants of library function %d", code, len(seen[i]), n, i)
			}
		}
		if len(together) < 20 {
			t.Errorf("%s: only %d combinations", code, len(together))
		}
	}
}

func TestInputsDependOnTheTaskAlone(t *testing.T) {
	one, two := drawAll(t, "float0", "one"), drawAll(t, "float0", "two")
	same := 0
	for i := range one {
		if one[i].Float == two[i].Float {
			same++
		}
	}
	if same > 10 { // the special values coincide now and then
		t.Errorf("two tasks share %d of %d inputs", same, Trials)
	}
	alone := inputs{digest: "one", keys: []string{"str0"}}.draw(3, 0).Values["str0"]
	among := inputs{digest: "one", keys: []string{"float0", "str0"}}.draw(3, 0).Values["str0"]
	if alone != among {
		t.Error("an input depends on which others there are")
	}
}
