package report_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

// paid is what the exchanges of one attempt used; -1 is unknown, and so is what
// the gaps count.
type paid struct {
	n                                      int
	input, cached, written, output, reason int64
	cost                                   float64
	gaps                                   int // exchanges without any figure
}

func (p paid) total() results.UsageTotal {
	t := results.UsageTotal{Exchanges: p.n}
	known := func(v int64, gaps *int) *int64 {
		*gaps = p.gaps
		if v < 0 {
			*gaps = p.n
			return nil
		}
		return &v
	}
	t.Input, t.Cached = known(p.input, &t.Unknown.Input), known(p.cached, &t.Unknown.Cached)
	t.CacheWrite, t.Output = known(p.written, &t.Unknown.CacheWrite), known(p.output, &t.Unknown.Output)
	t.Reasoning = known(p.reason, &t.Unknown.Reasoning)
	t.Unknown.Cost = p.n
	if p.cost >= 0 {
		t.CostUSD, t.Unknown.Cost = &p.cost, p.gaps
	}
	return t
}

// usedTrial is a trial whose last attempt has a verdict unless judged is false.
func usedTrial(axis tasks.Axis, agent, model string, judged bool, attempts ...paid) results.TrialResult {
	t := results.TrialResult{State: results.StatePending}
	t.Cell = tasks.Cell{Axis: axis, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	t.TaskID, t.Agent, t.Version, t.Model, t.Repetition = tasks.CellID(t.Cell, 1), agent, "1.0", model, 1
	for i, p := range attempts {
		a := results.AttemptResult{Attempt: results.Attempt{Number: i + 1, Outcome: results.NoOutput}, Usage: p.total()}
		t.Usage.Add(a.Usage)
		t.Attempts = append(t.Attempts, a)
		t.State = results.StateDone
	}
	if judged {
		n := len(t.Attempts)
		t.Attempts[n-1].Outcome = results.Answered
		t.Verdicts = []results.AttemptVerdict{{Attempt: n, Verdict: results.Verdict{Scorer: "strict", Solved: true}}}
		t.Verdict = &t.Verdicts[0]
	}
	return t
}

// spentRun is a run of one agent and model. By hand, in millions of tokens:
//
//	traversal   4 requests  in 4.0 = 1.2+2+0.8, cached 2.5 = 1+1.5+0, out 0.0804, reasoning 0.03, $12.262
//	  no verdict  1         in 1.2, cached 1, out 0.03, reasoning 0.01, $3.50
//	search      5 requests  of which 3 tell nothing: in ≥0.5, cached ≥0.1, out ≥0.01, $≥2.35; reasoning by none
//	  no verdict  2         which tell nothing
//	merge       none
//	all         9 requests  in ≥4.5, cached ≥2.6, out ≥0.0904, reasoning ≥0.03, $≥14.612
//	  no verdict  3         in ≥1.2, cached ≥1, out ≥0.03, reasoning ≥0.01, $≥3.50
//
// Nobody tells what was written into a cache.
func spentRun() []results.TrialResult {
	run := func(axis tasks.Axis, judged bool, p ...paid) results.TrialResult {
		return usedTrial(axis, "codex", "openai/gpt-5.5", judged, p...)
	}
	list := []results.TrialResult{
		run(tasks.Search, true, paid{n: 3, gaps: 1, input: 500_000, cached: 100_000, written: -1, output: 10_000, reason: -1, cost: 2.35}),
		run(tasks.Traversal, true, paid{n: 1, input: 1_200_000, cached: 1_000_000, written: -1, output: 30_000, reason: 10_000, cost: 3.5},
			paid{n: 2, input: 2_000_000, cached: 1_500_000, written: -1, output: 50_000, reason: 20_000, cost: 4.75}),
		run(tasks.Traversal, true, paid{n: 1, input: 800_000, written: -1, output: 400, cost: 4.012}),
		run(tasks.Search, false, paid{n: 2, input: -1, cached: -1, written: -1, output: -1, reason: -1, cost: -1}),
		run(tasks.Merge, false),
	}
	list[1].Attempts[0].UsageNote = "the agent counts 1,100,000 input tokens,\nthe wire 1,200,000"
	return list
}

func paidLock() results.Lock {
	l := testLock()
	l.Agent = results.Agent{Name: "codex", Version: "1.0", Wire: "responses"}
	l.Model = "openai/gpt-5.5"
	l.Provider = results.Provider{Name: "openai", Description: "OpenAI (https://api.openai.com/v1)",
		Prices: "per million tokens: input $5, cached $0.5, output $30; 2026-06-04: OpenAI API pricing"}
	return l
}

func buildUsage(t *testing.T, list []results.TrialResult, s *results.Spending) *report.Usage {
	t.Helper()
	u, err := report.BuildUsage(yield(list), paidLock(), s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUsageByHand(t *testing.T) {
	u := buildUsage(t, spentRun(), nil)
	if len(u.Models) != 1 || len(u.Models[0].Families) != 3 || !reflect.DeepEqual(u.All, u.Models[0].All) {
		t.Fatalf("%+v", u)
	}
	f := u.Models[0].Families
	for i, axis := range []tasks.Axis{tasks.Traversal, tasks.Search, tasks.Merge} {
		if f[i].Family != axis {
			t.Errorf("family %d is %s, want %s", i, f[i].Family, axis)
		}
	}
	if g := f[0]; g.Trials != 2 || g.Attempts != 3 || *g.Used.Input != 4_000_000 || *g.Used.Output != 80_400 ||
		g.NoVerdict.Attempts != 1 || *g.NoVerdict.Used.CostUSD != 3.5 || g.Used.CacheWrite != nil {
		t.Errorf("traversal %+v", g)
	}
	if g := f[1]; *g.Used.Input != 500_000 || g.Used.Unknown.Input != 3 || g.Used.Reasoning != nil ||
		g.NoVerdict.Used.Input != nil || g.NoVerdict.Used.CostUSD != nil || g.NoVerdict.Used.Exchanges != 2 {
		t.Errorf("search %+v", g)
	}
	if g := f[2]; *g.Used.Input != 0 || *g.Used.CostUSD != 0 || *g.NoVerdict.Used.Reasoning != 0 {
		t.Errorf("merge, which has used nothing: %+v", g)
	}
	if u.Trials != (report.Counts{Planned: 5, Done: 4, Pending: 1}) || u.All.Used.Exchanges != 9 || u.All.NoVerdict.Attempts != 2 {
		t.Errorf("trials %+v, all %+v", u.Trials, u.All)
	}
	want := []report.UsageNote{{TaskID: "traversal/add-return/math/n005/01", Repetition: 1, Agent: "codex", Model: "openai/gpt-5.5",
		Attempt: 1, Note: "the agent counts 1,100,000 input tokens, the wire 1,200,000"}}
	if !reflect.DeepEqual(u.Notes, want) {
		t.Errorf("notes %+v", u.Notes)
	}
}

func TestUsageGolden(t *testing.T) {
	u := buildUsage(t, spentRun(), &results.Spending{USD: 14.612, Unknown: 3, WorstUSD: 1.2, WorstTokens: 384_000})
	var asText, asJSON, asCSV bytes.Buffer
	if err := errors.Join(report.UsageText(&asText, u), report.UsageJSON(&asJSON, u), report.UsageCSV(&asCSV, u)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(asText.String()) {
		if n := utf8.RuneCountInString(line); n > 101 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
	golden(t, "usage.txt", asText.Bytes())
	golden(t, "usage.json", asJSON.Bytes())
	golden(t, "usage.csv", asCSV.Bytes())
}

// A run of little, and of several agents and models: in thousands, exactly, and
// there is a sum over all.
func TestUsageOfSeveralModels(t *testing.T) {
	list := []results.TrialResult{
		usedTrial(tasks.Search, "claude", "anthropic/opus", true,
			paid{n: 2, input: 12_345, cached: 2000, written: 3000, output: 678, reason: -1, cost: 0.0123}),
		usedTrial(tasks.Search, "codex", "openai/gpt-5.5", true, paid{n: 1, input: 55, written: -1, output: 7, cost: -1}),
	}
	var out bytes.Buffer
	if err := report.UsageText(&out, buildUsage(t, list, nil)); err != nil {
		t.Fatal(err)
	}
	golden(t, "usage-models.txt", out.Bytes())
}

// What was used is unknown, a lower bound or nothing, and never the one in
// place of the other.
func TestUsageCSVReadBack(t *testing.T) {
	var out bytes.Buffer
	if err := report.UsageCSV(&out, buildUsage(t, spentRun(), nil)); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 9 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for _, c := range []struct {
		family, scope string
		want          map[string]string
	}{
		{"traversal", "all", map[string]string{"requests": "4", "input_tokens": "4000000", "cache_write_tokens": "",
			"cache_write_unknown": "4", "input_unknown": "0", "cost_usd": "12.262"}},
		{"search", "without_verdict", map[string]string{"requests": "2", "input_tokens": "", "input_unknown": "2", "cost_usd": ""}},
		{"merge", "all", map[string]string{"attempts": "0", "requests": "0", "input_tokens": "0", "cost_usd": "0"}},
		{"", "all", map[string]string{"input_tokens": "4500000", "input_unknown": "3", "cost_unknown": "3", "provider": "openai"}},
	} {
		found := false
		for _, line := range lines[1:] {
			cells := map[string]string{}
			for i, name := range lines[0] {
				cells[name] = line[i]
			}
			if cells["family"] != c.family || cells["scope"] != c.scope {
				continue
			}
			found = true
			for name, want := range c.want {
				if cells[name] != want {
					t.Errorf("%s %s: %s is %q, want %q", c.family, c.scope, name, cells[name], want)
				}
			}
		}
		if !found {
			t.Errorf("no line of %s %s", c.family, c.scope)
		}
	}
}

func TestUsageOfNothingAndErrors(t *testing.T) {
	var out bytes.Buffer
	if err := errors.Join(report.UsageText(&out, buildUsage(t, nil, nil)), report.UsageCSV(&out, buildUsage(t, nil, nil))); err != nil {
		t.Error(err)
	}
	out.Reset()
	if err := report.UsageJSON(&out, buildUsage(t, nil, nil)); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%v\n%s", err, out.String())
	}
	broken := func(use func(results.TrialResult, error) bool) { use(results.TrialResult{}, io.ErrUnexpectedEOF) }
	if _, err := report.BuildUsage(broken, testLock(), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// The usage of a real store is all that was spent, and agrees with what a
// budget counts.
func TestUsageOfAStore(t *testing.T) {
	ctx := context.Background()
	s, err := results.Create(filepath.Join(t.TempDir(), "r"), testLock())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trial := results.Trial{TaskID: "search/dead-code/math/n005/01", Agent: "copilot", Version: "1", Model: "m",
		Cell: tasks.Cell{Axis: tasks.Search, Size: 5}, Repetition: 1}
	trial.Key = results.TrialKey(trial)
	if err := s.Plan(ctx, []results.Trial{trial}); err != nil {
		t.Fatal(err)
	}
	attempt(t, s, trial.Key, results.NoOutput, 0.25)
	a, err := s.StartAttempt(ctx, trial.Key) // and still runs
	if err != nil {
		t.Fatal(err)
	}
	told := results.Usage{Input: ptr(int64(100)), Output: ptr(int64(10)), CacheWrite: ptr(int64(30)), CostUSD: ptr(0.5)}
	for _, e := range []results.Exchange{{Seq: 1, Usage: told}, {Seq: 2, WorstUSD: ptr(2.0), WorstTokens: 900}} {
		if err := s.AddExchange(ctx, trial.Key, a.Number, e); err != nil {
			t.Fatal(err)
		}
	}
	total, _, err := s.Spending(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u, err := report.BuildUsage(s.Results(ctx), s.Lock(), &total)
	if err != nil {
		t.Fatal(err)
	}
	g := u.Models[0].Families[0].Used
	if *g.CostUSD != 0.75 || total.USD != 0.75 || g.Unknown.Cost != 1 || total.Unknown != 1 || total.WorstTokens != 900 {
		t.Errorf("used %+v, spent %+v", g, total)
	}
	if *g.CacheWrite != 30 || g.Unknown.CacheWrite != 2 || u.All.Attempts != 2 || u.All.NoVerdict.Attempts != 2 {
		t.Errorf("used %+v of %d attempts", g, u.All.Attempts)
	}
}

// A large run is told with fewer digits, and what they cannot show is not told
// as nothing.
func TestUsageOfALargeRun(t *testing.T) {
	list := []results.TrialResult{
		usedTrial(tasks.Search, "claude", "m", true, paid{n: 2, input: 5_123_456_789, cached: 1_000_000_000, output: 99_950_000, reason: 49_999, cost: 27_148.42}),
		usedTrial(tasks.Merge, "claude", "m", true, paid{n: 1, input: 49_999, output: 50_000, written: -1, reason: 1, cost: 0.004}),
	}
	var out bytes.Buffer
	if err := report.UsageText(&out, buildUsage(t, list, nil)); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"tokens in millions", "search 2 5,123.5 1,000.0 0.0 100.0 <0.1 $27,148.42",
		"merge 1 <0.1 0.0 unknown 0.1 <0.1 $0.0040", "all 3 5,123.5 1,000.0 ≥0.0 100.0 0.1 $27,148.42"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// What was not metered is said in every text.
func TestLossesAreTold(t *testing.T) {
	l := paidLock()
	l.Provider.TLS, l.Provider.Losses = "passthrough", []string{"tokens and costs are not metered", "the box held\x1b[2J the token"}
	r, err := report.Build(yield(trials(sample)), l, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := report.BuildUsage(yield(spentRun()), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	var asReport, asUsage, asJSON bytes.Buffer
	if err := errors.Join(report.Text(&asReport, r), report.UsageText(&asUsage, u), report.JSON(&asJSON, r)); err != nil {
		t.Fatal(err)
	}
	const want = "LOSSES of --tls passthrough:\n  - tokens and costs are not metered\n  - the box held [2J the token\n"
	for name, text := range map[string]string{"report": asReport.String(), "usage": asUsage.String()} {
		if !strings.Contains(text, want) {
			t.Errorf("the %s does not tell them:\n%s", name, text)
		}
	}
	if !strings.Contains(asJSON.String(), `"losses": [`) {
		t.Error("the JSON does not tell them")
	}
}
