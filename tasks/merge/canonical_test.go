package merge

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/mt"
)

// fifty returns the first fifty problems from seed 42 on.
func fifty(t *testing.T, size int, variant string) (list []*problem) {
	t.Helper()
	err := problems(mustConfig(t, size, variant), 42, func(p *problem) bool {
		list = append(list, p)
		return len(list) < 50
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The program that the paper prints.
func TestFirstProgram(t *testing.T) {
	p := fifty(t, 5, "")[0]
	names := canonicalNames(10, 6)
	var got []string
	for _, l := range p.drawn.lines(0) {
		got = append(got, names[l.target]+" = "+expression(l, names))
	}
	want := []string{
		"m01 = -2 * (e * d) + 4 * b",
		"m02 = -5 * (g * m01) - 2 * d",
		"m03 = -j + 2 * m02",
		"m04 = -4 * b + m03",
		"m05 = 4 * b + 5 * m04",
		"m06 = -4 * (d * m02) - 2 * m01 - 2 * b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	d := p.drawn.differences[0]
	if text := expression(d.versions[1], names); text != "-4 * (b * i) + m03" || d.kind != addFactor {
		t.Errorf("B has %q by %s", text, d.kind)
	}
	if leaves := strings.Join(named(p.drawn.leaves, names), " + "); leaves != "m05 + m06" {
		t.Errorf("it returns %s", leaves)
	}
}

// The outputs of the first task and the arguments that the published scorer
// draws for it.
func TestFirstProgramsOutputs(t *testing.T) {
	p := fifty(t, 5, "")[0]
	for i, want := range []int64{-6694, -7014} {
		for _, lines := range [][]line{p.drawn.lines(uint(i)), p.classes[i].lines()} {
			if got := p.drawn.exact(lines, counting(10)); got.Cmp(big.NewInt(want)) != 0 {
				t.Errorf("class %d returns %v, want %d", i, got, want)
			}
		}
	}
	stream := mt.NewStream(42 + 0) // the scorer's seed and the index of the task
	for _, want := range [][]int{{5, -4, -5, -1, -2, -2, -3, -4, 5, 3}, {-4, 4, 1, -5, -5, -4, -2, -2, 3, 4}} {
		if got := vector(stream, 10, 5); !slices.Equal(got, want) {
			t.Errorf("arguments %v, want %v", got, want)
		}
	}
}

// Least, mean and most assignments of a class, and the mean number of returned
// values, over the fifty published tasks of a size.
func TestPublishedStatistics(t *testing.T) {
	for _, c := range []struct {
		size        int
		least, most int
		mean        string // as published, of one digit behind the point or none
		leaves      int    // 0: not published
	}{
		{5, 5, 10, "7.5", 2}, {10, 7, 16, "12.6", 0}, {25, 23, 31, "26.7", 0},
		{50, 42, 55, "48.6", 14}, {100, 85, 103, "92", 0}, {200, 161, 201, "179", 49},
	} {
		var counts []int
		total, leaves := 0, 0
		for _, p := range fifty(t, c.size, "") {
			for _, class := range p.classes {
				counts = append(counts, len(class.lines()))
				total += len(class.lines())
			}
			leaves += len(p.drawn.leaves)
		}
		digits := len(c.mean) - len(strings.Split(c.mean, ".")[0]) - 1
		mean := fmt.Sprintf("%.*f", max(0, digits), float64(total)/float64(len(counts)))
		if slices.Min(counts) != c.least || slices.Max(counts) != c.most || mean != c.mean {
			t.Errorf("size %d: %d/%s/%d assignments, want %d/%s/%d", c.size, slices.Min(counts), mean, slices.Max(counts),
				c.least, c.mean, c.most)
		}
		if got := (leaves + 25) / 50; c.leaves > 0 && got != c.leaves {
			t.Errorf("size %d: %d leaves on average, want %d", c.size, got, c.leaves)
		}
	}
}

// How long results get, and how many terms a line.
func TestPublishedExtremes(t *testing.T) {
	longest := 0
	bits := map[int]int{}
	for _, size := range []int{10, 25, 200} {
		for _, p := range fifty(t, size, "") {
			for i, class := range p.classes {
				for _, v := range p.verifyVectors()[:51-size/5] { // fewer where it takes long
					bits[size] = max(bits[size], p.drawn.exact(p.drawn.lines(uint(i)), v).BitLen())
				}
				for _, l := range class.lines() {
					longest = max(longest, len(l.terms))
				}
			}
		}
	}
	if longest != 14 {
		t.Errorf("up to %d terms, want 14", longest)
	}
	if about := bits[200]; bits[10] != 36 || bits[25] != 94 || about < 1550 || about >= 1650 {
		t.Errorf("results of up to %v bits, want 36, 94 and about 1,600", bits)
	}
}

// At one difference, the fifty tasks of each size differ on 32 to 51 of the
// published generator's 51 vectors.
func TestPublishedDifferences(t *testing.T) {
	least, most := 51, 0
	for _, size := range tasks.Sizes() {
		for _, p := range fifty(t, size, "") {
			vectors := p.verifyVectors()
			n := different(p.drawn.wrapped(p.drawn.lines(0), vectors), p.drawn.wrapped(p.drawn.lines(1), vectors))
			least, most = min(least, n), max(most, n)
		}
	}
	if least != 32 || most != 51 {
		t.Errorf("they differ on %d to %d vectors", least, most)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []tasks.Cell{
		{Axis: tasks.Merge, Size: 3},
		{Axis: tasks.Merge, Size: 0},
		{Axis: tasks.Merge, Size: 5, Variant: "differences-3"}, // four blocks of two lines
		{Axis: tasks.Merge, Size: 50, Variant: "differences-4"},
		{Axis: tasks.Merge, Size: 50, Variant: "only-"},
		{Axis: tasks.Merge, Size: 50, Variant: "only-nothing"},
		{Axis: tasks.Merge, Size: 50, Variant: "without_reorder"},
		{Axis: tasks.Merge, Size: 1_000_000},
		{Axis: tasks.Merge, Size: 50, Code: tasks.Math},
		{Axis: tasks.Merge, Size: 50, Refactoring: tasks.DeadCode},
		{Axis: tasks.Traversal, Size: 50},
	} {
		if _, err := configOf(c); err == nil {
			t.Errorf("%+v is no error", c)
		}
	}
	if cfg := mustConfig(t, 5, ""); (cfg.differences+1)*cfg.minBlock > 5 || cfg.check() != nil {
		t.Errorf("size 5: %+v", cfg)
	}
}
