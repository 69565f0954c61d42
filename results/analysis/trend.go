package analysis

import (
	"fmt"
	"math"
	"slices"
)

// Point is how many of n tasks of one size were solved. A task with several
// trials counts by the share of them that solved it: they are not independent,
// and the binomial error of n whole tasks bounds that of their shares.
type Point struct {
	Size   int     `json:"size"`
	N      int     `json:"n"`
	Solved float64 `json:"solved"`
}

// Course is how accuracy goes with size.
type Course string

// The courses, by the slope's confidence interval.
const (
	Falls   Course = "falls"   // all of it below 0
	Rises   Course = "rises"   // all of it above 0
	Level   Course = "level"   // it holds 0 and lies within ±LevelMargin
	Unclear Course = "unclear" // it holds 0 and is wider
)

// LevelMargin is the slope, per doubling of size, below which accuracy counts as
// level: from size 5 to 200 it makes 0.11.
const LevelMargin = 0.02

// minSizes is how many sizes a trend needs.
const minSizes = 3

// Trend is the course of accuracy over size in one run.
type Trend struct {
	// Slope is the change of accuracy per doubling of size, by least squares
	// over all trials.
	Slope    float64  `json:"slope_per_doubling"`
	SE       float64  `json:"standard_error"`
	Interval Interval `json:"interval"`
	Course   Course   `json:"course"`
	// Spearman is the rank correlation of accuracy with size over the sizes,
	// nil where all accuracies are equal.
	Spearman *float64 `json:"spearman"`
}

// NewTrend fits a line to accuracy over the logarithm of size. Its standard
// error does not presume equal variances: each size has that of a binomial, with
// one success and one failure added (Laplace), so that a size at 0 or 1 is not
// taken for certain. It is unknown for fewer than three sizes with trials.
func NewTrend(points []Point, confidence float64) (Trend, bool) {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.N <= 0 || p.Size <= 0 })
	if len(points) < minSizes {
		return Trend{}, false
	}
	var n, sumX, sumY float64
	for _, p := range points {
		n += float64(p.N)
		sumX += float64(p.N) * math.Log2(float64(p.Size))
		sumY += p.Solved
	}
	meanX, meanY := sumX/n, sumY/n
	var xx, xy, variance float64
	for _, p := range points {
		d, m := math.Log2(float64(p.Size))-meanX, float64(p.N)
		xx += m * d * d
		xy += d * (p.Solved - m*meanY)
		q := (p.Solved + 1) / (m + 2)
		variance += m * d * d * q * (1 - q)
	}
	if xx == 0 { // one size several times
		return Trend{}, false
	}
	t := Trend{Slope: xy / xx, SE: math.Sqrt(variance) / xx, Spearman: spearman(points)}
	half := quantile(confidence) * t.SE
	t.Interval = Interval{t.Slope - half, t.Slope + half}
	t.Course = t.Interval.course()
	return t, true
}

func (i Interval) course() Course {
	switch {
	case i.High < 0:
		return Falls
	case i.Low > 0:
		return Rises
	case i.Low >= -LevelMargin && i.High <= LevelMargin:
		return Level
	}
	return Unclear
}

// spearman is the rank correlation of accuracy with size, nil where one of them
// does not vary.
func spearman(points []Point) *float64 {
	var x, y []float64
	for _, p := range points {
		x = append(x, float64(p.Size))
		y = append(y, p.Solved/float64(p.N))
	}
	return pearson(meanRanks(x), meanRanks(y))
}

func meanRanks(v []float64) []float64 {
	ranks := make([]float64, len(v))
	for i, a := range v {
		below, same := 0, 0
		for _, b := range v {
			if b < a {
				below++
			} else if b == a {
				same++
			}
		}
		ranks[i] = float64(below) + float64(same+1)/2
	}
	return ranks
}

func pearson(x, y []float64) *float64 {
	meanX, meanY := Mean(x), Mean(y)
	var xx, xy, yy float64
	for i := range x {
		xx += (x[i] - meanX) * (x[i] - meanX)
		yy += (y[i] - meanY) * (y[i] - meanY)
		xy += (x[i] - meanX) * (y[i] - meanY)
	}
	if xx == 0 || yy == 0 {
		return nil
	}
	r := xy / math.Sqrt(xx*yy)
	return &r
}

// Answer is yes, no, or cannot tell.
type Answer string

// The answers.
const (
	Yes        Answer = "yes"
	No         Answer = "no"
	CannotTell Answer = "cannot tell"
)

// Agreement is whether the trends of two runs agree.
type Agreement struct {
	Stay   Answer `json:"trends_stay"`
	Why    string `json:"why"` // one clause, without a full stop
	First  *Trend `json:"first"`
	Second *Trend `json:"second"`
}

// TrendsStay asks whether accuracy goes with size in the second run as in the
// first. Trends stay (yes) when both runs have the same clear course - accuracy
// falls, rises or is level in both - and the confidence intervals of the slopes
// overlap. They do not (no) when the intervals have no point in common. All else
// cannot be told: a slope whose sign is open, courses that differ although the
// slopes are compatible, fewer than three sizes. The points should be of the same
// trials in both.
func TrendsStay(first, second []Point, confidence float64) Agreement {
	a, okA := NewTrend(first, confidence)
	b, okB := NewTrend(second, confidence)
	if !okA || !okB {
		why := fmt.Sprintf("a trend needs trials of at least %d sizes in both runs", minSizes)
		return Agreement{Stay: CannotTell, Why: why}
	}
	g := Agreement{First: &a, Second: &b}
	courses := fmt.Sprintf("accuracy %s in the first run and %s in the second", a.Course.verb(), b.Course.verb())
	switch {
	case !a.Interval.Overlaps(b.Interval) && a.Course == b.Course:
		g.Stay, g.Why = No, fmt.Sprintf("accuracy %s in both, but not equally steeply", a.Course.verb())
	case !a.Interval.Overlaps(b.Interval):
		g.Stay, g.Why = No, courses
	case a.Course == Unclear || b.Course == Unclear:
		g.Stay, g.Why = CannotTell, "the slope of "+unclearRun(a, b)+" is not told from 0 by so few trials"
	case a.Course != b.Course:
		g.Stay, g.Why = CannotTell, courses+", but the slopes may be equal"
	default:
		g.Stay, g.Why = Yes, fmt.Sprintf("accuracy %s in both", a.Course.verb())
	}
	return g
}

func (c Course) verb() string {
	switch c {
	case Falls, Rises:
		return string(c) + " with size"
	case Level:
		return "stays level"
	}
	return "goes an unclear way"
}

func unclearRun(a, b Trend) string {
	switch {
	case a.Course == Unclear && b.Course == Unclear:
		return "both runs"
	case a.Course == Unclear:
		return "the first run"
	}
	return "the second run"
}
