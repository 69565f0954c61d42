package refactor

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// Published: the guards of functions with at most one callee at seed 42.
func TestGuardsByName(t *testing.T) {
	type row struct {
		name         string
		steps        int
		x, a, b, end int
		truth        bool
	}
	for _, want := range []row{
		{"a", 5, 32, 3, 9, 1, true}, {"b", 5, 73, 7, 1, 1, false}, {"n", 5, 52, 9, 9, 1, false},
		{"a", 200, 32, 3, 9, 0, true}, {"b", 200, 73, 7, 1, 1, false}, {"n", 200, 52, 9, 9, 1, false},
	} {
		for _, callees := range []int{0, 1} {
			b := newBase(tasks.Math)
			g := b.draws.guard(b.keyOf(want.name, callees), want.steps)
			if got := (row{want.name, g.steps, g.x, g.a, g.b, g.target, g.truth}); got != want {
				t.Errorf("with %d callees: got %+v, want %+v", callees, got, want)
			}
		}
	}
}

// 27 → 82 → 41 → 124 → 62 → 31 with the factor 3 and the term 1.
func TestFinalParityByHand(t *testing.T) {
	for steps, want := range []int{1, 0, 1, 0, 0, 1} {
		if got := finalParity(27, 3, 1, steps); got != want {
			t.Errorf("%d steps: %d, want %d", steps, got, want)
		}
	}
}

// Published, over all triples: 28 % exceed 63 bits within 200 steps, 0.2 %
// within 100, the largest value has 122 bits; two thirds of final parities are
// even.
func TestValuesOutgrowMachineWords(t *testing.T) {
	large := map[int]int{}
	longest, triples, even := 0, 0, 0
	for x := 1; x <= 100; x++ {
		for a := 1; a <= 9; a += 2 {
			for b := 1; b <= 9; b += 2 {
				triples++
				longest = max(longest, countLarge(x, a, b, large))
				even += 1 - finalParity(x, a, b, 200)
			}
		}
	}
	share := func(n int) float64 { return float64(n) / float64(triples) }
	if longest != 122 || share(large[200]) < 0.275 || share(large[200]) >= 0.285 ||
		share(large[100]) < 0.0015 || share(large[100]) >= 0.0025 {
		t.Errorf("%d bits, %v of %d", longest, large, triples)
	}
	if share(even) < 0.6 || share(even) > 0.72 {
		t.Errorf("%d of %d are even", even, triples)
	}
}

// countLarge counts, for 100 and 200 steps, whether a value needs more than 63
// bits, and returns the longest one.
func countLarge(x, a, b int, large map[int]int) (longest int) {
	value := big.NewInt(int64(x))
	for step := 1; step <= 200; step++ {
		if value.Bit(0) == 0 {
			value.Rsh(value, 1)
		} else {
			value.Mul(value, big.NewInt(int64(a))).Add(value, big.NewInt(int64(b)))
		}
		longest = max(longest, value.BitLen())
		if (step == 100 || step == 200) && longest > 63 {
			large[step]++
		}
	}
	return longest
}

func runtimeGrid(t *testing.T, text string) []tasks.Task {
	t.Helper()
	g, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, newSource(t, g, Options{Seed: DefaultSeed}))
}

// The six sizes of a sample differ in the number of steps and the target.
func TestRuntimeSizesShareTheirBranches(t *testing.T) {
	bySize := map[int][]tasks.Task{}
	for _, task := range runtimeGrid(t, "axis=runtime; instances=3") {
		bySize[task.Cell.Size] = append(bySize[task.Cell.Size], task)
	}
	changed := 0
	for i, small := range bySize[5] {
		for _, size := range tasks.Sizes() {
			task := bySize[size][i]
			if task.SampleID != small.SampleID || fmt.Sprint(task.Check.Live) != fmt.Sprint(small.Check.Live) {
				t.Fatalf("%s and %s", small.ID, task.ID)
			}
			for _, pair := range [][2]tasks.Files{{small.Starter, task.Starter}, {small.Reference, task.Reference}} {
				a, b := pair[0][tasks.SolutionFile], pair[1][tasks.SolutionFile]
				if plainGuards(t, a, 5) != plainGuards(t, b, size) {
					t.Errorf("%s and %s differ in more than guards", small.ID, task.ID)
				}
				if a != b {
					changed++
				}
			}
		}
	}
	if changed == 0 {
		t.Error("no size differs")
	}
}

