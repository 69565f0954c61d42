package analysis_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"cabra-run/results/analysis"
)

// near compares to what a reference computed with other code.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// The intervals of 81/263, 15/148, 0/20 and 1/29 are those that Newcombe (1998,
// Statistics in Medicine 17, 857-872) publishes to four digits for the score
// method; all digits are statsmodels 0.15's.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.27753279986288926}, {10, 10, 0.7224672001371106, 1},
		{81, 263, 0.2552885198782742, 0.36620957698280004}, {15, 148, 0.06238639953073628, 0.16048724172330803},
		{0, 20, 0, 0.1611251580528194}, {1, 29, 0.006113214292762667, 0.17175521879320294},
		{3, 4, 0.30064184258240184, 0.9544127391902995},
	} {
		i := analysis.Wilson(c.k, c.n, 0.95)
		near(t, "low", i.Low, c.low)
		near(t, "high", i.High, c.high)
	}
}

func TestErrorsOfMeans(t *testing.T) {
	near(t, "3 of 4", analysis.BinomialSE(3, 4), math.Sqrt(0.75*0.25/4))
	near(t, "4 of 4", analysis.BinomialSE(4, 4), 0)
	// 2 4 6: mean 4, s = 2, error 2/sqrt(3).
	near(t, "mean", analysis.Mean([]float64{2, 4, 6}), 4)
	se, ok := analysis.SampleSE([]float64{2, 4, 6})
	near(t, "sample", se, 2/math.Sqrt(3))
	if _, one := analysis.SampleSE([]float64{2}); !ok || one {
		t.Error("one value has no standard error")
	}
}

// 1-C(n-c,k)/C(n,k) in whole numbers: 10 tries, 3 right, k=5 is 1-C(7,5)/C(10,5)
// = 1-21/252 = 11/12.
func TestPassAtK(t *testing.T) {
	for _, c := range []struct {
		n, c, k int
		want    float64
	}{
		{10, 3, 1, 0.3}, {10, 3, 5, 11. / 12}, {200, 13, 100, 0.9999194971988055}, {5, 0, 3, 0}, {5, 5, 5, 1},
		{5, 1, 5, 1}, {4, 2, 2, 1 - 1./6}, {100, 1, 1, 0.01}, {1, 0, 1, 0}, {1, 1, 1, 1},
	} {
		got, ok := analysis.PassAtK(c.n, c.c, c.k)
		if !ok {
			t.Errorf("%v is unknown", c)
		}
		near(t, "pass", got, c.want)
	}
	for _, c := range [][3]int{{3, 1, 4}, {3, 1, 0}, {3, 4, 1}, {3, -1, 1}, {0, 0, 1}} {
		if v, ok := analysis.PassAtK(c[0], c[1], c[2]); ok {
			t.Errorf("%v gives %v", c, v)
		}
	}
}

// pass@k is the share of all choices of k among n tries that hold a right one.
func TestPassAtKCountsChoices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		k := rapid.IntRange(1, n).Draw(t, "k")
		chosen, hit := 0, 0
		for set := range 1 << n {
			if ones(set) != k {
				continue
			}
			chosen++
			if set&(1<<c-1) != 0 {
				hit++
			}
		}
		got, ok := analysis.PassAtK(n, c, k)
		if want := float64(hit) / float64(chosen); !ok || math.Abs(got-want) > 1e-12 {
			t.Fatalf("pass@%d of %d/%d: %v, want %v", k, c, n, got, want)
		}
	})
}

func ones(set int) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// By hand: 5 flips to one side, 2·(1/2)^5 = 0.0625; 1 against 9,
// 2·(1+10)/2^10 = 0.021484375. The others are statsmodels 0.15's; 86 against 150
// is the table of Agresti's ratings of a prime minister.
func TestMcNemar(t *testing.T) {
	for _, c := range []struct {
		first, second int
		want          float64
	}{{0, 5, 0.0625}, {1, 9, 0.021484375}, {9, 1, 0.021484375}, {12, 2, 0.012939453125}, {0, 0, 1}, {7, 7, 1},
		{86, 150, 3.7159361395713866e-05}, {480, 520, 0.2174482932041415}} {
		near(t, "p", analysis.Table{Both: 3, First: c.first, Second: c.second, Neither: 1}.McNemar(), c.want)
	}
}

