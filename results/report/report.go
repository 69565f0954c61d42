// Package report turns the results of a run into what people read: accuracy
// with standard errors, outcome classes, time and tokens, as text, JSON and CSV,
// a chart of accuracy against size, the status of a running sweep, and the
// export of one line per trial.
//
// [Build] reduces the results of a store to a [Report] by one verdict; [Text],
// [JSON] and [CSV] print it, [Chart] draws it. [BuildBoth] sets two verdicts side
// by side and says where they differ and why, [Compare] two runs on the trials that
// both have. A run of several agents and models has a part for each. [Export] and
// [BuildStatus] read the results directly. None of them knows how the results came
// about or where they are stored, and none prints a number that it does not know
// as zero.
package report

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
)

// Results are the trials of a run in plan order, as a results.Store yields them.
type Results = iter.Seq2[results.TrialResult, error]

// Options of Build.
type Options struct {
	// Scorer names the verdict that the results go by; "" is the run's first.
	Scorer string
	// Partial asks for accuracies although trials are missing.
	Partial bool
	// Drift is what changed while the run was continued, from the store.
	Drift []results.Drift
	// Agent and Model leave only the pairings of this agent (a name, or
	// name@version) and this model; "" for all.
	Agent, Model string
}

// Report is what a run says so far.
type Report struct {
	Header Header `json:"run"`
	// Complete is set when every trial of the plan is done. Otherwise
	// accuracies are withheld (null), unless they were asked for.
	Complete bool   `json:"complete"`
	Withheld bool   `json:"accuracy_withheld"`
	Trials   Counts `json:"trials"`
	// NotComputed counts trials that have another verdict, but not this one.
	NotComputed int `json:"verdict_not_computed"`
	// Differ counts trials on which the verdicts differ.
	Differ int `json:"verdicts_differ"`
	// UsageNotes counts the attempts whose agent counts its tokens otherwise
	// than they were metered from the wire.
	UsageNotes int `json:"attempts_with_usage_note"`
	// OtherLimits counts the attempts whose box had other limits in force than
	// were wanted.
	OtherLimits int `json:"attempts_with_other_limits,omitempty"`

	Drift []results.Drift `json:"drift,omitempty"`

	Overall       Group   `json:"overall"`
	ByAxisSize    []Group `json:"by_axis_and_size"`
	ByRefactoring []Group `json:"by_refactoring"`
	ByCode        []Group `json:"by_code"`

	Outcomes []OutcomeCount `json:"outcomes"`
	Limits   []LimitCount   `json:"limits_hit"`
	// NoVerdict lists the trials without a verdict, in plan order.
	NoVerdict []NoVerdict `json:"without_verdict"`

	// Pairings holds a report for each agent and model of a run that has
	// several; the figures above are over all of them.
	Pairings []*Report `json:"pairings,omitempty"`
}

