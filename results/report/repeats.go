package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"cabra-run/results"
	"cabra-run/results/analysis"
	"cabra-run/tasks"
)

// Repeats is how a group does by task: the repetitions of a task are not
// independent, so that errors are over tasks. Only trials that are done count.
type Repeats struct {
	Tasks       int `json:"tasks"`
	Repetitions int `json:"repetitions"` // the most of any task
	// Mean is the mean over the tasks of the share of their trials that are
	// solved, SE its standard error over tasks; nil where they are withheld,
	// without tasks, and SE with only one.
	Mean *float64 `json:"mean"`
	SE   *float64 `json:"standard_error"`
	// PassAt holds pass@1 up to pass@Repetitions.
	PassAt []PassAt `json:"pass_at_k"`
}

// PassAt is the unbiased estimate of the chance that at least one of k trials
// solves a task, as a mean over the tasks with k trials or more.
type PassAt struct {
	K     int      `json:"k"`
	Tasks int      `json:"tasks"`
	Value *float64 `json:"pass"`
	SE    *float64 `json:"standard_error"`
}

// taskCount is how many of n trials of a task are solved.
type taskCount struct{ n, solved int }

// taskCounts counts the tasks of a group.
type taskCounts map[taskCount]int

// taskTallies gathers the trials of each task, in the order of the plan.
type taskTallies struct {
	list  []taskTally
	index map[tasks.ID]int
	last  tasks.ID // most often the next trial is of the same task
	at    int
}

type taskTally struct {
	cell tasks.Cell
	taskCount
}

func newTaskTallies() taskTallies { return taskTallies{index: map[tasks.ID]int{}} }

func (y *taskTallies) add(t *results.TrialResult) {
	if t.State != results.StateDone {
		return
	}
	if t.TaskID != y.last || len(y.list) == 0 {
		i, ok := y.index[t.TaskID]
		if !ok {
			i = len(y.list)
			y.index[t.TaskID] = i
			y.list = append(y.list, taskTally{cell: t.Cell})
		}
		y.last, y.at = t.TaskID, i
	}
	task := &y.list[y.at]
	task.n++
	if t.Word == results.Solved {
		task.solved++
	}
}

// repeats is nil for the nil counts of several pairings.
func (c taskCounts) repeats(withheld bool) *Repeats {
	if c == nil {
		return nil
	}
	r := &Repeats{PassAt: []PassAt{}}
	kinds := slices.SortedFunc(maps.Keys(c), func(a, b taskCount) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.solved, b.solved))
	})
	for _, k := range kinds {
		r.Tasks += c[k]
		r.Repetitions = max(r.Repetitions, k.n)
	}
	for k := 1; k <= r.Repetitions; k++ {
		r.PassAt = append(r.PassAt, c.passAt(k, kinds, withheld))
	}
	if r.Repetitions > 0 { // pass@1 of a task is the share that is solved
		r.Mean, r.SE = r.PassAt[0].Value, r.PassAt[0].SE
	}
	return r
}

func (c taskCounts) passAt(k int, kinds []taskCount, withheld bool) PassAt {
	p := PassAt{K: k}
	var sum, squares float64
	for _, kind := range kinds {
		if v, ok := analysis.PassAtK(kind.n, kind.solved, k); ok {
			p.Tasks += c[kind]
			sum += float64(c[kind]) * v
		}
	}
	if p.Tasks == 0 || withheld {
		return p
	}
	mean := sum / float64(p.Tasks)
	p.Value = &mean
	if p.Tasks == 1 {
		return p
	}
	for _, kind := range kinds {
		if v, ok := analysis.PassAtK(kind.n, kind.solved, k); ok {
			squares += float64(c[kind]) * (v - mean) * (v - mean)
		}
	}
	se := math.Sqrt(squares / float64(p.Tasks-1) / float64(p.Tasks))
	p.SE = &se
	return p
}