// Tables and intervals as in Newcombe's paper on paired proportions; all digits
// were computed with Python from the formula and statsmodels' score intervals.
func TestPairedDifference(t *testing.T) {
	for _, c := range []struct {
		e, f, g, h int
		low, high  float64 // of first minus second
	}{
		{36, 12, 2, 0, 0.05692958400323875, 0.3404276029749407},
		{794, 150, 86, 570, 0.02123042398287709, 0.05870387289572891},
		{2, 14, 1, 3, 0.32802277119057216, 0.8144309573668083},
		{1, 97, 1, 1, 0.8736721762007447, 0.9850257703740076},
		{0, 29, 0, 1, 0.7915295742865772, 0.9940914096183874},
		{1, 24, 1, 4, 0.5179177616964927, 0.881457503283755},
		{53, 1, 0, 0, -0.049621661889403854, 0.09771437488781923},
		{54, 0, 0, 0, -0.06641358809089626, 0.06641358809089626},
	} {
		table := analysis.Table{Both: c.e, First: c.f, Second: c.g, Neither: c.h}
		i := table.DifferenceInterval(0.95)
		near(t, "low", -i.High, c.low)
		near(t, "high", -i.Low, c.high)
		near(t, "difference", table.Difference(), float64(c.g-c.f)/float64(c.e+c.f+c.g+c.h))
	}
}

// The interval holds the true difference in about 95 of 100 tables: the share is
// added up over every table of twelve pairs, for truths from the middle to near
// the end, where the textbook interval holds it in half of them.
func TestPairedDifferenceCovers(t *testing.T) {
	const n = 12
	for _, truth := range [][4]float64{{0.4, 0.1, 0.1, 0.4}, {0.6, 0.1, 0.2, 0.1}, {0.9, 0.04, 0.02, 0.04}, {0.25, 0.25, 0.25, 0.25}} {
		covered := 0.
		for e := range n + 1 {
			for f := range n + 1 - e {
				for g := range n + 1 - e - f {
					h := n - e - f - g
					table := analysis.Table{Both: e, First: f, Second: g, Neither: h}
					if table.DifferenceInterval(0.95).Contains(truth[2] - truth[1]) {
						covered += multinomial([4]int{e, f, g, h}, truth)
					}
				}
			}
		}
		if covered < 0.93 || truth[0] < 0.5 && covered > 0.985 {
			t.Errorf("%v is covered by %.4f", truth, covered)
		}
	}
}

func multinomial(counts [4]int, p [4]float64) float64 {
	n, log := 0, 0.
	for i, k := range counts {
		n += k
		fact, _ := math.Lgamma(float64(k + 1))
		log += float64(k)*math.Log(p[i]) - fact
	}
	fact, _ := math.Lgamma(float64(n + 1))
	return math.Exp(log + fact)
}

// darwin is Darwin's pairs of maize, crossed minus selfed, in eighths of an inch:
// Fisher's t is 2.148 with p just below 0.05, Wilcoxon's sum 24 with p = 0.041.
var darwin = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func TestMeanDifference(t *testing.T) {
	mean, se, i, ok := analysis.MeanDifference(darwin, 0.95)
	if !ok {
		t.Fatal("unknown")
	}
	near(t, "t", mean/se, 2.1479874613311205)
	near(t, "low", i.Low, 0.031193318392979563)
	near(t, "high", i.High, 41.83547334827369)
	if mean, _, _, ok := analysis.MeanDifference([]float64{3}, 0.95); ok || mean != 3 {
		t.Errorf("of one difference: %v, %v", mean, ok)
	}
}

func TestWilcoxon(t *testing.T) {
	var many []float64
	for i := range 80 {
		many = append(many, float64((i*37)%101-45)/4)
	}
	for _, c := range []struct {
		d    []float64
		want float64 // of scipy 1.17; with ties: by counting all signs
	}{
		{darwin, 0.041259765625},
		{[]float64{1.1, -0.3, 2.2, 0.5, -1.9, 3.1, 0.8}, 0.21875},
		{[]float64{1, 1, -1, 2, 2, -3, 4, 0}, 0.328125},
		{many, 0.14393573321978},
		{[]float64{5, 0, 0}, 1},
	} {
		p, ok := analysis.Wilcoxon(c.d)
		if !ok || math.Abs(p-c.want) > 1e-12 {
			t.Errorf("%v: p = %.14g, want %.14g", c.d, p, c.want)
		}
	}
	if _, ok := analysis.Wilcoxon([]float64{0, 0}); ok {
		t.Error("a test without any difference")
	}
}

