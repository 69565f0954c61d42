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
}

// rateWindow is how far back the rate of a running sweep looks.
const rateWindow = 30 * time.Minute

// BuildStatus reads the status of a run as of now.
func BuildStatus(all Results, lock results.Lock, now time.Time) (*Status, error) {
	s := &Status{Run: lock.Run, Agent: lock.Agent.Name, Version: lock.Agent.Version, Model: lock.Model,
		Scripted: lock.Provider.Scripted, Outcomes: []OutcomeCount{}, Running: []Running{}}
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
		s.Spent.Add(t.Usage)
		s.Attempts += len(t.Attempts)
		s.addVerdicts(&t)
		p.add(&t)
		if t.State == results.StateRunning {
			s.Running = append(s.Running, newRunning(&t, now))
		}
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

func newRunning(t *results.TrialResult, now time.Time) Running {
	a := t.Attempts[len(t.Attempts)-1]
	return Running{TaskID: t.TaskID, Repetition: t.Repetition, Attempt: a.Number, Started: a.Started,
		Seconds: max(0, now.Sub(a.Started).Seconds()), Exchanges: a.Usage.Exchanges}
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
	fmt.Fprintln(out, oneLine(fmt.Sprintf("Run %s: %s %s, model %s", s.Run, s.Agent, s.Version, s.Model)))
	if s.Scripted {
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
	writeOutcomes(out, &Report{Outcomes: s.Outcomes})
	if len(s.Running) > 0 {
		fmt.Fprintf(out, "\nRunning\n")
		t := table{align: "l", header: []string{"task", "attempt", "for", "requests"}}
		for _, r := range s.Running {
			t.add(string(r.TaskID), count(r.Attempt), seconds(r.Seconds), count(r.Exchanges))
		}
		t.write(out)
	}
	return out.Flush()
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
