package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
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
)

var csvOptions = report.ExportOptions{Format: report.FormatCSV}

// rate prints a rate as the sample's comment does.
func rate(r report.Rate) string {
	if r.Accuracy == nil {
		return fmt.Sprintf("%d/%d", r.Solved, r.N)
	}
	return fmt.Sprintf("%d/%d = %.3f ± %.3f", r.Solved, r.N, *r.Accuracy, *r.SE)
}

func TestAccuracyByHand(t *testing.T) {
	r := build(t, trials(sample), report.Options{})
	want := []struct{ group, all, agent string }{
		{"traversal 5", "3/4 = 0.750 ± 0.217", "3/4 = 0.750 ± 0.217"},
		{"traversal 50", "1/4 = 0.250 ± 0.217", "1/3 = 0.333 ± 0.272"},
		{"search 5", "2/2 = 1.000 ± 0.000", "2/2 = 1.000 ± 0.000"},
		{"search 10", "0/2 = 0.000 ± 0.000", "0/1 = 0.000 ± 0.000"},
		{"dead-code", "4/6 = 0.667 ± 0.192", "4/5 = 0.800 ± 0.179"},
		{"add-return", "2/6 = 0.333 ± 0.192", "2/5 = 0.400 ± 0.219"},
		{"math", "5/8 = 0.625 ± 0.171", "5/7 = 0.714 ± 0.171"},
		{"array", "1/4 = 0.250 ± 0.217", "1/3 = 0.333 ± 0.272"},
		{"", "6/12 = 0.500 ± 0.144", "6/10 = 0.600 ± 0.155"},
	}
	groups := slices.Concat(r.ByAxisSize, r.ByRefactoring, r.ByCode, []report.Group{r.Overall})
	if len(groups) != len(want) {
		t.Fatalf("%d groups, want %d", len(groups), len(want))
	}
	for i, g := range groups {
		name := strings.TrimSpace(fmt.Sprintf("%s %d %s %s", g.Axis, g.Size, g.Refactoring, g.Code))
		name = strings.TrimSpace(strings.TrimPrefix(name, "0"))
		if w := want[i]; name != w.group || rate(g.All) != w.all || rate(g.Agent) != w.agent {
			t.Errorf("%q: all %s, agent %s; want %v", name, rate(g.All), rate(g.Agent), w)
		}
	}
}

func TestEffortByHand(t *testing.T) {
	e := build(t, trials(sample), report.Options{}).Overall.Effort
	if e.Wall.Sum != 904 || math.Abs(*e.Wall.Mean-75.3333) > 1e-3 || *e.Wall.Median != 22.5 {
		t.Errorf("wall %+v, mean %v, median %v", e.Wall, *e.Wall.Mean, *e.Wall.Median)
	}
	if *e.Input.Sum != 11000 || *e.Input.Mean != 1000 || e.Input.Known != 11 || e.Input.Unknown != 1 {
		t.Errorf("input %+v", e.Input)
	}
	if e.Reason.Sum != nil || e.Reason.Unknown != 12 {
		t.Errorf("reasoning tokens that nobody told: %+v", e.Reason)
	}
	if *e.Cost.Sum != 5.5 || e.Attempts != 12 || e.Trials != 12 {
		t.Errorf("cost %v, attempts %d, trials %d", *e.Cost.Sum, e.Attempts, e.Trials)
	}
}

func TestOutcomesAndMissingVerdicts(t *testing.T) {
	r := build(t, trials(sample), report.Options{})
	want := []report.OutcomeCount{
		{Word: "solved", Trials: 6, Share: 0.5}, {Word: "failed", Trials: 1, Share: 1. / 12, Unchanged: 1},
		{Word: "no_output", Trials: 1, Share: 1. / 12}, {Word: "timeout", Trials: 1, Share: 1. / 12, RightCode: 1},
		{Word: "limit", Trials: 1, Share: 1. / 12}, {Word: "provider_error", Trials: 1, Share: 1. / 12},
		{Word: "infra_error", Trials: 1, Share: 1. / 12},
	}
	if !reflect.DeepEqual(r.Outcomes, want) {
		t.Errorf("outcomes %+v", r.Outcomes)
	}
	if !reflect.DeepEqual(r.Limits, []report.LimitCount{{Limit: "memory", Trials: 1}}) {
		t.Errorf("limits %+v", r.Limits)
	}
	var missing []string
	for _, m := range r.NoVerdict {
		missing = append(missing, m.Outcome)
	}
	if got := strings.Join(missing, " "); got != "provider_error no_output limit infra_error" {
		t.Errorf("without verdict: %s", got)
	}
}