// plainGuards cuts steps and targets out of the guards.
func plainGuards(t *testing.T, text string, steps int) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(text) {
		if call, ok := strings.CutPrefix(line, "    if check("); ok {
			arguments := strings.Split(call, ", ")
			if len(arguments) != 5 || arguments[4] != fmt.Sprintf("num_steps=%d):\n", steps) {
				t.Fatalf("guard %q", line)
			}
			line = "    if check(" + strings.Join(arguments[:3], ", ") + "\n"
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

// Over all official samples: the other branches of dead code call the other
// side only, and never what the running branch calls. (Published: the fallback
// never comes into play.) One function, with six callees, has to call some of
// the few that do not lead back to it twice.
func TestDeadBranchesOfTheOfficialSamples(t *testing.T) {
	sampler, err := callgraph.NewSampler(DefaultSeed, smallNodes, smallNodes)
	if err != nil {
		t.Fatal(err)
	}
	repeating := 0
	for range tasks.InstancesPerCell {
		s, err := sampler.Next()
		if err != nil {
			t.Fatal(err)
		}
		for v, callees := range deadCallees(newBase(tasks.Math), s) {
			live := s.Dead.Combined.Out(v)
			if len(callees) != len(live) {
				t.Errorf("%d callees, want %d", len(callees), len(live))
			}
			for _, c := range callees {
				sameSide := (c >= s.Dead.EditStart()) == (v >= s.Dead.EditStart())
				if sameSide || slices.Contains(live, c) {
					t.Errorf("sample %s: %d calls %v, live %v", s.ID, v, callees, live)
				}
			}
			slices.Sort(callees)
			if len(slices.Compact(callees)) < len(live) {
				repeating++
			}
		}
	}
	if repeating > 1 {
		t.Errorf("%d functions call another one twice", repeating)
	}
}

// deadCallees returns the callees of the branches that do not run.
func deadCallees(b *base, s *callgraph.Sample) map[int][]int {
	g := s.Dead.Combined
	nodes := map[string]int{}
	for v := range g.Len() {
		nodes[g.Name(v)] = v
	}
	callees := map[int][]int{}
	for v, body := range (guarded{base: b, steps: 5}).deadBranches(&s.Dead) {
		callees[v] = nil
		for _, c := range callsOf(body) {
			callees[v] = append(callees[v], nodes[c])
		}
	}
	return callees
}

// Whatever the graph: over all branches no function calls itself, and the other
// branch puts its results together in another way.
func TestDeadBranchesStayAcyclic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64Range(-1000, 1000).Draw(t, "seed")
		sampler, err := callgraph.NewSampler(seed, rapid.IntRange(1, 30).Draw(t, "init"),
			rapid.IntRange(4, 30).Draw(t, "edit"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := sampler.Next()
		if err != nil {
			t.Skip(err)
		}
		b := &base{language: languageOf(tasks.String), seed: seed, draws: newDrawCache(seed)}
		g := s.Dead.Combined
		calls := make([][]int, g.Len())
		for v, callees := range deadCallees(b, s) {
			calls[v] = slices.Concat(g.Out(v), callees)
		}
		for v := range calls {
			for _, c := range calls[v] {
				if callgraph.Reaches(calls, c, v) {
					t.Fatalf("%s calls itself", g.Name(v))
				}
			}
		}
		others := guarded{base: b, steps: 5}.deadBranches(&s.Dead)
		for v, body := range others {
			live := fmt.Sprint(operatorsOf(b.plain(g, v).Body))
			if other := fmt.Sprint(operatorsOf(body)); other == live {
				t.Fatalf("%s: operators %s in both branches", g.Name(v), other)
			}
		}
	})
}
