package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"

	"cabra-run/results"
	"cabra-run/tasks"
)

// Status is how far a run is, also while it runs.
type Status struct {
	Run      string         `json:"run"`
	Agent    string         `json:"agent"`
	Version  string         `json:"version"`
	Model    string         `json:"model"`
	Scripted bool           `json:"scripted"`
	Complete bool           `json:"complete"`
	Trials   Counts         `json:"trials"`
	Outcomes []OutcomeCount `json:"outcomes"`
	Verdicts []VerdictCount `json:"verdicts"`
	Running  []Running      `json:"running"`
	Attempts int            `json:"attempts"`
	// Spent is over all attempts of the run, also of trials that are not done.
	Spent results.UsageTotal `json:"spent"`
	// TrialsPerHour is over the last half hour, or since the run began; nil
	// when nothing ended in it. Remaining is the time that the rest takes at
	// this rate.
	TrialsPerHour *float64 `json:"trials_per_hour"`
	Remaining     *float64 `json:"remaining_seconds"`
	// Pairings holds the counts of each agent and model of a run that has
	// several.
	Pairings []PairingStatus `json:"pairings,omitempty"`
}

// PairingStatus is how far one agent and model are.
type PairingStatus struct {
	Pairing
	Trials   Counts             `json:"trials"`
	Solved   int                `json:"solved"`
	NoAgent  int                `json:"done_without_agent_outcome"`
	Attempts int                `json:"attempts"`
	Spent    results.UsageTotal `json:"spent"`
}

func (p *PairingStatus) add(t *results.TrialResult) {
	p.Trials.add(t.State)
	p.Attempts += len(t.Attempts)
	p.Spent.Add(t.Usage)
	if t.Word == results.Solved {
		p.Solved++
	}
	if t.State != results.StateDone {
		return
	}
	if final := t.Final(); final == nil || !final.Outcome.OfAgent() {
		p.NoAgent++
	}
}

// VerdictCount counts the trials that have a verdict.
type VerdictCount struct {
	Scorer string `json:"scorer"`
	Trials int    `json:"trials"`
	Solved int    `json:"solved"` // whatever the attempt's outcome
}

// Running is an attempt that has started and not ended. After a crash it may
// be a dead one; resume closes it.
type Running struct {
	TaskID     tasks.ID  `json:"task_id"`
	Repetition int       `json:"repetition"`
	Attempt    int       `json:"attempt"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`
	Exchanges  int       `json:"exchanges"`
	// Agent and Model are set in a run that has several.
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
}

// rateWindow is how far back the rate of a running sweep looks.
const rateWindow = 30 * time.Minute

// BuildStatus reads the status of a run as of now.
func BuildStatus(all Results, lock results.Lock, now time.Time) (*Status, error) {
	parts, err := newSplit(lock, Options{}, func() *PairingStatus { return &PairingStatus{} })
	if err != nil {
		return nil, err
	}
	h := header(lock, parts.chosen(), lock.Verdict())
	s := &Status{Run: lock.Run, Agent: h.Agent, Version: h.Version, Model: h.Model,
		Scripted: h.Scripted, Outcomes: []OutcomeCount{}, Running: []Running{}}
	b := newBuilder()
	p := pace{now: now}
	for _, name := range lock.Verdicts() {
		s.Verdicts = append(s.Verdicts, VerdictCount{Scorer: name})
	}
	for t, err := range all {
		if err != nil {
			return nil, fmt.Errorf("reading the status: %w", err)
		}
		b.counts.add(t.State)
		b.addOutcome(&t)
		parts.add(&t)
		s.addVerdicts(&t)
		p.add(&t)
		if t.State == results.StateRunning {
			s.Running = append(s.Running, newRunning(&t, now, parts.pairings.several()))
		}
	}
	s.Spent, s.Attempts = parts.total.Spent, parts.total.Attempts
	for _, i := range parts.parts() {
		part := parts.each[i]
		part.Pairing = newPairing(parts.pairings.list[i])
		s.Pairings = append(s.Pairings, *part)
	}
	s.Trials, s.Complete = b.counts, b.counts.Done == b.counts.Planned
	s.Outcomes = b.tables(Options{}).Outcomes
	s.TrialsPerHour, s.Remaining = p.rate(b.counts.Planned - b.counts.Done)
	return s, nil
}

func (s *Status) addVerdicts(t *results.TrialResult) {
	for _, v := range t.Verdicts {
		i := slices.IndexFunc(s.Verdicts, func(c VerdictCount) bool { return c.Scorer == v.Scorer })
		if i < 0 { // of a run that was begun without it
			i = len(s.Verdicts)
			s.Verdicts = append(s.Verdicts, VerdictCount{Scorer: v.Scorer})
		}
		s.Verdicts[i].Trials++
		if v.Solved {
			s.Verdicts[i].Solved++
		}
	}
}

