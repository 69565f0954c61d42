package report

import (
	"slices"

	"cabra-run/results"
	"cabra-run/results/analysis"
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
	input, cached, written figureSum
	output, reason, cost   figureSum
	tasks                  taskCounts // nil over several pairings
}

// figureSum adds up a Figure.
type figureSum struct {
	sum                    float64
	known, partly, unknown int
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
	u := &t.Usage
	y.input.addCount(u.Input, u.Unknown.Input)
	y.cached.addCount(u.Cached, u.Unknown.Cached)
	y.written.addCount(u.CacheWrite, u.Unknown.CacheWrite)
	y.output.addCount(u.Output, u.Unknown.Output)
	y.reason.addCount(u.Reasoning, u.Unknown.Reasoning)
	if u.CostUSD == nil {
		y.cost.unknown++
	} else {
		y.cost.add(*u.CostUSD, u.Unknown.Cost)
	}
}

func asFloat(v *int64) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v)
	return &f
}

func (f *figureSum) addCount(v *int64, gaps int) {
	if v == nil {
		f.unknown++
		return
	}
	f.add(float64(*v), gaps)
}

func (f *figureSum) add(v float64, gaps int) {
	f.sum += v
	f.known++
	if gaps > 0 {
		f.partly++
	}
}

func (f figureSum) figure() Figure {
	out := Figure{Known: f.known, Partly: f.partly, Unknown: f.unknown}
	if f.known > 0 {
		mean := f.sum / float64(f.known)
		out.Sum, out.Mean = &f.sum, &mean
	}
	return out
}

func (y *tally) group(k groupKey, withheld bool) Group {
	return Group{
		Axis: k.axis, Size: k.size, Refactoring: k.refactoring, Code: k.code,
		Planned: y.planned,
		All:     newRate(y.solved, y.done, withheld),
		Agent:   newRate(y.solvedOfAgent, y.ofAgent, withheld),
		Repeats: y.tasks.repeats(withheld),
		Effort: Effort{
			Trials: y.done, Attempts: y.attempts, Wall: newSeconds(y.wall),
			Input: y.input.figure(), Cached: y.cached.figure(), Written: y.written.figure(),
			Output: y.output.figure(), Reason: y.reason.figure(), Cost: y.cost.figure(),
		},
	}
}

func newRate(solved, n int, withheld bool) Rate {
	r := Rate{N: n, Solved: solved}
	if n == 0 || withheld {
		return r
	}
	p, se := float64(solved)/float64(n), analysis.BinomialSE(solved, n)
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
