package callgraph

import (
	"reflect"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var idForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// drawnSample draws some seed, sizes and one of the first samples. Two edit
// functions can fail to make a forest of two roots; from four on they do not.
func drawnSample(t *rapid.T) (s *Sample, init, edit int) {
	init = rapid.IntRange(1, 40).Draw(t, "init")
	edit = rapid.IntRange(4, 40).Draw(t, "edit")
	sampler, err := NewSampler(rapid.Int64().Draw(t, "seed"), init, edit)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 3).Draw(t, "sample") {
		if s, err = sampler.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return s, init, edit
}

func TestSampleInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, init, edit := drawnSample(t)
		if !idForm.MatchString(s.ID) {
			t.Errorf("id %q", s.ID)
		}
		forms := map[string]Form{"dead": s.Dead, "return": s.Return, "parameter": s.Parameter,
			"cache": s.Cache, "repeat": s.Repeat}
		for name, f := range forms {
			if !f.Combined.Acyclic() {
				t.Errorf("%s: a cycle", name)
			}
			if s.Init.Len() != init+1 || f.Edit.Len() != edit+1 || f.Combined.Len() != init+edit+2 {
				t.Errorf("%s: %d init, %d edit, %d nodes", name, s.Init.Len(), f.Edit.Len(), f.Combined.Len())
			}
			checkParts(t, name, s, f)
		}
		checkCrossEdges(t, s)
		checkSharedNames(t, s)
		checkWrappers(t, s)
	})
}

// checkParts: a combined graph is its two parts and the attach edges, and the
// parts' own edges come first.
func checkParts(t *rapid.T, name string, s *Sample, f Form) {
	g, start := f.Combined, f.EditStart()
	if !slices.Equal(g.Names(), slices.Concat(s.Init.Names(), f.Edit.Names())) {
		t.Errorf("%s: names %v", name, g.Names())
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(g.Names()))); len(unique) != g.Len() {
		t.Errorf("%s: a name twice in %v", name, g.Names())
	}
	for u := range g.Len() {
		var want []int
		if u < start {
			want = append(want, s.Init.Out(u)...)
		} else {
			for _, v := range f.Edit.Out(u - start) {
				want = append(want, v+start)
			}
		}
		for _, e := range f.Attach {
			if e[0] == u && !slices.Contains(want, e[1]) {
				want = append(want, e[1])
			}
		}
		if !slices.Equal(g.Out(u), want) {
			t.Errorf("%s: callees of %s are %v, want %v", name, g.Name(u), g.Out(u), want)
		}
	}
}

// checkCrossEdges: who may call whom across the two parts.
func checkCrossEdges(t *rapid.T, s *Sample) {
	isRoot, isLeaf := nodeTest(s.Repeat.Edit.Roots()), nodeTest(s.Cache.Edit.Sinks())
	hasCaller := s.Init.called()
	wrapper := s.Dead.Edit.Len() - 1 // in every form
	every := func(int) bool { return true }
	none := func(int) bool { return false }
	only := func(v int) bool { return v == wrapper }
	for _, c := range []struct {
		name   string
		form   Form
		calls  func(edit int) bool // an edit function that may call init
		called func(edit int) bool // an edit function that init may call
	}{
		{"dead", s.Dead, every, none},
		{"return", s.Return, every, none},
		{"parameter", s.Parameter, none, every},
		{"cache", s.Cache, isLeaf, only},
		{"repeat", s.Repeat, only, isRoot},
	} {
		start := c.form.EditStart()
		for _, e := range c.form.Attach {
			switch caller, callee := e[0], e[1]; {
			case caller >= start && callee < start && c.calls(caller-start):
				if c.name == "dead" && !hasCaller[callee] {
					t.Errorf("dead code calls the init root")
				}
			case caller < start && callee >= start && c.called(callee-start):
			default:
				t.Errorf("%s: %s calls %s", c.name, c.form.Combined.Name(caller), c.form.Combined.Name(callee))
			}
		}
	}
}

func nodeTest(nodes []int) func(int) bool {
	return func(v int) bool { return slices.Contains(nodes, v) }
}

