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
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cabra-run/results"
	"cabra-run/results/analysis"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

// twoRuns are an original and a rerun of search and traversal in sizes 5, 10 and
// 50, four tasks each, but for what is said here. By hand:
//
//	             A (original)       B (rerun)
//	traversal 5  s s s s            s s s f        4/4 and 3/4, one flip
//	traversal 10 s s f s            s s s f        3/4 and 3/4, two flips
//	traversal 50 f f s timeout      f s s f        1/4 and 2/4, one flip
//	search 5     s s s infra        s s s s        3 pairs, 3/3 and 3/3
//	search 10    s s f f            s s pending f  not done in B; 3 pairs, 2/3 and 2/3
//	search 50    s f f f            - s' f f       one not in B; s' is another task; 2 pairs, 0/2 and 0/2
//
// and B has a task more on rename. Compared are 12 of traversal and 8 of search;
// flips: traversal 5/04, 10/03, 10/04 and 50/02, two to each side, p = 1.
func twoRuns() (a, b []results.TrialResult) {
	words := map[string]string{"s": "solved", "f": "failed", "t": "timeout", "i": "infra_error", "p": "pending"}
	add := func(list *[]results.TrialResult, axis tasks.Axis, size int, line string, calls int64) {
		for i, w := range strings.Fields(line) {
			if w == "-" {
				continue
			}
			r := row{axis: axis, size: size, ref: tasks.AddReturn, code: tasks.Math, word: words[w[:1]], wall: 10,
				input: 1000 * calls, reason: "f_1 of n" + fmt.Sprint(size) + " says " + w}
			t := newTrial(len(*list), r)
			t.TaskID, t.Instance = tasks.CellID(t.Cell, i+1), i+1
			t.TaskDigest = "sha256:" + fmt.Sprint(axis, size, i) + strings.Repeat("x", len(w)-1) + "+sha256:0"
			t.Attempts[0].ToolCalls = ptr(calls)
			if w == "p" {
				t.State, t.Attempts, t.Usage = results.StatePending, nil, results.UsageTotal{}
			}
			*list = append(*list, t)
		}
	}
	add(&a, tasks.Traversal, 5, "s s s s", 4)
	add(&a, tasks.Traversal, 10, "s s f s", 6)
	add(&a, tasks.Traversal, 50, "f f s t", 8)
	add(&a, tasks.Search, 5, "s s s i", 3)
	add(&a, tasks.Search, 10, "s s f f", 3)
	add(&a, tasks.Search, 50, "s f f f", 3)
	add(&b, tasks.Traversal, 5, "s s s f", 5)
	add(&b, tasks.Traversal, 10, "s s s f", 6)
	add(&b, tasks.Traversal, 50, "f s s f", 10)
	add(&b, tasks.Search, 5, "s s s s", 3)
	add(&b, tasks.Search, 10, "s s p f", 3)
	add(&b, tasks.Search, 50, "- sx f f", 3)
	add(&b, tasks.Rename, 5, "s", 3)
	return a, b
}

func rerunLock() results.Lock {
	l := testLock()
	l.Run, l.Network, l.Agent.Version = "sandboxed", "bridge", "1.0.82"
	l.Origin = &results.Origin{Run: "nightly", Filter: "axis=traversal,search"}
	return l
}

