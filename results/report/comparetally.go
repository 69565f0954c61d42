package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/results/analysis"
	"cabra-run/tasks"
)

// FigureNames are the figures of a ComparedGroup.
func FigureNames() []string {
	return []string{"tool calls", "model requests", "input tokens", "output tokens", "wall seconds", "cost in USD"}
}

// figures is how many FigureNames there are.
const figures = 6

// taken is what one trial says, kept small: a run may have 100,000 of them.
type taken struct {
	digest   string
	done     bool
	ofAgent  bool
	solved   bool
	word     string
	reason   string
	attempts int
	figure   [figures]float64 // -1 where it is not told whole
	seen     bool             // in the other run as well
	axis     tasks.Axis
}

func newTaken(t *results.TrialResult) taken {
	k := taken{digest: taskPart(t.TaskDigest), done: t.State == results.StateDone, word: t.Word, reason: t.Reason(),
		solved: t.Word == results.Solved, attempts: len(t.Attempts), axis: t.Cell.Axis}
	for i := range k.figure {
		k.figure[i] = -1
	}
	final := t.Final()
	if final == nil {
		return k
	}
	k.ofAgent = final.Outcome.OfAgent()
	if final.ToolCalls != nil {
		k.figure[0] = float64(*final.ToolCalls)
	}
	u := final.Usage
	if u.Exchanges > 0 {
		k.figure[1] = float64(u.Exchanges)
		k.figure[2] = whole(asFloat(u.Input), u.Unknown.Input)
		k.figure[3] = whole(asFloat(u.Output), u.Unknown.Output)
		k.figure[5] = whole(u.CostUSD, u.Unknown.Cost)
	}
	k.figure[4] = final.WallSeconds
	return k
}

func whole(v *float64, gaps int) float64 {
	if v == nil || gaps > 0 {
		return -1
	}
	return *v
}

// taskPart is the digest of the task without that of its statement, which the
// difference of the locks tells of.
func taskPart(digest string) string {
	task, _, _ := strings.Cut(digest, "+")
	return task
}

func (k *taken) told() Told {
	return Told{Outcome: k.word, Reason: shorten(oneLine(k.reason), maxReason), Attempts: k.attempts}
}

// trialPlace names a trial within a pairing.
type trialPlace struct {
	task       tasks.ID
	repetition int
}

// matcher brings the trials of two runs together.
type matcher struct {
	runs     [2]*pairings
	partner  [2]map[int]*pairTally
	pairs    []*pairTally
	versions [2][]string // of the verdicts
}

func newMatcher(first, second results.Lock) *matcher {
	m := &matcher{runs: [2]*pairings{newPairings(first), newPairings(second)},
		partner: [2]map[int]*pairTally{{}, {}}}
	a, b := first.Pairs(), second.Pairs()
	same := func(i, j int) bool { return a[i].Agent.Name == b[j].Agent.Name && a[i].Model == b[j].Model }
	settled := func(i, j int) bool {
		return same(i, j) && first.SettingsOf(a[i].Agent) == second.SettingsOf(b[j].Agent)
	}
	for _, fits := range []func(i, j int) bool{settled, same, func(int, int) bool { return true }} {
		m.match(len(a), len(b), fits)
	}
	for run, list := range [][]results.Pairing{a, b} {
		for i := range list {
			if m.partner[run][i] == nil {
				m.open(run, i)
			}
		}
	}
	slices.SortStableFunc(m.pairs, func(p, q *pairTally) int { return cmp.Compare(p.place, q.place) })
	return m
}

// match joins pairings that have no partner yet, in their order.
func (m *matcher) match(n, k int, fits func(i, j int) bool) {
	for i := range n {
		for j := range k {
			if m.partner[0][i] == nil && m.partner[1][j] == nil && fits(i, j) {
				p := m.open(0, i)
				m.join(p, 1, j)
			}
		}
	}
}

// open begins the tally of a pairing of a run.
func (m *matcher) open(run, i int) *pairTally {
	p := &pairTally{place: i, trials: map[trialPlace]*taken{}, coverage: map[tasks.Axis]*Coverage{},
		groups: map[groupKey]*pairGroup{}}
	m.join(p, run, i)
	m.pairs = append(m.pairs, p)
	return p
}

func (m *matcher) join(p *pairTally, run, i int) {
	name := newPairing(m.runs[run].list[i])
	p.names[run] = &name
	m.partner[run][i] = p
}

// tallyOf finds a trial's tally; a pairing that the lock does not name gets one.
func (m *matcher) tallyOf(run int, t *results.TrialResult) *pairTally {
	i := m.runs[run].of(&t.Trial)
	if m.partner[run][i] == nil {
		m.open(run, i)
	}
	if v := t.Verdict; v != nil && !slices.Contains(m.versions[run], v.Version) {
		m.versions[run] = append(m.versions[run], v.Version)
	}
	return m.partner[run][i]
}

