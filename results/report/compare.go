package report

import (
	"fmt"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/results/analysis"
	"cabra-run/tasks"
)

// Compared is a run to be compared. Its results go by the verdict that
// CompareOptions names.
type Compared struct {
	Lock    results.Lock
	Results Results
	Drift   []results.Drift
}

// CompareOptions of Compare.
type CompareOptions struct {
	// Scorer names the verdict that the results of both runs go by; "" is the
	// first run's first.
	Scorer string
	// Partial asks for accuracies and answers although trials that both runs
	// plan are not done.
	Partial bool
}

// Comparison sets two runs side by side on the trials that both have: those of
// one task, told by its id and digest, one repetition, and one pairing. A pairing
// of the first run is compared with the one of the second that has its agent and
// model, else with the one at its place among those without such a partner.
//
// Compared are trials that are done in both runs with an outcome of the agent,
// so that a failure of the engine or the provider speaks for nobody; the others
// are counted and listed.
type Comparison struct {
	First  ComparedRun `json:"first"`
	Second ComparedRun `json:"second"`
	Scorer string      `json:"scorer"`
	// Differences are those of the locks.
	Differences []results.Difference `json:"differences"`
	// Complete is set when every trial that both runs plan is done in both.
	// Otherwise accuracies and answers are withheld, unless they are asked for.
	Complete bool                `json:"complete"`
	Withheld bool                `json:"withheld"`
	Pairings []PairingComparison `json:"pairings"`
}

// ComparedRun says what one of the runs is.
type ComparedRun struct {
	Name          string          `json:"name"`
	Program       string          `json:"program"`
	Grid          string          `json:"grid"`
	Network       string          `json:"network"`
	ScorerVersion string          `json:"scorer_version"`
	Pairings      []Pairing       `json:"pairings"`
	Trials        Counts          `json:"trials"`
	Filter        string          `json:"filter,omitempty"` // of the trials of the run that it runs again
	Replay        bool            `json:"replay,omitempty"`
	Drift         []results.Drift `json:"drift,omitempty"`
}

// PairingComparison compares one agent and model of both runs.
type PairingComparison struct {
	First  *Pairing `json:"first"` // nil where only the other run has such a one
	Second *Pairing `json:"second"`

	Coverage []Coverage       `json:"coverage"` // by axis, and of all under no axis
	Overall  ComparedGroup    `json:"overall"`
	Axes     []AxisComparison `json:"axes"`
	// Flips lists the compared trials that one run solves and the other does
	// not, Missing those that both runs plan and that are not compared; both in
	// the order of the second run's plan.
	Flips   []Flip    `json:"flips"`
	Missing []Missing `json:"missing"`
}

// Coverage counts the trials of both runs by what can be compared.
type Coverage struct {
	Axis     tasks.Axis `json:"axis,omitempty"`
	Common   int        `json:"in_both"`
	Compared int        `json:"compared"`
	NotDone  int        `json:"not_done"` // in one of the runs at least
	// LostFirst and LostSecond are done without an outcome of the agent; a
	// trial can be in both.
	LostFirst  int `json:"without_agent_outcome_in_first"`
	LostSecond int `json:"without_agent_outcome_in_second"`
	OtherTask  int `json:"other_task_under_the_same_id"`
	OnlyFirst  int `json:"only_in_first"`
	OnlySecond int `json:"only_in_second"`
}

// AxisComparison is one axis in both runs.
type AxisComparison struct {
	Axis  tasks.Axis      `json:"axis"`
	All   ComparedGroup   `json:"all"`
	Sizes []ComparedGroup `json:"sizes"`
	// Trends is nil where it is withheld.
	Trends *analysis.Agreement `json:"trends"`
}

// ComparedGroup is a set of compared trials.
type ComparedGroup struct {
	Axis  tasks.Axis `json:"axis,omitempty"`
	Size  int        `json:"size,omitempty"`
	Pairs int        `json:"pairs"`
	Tasks int        `json:"tasks"`

	First  Rate           `json:"first"`
	Second Rate           `json:"second"`
	Table  analysis.Table `json:"table"`
	// Difference is the second run's accuracy minus the first one's, with its
	// interval of 95 % and the p-value of the paired test that Method names;
	// nil without pairs, where withheld, and where it cannot be computed.
	Difference *float64           `json:"difference"`
	Interval   *analysis.Interval `json:"interval"`
	P          *float64           `json:"p"`
	Method     Method             `json:"method,omitempty"`
	// Figures are what the trials took, in the order of FigureNames.
	Figures []ComparedFigure `json:"figures"`
}

// Method is how a difference is tested.
type Method string

