package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

// severalLock is a run of two agents, one of them with a scripted model.
func severalLock() results.Lock {
	l := testLock()
	l.Agent, l.Provider = results.Agent{Name: "claude", Version: "2.1.0", Wire: "messages"}, results.Provider{}
	l.Model = "anthropic/claude-opus-4.7"
	l.Pairings = []results.Pairing{
		{Agent: l.Agent, Model: l.Model, Retry: results.DefaultRetry(), Provider: results.Provider{Name: "anthropic",
			Description: "Anthropic (https://api.anthropic.com)", Prices: "per million tokens: input $5; 2026-06-04: Anthropic"}},
		{Agent: results.Agent{Name: "codex", Version: "0.9", Wire: "responses"}, Model: "scripted:solve",
			Retry: results.DefaultRetry(), Provider: results.Provider{Scripted: true, Prices: "unknown"}},
	}
	return l
}

// several is the sample by claude, and by codex which solves all but the last;
// they take turns, as in a plan.
func several() []results.TrialResult {
	other := slices.Clone(sample)
	for i := range other {
		other[i].word, other[i].input = "solved", 500
	}
	other[11].word = "failed"
	first, second := trials(sample), trials(other)
	var all []results.TrialResult
	for i := range first {
		a, b := first[i], second[i]
		a.Agent, a.Version, a.Model, a.Seq = "claude", "2.1.0", "anthropic/claude-opus-4.7", 2*i
		b.Agent, b.Version, b.Model, b.Seq = "codex", "0.9", "scripted:solve", 2*i+1
		all = append(all, a, b)
	}
	return all
}

