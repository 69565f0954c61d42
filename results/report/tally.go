package report

import (
	"math"
	"slices"

	"cabra-run/results"
)

// Effort is what trials took, over all attempts of each.
type Effort struct {
	Trials   int     `json:"trials"`
	Attempts int     `json:"attempts"`
	Wall     Seconds `json:"wall_seconds"`
	Input    Figure  `json:"input_tokens"` // includes cached and cache-write
	Cached   Figure  `json:"cached_tokens"`
	Written  Figure  `json:"cache_write_tokens"`
	Output   Figure  `json:"output_tokens"` // includes reasoning
	Reason   Figure  `json:"reasoning_tokens"`
	Cost     Figure  `json:"cost_usd"`
}

// Seconds sums up times of trials; mean and median are nil without any.
type Seconds struct {
	Sum    float64  `json:"sum"`
	Mean   *float64 `json:"mean"`
	Median *float64 `json:"median"`
}

// Figure sums up a figure that may be unknown. Sum and Mean are over the
// trials that tell it, nil when none does.
type Figure struct {
	Sum     *float64 `json:"sum"`
	Mean    *float64 `json:"mean"`    // per trial that tells it
	Known   int      `json:"known"`   // trials that tell it
	Partly  int      `json:"partly"`  // among them: some exchanges do not, so theirs is a lower bound
	Unknown int      `json:"unknown"` // trials that do not tell it at all
}

// tally gathers the trials of one group.
type tally struct {
	planned, done, solved  int
	ofAgent, solvedOfAgent int
	attempts               int
	wall                   []float64
	input, cached, written Figure
	output, reason, cost   Figure
}

func (y *tally) add(t *results.TrialResult) {
	y.planned++
	if t.State != results.StateDone {
		return
	}
	y.done++
	solved := t.Word == results.Solved
	if solved {
		y.solved++
	}
	if final := t.Final(); final != nil && final.Outcome.OfAgent() {
		y.ofAgent++
		if solved {
			y.solvedOfAgent++
		}
	}
	y.attempts += len(t.Attempts)
	y.wall = append(y.wall, t.WallSeconds)
	u := t.Usage
	y.input.add(asFloat(u.Input), u.Unknown.Input)
	y.cached.add(asFloat(u.Cached), u.Unknown.Cached)
	y.written.add(asFloat(u.CacheWrite), u.Unknown.CacheWrite)
	y.output.add(asFloat(u.Output), u.Unknown.Output)
	y.reason.add(asFloat(u.Reasoning), u.Unknown.Reasoning)
	y.cost.add(u.CostUSD, u.Unknown.Cost)
}

func asFloat(v *int64) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v)
	return &f
}

func (f *Figure) add(v *float64, gaps int) {
	if v == nil {
		f.Unknown++
		return
	}
	f.Known++
	if gaps > 0 {
		f.Partly++
	}
	sum := *v
	if f.Sum != nil {
		sum += *f.Sum
	}
	mean := sum / float64(f.Known)
	f.Sum, f.Mean = &sum, &mean
}

func (y *tally) group(k groupKey, withheld bool) Group {
	return Group{
		Axis: k.axis, Size: k.size, Refactoring: k.refactoring, Code: k.code,
		Planned: y.planned,
		All:     newRate(y.solved, y.done, withheld),
		Agent:   newRate(y.solvedOfAgent, y.ofAgent, withheld),
		Effort: Effort{
			Trials: y.done, Attempts: y.attempts, Wall: newSeconds(y.wall),
			Input: y.input, Cached: y.cached, Written: y.written,
			Output: y.output, Reason: y.reason, Cost: y.cost,
		},
	}
}

func newRate(solved, n int, withheld bool) Rate {
	r := Rate{N: n, Solved: solved}
	if n == 0 || withheld {
		return r
	}
	p := float64(solved) / float64(n)
	se := math.Sqrt(p * (1 - p) / float64(n))
	r.Accuracy, r.SE = &p, &se
	return r
}

func newSeconds(all []float64) Seconds {
	var s Seconds
	if len(all) == 0 {
		return s
	}
	for _, v := range all {
		s.Sum += v
	}
	mean, mid := s.Sum/float64(len(all)), median(all)
	s.Mean, s.Median = &mean, &mid
	return s
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