// The methods: with one repetition pairs are taken one by one, with several the
// mean differences of the tasks, as repetitions of a task are not independent.
const (
	ByPairs Method = "exact McNemar test, Newcombe's interval of paired proportions"
	ByTasks Method = "Wilcoxon's signed-rank test and Student's interval over means of tasks"
)

// ComparedFigure is what the compared trials took of one thing: in the attempt
// that a trial's word comes from, in the pairs in which both runs tell it whole.
type ComparedFigure struct {
	Name   string             `json:"name"`
	Pairs  int                `json:"pairs"`
	Untold int                `json:"pairs_untold"`
	First  *float64           `json:"first_mean"`
	Second *float64           `json:"second_mean"`
	Diff   *float64           `json:"difference"`
	SE     *float64           `json:"standard_error"`
	CI     *analysis.Interval `json:"interval"`
	P      *float64           `json:"wilcoxon_p"`
}

// Flip is a trial that one run solves and the other does not.
type Flip struct {
	TaskID     tasks.ID `json:"task_id"`
	Repetition int      `json:"repetition"`
	First      Told     `json:"first"`
	Second     Told     `json:"second"`
}

// Told is what a run says of a trial.
type Told struct {
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	Attempts int    `json:"attempts"`
}

// Missing is a trial of both plans that is not compared.
type Missing struct {
	Flip
	Why string `json:"why"`
}

// Compare compares the second run with the first.
func Compare(first, second Compared, opts CompareOptions) (*Comparison, error) {
	scorer := opts.Scorer
	if scorer == "" {
		scorer = first.Lock.Verdict()
	}
	m := newMatcher(first.Lock, second.Lock)
	c := &Comparison{Scorer: scorer, Differences: first.Lock.Diff(second.Lock),
		First: comparedRun(first, scorer), Second: comparedRun(second, scorer)}
	for t, err := range first.Results {
		if err != nil {
			return nil, fmt.Errorf("comparing: reading run %q: %w", first.Lock.Run, err)
		}
		c.First.Trials.add(t.State)
		m.addFirst(&t)
	}
	for t, err := range second.Results {
		if err != nil {
			return nil, fmt.Errorf("comparing: reading run %q: %w", second.Lock.Run, err)
		}
		c.Second.Trials.add(t.State)
		m.addSecond(&t)
	}
	m.finish()
	c.Complete = !slices.ContainsFunc(m.pairs, func(p *pairTally) bool { return p.notDone() > 0 })
	c.Withheld = !c.Complete && !opts.Partial
	for _, p := range m.pairs {
		c.Pairings = append(c.Pairings, p.comparison(c.Withheld))
	}
	c.First.ScorerVersion = joinDistinct(append(m.versions[0], c.First.ScorerVersion))
	c.Second.ScorerVersion = joinDistinct(append(m.versions[1], c.Second.ScorerVersion))
	return c, nil
}

func comparedRun(r Compared, scorer string) ComparedRun {
	l := r.Lock
	run := ComparedRun{Name: l.Run, Program: l.Program, Grid: l.Tasks.Grid, Network: l.Network, Drift: r.Drift,
		ScorerVersion: l.VerdictVersion(scorer), Pairings: []Pairing{}}
	for _, p := range l.Pairs() {
		run.Pairings = append(run.Pairings, newPairing(p))
	}
	if l.Origin != nil {
		run.Filter, run.Replay = l.Origin.Filter, l.Origin.Replay
	}
	return run
}

// Scripted reports whether a fixed policy played any model of the run.
func (r ComparedRun) Scripted() bool {
	return slices.ContainsFunc(r.Pairings, func(p Pairing) bool { return p.Scripted })
}

// VersionsDiffer reports whether the agents of a comparison have two versions,
// so that their own ways of counting tokens may have changed.
func (p *PairingComparison) VersionsDiffer() bool {
	a, b := p.First, p.Second
	return a != nil && b != nil && (a.Agent != b.Agent || a.Version != b.Version)
}

// Sentence answers for one axis in plain words whether the trends stay.
func (a *AxisComparison) Sentence() string {
	g := a.Trends
	if g == nil {
		return fmt.Sprintf("%s: withheld until all trials are done.", a.Axis)
	}
	text := fmt.Sprintf("%s: %s; %s", a.Axis, g.Stay, abRuns(g.Why))
	if g.First != nil && g.Second != nil {
		text += fmt.Sprintf(" (slope per doubling of size: A %s, B %s)", slopeText(g.First), slopeText(g.Second))
	}
	return text + "."
}

// abRuns calls the runs as the tables do.
func abRuns(s string) string {
	return strings.NewReplacer("the first run", "A", "the second run", "B").Replace(s)
}

func slopeText(t *analysis.Trend) string {
	return fmt.Sprintf("%s, 95 %% %s", signed(&t.Slope), intervalText(&t.Interval))
}