func (m *matcher) addFirst(t *results.TrialResult) {
	k := newTaken(t)
	m.tallyOf(0, t).trials[trialPlace{t.TaskID, t.Repetition}] = &k
}

func (m *matcher) addSecond(t *results.TrialResult) {
	p := m.tallyOf(1, t)
	b := newTaken(t)
	a := p.trials[trialPlace{t.TaskID, t.Repetition}]
	if a == nil {
		p.cover(b.axis, func(c *Coverage) { c.OnlySecond++ })
		return
	}
	a.seen = true
	p.add(t, a, &b)
}

// finish counts what only the first run has.
func (m *matcher) finish() {
	for _, p := range m.pairs {
		for _, a := range p.trials {
			if !a.seen {
				p.cover(a.axis, func(c *Coverage) { c.OnlyFirst++ })
			}
		}
	}
}

// pairTally gathers what two pairings have in common.
type pairTally struct {
	place    int
	names    [2]*Pairing
	trials   map[trialPlace]*taken // of the first run
	coverage map[tasks.Axis]*Coverage
	groups   map[groupKey]*pairGroup
	flips    []Flip
	missing  []Missing
}

// cover counts a trial under its axis and under all.
func (p *pairTally) cover(axis tasks.Axis, count func(*Coverage)) {
	for _, a := range []tasks.Axis{axis, ""} {
		if p.coverage[a] == nil {
			p.coverage[a] = &Coverage{Axis: a}
		}
		count(p.coverage[a])
	}
}

func (p *pairTally) notDone() int {
	if all := p.coverage[""]; all != nil {
		return all.NotDone
	}
	return 0
}

func (p *pairTally) add(t *results.TrialResult, a, b *taken) {
	why := notComparable(a, b)
	p.cover(b.axis, func(c *Coverage) { c.count(a, b, why) })
	flip := Flip{TaskID: t.TaskID, Repetition: t.Repetition}
	if why != "" {
		flip.First, flip.Second = a.told(), b.told()
		p.missing = append(p.missing, Missing{flip, why})
		return
	}
	c := t.Cell
	for _, key := range []groupKey{{}, {axis: c.Axis}, {axis: c.Axis, size: c.Size}} {
		if p.groups[key] == nil {
			p.groups[key] = &pairGroup{tasks: map[tasks.ID]*taskPairs{}}
		}
		p.groups[key].add(t.TaskID, a, b)
	}
	if a.solved != b.solved {
		flip.First, flip.Second = a.told(), b.told()
		p.flips = append(p.flips, flip)
	}
}

// notComparable says why two results say nothing about each other, "" when they
// do.
func notComparable(a, b *taken) string {
	where := func(first, second bool) string {
		switch {
		case first && second:
			return "both runs"
		case first:
			return "the first run"
		}
		return "the second run"
	}
	switch {
	case a.digest != b.digest:
		return "another task under the same id"
	case !a.done || !b.done:
		return "not done in " + where(!a.done, !b.done)
	case !a.ofAgent || !b.ofAgent:
		return "no outcome of the agent in " + where(!a.ofAgent, !b.ofAgent)
	}
	return ""
}

func (c *Coverage) count(a, b *taken, why string) {
	c.Common++
	switch {
	case why == "":
		c.Compared++
	case a.digest != b.digest:
		c.OtherTask++
	case !a.done || !b.done:
		c.NotDone++
	default:
		if !a.ofAgent {
			c.LostFirst++
		}
		if !b.ofAgent {
			c.LostSecond++
		}
	}
}

// pairGroup gathers the compared trials of a group.
type pairGroup struct {
	table  analysis.Table
	tasks  map[tasks.ID]*taskPairs
	order  []*taskPairs // as the tasks came, so that sums are always the same
	taken  [2][figures][]float64
	untold [figures]int
}

// taskPairs sums up the pairs of one task.
type taskPairs struct{ pairs, first, second int }

func (g *pairGroup) add(id tasks.ID, a, b *taken) {
	g.table.Add(a.solved, b.solved)
	task := g.tasks[id]
	if task == nil {
		task = &taskPairs{}
		g.tasks[id] = task
		g.order = append(g.order, task)
	}
	task.pairs++
	if a.solved {
		task.first++
	}
	if b.solved {
		task.second++
	}
	for i := range figures {
		if a.figure[i] < 0 || b.figure[i] < 0 {
			g.untold[i]++
			continue
		}
		g.taken[0][i] = append(g.taken[0][i], a.figure[i])
		g.taken[1][i] = append(g.taken[1][i], b.figure[i])
	}
}