// falling has a slope of -0.1593 per doubling: that of statsmodels' least squares
// over the 120 trials; the error is numpy's, from the formula.
var falling = []analysis.Point{{5, 20, 19}, {10, 20, 18}, {25, 20, 14}, {50, 20, 10}, {100, 20, 6}, {200, 20, 3}}

func TestTrend(t *testing.T) {
	trend, ok := analysis.NewTrend(falling, 0.95)
	if !ok {
		t.Fatal("unknown")
	}
	near(t, "slope", trend.Slope, -0.1592978423908854)
	near(t, "error", trend.SE, 0.018016946355844436)
	near(t, "Spearman", *trend.Spearman, -1)
	if trend.Course != analysis.Falls {
		t.Error(trend.Course)
	}
	ties, _ := analysis.NewTrend([]analysis.Point{{5, 20, 20}, {10, 20, 20}, {25, 20, 18}, {50, 20, 19}}, 0.95)
	near(t, "Spearman with ties", *ties.Spearman, -0.7378647873726218)
	for name, points := range map[string][]analysis.Point{"none": nil, "two sizes": falling[:2],
		"two sizes with trials": {{5, 20, 1}, {10, 20, 1}, {25, 0, 0}}, "one size": {{5, 2, 1}, {5, 2, 1}, {5, 2, 1}}} {
		if got, ok := analysis.NewTrend(points, 0.95); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// scaled is a run of n trials per size that solves the given share of each.
func scaled(n int, shares ...float64) []analysis.Point {
	var points []analysis.Point
	for i, share := range shares {
		points = append(points, analysis.Point{Size: []int{5, 10, 25, 50, 100, 200}[i], N: n, Solved: math.Round(share * float64(n))})
	}
	return points
}

func TestTrendsStay(t *testing.T) {
	down := scaled(100, .95, .9, .7, .5, .3, .15)
	perfect := scaled(300, 1, 1, 1, 1, 1, 1)
	for _, c := range []struct {
		name          string
		first, second []analysis.Point
		want          analysis.Answer
		why           string
	}{
		{"same", down, down, analysis.Yes, "accuracy falls with size in both"},
		{"lower, but alike", down, scaled(100, .85, .8, .6, .4, .2, .05), analysis.Yes, "accuracy falls with size in both"},
		{"perfect", perfect, perfect, analysis.Yes, "accuracy stays level in both"},
		{"turned", down, scaled(100, .15, .3, .5, .7, .9, .95), analysis.No,
			"accuracy falls with size in the first run and rises with size in the second"},
		{"gone", down, perfect, analysis.No, "accuracy falls with size in the first run and stays level in the second"},
		{"steeper", scaled(1000, .95, .93, .91, .89, .87, .85), scaled(1000, .95, .8, .6, .4, .2, .05), analysis.No,
			"accuracy falls with size in both, but not equally steeply"},
		{"few trials", scaled(4, 1, 1, .75, .75, .5, .5), scaled(4, .75, .5, 1, .75, 1, .5), analysis.CannotTell,
			"the slope of the second run is not told from 0 by so few trials"},
		{"small slope beside none", scaled(300, .98, .97, .96, .95, .94, .92), perfect, analysis.No,
			"accuracy falls with size in the first run and stays level in the second"},
		{"compatible", scaled(400, .98, .98, .97, .97, .96, .95), scaled(400, .97, .97, .97, .97, .96, .96), analysis.CannotTell,
			"accuracy falls with size in the first run and stays level in the second, but the slopes may be equal"},
		{"two sizes", down[:2], down[:2], analysis.CannotTell, "a trend needs trials of at least 3 sizes in both runs"},
	} {
		g := analysis.TrendsStay(c.first, c.second, 0.95)
		if g.Stay != c.want || g.Why != c.why {
			t.Errorf("%s: %s, %s\n%+v\n%+v", c.name, g.Stay, g.Why, g.First, g.Second)
		}
	}
}

func TestTable(t *testing.T) {
	var table analysis.Table
	for _, pair := range [][2]bool{{true, true}, {true, false}, {true, false}, {false, true}, {false, false}} {
		table.Add(pair[0], pair[1])
	}
	if want := (analysis.Table{Both: 1, First: 2, Second: 1, Neither: 1}); table != want || table.N() != 5 {
		t.Errorf("%+v", table)
	}
	near(t, "difference", table.Difference(), -0.2)
}