// unfinished is the sample with its last trial not begun.
func unfinished() []results.TrialResult {
	list := trials(sample)
	last := &list[len(list)-1]
	last.State, last.Word, last.Attempts, last.Usage = results.StatePending, results.Pending, nil, results.UsageTotal{}
	return list
}

func TestUnfinishedRun(t *testing.T) {
	r := build(t, unfinished(), report.Options{})
	if r.Complete || !r.Withheld || r.Overall.All.Accuracy != nil || r.ByAxisSize[0].Agent.SE != nil {
		t.Errorf("accuracy of an unfinished run: %s, withheld %v", rate(r.Overall.All), r.Withheld)
	}
	if err := report.Chart(io.Discard, r, report.PNG); !errors.Is(err, report.ErrNoAccuracy) {
		t.Errorf("drawing a withheld accuracy: %v", err)
	}
	partial := build(t, unfinished(), report.Options{Partial: true})
	if partial.Withheld || rate(partial.Overall.All) != "6/11 = 0.545 ± 0.150" || partial.Overall.Planned != 12 {
		t.Errorf("partial: %s of %d", rate(partial.Overall.All), partial.Overall.Planned)
	}
	for opts, note := range map[*report.Report]string{r: "UNFINISHED", partial: "PARTIAL"} {
		var out bytes.Buffer
		if err := report.Text(&out, opts); err != nil || !strings.Contains(out.String(), note) {
			t.Errorf("text does not say %s, %v", note, err)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	r := build(t, nil, report.Options{})
	var out bytes.Buffer
	if err := report.Text(&out, r); err != nil || strings.Contains(out.String(), "NaN") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := report.JSON(&out, r); err != nil {
		t.Error(err)
	}
}

func TestBuildPassesErrorsOn(t *testing.T) {
	broken := func(use func(results.TrialResult, error) bool) { use(results.TrialResult{}, io.ErrUnexpectedEOF) }
	if _, err := report.Build(broken, testLock(), report.Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("report: %v", err)
	}
	if _, err := report.BuildStatus(broken, testLock(), begin); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("status: %v", err)
	}
	if err := report.Export(io.Discard, broken, testLock(), csvOptions); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("export: %v", err)
	}
}

func TestTextGolden(t *testing.T) {
	var out bytes.Buffer
	if err := report.Text(&out, build(t, trials(sample), report.Options{})); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line); n > 101 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
	golden(t, "report.txt", out.Bytes())
}