// Header says what was run and under which conditions.
type Header struct {
	Name     string `json:"name"`
	Program  string `json:"program"`
	Agent    string `json:"agent"`
	Version  string `json:"version"`
	Model    string `json:"model"`
	Scripted bool   `json:"scripted"` // a fixed policy played the model
	Grid     string `json:"grid"`
	Seed     int64  `json:"seed"`
	Scorer   string `json:"scorer"`
	// ScorerVersion is that of the verdicts, as many as there are, else the
	// one that the run was begun with.
	ScorerVersion  string  `json:"scorer_version"`
	Attempts       int     `json:"attempts"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
	Network        string  `json:"network"`
	// Of the provider, as far as the lock tells: its name and addresses, the
	// wire format it is asked in, and what its tokens cost by whose word.
	Provider string `json:"provider,omitempty"`
	Endpoint string `json:"provider_description,omitempty"`
	Wire     string `json:"wire,omitempty"`
	Prices   string `json:"prices,omitempty"`
	// TLS says who ended the encryption to the agent's own hosts, Losses what
	// that has cost; both empty where a gateway's address was asked.
	TLS    string   `json:"tls,omitempty"`
	Losses []string `json:"losses,omitempty"`
	// Which part of the grid the run has, where it is not all of it, and where
	// its trials come from.
	Limit  int             `json:"limit,omitempty"`
	Shard  string          `json:"shard,omitempty"`
	Merged []string        `json:"merged,omitempty"`
	Origin *results.Origin `json:"origin,omitempty"`
}

// Counts are trials by state.
type Counts struct {
	Planned  int `json:"planned"`
	Done     int `json:"done"`
	Pending  int `json:"pending"`
	Running  int `json:"running"`
	Unscored int `json:"unscored"`
}

// Group is a set of trials that agree in the fields that are set.
type Group struct {
	Axis        tasks.Axis        `json:"axis,omitempty"`
	Size        int               `json:"size,omitempty"`
	Refactoring tasks.Refactoring `json:"refactoring,omitempty"`
	Code        tasks.CodeType    `json:"code,omitempty"`

	Planned int  `json:"planned"`
	All     Rate `json:"all"`   // over all trials that are done
	Agent   Rate `json:"agent"` // over those with an agent outcome
	// Repeats is over the tasks of All. Nil over several agents and models.
	Repeats *Repeats `json:"by_task,omitempty"`
	// Effort is that of all trials that are done, with all their attempts.
	Effort Effort `json:"effort"`
}

// Rate is an accuracy: solved trials among n, with the binomial standard error
// sqrt(p(1-p)/n). Both are nil without trials and where they are withheld.
type Rate struct {
	N        int      `json:"n"`
	Solved   int      `json:"solved"`
	Accuracy *float64 `json:"accuracy"`
	SE       *float64 `json:"standard_error"`
}

// OutcomeCount counts the trials of one word.
type OutcomeCount struct {
	Word      string  `json:"outcome"`
	Trials    int     `json:"trials"`
	Share     float64 `json:"share"`      // of the planned trials
	Unchanged int     `json:"unchanged"`  // among them: the code equals the starter
	RightCode int     `json:"right_code"` // among them: ended otherwise, but the last code is right
}

// LimitCount counts the trials that one limit ended.
type LimitCount struct {
	Limit  string `json:"limit"`
	Trials int    `json:"trials"`
}

// NoVerdict is a trial without a verdict.
type NoVerdict struct {
	TaskID     tasks.ID      `json:"task_id"`
	Repetition int           `json:"repetition"`
	Agent      string        `json:"agent"`
	Model      string        `json:"model"`
	Outcome    string        `json:"outcome"`
	State      results.State `json:"state"`
	Attempts   int           `json:"attempts"`
	Reason     string        `json:"reason"`
}

// Build reduces results, which go by the verdict of the options, to a report.
func Build(all Results, lock results.Lock, opts Options) (*Report, error) {
	s, err := newSplit(lock, opts, newBuilder)
	if err != nil {
		return nil, err
	}
	var t results.TrialResult // one for all: a copy per trial would be memory to be cleared away
	for next, err := range all {
		if err != nil {
			return nil, fmt.Errorf("building the report: %w", err)
		}
		t = next
		s.add(&t)
	}
	return reportOf(s, opts), nil
}

// reportOf is the report of all pairings, with one of each where there are several.
func reportOf(s *split[*builder], opts Options) *Report {
	lock := s.pairings.lock
	r := s.total.report(lock, s.chosen(), opts)
	for _, i := range s.parts() {
		r.Pairings = append(r.Pairings, s.each[i].report(lock, s.pairings.list[i:i+1], opts))
	}
	return r
}

// header is that of some pairings of a run. What they do not have in common is
// listed, but for the figures of a provider, which stand in their own headers.
func header(l results.Lock, pairs []results.Pairing, scorer string) Header {
	h := Header{
		Name: l.Run, Program: l.Program, Grid: l.Tasks.Grid, Seed: l.Tasks.Seed,
		Scorer: scorer, ScorerVersion: l.VerdictVersion(scorer),
		TimeoutSeconds: l.TimeoutSeconds, Network: l.Network,
		Limit: l.Limit, Shard: l.Shard.String(), Merged: l.Merged, Origin: l.Origin,
	}
	var agents, versions, models []string
	for _, p := range pairs {
		agents, versions = append(agents, p.Agent.Name), append(versions, p.Agent.Version)
		models = append(models, p.Model)
		h.Scripted = h.Scripted || p.Provider.Scripted
		h.Attempts = max(h.Attempts, cmp.Or(p.Retry.Attempts, l.Retry.Attempts))
	}
	h.Agent, h.Version, h.Model = joinDistinct(agents), joinDistinct(versions), joinDistinct(models)
	if len(pairs) == 1 {
		p := pairs[0].Provider
		h.Provider, h.Endpoint, h.Wire, h.Prices = p.Name, p.Description, pairs[0].Agent.Wire, p.Prices
		h.TLS, h.Losses = p.TLS, p.Losses
	}
	return h
}

// groupKey is what the trials of a Group have in common.
type groupKey struct {
	axis        tasks.Axis
	size        int
	refactoring tasks.Refactoring
	code        tasks.CodeType
}

type builder struct {
	counts    Counts
	overall   *tally
	axisSize  map[groupKey]*tally
	refactor  map[groupKey]*tally
	code      map[groupKey]*tally
	outcomes  map[string]*OutcomeCount
	limits    map[string]int
	noVerdict []NoVerdict

	versions            map[string]bool // of the verdicts
	notComputed, differ int
	usageNotes          int
	otherLimits         int

	tasks taskTallies
}

func newBuilder() *builder {
	return &builder{
		overall: &tally{}, axisSize: map[groupKey]*tally{}, refactor: map[groupKey]*tally{},
		code: map[groupKey]*tally{}, outcomes: map[string]*OutcomeCount{}, limits: map[string]int{},
		noVerdict: []NoVerdict{}, versions: map[string]bool{}, tasks: newTaskTallies(),
	}
}

func (b *builder) add(t *results.TrialResult) {
	b.counts.add(t.State)
	b.overall.add(t)
	b.tasks.add(t)
	for _, a := range t.Attempts {
		if a.UsageNote != "" {
			b.usageNotes++
		}
		if a.Effective != "" {
			b.otherLimits++
		}
	}
	c := t.Cell
	addTo(b.axisSize, groupKey{axis: c.Axis, size: c.Size}, t)
	if c.Refactoring != "" {
		addTo(b.refactor, groupKey{refactoring: c.Refactoring}, t)
	}
	if c.Code != "" {
		addTo(b.code, groupKey{code: c.Code}, t)
	}
	b.addOutcome(t)
	b.addVerdict(t)
}

func (b *builder) addVerdict(t *results.TrialResult) {
	if len(t.Verdicts) > 1 && t.Verdicts[0].Solved != t.Verdicts[1].Solved {
		b.differ++
	}
	if t.Verdict != nil {
		b.versions[t.Verdict.Version] = true
		return
	}
	reason := t.Reason()
	if len(t.Verdicts) > 0 {
		b.notComputed++
		reason = "this verdict is not computed"
	}
	b.noVerdict = append(b.noVerdict, NoVerdict{
		TaskID: t.TaskID, Repetition: t.Repetition, Agent: t.Agent, Model: t.Model, Outcome: t.Word,
		State: t.State, Attempts: len(t.Attempts), Reason: oneLine(reason),
	})
}

func addTo(groups map[groupKey]*tally, key groupKey, t *results.TrialResult) {
	if groups[key] == nil {
		groups[key] = &tally{}
	}
	groups[key].add(t)
}

func (c *Counts) add(s results.State) {
	c.Planned++
	switch s {
	case results.StateDone:
		c.Done++
	case results.StateRunning:
		c.Running++
	case results.StateUnscored:
		c.Unscored++
	default:
		c.Pending++
	}
}

func (b *builder) addOutcome(t *results.TrialResult) {
	oc := b.outcomes[t.Word]
	if oc == nil {
		oc = &OutcomeCount{Word: t.Word}
		b.outcomes[t.Word] = oc
	}
	oc.Trials++
	final := t.Final()
	if final == nil {
		return
	}
	if final.Unchanged {
		oc.Unchanged++
	}
	if t.Verdict != nil && t.Verdict.Solved && t.Word != results.Solved {
		oc.RightCode++
	}
	if final.Outcome == results.Limit {
		b.limits[cmp.Or(final.LimitHit, "unknown")]++
	}
}

func (b *builder) report(lock results.Lock, pairs []results.Pairing, opts Options) *Report {
	if len(pairs) == 1 {
		b.countTasks()
	}
	r := b.tables(opts)
	r.Header, r.Drift = header(lock, pairs, cmp.Or(opts.Scorer, lock.Verdict())), opts.Drift
	if versions := slices.Sorted(maps.Keys(b.versions)); len(versions) > 0 {
		r.Header.ScorerVersion = strings.Join(versions, ", ")
	}
	return r
}

// countTasks gives the groups the tasks that they hold.
func (b *builder) countTasks() {
	b.overall.tasks = taskCounts{}
	for i := range b.tasks.list {
		task := &b.tasks.list[i]
		c := task.cell
		b.overall.tasks[task.taskCount]++
		for _, y := range []*tally{b.axisSize[groupKey{axis: c.Axis, size: c.Size}],
			b.refactor[groupKey{refactoring: c.Refactoring}], b.code[groupKey{code: c.Code}]} {
			if y == nil { // a task without such a word
				continue
			}
			if y.tasks == nil {
				y.tasks = taskCounts{}
			}
			y.tasks[task.taskCount]++
		}
	}
}

func (b *builder) tables(opts Options) *Report {
	complete := b.counts.Done == b.counts.Planned
	withheld := !complete && !opts.Partial
	r := &Report{
		Complete: complete, Withheld: withheld, Trials: b.counts,
		NotComputed: b.notComputed, Differ: b.differ, UsageNotes: b.usageNotes, OtherLimits: b.otherLimits,
		Overall:    b.overall.group(groupKey{}, withheld),
		ByAxisSize: groups(b.axisSize, withheld), ByRefactoring: groups(b.refactor, withheld),
		ByCode:   groups(b.code, withheld),
		Outcomes: []OutcomeCount{}, Limits: []LimitCount{}, NoVerdict: b.noVerdict,
	}
	for _, word := range Words() {
		if oc := b.outcomes[word]; oc != nil {
			oc.Share = float64(oc.Trials) / float64(b.counts.Planned)
			r.Outcomes = append(r.Outcomes, *oc)
		}
	}
	for _, limit := range slices.Sorted(maps.Keys(b.limits)) {
		r.Limits = append(r.Limits, LimitCount{limit, b.limits[limit]})
	}
	return r
}

// Words lists every word that a trial can have, in the order of tables.
func Words() []string { return results.TrialWords() }

// groups orders them as grids are ordered; what no grid knows follows by name.
func groups(tallies map[groupKey]*tally, withheld bool) []Group {
	keys := slices.SortedFunc(maps.Keys(tallies), func(a, b groupKey) int {
		return cmp.Or(
			byOrder(tasks.AllAxes(), a.axis, b.axis), cmp.Compare(a.size, b.size),
			byOrder(tasks.Refactorings(), a.refactoring, b.refactoring), byOrder(tasks.CodeTypes(), a.code, b.code))
	})
	list := []Group{}
	for _, k := range keys {
		list = append(list, tallies[k].group(k, withheld))
	}
	return list
}

func byOrder[T cmp.Ordered](order []T, a, b T) int {
	rank := func(v T) int {
		if i := slices.Index(order, v); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
