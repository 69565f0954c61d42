package report_test

import (
	"fmt"
	"io"
	"testing"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

// manyTrials are as many as the largest sweeps have: a full grid under several
// agents and repetitions comes to 100,000.
const manyTrials = 100_000

// hundredThousand is a finished run of two verdicts, in the order of a plan.
func hundredThousand() []results.TrialResult {
	list := make([]results.TrialResult, 0, manyTrials)
	for task := 0; len(list) < manyTrials; task++ {
		cell := tasks.Cell{Axis: tasks.Axes()[task%4], Size: tasks.Sizes()[task%6], Refactoring: tasks.Refactorings()[task%5],
			Code: tasks.CodeTypes()[task%3]}
		for rep := 1; rep <= 5 && len(list) < manyTrials; rep++ {
			n := len(list)
			word := []string{"solved", "failed", "solved", "timeout"}[n*7%4]
			t := newTrial(n, row{cell.Axis, cell.Size, cell.Refactoring, cell.Code, word, float64(n*7919%600) / 7, int64(n % 9999),
				"behaviour: f_12([1, 2, 3], 4): expected [3, 4, 5], got [3, 4, 6]"})
			t.TaskID, t.Repetition = tasks.ID(fmt.Sprintf("%s/%05d", tasks.CellID(cell, 1), task)), rep
			t.Attempts[0].ToolCalls = ptr(int64(n % 40))
			v := t.Verdicts[0]
			v.Scorer = "official"
			v.Solved = v.Solved != (n%50 == 0)
			v.Checks = []results.Check{{Name: "behaviour", Pass: v.Solved}, {Name: "structure", Pass: true}}
			t.Verdicts = append(t.Verdicts, v)
			t.Verdict = &t.Verdicts[0]
			list = append(list, t)
		}
	}
	return list
}

// Benchmark100k measures what the commands do with the trials that the store
// hands them; the aim for each command with its reading is one second.
func Benchmark100k(b *testing.B) {
	all := hundredThousand()
	pending := hundredThousand()
	for i := range pending {
		pending[i].State, pending[i].Word = results.StatePending, results.Pending
		pending[i].Attempts, pending[i].Verdicts, pending[i].Verdict = nil, nil, nil
	}
	lock := bothLock()
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"report", func() error {
			r, err := report.Build(yield(all), lock, report.Options{})
			if err != nil {
				return err
			}
			return report.Text(io.Discard, r)
		}},
		{"report of what is pending", func() error {
			r, err := report.Build(yield(pending), lock, report.Options{})
			if err != nil {
				return err
			}
			return report.Text(io.Discard, r)
		}},
		{"both verdicts", func() error {
			r, err := report.BuildBoth(yield(all), lock, report.Options{}, "strict", "official")
			if err != nil {
				return err
			}
			return report.TextBoth(io.Discard, r)
		}},
		{"status", func() error {
			s, err := report.BuildStatus(yield(all), lock, begin)
			if err != nil {
				return err
			}
			return report.StatusText(io.Discard, s)
		}},
		{"usage", func() error {
			u, err := report.BuildUsage(yield(all), lock, nil)
			if err != nil {
				return err
			}
			return report.UsageText(io.Discard, u)
		}},
		{"export", func() error { return report.Export(io.Discard, yield(all), lock, csvOptions) }},
		{"comparison", func() error {
			c, err := report.Compare(report.Compared{Lock: lock, Results: yield(all)},
				report.Compared{Lock: lock, Results: yield(all)}, report.CompareOptions{})
			if err != nil {
				return err
			}
			return report.CompareText(io.Discard, c)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