func TestJSONAndCSVGolden(t *testing.T) {
	r := build(t, trials(sample), report.Options{})
	var asJSON, asCSV bytes.Buffer
	if err := errors.Join(report.JSON(&asJSON, r), report.CSV(&asCSV, r)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", asJSON.Bytes())
	golden(t, "report.csv", asCSV.Bytes())
}

func TestExportGolden(t *testing.T) {
	for _, format := range []report.Format{report.FormatCSV, report.FormatJSONL} {
		var out bytes.Buffer
		if err := report.Export(&out, yield(unfinished()), testLock(), report.ExportOptions{Format: format}); err != nil {
			t.Fatal(err)
		}
		golden(t, "export."+string(format), out.Bytes())
	}
	if err := report.Export(io.Discard, yield(nil), testLock(), report.ExportOptions{Format: "xlsx"}); err == nil {
		t.Error("exported to a format that is not there")
	}
}

// The export is read back by other programs: every line has every column, and
// what is unknown is no zero.
func TestExportReadBack(t *testing.T) {
	var asCSV, asJSON bytes.Buffer
	list := unfinished()
	if err := errors.Join(report.Export(&asCSV, yield(list), testLock(), csvOptions),
		report.Export(&asJSON, yield(list), testLock(), report.ExportOptions{Format: report.FormatJSONL})); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil || len(lines) != 13 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	column := func(row int, name string) string {
		i := slices.Index(lines[0], name)
		if i < 0 {
			t.Fatalf("no column %q", name)
		}
		return lines[row][i]
	}
	for _, c := range []struct {
		row        int
		name, want string
	}{
		{1, "task_id", "traversal/dead-code/math/n005/01"}, {1, "outcome", "solved"}, {1, "input_tokens", "1000"},
		{1, "reasoning_tokens", ""}, {1, "cost_usd", "0.5"}, {1, "scripted", "true"}, {1, "seed", "42"},
		{4, "reason", "'=cmd(1): expected 3, got 4"}, {4, "unchanged", "true"}, {4, "verdict_solved", "false"},
		{6, "outcome", "timeout"}, {6, "verdict_solved", "true"},
		{7, "reason", "500 from the provider, five times"}, {7, "input_tokens", ""}, {7, "exchanges_unknown", "1"},
		{7, "verdict_solved", ""}, {12, "outcome", "pending"}, {12, "wall_seconds", ""}, {12, "input_tokens", ""},
	} {
		if got := column(c.row, c.name); got != c.want {
			t.Errorf("line %d, %s: %q, want %q", c.row, c.name, got, c.want)
		}
	}
	dec := json.NewDecoder(&asJSON)
	for n := 0; ; n++ {
		var fields map[string]any
		if err := dec.Decode(&fields); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(fields) != len(lines[0]) {
			t.Errorf("line %d has %d fields, the header has %d", n+1, len(fields), len(lines[0]))
		}
		if n == 6 && (fields["input_tokens"] != nil || fields["reason"] != "500 from the provider, five times") {
			t.Errorf("line 7: %v", fields)
		}
	}
}

func TestStatus(t *testing.T) {
	list := trials(sample)
	running := &list[10]
	running.State, running.Word = results.StateRunning, results.Pending
	running.Attempts[0].Outcome, running.Attempts[0].Ended = "", time.Time{}
	list[11].State = results.StateUnscored
	// The first attempt began at 12:00; by 12:15 the first ten trials had
	// ended: 10 in a quarter of an hour are 40 per hour, and 2 are left.
	now := begin.Add(15 * time.Minute)
	list[5].Attempts[0].Ended = now.Add(-time.Second)
	s, err := report.BuildStatus(yield(list), testLock(), now)
	if err != nil {
		t.Fatal(err)
	}
	if s.Trials != (report.Counts{Planned: 12, Done: 10, Running: 1, Unscored: 1}) || s.Complete {
		t.Errorf("counts %+v", s.Trials)
	}
	if math.Abs(*s.TrialsPerHour-40) > 1e-9 || math.Abs(*s.Remaining-180) > 1e-9 {
		t.Errorf("%v per hour, %v s left", *s.TrialsPerHour, *s.Remaining)
	}
	if len(s.Running) != 1 || s.Running[0].Seconds != 300 {
		t.Errorf("running %+v", s.Running)
	}
	if *s.Spent.Input != 11000 || s.Spent.Exchanges != 12 || s.Spent.Unknown.Input != 1 || s.Spent.Reasoning != nil {
		t.Errorf("spent %+v", s.Spent)
	}
	var out bytes.Buffer
	if err := report.StatusText(&out, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "status.txt", out.Bytes())
}

func TestChart(t *testing.T) {
	r := build(t, trials(sample), report.Options{})
	var asPNG, asSVG bytes.Buffer
	if err := errors.Join(report.Chart(&asPNG, r, report.PNG), report.Chart(&asSVG, r, report.SVG)); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&asPNG)
	if err != nil || img.Bounds().Dx() < 1500 {
		t.Errorf("picture of %v, %v", img.Bounds(), err)
	}
	if err := xml.Unmarshal(asSVG.Bytes(), new(struct {
		XMLName xml.Name `xml:"svg"`
	})); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"(scripted model)", "Traversal", "Search", "Accuracy", "2 to 4 trials per point"} {
		if !strings.Contains(asSVG.String(), text) {
			t.Errorf("the chart does not say %q", text)
		}
	}
	if err := report.Chart(io.Discard, r, "gif"); err == nil {
		t.Error("drew an unknown format")
	}
}