// checkSharedNames: the three forms of one edit graph, and the two of one
// forest, differ in their wrappers alone.
func checkSharedNames(t *rapid.T, s *Sample) {
	inner := func(f Form) []string { return f.Edit.Names()[:f.Edit.Len()-1] }
	if !slices.Equal(s.Dead.Edit.Names(), s.Parameter.Edit.Names()) ||
		!slices.Equal(inner(s.Return), inner(s.Parameter)) || !slices.Equal(inner(s.Cache), inner(s.Repeat)) {
		t.Errorf("names differ")
	}
	if !reflect.DeepEqual(s.Dead.Edit.out, s.Parameter.Edit.out) {
		t.Errorf("dead code and add parameter have different edit graphs")
	}
	last := s.Return.Edit.Len() - 1
	for u := range last {
		got := slices.DeleteFunc(slices.Clone(s.Return.Edit.Out(u)), func(v int) bool { return v == last })
		if !slices.Equal(got, s.Parameter.Edit.Out(u)) {
			t.Errorf("return form changes the callees of %d", u)
		}
	}
	for u := range s.Cache.Edit.Len() - 1 {
		for _, v := range s.Cache.Edit.Out(u) {
			if !slices.Equal(s.Repeat.Edit.Out(v), []int{u}) {
				t.Errorf("%d calls %d in the cache form, but %d calls %v in the repeat form", u, v, v, s.Repeat.Edit.Out(v))
			}
		}
	}
}

// checkWrappers: the wrapper reaches, or is reached by, all edit functions, and
// is the nearest that does so for the forest's forms.
func checkWrappers(t *rapid.T, s *Sample) {
	for name, f := range map[string]Form{"dead": s.Dead, "parameter": s.Parameter, "cache": s.Cache} {
		if roots := f.Edit.Roots(); len(roots) != 1 || f.Edit.Name(roots[0]) != f.Wrapper() {
			t.Errorf("%s: roots %v", name, roots)
		}
	}
	for name, f := range map[string]Form{"return": s.Return, "repeat": s.Repeat} {
		if sinks := f.Edit.Sinks(); len(sinks) != 1 || f.Edit.Name(sinks[0]) != f.Wrapper() {
			t.Errorf("%s: sinks %v", name, sinks)
		}
	}
	if len(s.Cache.Edit.Out(s.Cache.Edit.Len()-1)) < 2 {
		t.Errorf("the forest has one root")
	}
	toCommon := func(f Form, from *Graph, ends []int) {
		var common []string
		reach := make([][]bool, len(ends))
		for i, end := range ends {
			reach[i] = from.Reachable(f.EditStart() + end)
		}
		for v := range from.Len() {
			if !slices.ContainsFunc(reach, func(r []bool) bool { return !r[v] }) {
				common = append(common, f.Combined.Name(v))
			}
		}
		// Of the common ones, the nearest is the one that all others lie behind.
		at := slices.Index(f.Combined.Names(), f.Wrapper())
		behind := from.Reachable(at)
		for _, name := range common {
			if !behind[slices.Index(f.Combined.Names(), name)] {
				t.Errorf("%s is shared by all ends and not behind %s", name, f.Wrapper())
			}
		}
		if !slices.Contains(common, f.Wrapper()) {
			t.Errorf("%s is not shared by all ends", f.Wrapper())
		}
	}
	toCommon(s.Cache, s.Cache.Combined.reversed(), s.Cache.Edit.Sinks())
	toCommon(s.Repeat, s.Repeat.Combined, s.Repeat.Edit.Roots())
}

// TestEveryLiveFunctionRuns: from the entry points that main calls, everything
// but dead code is reached.
func TestEveryLiveFunctionRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _, _ := drawnSample(t)
		for v, reached := range s.Dead.Combined.Reachable(s.Init.Len() - 1) {
			if reached != (v < s.Init.Len()) {
				t.Errorf("function %d of %d init functions is live: %v", v, s.Init.Len(), reached)
			}
		}
	})
}

func TestSameSeedSameSamples(t *testing.T) {
	for _, seed := range []int64{0, 1, 42, -3} {
		a, b := draw(t, seed, 10, 10, 5), draw(t, seed, 10, 10, 5)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: samples differ", seed)
		}
	}
	if draw(t, 1, 10, 10, 1)[0].ID == draw(t, 2, 10, 10, 1)[0].ID {
		t.Errorf("seeds 1 and 2 give the same sample")
	}
}

func TestAcyclic(t *testing.T) {
	line := &Graph{out: [][]int{{1}, {2}, nil}}
	ring := &Graph{out: [][]int{{1}, {2}, {1}}}
	if !line.Acyclic() || ring.Acyclic() {
		t.Errorf("line %v, ring %v", line.Acyclic(), ring.Acyclic())
	}
}

// The validation of the forest's forms on graphs made by hand: 0 is an init
// function, 1 and 2 the ends, 3 between, 4 the wrapper.
func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name string
		out  [][]int // callees; the wrapper is a root
		want bool
	}{
		{"two branches", [][]int{nil, nil, nil, {1}, {2, 3}}, true},
		{"one branch has both", [][]int{nil, nil, nil, {1, 2}, {3}}, false},
		{"one end is not reached", [][]int{nil, nil, nil, {1}, {3}}, false},
		{"a caller above", [][]int{{4}, nil, nil, {1}, {2, 3}}, true},
	} {
		const wrapper, editStart = 4 - 1, 1
		if got := nearest(reverse(c.out), c.out, editStart, wrapper, []int{0, 1}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
