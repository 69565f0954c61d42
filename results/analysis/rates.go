package analysis

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the level of all intervals in reports.
const Confidence = 0.95

// Interval is a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains reports whether v lies in the interval, its ends included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Overlaps reports whether the intervals have a point in common.
func (i Interval) Overlaps(o Interval) bool { return i.Low <= o.High && o.Low <= i.High }

// quantile is the two-sided quantile of the normal distribution, 1.96 for 0.95.
func quantile(confidence float64) float64 {
	return distuv.UnitNormal.Quantile(0.5 + confidence/2)
}

// BinomialSE is the standard error sqrt(p(1-p)/n) of k successes in n > 0 trials.
func BinomialSE(k, n int) float64 {
	p := float64(k) / float64(n)
	return math.Sqrt(p * (1 - p) / float64(n))
}

// Wilson is the score interval of a proportion, k successes in n > 0 trials:
// E. B. Wilson, JASA 22 (1927) 209-212.
func Wilson(k, n int, confidence float64) Interval {
	z := quantile(confidence)
	p, m := float64(k)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	i := Interval{(middle - half) / scale, (middle + half) / scale}
	// At the ends the formula is exact, its rounding is not.
	if k == 0 {
		i.Low = 0
	}
	if k == n {
		i.High = 1
	}
	return i
}

// Mean is the mean of at least one value.
func Mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// SampleSE is the standard error s/sqrt(n) of a mean, with the sample standard
// deviation (n-1). It is unknown for fewer than two values.
func SampleSE(x []float64) (float64, bool) {
	n := float64(len(x))
	if n < 2 {
		return 0, false
	}
	mean, squares := Mean(x), 0.
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / (n - 1) / n), true
}

// PassAtK estimates without bias the chance that at least one of k tries solves
// a task of whose n tries c did: 1 - C(n-c,k)/C(n,k), as the product that does
// not overflow (Chen et al., arXiv:2107.03374, section 2.1). It is unknown for
// k above n.
func PassAtK(n, c, k int) (float64, bool) {
	switch {
	case k < 1 || k > n || c < 0 || c > n:
		return 0, false
	case n-c < k:
		return 1, true
	}
	fail := 1.
	for i := n - c + 1; i <= n; i++ {
		fail *= 1 - float64(k)/float64(i)
	}
	return 1 - fail, true
}
