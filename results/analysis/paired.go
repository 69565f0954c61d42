package analysis

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Table counts pairs of trials, one of each run, by which of the two is solved.
type Table struct {
	Both    int `json:"both"`
	First   int `json:"first_only"`
	Second  int `json:"second_only"`
	Neither int `json:"neither"`
}

// Add counts a pair.
func (t *Table) Add(first, second bool) {
	switch {
	case first && second:
		t.Both++
	case first:
		t.First++
	case second:
		t.Second++
	default:
		t.Neither++
	}
}

// N is the number of pairs.
func (t Table) N() int { return t.Both + t.First + t.Second + t.Neither }

// McNemar is the exact test that both runs solve as much: the probability under
// a fair coin of flips as one-sided as these or more, doubled and at most 1
// (McNemar 1947 with the binomial distribution in place of chi-square). Pairs
// that agree say nothing in it; without flips it is 1.
func (t Table) McNemar() float64 {
	n := t.First + t.Second
	if n == 0 {
		return 1
	}
	coin := distuv.Binomial{N: float64(n), P: 0.5}
	return min(1, 2*coin.CDF(float64(min(t.First, t.Second))))
}

// Difference is the second run's proportion minus the first one's.
func (t Table) Difference() float64 { return float64(t.Second-t.First) / float64(t.N()) }

// DifferenceInterval is the interval of Difference by R. G. Newcombe's method 10
// (Statistics in Medicine 17 (1998) 2635-2650): Wilson's intervals of both
// proportions, joined by squares and the corrected correlation of the pairs. It
// keeps its coverage near 0 and 1 and for few pairs, where the textbook interval
// has no width. At least one pair is needed.
func (t Table) DifferenceInterval(confidence float64) Interval {
	n := t.N()
	k1, k2 := t.Both+t.First, t.Both+t.Second
	p1, p2 := float64(k1)/float64(n), float64(k2)/float64(n)
	w1, w2 := Wilson(k1, n, confidence), Wilson(k2, n, confidence)
	phi := t.correlation()
	down2, up2 := p2-w2.Low, w2.High-p2
	down1, up1 := p1-w1.Low, w1.High-p1
	below := down2*down2 - 2*phi*down2*up1 + up1*up1
	above := up2*up2 - 2*phi*up2*down1 + down1*down1
	d := t.Difference()
	return Interval{d - math.Sqrt(max(0, below)), d + math.Sqrt(max(0, above))}
}

// correlation is Newcombe's phi: that of the table, with n/2 taken off a
// positive numerator (but not below 0), and 0 where a margin is empty.
func (t Table) correlation() float64 {
	e, f, g, h := float64(t.Both), float64(t.First), float64(t.Second), float64(t.Neither)
	margins := (e + f) * (g + h) * (e + g) * (f + h)
	if margins == 0 {
		return 0
	}
	numerator := e*h - f*g
	if numerator > 0 {
		numerator = max(0, numerator-(e+f+g+h)/2)
	}
	return numerator / math.Sqrt(margins)
}

// MeanDifference is the mean of differences with its standard error and its
// interval by Student's t. Error and interval are unknown for fewer than two.
func MeanDifference(d []float64, confidence float64) (mean, se float64, i Interval, ok bool) {
	mean = Mean(d)
	se, ok = SampleSE(d)
	if !ok {
		return mean, 0, Interval{}, false
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(d) - 1)}.Quantile(0.5 + confidence/2)
	return mean, se, Interval{mean - t*se, mean + t*se}, true
}

// maxExact is up to how many differences Wilcoxon counts all signs.
const maxExact = 50

// Wilcoxon is the p-value of the signed-rank test that differences of pairs lie
// as much above 0 as below (Wilcoxon 1945). Differences of 0 are left out, ties
// share their mean rank. Up to 50 differences it is exact, ties included (all
// signs are counted, after Streitberg and Roehmel 1986); above, by the normal
// distribution with the correction for ties and without one for continuity. It
// is unknown when no difference is left.
func Wilcoxon(d []float64) (p float64, ok bool) {
	d = slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return v == 0 || math.IsNaN(v) })
	if len(d) == 0 {
		return 0, false
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks, tieTerm := doubledRanks(d)
	plus, total := 0, 0
	for i, r := range ranks {
		total += r
		if d[i] > 0 {
			plus += r
		}
	}
	low := min(plus, total-plus)
	if len(d) <= maxExact {
		return exactSigns(ranks, low, total), true
	}
	n := float64(len(d))
	mean := n * (n + 1) / 4
	variance := n*(n+1)*(2*n+1)/24 - tieTerm/48
	z := (float64(low)/2 - mean) / math.Sqrt(variance)
	return min(1, 2*distuv.UnitNormal.CDF(z)), true
}

// doubledRanks ranks values sorted by size; doubled, mean ranks are whole. The
// second result is the sum of t³-t over groups of t ties.
func doubledRanks(sorted []float64) (ranks []int, ties float64) {
	ranks = make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && math.Abs(sorted[j]) == math.Abs(sorted[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + j + 1 // twice the mean of i+1 … j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// exactSigns is twice the share of all assignments of signs whose sum of
// positive ranks is at most low.
func exactSigns(ranks []int, low, total int) float64 {
	ways := make([]float64, total+1)
	ways[0] = 1
	reached := 0
	for _, r := range ranks {
		for s := reached; s >= 0; s-- {
			ways[s+r] += ways[s]
		}
		reached += r
	}
	var tail float64
	for _, w := range ways[:low+1] {
		tail += w
	}
	return min(1, 2*tail/math.Exp2(float64(len(ranks))))
}