func newRunning(t *results.TrialResult, now time.Time, several bool) Running {
	a := t.Attempts[len(t.Attempts)-1]
	r := Running{TaskID: t.TaskID, Repetition: t.Repetition, Attempt: a.Number, Started: a.Started,
		Seconds: max(0, now.Sub(a.Started).Seconds()), Exchanges: a.Usage.Exchanges}
	if several {
		r.Agent, r.Model = t.Agent, t.Model
	}
	return r
}

// pace counts the trials that ended lately.
type pace struct {
	now   time.Time
	first time.Time // start of the run's first attempt
	ended int
}

func (p *pace) add(t *results.TrialResult) {
	if len(t.Attempts) == 0 {
		return
	}
	if started := t.Attempts[0].Started; p.first.IsZero() || started.Before(p.first) {
		p.first = started
	}
	final := t.Final()
	if t.State == results.StateDone && final != nil && p.now.Sub(final.Ended) < rateWindow {
		p.ended++
	}
}

func (p *pace) rate(left int) (perHour, remaining *float64) {
	window := min(rateWindow, p.now.Sub(p.first))
	if p.ended == 0 || window <= 0 {
		return nil, nil
	}
	rate := float64(p.ended) / window.Hours()
	rest := float64(left) / rate * 3600
	return &rate, &rest
}

// StatusText prints a status for people.
func StatusText(w io.Writer, s *Status) error {
	out := bufio.NewWriter(w)
	title := fmt.Sprintf("Run %s: %s %s, model %s", s.Run, s.Agent, s.Version, s.Model)
	if n := len(s.Pairings); n > 0 {
		title = fmt.Sprintf("Run %s: %d agents and models", s.Run, n)
	}
	fmt.Fprintln(out, oneLine(title))
	if s.Scripted && !slices.ContainsFunc(s.Pairings, func(p PairingStatus) bool { return !p.Scripted }) {
		fmt.Fprintln(out, scriptedNote)
	}
	c := s.Trials
	fmt.Fprintf(out, "%s of %s trials done; %s pending, %s running, %s not scored yet; %s attempts\n",
		count(c.Done), count(c.Planned), count(c.Pending), count(c.Running), count(c.Unscored), count(s.Attempts))
	for i, v := range s.Verdicts {
		fmt.Fprintf(out, "%s%s verdict on %s trials", []string{"", "; "}[min(i, 1)], v.Scorer, count(v.Trials))
	}
	fmt.Fprintln(out)
	if s.TrialsPerHour != nil && !s.Complete {
		fmt.Fprintf(out, "%.0f trials per hour, %s left at this rate\n", *s.TrialsPerHour, seconds(*s.Remaining))
	}
	fmt.Fprintf(out, "spent: %s tokens in, %s out, cost %s\n",
		spent(asFloat(s.Spent.Input), s.Spent.Unknown.Input, tokens),
		spent(asFloat(s.Spent.Output), s.Spent.Unknown.Output, tokens),
		spent(s.Spent.CostUSD, s.Spent.Unknown.Cost, dollars))
	s.writePairings(out)
	writeOutcomes(out, &Report{Outcomes: s.Outcomes})
	if len(s.Running) > 0 {
		fmt.Fprintf(out, "\nRunning\n")
		t := table{align: "l", header: []string{"task", "attempt", "for", "requests"}}
		if len(s.Pairings) > 0 {
			t.align, t.header = "lrrrl", append(t.header, "agent")
		}
		for _, r := range s.Running {
			row := []string{taskLabel(r.TaskID, r.Repetition), count(r.Attempt), seconds(r.Seconds), count(r.Exchanges)}
			if len(s.Pairings) > 0 {
				row = append(row, shorten(oneLine(r.Agent+", "+r.Model), 40))
			}
			t.add(row...)
		}
		t.write(out)
	}
	return out.Flush()
}

// writePairings prints how far each agent and model of several is.
func (s *Status) writePairings(w *bufio.Writer) {
	if len(s.Pairings) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := table{align: "l", header: []string{
		"agent and model", "planned", "done", "running", "solved", "no outcome", "cost"}}
	for _, p := range s.Pairings {
		name := shorten(oneLine(p.Agent+", "+p.Model), 28)
		if p.Scripted {
			name = shorten(oneLine(p.Agent+", "+p.Model), 17) + " (scripted)"
		}
		t.add(name, count(p.Trials.Planned), count(p.Trials.Done), count(p.Trials.Running), count(p.Solved),
			count(p.NoAgent), spent(p.Spent.CostUSD, p.Spent.Unknown.Cost, dollars))
	}
	t.write(w)
	fmt.Fprintln(w, "no outcome: done, but ended by infra_error, provider_error or cancelled")
}

// spent shows a sum whose gaps are known; nothing spent yet is 0.
func spent(v *float64, gaps int, show func(float64) string) string {
	switch {
	case v == nil && gaps == 0:
		return show(0)
	case v == nil:
		return "unknown"
	case gaps > 0:
		return "≥" + show(*v)
	}
	return show(*v)
}

// StatusJSON prints a status, indented.
func StatusJSON(w io.Writer, s *Status) error { return indented(w, s) }
