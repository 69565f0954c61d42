package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

var begin = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func testLock() results.Lock {
	return results.Lock{
		Run: "nightly", Created: begin, Program: "0.1.0",
		Tasks: results.TaskSet{Grid: "axis=traversal,search; size=5,10,50; instances=4", Seed: 42},
		Agent: results.Agent{Name: "copilot", Version: "1.0.81"}, Model: "scripted:mixed:7",
		Provider: results.Provider{Scripted: true}, Repetitions: 1, Network: "none", TimeoutSeconds: 600,
		Retry: results.DefaultRetry(), Scorer: results.Scorer{Version: "s1", Verdicts: []string{"strict"}},
	}
}

// row is a trial in short: its cell, word, and what its one attempt took.
type row struct {
	axis   tasks.Axis
	size   int
	ref    tasks.Refactoring
	code   tasks.CodeType
	word   string
	wall   float64
	input  int64
	reason string
}

// sample is a finished run of twelve trials. What a report has to say about it
// was worked out by hand:
//
//	traversal 5   solved solved solved failed          3/4 = 0.750 ± 0.217, the same for the agent
//	traversal 50  solved timeout provider no_output    1/4 = 0.250 ± 0.217, agent 1/3 = 0.333 ± 0.272
//	search 5      solved solved                        2/2 = 1 ± 0
//	search 10     limit infra                          0/2 = 0 ± 0, agent 0/1
//	all                                                6/12 = 0.500 ± 0.144, agent 6/10 = 0.600 ± 0.155
//	wall          10 20 30 40 50 600 5 7 15 25 100 2   sum 904, mean 75.33, median (20+25)/2 = 22.5
//	input         1000 each, provider_error unknown    sum 11,000 over 11 trials
var sample = []row{
	{tasks.Traversal, 5, tasks.DeadCode, tasks.Math, "solved", 10, 1000, "50 of 50 inputs agree"},
	{tasks.Traversal, 5, tasks.AddReturn, tasks.Math, "solved", 20, 1000, "50 of 50 inputs agree"},
	{tasks.Traversal, 5, tasks.DeadCode, tasks.Array, "solved", 30, 1000, "50 of 50 inputs agree"},
	{tasks.Traversal, 5, tasks.AddReturn, tasks.Array, "failed", 40, 1000, "=cmd(1): expected 3, got 4"},
	{tasks.Traversal, 50, tasks.DeadCode, tasks.Math, "solved", 50, 1000, "50 of 50 inputs agree"},
	{tasks.Traversal, 50, tasks.AddReturn, tasks.Math, "timeout", 600, 1000, "600s are over"},
	{tasks.Traversal, 50, tasks.DeadCode, tasks.Array, "provider_error", 5, -1, "500 from the provider,\nfive times"},
	{tasks.Traversal, 50, tasks.AddReturn, tasks.Array, "no_output", 7, 1000, "solution.py was removed"},
	{tasks.Search, 5, tasks.DeadCode, tasks.Math, "solved", 15, 1000, "50 of 50 inputs agree"},
	{tasks.Search, 5, tasks.AddReturn, tasks.Math, "solved", 25, 1000, "50 of 50 inputs agree"},
	{tasks.Search, 10, tasks.DeadCode, tasks.Math, "limit", 100, 1000, "2 GiB of memory were not enough"},
	{tasks.Search, 10, tasks.AddReturn, tasks.Math, "infra_error", 2, 1000, "the engine is gone"},
}

func trials(rows []row) []results.TrialResult {
	var list []results.TrialResult
	for i, r := range rows {
		list = append(list, newTrial(i, r))
	}
	return list
}

func newTrial(i int, r row) results.TrialResult {
	t := results.TrialResult{State: results.StateDone, Word: r.word, WallSeconds: r.wall}
	t.Cell = tasks.Cell{Axis: r.axis, Size: r.size, Refactoring: r.ref, Code: r.code}
	t.Trial = results.Trial{Key: fmt.Sprintf("key%d", i), TaskID: tasks.CellID(t.Cell, 1), TaskDigest: "sha256:0",
		Cell: t.Cell, Instance: 1, SampleID: "g1", Agent: "copilot", Version: "1.0.81", Model: "scripted:mixed:7",
		Repetition: 1, Seq: i}
	a := results.AttemptResult{Attempt: results.Attempt{Number: 1, Outcome: results.Outcome(r.word),
		Started: begin.Add(time.Duration(i) * time.Minute), WallSeconds: r.wall, TraceState: "complete", Reason: r.reason}}
	a.Ended = a.Started.Add(time.Duration(r.wall) * time.Second)
	if r.word == "solved" || r.word == "failed" || r.word == "timeout" {
		t.Verdicts = []results.AttemptVerdict{{Attempt: 1, Verdict: results.Verdict{
			Scorer: "strict", Version: "s1", Solved: r.word != "failed", Reason: r.reason}}}
		t.Verdict = &t.Verdicts[0]
	}
	if r.word == "solved" || r.word == "failed" {
		a.Outcome = results.Answered
	}
	a.Unchanged = r.word == "failed"
	if r.word == "limit" {
		a.LimitHit = "memory"
	}
	a.Usage = results.UsageTotal{Exchanges: 1, Unknown: results.UsageGaps{Reasoning: 1}}
	if r.input >= 0 {
		a.Usage.Usage = results.Usage{Input: &r.input, Cached: ptr(int64(400)), Output: ptr(int64(50)), CostUSD: ptr(0.5)}
	} else {
		a.Usage.Unknown = results.UsageGaps{Input: 1, Cached: 1, Output: 1, Reasoning: 1, Cost: 1}
	}
	t.Usage.Add(a.Usage)
	t.Attempts = []results.AttemptResult{a}
	return t
}

func yield(list []results.TrialResult) report.Results {
	return func(use func(results.TrialResult, error) bool) {
		for _, t := range list {
			if !use(t, nil) {
				return
			}
		}
	}
}

func build(t *testing.T, list []results.TrialResult, opts report.Options) *report.Report {
	t.Helper()
	r, err := report.Build(yield(list), testLock(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden compares with a file of testdata; CABRA_UPDATE_GOLDEN=1 rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("CABRA_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs; got\n%s", name, got)
	}
}