func buildSeveral(t *testing.T, o report.Options) *report.Report {
	t.Helper()
	r, err := report.Build(yield(several()), severalLock(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSeveralPairings(t *testing.T) {
	r := buildSeveral(t, report.Options{})
	if len(r.Pairings) != 2 || rate(r.Overall.All) != "17/24 = 0.708 ± 0.093" || r.Overall.Repeats != nil {
		t.Fatalf("%d pairings, all %s", len(r.Pairings), rate(r.Overall.All))
	}
	if h := r.Header; h.Agent != "claude, codex" || h.Model != "anthropic/claude-opus-4.7, scripted:solve" || !h.Scripted || h.Prices != "" {
		t.Errorf("header %+v", h)
	}
	for i, want := range []struct{ agent, all, ofAgent string }{
		{"claude", "6/12 = 0.500 ± 0.144", "6/10 = 0.600 ± 0.155"}, {"codex", "11/12 = 0.917 ± 0.080", "11/12 = 0.917 ± 0.080"},
	} {
		p := r.Pairings[i]
		if p.Header.Agent != want.agent || rate(p.Overall.All) != want.all || rate(p.Overall.Agent) != want.ofAgent ||
			p.Header.Scripted != (i == 1) || p.Trials.Planned != 12 {
			t.Errorf("%+v %s %s", p.Header, rate(p.Overall.All), rate(p.Overall.Agent))
		}
		// The report on one pairing alone is the part of it.
		alone := buildSeveral(t, report.Options{Agent: want.agent})
		if !reflect.DeepEqual(alone, p) {
			t.Errorf("%s alone differs from its part:\n%+v\n%+v", want.agent, alone, p)
		}
	}
	if m := buildSeveral(t, report.Options{Model: "scripted:solve", Agent: "codex@0.9"}); m.Header.Agent != "codex" {
		t.Errorf("by model: %+v", m.Header)
	}
	var none *report.NoPairingError
	_, err := report.Build(yield(several()), severalLock(), report.Options{Agent: "codex", Model: "gpt"})
	if !errors.As(err, &none) || err.Error() != `the run has no agent "codex" model "gpt" (there is: `+
		`claude 2.1.0, model anthropic/claude-opus-4.7; codex 0.9, model scripted:solve)` {
		t.Errorf("error %v", err)
	}
}

func TestSeveralPairingsGolden(t *testing.T) {
	r := buildSeveral(t, report.Options{})
	var text, asCSV bytes.Buffer
	if err := errors.Join(report.Text(&text, r), report.CSV(&asCSV, r)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(line); n > 101 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
	golden(t, "pairings.txt", text.Bytes())
	lines, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var overall []string
	for _, l := range lines {
		if l[7] == "overall" && l[12] == "all" {
			overall = append(overall, fmt.Sprint(l[1], " ", l[4], " ", l[15], "/", l[14]))
		}
	}
	if !slices.Equal(overall, []string{"claude false 6/12", "codex true 11/12"}) {
		t.Errorf("%v", overall)
	}
}

func TestSeveralPairingsElsewhere(t *testing.T) {
	list, lock := several(), severalLock()
	var asCSV bytes.Buffer
	if err := report.Export(&asCSV, yield(list), lock, csvOptions); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil || len(lines) != 25 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	agent, scripted, wire := slices.Index(lines[0], "agent"), slices.Index(lines[0], "scripted"), slices.Index(lines[0], "wire")
	for i, want := range []string{"claude false messages", "codex true responses"} {
		if l := lines[1+i]; l[agent]+" "+l[scripted]+" "+l[wire] != want {
			t.Errorf("exported %v, want %s", l, want)
		}
	}
	u, err := report.BuildUsage(yield(list), lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	var usage, usageCSV bytes.Buffer
	if err := errors.Join(report.UsageText(&usage, u), report.UsageCSV(&usageCSV, u)); err != nil {
		t.Fatal(err)
	}
	golden(t, "usage-pairings.txt", usage.Bytes())
	if lines, _ := csv.NewReader(&usageCSV).ReadAll(); lines[1][1] != "anthropic" || lines[1][3] != "false" || lines[9][3] != "true" ||
		lines[9][2] != "responses" || lines[9][len(lines[9])-1] != "unknown" {
		t.Errorf("usage as CSV: %v", lines)
	}
}

func TestSeveralPairingsStatus(t *testing.T) {
	list := several()
	last := &list[23]
	last.State, last.Word = results.StateRunning, results.Pending
	last.Attempts[0].Outcome, last.Attempts[0].Ended = "", time.Time{}
	s, err := report.BuildStatus(yield(list), severalLock(), begin.Add(15*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pairings) != 2 || s.Pairings[0].Trials.Done != 12 || s.Pairings[0].NoAgent != 2 || s.Pairings[0].Solved != 6 ||
		s.Pairings[1].Trials.Running != 1 || s.Running[0].Agent != "codex" || *s.Pairings[1].Spent.Input != 6000 {
		t.Errorf("%+v", s.Pairings)
	}
	var out bytes.Buffer
	if err := report.StatusText(&out, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "status-pairings.txt", out.Bytes())
}

func TestSeveralPairingsBoth(t *testing.T) {
	lock := severalLock()
	lock.Scorer = bothLock().Scorer
	for i := range lock.Pairings {
		lock.Pairings[i].Retry = results.Retry{Attempts: 1}
	}
	list := several()
	for i := range list {
		if v := list[i].Verdict; v != nil {
			w := *v
			w.Scorer, w.Version = "official", "o1"
			if i == 1 { // codex's first
				w.Solved, w.Reason = false, "calls: f_1 is not called"
			}
			list[i].Verdicts = append(list[i].Verdicts, w)
			list[i].Verdict = &list[i].Verdicts[0]
		}
	}
	b := buildBoth(t, list, lock, report.Options{Partial: true})
	if len(b.Pairings) != 2 || len(b.Differing) != 1 || len(b.Pairings[0].Differing) != 0 || len(b.Pairings[1].Differing) != 1 ||
		b.Pairings[1].Reports[1].Overall.All.Solved != 10 || b.Pairings[1].Reports[0].Overall.All.Solved != 11 {
		t.Errorf("%+v", b.Agreement)
	}
	var out, asJSON, asCSV bytes.Buffer
	if err := errors.Join(report.TextBoth(&out, b), report.JSONBoth(&asJSON, b), report.CSV(&asCSV, b.Reports...)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Run nightly: 2 agents and models", "Accuracy by agent and axis (strict verdict)",
		"Accuracy by agent and axis (official verdict)", "══ 2: codex 0.9, model scripted:solve", "calls 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if !json.Valid(asJSON.Bytes()) {
		t.Error("no JSON")
	}
}

func TestSeveralPairingsChart(t *testing.T) {
	var svg bytes.Buffer
	if err := report.Chart(&svg, buildSeveral(t, report.Options{}), report.SVG); err != nil {
		t.Fatal(err)
	}
	if codex := buildOpen(t).Pairings; codex[0].Overall.All.Accuracy != nil || codex[1].Overall.All.Accuracy == nil {
		t.Error("what one agent has to do withholds what the other has done, or nothing")
	}
	for _, text := range []string{"claude 2.1.0, anthropic/claude-opus-4.7", "codex 0.9, scripted:solve (scripted model)", "Traversal"} {
		if !strings.Contains(svg.String(), text) {
			t.Errorf("the chart does not say %q", text)
		}
	}
	open := several()
	open[0].State, open[1].State = results.StatePending, results.StatePending
	r, err := report.Build(yield(open), severalLock(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Chart(io.Discard, r, report.PNG); !errors.Is(err, report.ErrNoAccuracy) {
		t.Errorf("drew withheld accuracies: %v", err)
	}
}

// buildOpen reports on a run in which claude alone has a trial to do.
func buildOpen(t *testing.T) *report.Report {
	t.Helper()
	list := several()
	list[0].State = results.StatePending
	r, err := report.Build(yield(list), severalLock(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.Text(&out, r); err != nil || !strings.Contains(out.String(), "UNFINISHED: accuracies of agents and models") {
		t.Errorf("%v\n%s", err, out.String())
	}
	return r
}

// Four tasks with three repetitions, solved 3, 2, 0 and 1 times. By hand:
// pass@1 is (1 + 2/3 + 0 + 1/3)/4 = 1/2, with s² = (1/4+1/36+1/4+1/36)/3 =
// 5/27 and the error √(5/27/4) = 0.2152; pass@2 is (1 + 1 + 0 + 2/3)/4 = 2/3,
// pass@3 (1+1+0+1)/4 = 3/4. The binomial error, √(1/4/12) = 0.144, is too small.
func TestRepetitionsByHand(t *testing.T) {
	list := repeated("copilot", "scripted:mixed:7", "s s s", "s f s", "f f f", "f f s")
	r := build(t, list, report.Options{})
	p := r.Overall.Repeats
	if p.Tasks != 4 || p.Repetitions != 3 || len(p.PassAt) != 3 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []float64{0.5, 2. / 3, 0.75} {
		if got := *p.PassAt[i].Value; math.Abs(got-want) > 1e-12 {
			t.Errorf("pass@%d = %v, want %v", i+1, got, want)
		}
	}
	if math.Abs(*p.SE-math.Sqrt(5./27/4)) > 1e-12 || *p.Mean != 0.5 {
		t.Errorf("mean %v, error %v", *p.Mean, *p.SE)
	}
	var text, asCSV bytes.Buffer
	if err := errors.Join(report.Text(&text, r), report.CSV(&asCSV, r)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"axis    size  tasks  pass@1   s.e.  pass@2  pass@3",
		"search     5      4   0.500  0.215   0.667   0.750"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !strings.Contains(asCSV.String(), ",overall,,,,,pass@3,12,4,,0.75,") {
		t.Error(asCSV.String())
	}
}

// A task that lacks repetitions counts as far as it goes, withheld figures not.
func TestRepetitionsMissing(t *testing.T) {
	list := repeated("copilot", "scripted:mixed:7", "s s", "f")
	p := build(t, list, report.Options{}).Overall.Repeats
	if *p.Mean != 0.5 || p.PassAt[1].Tasks != 1 || *p.PassAt[1].Value != 1 || p.PassAt[1].SE != nil {
		t.Errorf("%+v", p)
	}
	list[0].State = results.StatePending
	r := build(t, list, report.Options{})
	if p := r.Overall.Repeats; p.Mean != nil || p.SE != nil || p.PassAt[0].Value != nil {
		t.Errorf("withheld: %+v", p)
	}
	var out bytes.Buffer
	if err := report.Text(&out, r); err != nil || strings.Contains(out.String(), "NaN") {
		t.Error(err, out.String())
	}
	list[0].Cell.Axis = tasks.Merge // repetitions of one task need not stand together
	list[0].State = results.StateDone
	apart := []results.TrialResult{list[1], list[2], list[0]}
	if p := build(t, apart, report.Options{}).Overall.Repeats; p.Tasks != 2 || p.Repetitions != 2 {
		t.Errorf("apart: %+v", p)
	}
}