// points are what both runs solve of the tasks of a size.
func (g *pairGroup) points(size int) (first, second analysis.Point) {
	first, second = analysis.Point{Size: size, N: len(g.order)}, analysis.Point{Size: size, N: len(g.order)}
	for _, task := range g.order {
		first.Solved += float64(task.first) / float64(task.pairs)
		second.Solved += float64(task.second) / float64(task.pairs)
	}
	return first, second
}

// group turns the tally into what is shown. A nil one is empty.
func (g *pairGroup) group(k groupKey, withheld bool) ComparedGroup {
	if g == nil {
		g = &pairGroup{}
	}
	t := g.table
	c := ComparedGroup{Axis: k.axis, Size: k.size, Pairs: t.N(), Tasks: len(g.order), Table: t,
		First:  newRate(t.Both+t.First, t.N(), withheld),
		Second: newRate(t.Both+t.Second, t.N(), withheld)}
	if t.N() > 0 && !withheld {
		g.difference(&c)
	}
	for i, name := range FigureNames() {
		c.Figures = append(c.Figures, comparedFigure(name, g.taken[0][i], g.taken[1][i], g.untold[i]))
	}
	return c
}

func (g *pairGroup) difference(c *ComparedGroup) {
	if c.Tasks == c.Pairs {
		d, i, p := g.table.Difference(), g.table.DifferenceInterval(analysis.Confidence), g.table.McNemar()
		c.Difference, c.Interval, c.P, c.Method = &d, &i, &p, ByPairs
		return
	}
	var means []float64
	for _, task := range g.order {
		means = append(means, float64(task.second-task.first)/float64(task.pairs))
	}
	c.Method = ByTasks
	mean, _, interval, ok := analysis.MeanDifference(means, analysis.Confidence)
	c.Difference = &mean
	if ok {
		c.Interval = &interval
	}
	if p, ok := analysis.Wilcoxon(means); ok {
		c.P = &p
	} else {
		one := 1. // no task differs
		c.P = &one
	}
}

func comparedFigure(name string, first, second []float64, untold int) ComparedFigure {
	f := ComparedFigure{Name: name, Pairs: len(first), Untold: untold}
	if len(first) == 0 {
		return f
	}
	diffs := make([]float64, len(first))
	for i := range first {
		diffs[i] = second[i] - first[i]
	}
	a, b := analysis.Mean(first), analysis.Mean(second)
	mean, se, interval, ok := analysis.MeanDifference(diffs, analysis.Confidence)
	f.First, f.Second, f.Diff = &a, &b, &mean
	if ok {
		f.SE, f.CI = &se, &interval
	}
	if p, ok := analysis.Wilcoxon(diffs); ok {
		f.P = &p
	}
	return f
}

func (p *pairTally) comparison(withheld bool) PairingComparison {
	c := PairingComparison{First: p.names[0], Second: p.names[1], Axes: []AxisComparison{}, Coverage: []Coverage{},
		Flips: append([]Flip{}, p.flips...), Missing: append([]Missing{}, p.missing...)}
	axes := slices.SortedFunc(maps.Keys(p.coverage), func(a, b tasks.Axis) int {
		return byOrder(tasks.AllAxes(), a, b)
	})
	for _, axis := range axes {
		if axis == "" {
			continue
		}
		c.Coverage = append(c.Coverage, *p.coverage[axis])
		if p.groups[groupKey{axis: axis}] != nil {
			c.Axes = append(c.Axes, p.axis(axis, withheld))
		}
	}
	if all := p.coverage[""]; all != nil {
		c.Coverage = append(c.Coverage, *all)
	}
	c.Overall = p.groups[groupKey{}].group(groupKey{}, withheld)
	return c
}

func (p *pairTally) axis(axis tasks.Axis, withheld bool) AxisComparison {
	c := AxisComparison{Axis: axis, All: p.groups[groupKey{axis: axis}].group(groupKey{axis: axis}, withheld)}
	var first, second []analysis.Point
	sizes := slices.SortedFunc(maps.Keys(p.groups), func(a, b groupKey) int { return cmp.Compare(a.size, b.size) })
	for _, k := range sizes {
		if k.axis != axis || k.size == 0 {
			continue
		}
		c.Sizes = append(c.Sizes, p.groups[k].group(k, withheld))
		a, b := p.groups[k].points(k.size)
		first, second = append(first, a), append(second, b)
	}
	if !withheld {
		trends := analysis.TrendsStay(first, second, analysis.Confidence)
		c.Trends = &trends
	}
	return c
}