func compare(t *testing.T, a, b []results.TrialResult, o report.CompareOptions) *report.Comparison {
	t.Helper()
	c, err := report.Compare(report.Compared{Lock: testLock(), Results: yield(a)},
		report.Compared{Lock: rerunLock(), Results: yield(b)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareByHand(t *testing.T) {
	a, b := twoRuns()
	c := compare(t, a, b, report.CompareOptions{Partial: true})
	if c.Complete || c.Withheld || len(c.Pairings) != 1 {
		t.Fatalf("complete %v, withheld %v, %d pairings", c.Complete, c.Withheld, len(c.Pairings))
	}
	p := c.Pairings[0]
	for i, want := range []report.Coverage{
		{Axis: "traversal", Common: 12, Compared: 12},
		{Axis: "search", Common: 11, Compared: 8, NotDone: 1, LostFirst: 1, OtherTask: 1, OnlyFirst: 1},
		{Axis: "rename", OnlySecond: 1},
		{Common: 23, Compared: 20, NotDone: 1, LostFirst: 1, OtherTask: 1, OnlyFirst: 1, OnlySecond: 1},
	} {
		if p.Coverage[i] != want {
			t.Errorf("coverage %+v\nwant %+v", p.Coverage[i], want)
		}
	}
	var got []string
	for _, axis := range p.Axes {
		for _, g := range append(axis.Sizes, axis.All) {
			got = append(got, fmt.Sprintf("%s %d: %s, %s, %+.3f", g.Axis, g.Size, rate(g.First), rate(g.Second), *g.Difference))
		}
	}
	want := []string{
		"traversal 5: 4/4 = 1.000 ± 0.000, 3/4 = 0.750 ± 0.217, -0.250",
		"traversal 10: 3/4 = 0.750 ± 0.217, 3/4 = 0.750 ± 0.217, +0.000",
		"traversal 50: 1/4 = 0.250 ± 0.217, 2/4 = 0.500 ± 0.250, +0.250",
		"traversal 0: 8/12 = 0.667 ± 0.136, 8/12 = 0.667 ± 0.136, +0.000",
		"search 5: 3/3 = 1.000 ± 0.000, 3/3 = 1.000 ± 0.000, +0.000",
		"search 10: 2/3 = 0.667 ± 0.272, 2/3 = 0.667 ± 0.272, +0.000",
		"search 50: 0/2 = 0.000 ± 0.000, 0/2 = 0.000 ± 0.000, +0.000",
		"search 0: 5/8 = 0.625 ± 0.171, 5/8 = 0.625 ± 0.171, +0.000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	o := p.Overall
	if o.Table != (analysis.Table{Both: 11, First: 2, Second: 2, Neither: 5}) || *o.P != 1 || o.Method != report.ByPairs {
		t.Errorf("overall %+v", o)
	}
	checkLists(t, p)
}

func checkLists(t *testing.T, p report.PairingComparison) {
	t.Helper()
	var flips, missing []string
	for _, f := range p.Flips {
		flips = append(flips, fmt.Sprintf("%s %s %s", f.TaskID, f.First.Outcome, f.Second.Outcome))
	}
	for _, m := range p.Missing {
		missing = append(missing, fmt.Sprintf("%s %s", m.TaskID, m.Why))
	}
	if got := strings.Join(flips, "\n"); got != "traversal/add-return/math/n005/04 solved failed\n"+
		"traversal/add-return/math/n010/03 failed solved\ntraversal/add-return/math/n010/04 solved failed\n"+
		"traversal/add-return/math/n050/02 failed solved" {
		t.Errorf("flips\n%s", got)
	}
	if got := strings.Join(missing, "\n"); got != "search/add-return/math/n005/04 no outcome of the agent in the first run\n"+
		"search/add-return/math/n010/03 not done in the second run\n"+
		"search/add-return/math/n050/02 another task under the same id" {
		t.Errorf("missing\n%s", got)
	}
}

// Tool calls of traversal: A 4 6 8, B 5 6 10, each in four trials; the mean
// difference is 1. Four zeros drop out, the ranks of eight positive differences
// give 2/2^8.
func TestComparedFigures(t *testing.T) {
	a, b := twoRuns()
	p := compare(t, a, b, report.CompareOptions{Partial: true}).Pairings[0]
	f := p.Axes[0].All.Figures[0]
	if f.Name != "tool calls" || f.Pairs != 12 || *f.First != 6 || *f.Second != 7 || *f.Diff != 1 || *f.P != 2./256 {
		t.Errorf("%+v", f)
	}
	if in := p.Axes[0].All.Figures[2]; in.Name != "input tokens" || *in.First != 6000 || in.Untold != 0 {
		t.Errorf("%+v", in)
	}
	// An attempt some of whose answers tell nothing is left out, not counted low.
	a[0].Attempts[0].Usage.Unknown.Input = 1
	a[1].Attempts[0].ToolCalls = nil
	p = compare(t, a, b, report.CompareOptions{Partial: true}).Pairings[0]
	if in, calls := p.Axes[0].All.Figures[2], p.Axes[0].All.Figures[0]; in.Untold != 1 || in.Pairs != 11 || calls.Untold != 1 {
		t.Errorf("%+v %+v", in, calls)
	}
}

func TestCompareWithholds(t *testing.T) {
	a, b := twoRuns()
	c := compare(t, a, b, report.CompareOptions{})
	p := c.Pairings[0]
	if !c.Withheld || p.Overall.Difference != nil || p.Overall.First.Accuracy != nil || p.Axes[0].Trends != nil {
		t.Errorf("an unfinished run has a headline: %+v", p.Overall)
	}
	var out bytes.Buffer
	if err := report.CompareText(&out, c); err != nil || !strings.Contains(out.String(), "UNFINISHED") ||
		strings.Contains(out.String(), "Do trends stay") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := report.CompareChart(io.Discard, c, report.PNG); !errors.Is(err, report.ErrNoAccuracy) {
		t.Errorf("drawn: %v", err)
	}
	// What only one run has left undone does not matter.
	only, _ := twoRuns()
	only[23].State = results.StatePending
	b = slices.DeleteFunc(b, func(t results.TrialResult) bool {
		return t.State == results.StatePending || t.TaskID == only[23].TaskID
	})
	if c := compare(t, only, b, report.CompareOptions{}); !c.Complete || c.Withheld {
		t.Error("a rerun of a part waits for the rest of the original")
	}
}

func TestCompareGolden(t *testing.T) {
	a, b := twoRuns()
	c := compare(t, a, b, report.CompareOptions{Partial: true})
	var text, asJSON, asCSV bytes.Buffer
	if err := errors.Join(report.CompareText(&text, c), report.CompareJSON(&asJSON, c), report.CompareCSV(&asCSV, c)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "compare.txt", text.Bytes())
	golden(t, "compare.csv", asCSV.Bytes())
	if !json.Valid(asJSON.Bytes()) {
		t.Error("no JSON")
	}
	lines, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil || len(lines) != 1+1+4+4 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// same is a run of one trial for each task, word and repetition.
func repeated(agent, model string, words ...string) []results.TrialResult {
	var list []results.TrialResult
	for task, line := range words {
		for rep, w := range strings.Fields(line) {
			t := newTrial(len(list), row{axis: tasks.Search, size: 5, ref: tasks.AddReturn, code: tasks.Math,
				word: map[string]string{"s": "solved", "f": "failed"}[w], wall: 1, input: 10})
			t.TaskID, t.Instance, t.Repetition = tasks.CellID(t.Cell, task+1), task+1, rep+1
			t.Agent, t.Model = agent, model
			list = append(list, t)
		}
	}
	return list
}

// Three tasks, two repetitions: means of the differences are -1/2, 0 and -1, so
// the mean is -1/2 with s = 1/2, the error 1/(2√3) and Student's interval
// ± 4.3027 of it. Wilcoxon: two negative of two, p = 2/4.
func TestCompareRepetitions(t *testing.T) {
	a := repeated("copilot", "scripted:mixed:7", "s s", "s f", "s s")
	b := repeated("copilot", "scripted:mixed:7", "s f", "f s", "f f")
	for _, list := range [][]results.TrialResult{a, b} {
		for i := range list {
			list[i].Version = "1.0.81"
		}
	}
	g := compare(t, a, b, report.CompareOptions{}).Pairings[0].Overall
	if g.Method != report.ByTasks || g.Pairs != 6 || g.Tasks != 3 || *g.Difference != -0.5 || *g.P != 0.5 {
		t.Fatalf("%+v", g)
	}
	if half := 4.302652729911275 / 2 / math.Sqrt(3); math.Abs(g.Interval.High-(-0.5+half)) > 1e-9 {
		t.Errorf("interval %+v, want ±%v", g.Interval, half)
	}
}

// What an agent's code says drives no terminal.
func TestCompareHostile(t *testing.T) {
	a, b := twoRuns()
	for _, list := range [][]results.TrialResult{a, b} {
		for i := range list {
			for j := range list[i].Verdicts {
				list[i].Verdicts[j].Reason = hostile + strings.Repeat(" x", 2000)
			}
		}
	}
	var out bytes.Buffer
	if err := report.CompareText(&out, compare(t, a, b, report.CompareOptions{Partial: true})); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || utf8.RuneCountInString(line) > 80 {
			t.Errorf("line %q", line)
		}
	}
}

// Pairings are compared by name, and by place where the names differ.
func TestComparePairings(t *testing.T) {
	lock := func(names ...string) results.Lock {
		l := testLock()
		for _, n := range names {
			l.Pairings = append(l.Pairings, results.Pairing{Agent: results.Agent{Name: n, Version: "1.0.81"}, Model: "m"})
		}
		return l
	}
	run := func(names ...string) report.Compared {
		var all []results.TrialResult
		for _, n := range names {
			all = append(all, repeated(n, "m", "s", "s", "f")...)
		}
		return report.Compared{Lock: lock(names...), Results: yield(all)}
	}
	for _, c := range []struct {
		a, b []string
		want string
	}{
		{[]string{"x", "y"}, []string{"y", "x"}, "x-x:3 y-y:3"},
		{[]string{"x", "y"}, []string{"y"}, "x-:0 y-y:3"},
		{[]string{"x"}, []string{"z"}, "x-z:3"},
		{[]string{"x", "y"}, []string{"z", "x"}, "x-x:3 y-z:3"},
		{[]string{"x"}, []string{"x", "z"}, "x-x:3 -z:0"},
	} {
		got, err := report.Compare(run(c.a...), run(c.b...), report.CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range got.Pairings {
			name := func(q *report.Pairing) string {
				if q == nil {
					return ""
				}
				return q.Agent
			}
			names = append(names, fmt.Sprintf("%s-%s:%d", name(p.First), name(p.Second), p.Overall.Pairs))
		}
		if joined := strings.Join(names, " "); joined != c.want {
			t.Errorf("%v with %v: %s, want %s", c.a, c.b, joined, c.want)
		}
		var out bytes.Buffer
		if err := errors.Join(report.CompareText(&out, got), report.CompareCSV(&out, got)); err != nil {
			t.Error(err)
		}
	}
}

// A rerun of one of two agents, with a task more: the other one is in the
// overview alone.
func TestComparePairingsGolden(t *testing.T) {
	a, b := several(), several()
	b = slices.DeleteFunc(b, func(t results.TrialResult) bool { return t.Agent == "codex" })
	b[0].Word, b[0].Verdict.Solved = "failed", false
	extra := b[0]
	extra.TaskID = "search/dead-code/math/n005/09"
	lock := severalLock()
	lock.Run = "again"
	c, err := report.Compare(report.Compared{Lock: severalLock(), Results: yield(a)},
		report.Compared{Lock: lock, Results: yield(append(b, extra))}, report.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.CompareText(&out, c); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "compare-pairings.txt", out.Bytes())
}

func TestCompareNothing(t *testing.T) {
	c := compare(t, nil, nil, report.CompareOptions{})
	var out bytes.Buffer
	if err := errors.Join(report.CompareText(&out, c), report.CompareJSON(&out, c), report.CompareCSV(&out, c)); err != nil {
		t.Error(err)
	}
	if strings.Contains(out.String(), "NaN") || !strings.Contains(out.String(), "nothing can be compared") {
		t.Error(out.String())
	}
	broken := func(use func(results.TrialResult, error) bool) { use(results.TrialResult{}, io.ErrUnexpectedEOF) }
	for _, runs := range [][2]report.Results{{broken, yield(nil)}, {yield(nil), broken}} {
		_, err := report.Compare(report.Compared{Lock: testLock(), Results: runs[0]},
			report.Compared{Lock: testLock(), Results: runs[1]}, report.CompareOptions{})
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	}
}

func TestCompareChart(t *testing.T) {
	a, b := twoRuns()
	c := compare(t, a, b, report.CompareOptions{Partial: true})
	var asPNG, asSVG bytes.Buffer
	if err := errors.Join(report.CompareChart(&asPNG, c, report.PNG), report.CompareChart(&asSVG, c, report.SVG)); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&asPNG); err != nil || img.Bounds().Dx() < 1500 {
		t.Errorf("picture: %v", err)
	}
	if err := xml.Unmarshal(asSVG.Bytes(), new(struct {
		XMLName xml.Name `xml:"svg"`
	})); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"A: nightly (scripted model)", "B: sandboxed (scripted model)", "Traversal", "Search",
		"(partial)", "2 to 4 trials per point"} {
		if !strings.Contains(asSVG.String(), text) {
			t.Errorf("the chart does not say %q", text)
		}
	}
}
