package merge

import (
	"errors"
	"slices"
	"testing"

	"cabra-run/tasks"
)

func mustConfig(t testing.TB, size int, variant string) config {
	t.Helper()
	cfg, err := configOf(tasks.Cell{Axis: tasks.Merge, Size: size, Variant: variant})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// The seeds from 42 on that yield nothing, and the last of 50 that do.
func TestPublishedRejections(t *testing.T) {
	for _, c := range []struct {
		size     int
		variant  string
		rejected []int64
		last     int64
	}{
		{5, "", []int64{48, 81, 85}, 94},
		{10, "", nil, 91},
		{25, "", nil, 91},
		{50, "", nil, 91},
		{100, "", []int64{61}, 92},
		{200, "", []int64{52}, 92},
		{50, "differences-3", []int64{46, 87}, 93},
		{50, "differences-5", []int64{60, 65}, 93},
	} {
		var rejected []int64
		seed, cfg := int64(42), mustConfig(t, c.size, c.variant)
		for found := 0; found < 50; seed++ {
			if _, err := draw(cfg, seed); err != nil {
				if r := rejection(""); !errors.As(err, &r) {
					t.Fatal(err)
				}
				rejected = append(rejected, seed)
				continue
			}
			found++
		}
		if !slices.Equal(rejected, c.rejected) || seed-1 != c.last {
			t.Errorf("%d %s: rejected %v, last %d; want %v, %d", c.size, c.variant, rejected, seed-1, c.rejected, c.last)
		}
	}
}

// At 50 lines with three differences the published generator takes seed 50,
// where the third difference has no effect: 4 * m41 and -4 * m41 are added up.
// Whoever sees that needs two lines only, so it is no task here.
func TestDifferenceWithoutEffectIsRejected(t *testing.T) {
	cfg := mustConfig(t, 50, "differences-3")
	p, err := draw(cfg, 50)
	if err != nil {
		t.Fatal(err)
	}
	if d := p.drawn.anyDiffers([2][]line{p.drawn.lines(0b000), p.drawn.lines(0b100)}, [][]int{counting(10)}); d {
		t.Error("the third difference has an effect")
	}
	if _, err := drawStrict(cfg, 50); err == nil {
		t.Error("seed 50 is taken")
	}
}
