package report_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

func demoRun(seed uint64, shift float64, agents ...string) []results.TrialResult {
	rng := rand.New(rand.NewPCG(seed, 1))
	var list []results.TrialResult
	for _, axis := range tasks.Axes() {
		for _, size := range tasks.Sizes() {
			for i := range 100 {
				for k, ag := range agents {
					p := 0.99 - shift - 0.05*float64(k)
					if axis == tasks.Instructions {
						p -= 0.1 * math.Log2(float64(size)/5)
					}
					if axis == tasks.Search {
						p -= 0.03 * math.Log2(float64(size)/5)
					}
					w := "failed"
					if rng.Float64() < p {
						w = "solved"
					}
					r := row{axis: axis, size: size, ref: tasks.Refactorings()[1+i%4], code: tasks.Math, word: w, wall: 30 + rng.Float64()*40, input: int64(20000 + rng.IntN(90000)), reason: "behaviour: f_12([1, 2, 3], 4): expected [3, 4, 5], got [3, 4, 6], and so it went on and on and on"}
					t := newTrial(len(list), r)
					t.TaskID, t.Instance = tasks.CellID(t.Cell, 1+i/4), 1+i/4
					t.Agent = ag
					t.Attempts[0].ToolCalls = ptr(int64(5 + rng.IntN(size)))
					list = append(list, t)
				}
			}
		}
	}
	return list
}

func TestDemo(t *testing.T) {
	for _, agents := range [][]string{{"copilot"}, {"copilot", "claude"}} {
		la, lb := testLock(), rerunLock()
		for _, l := range []*results.Lock{&la, &lb} {
			l.Provider.Scripted = false
			for _, a := range agents {
				l.Pairings = append(l.Pairings, results.Pairing{Agent: results.Agent{Name: a, Version: "1.0.81"}, Model: "scripted:mixed:7"})
			}
		}
		c, err := report.Compare(report.Compared{Lock: la, Results: yield(demoRun(1, 0, agents...))}, report.Compared{Lock: lb, Results: yield(demoRun(2, 0.02, agents...))}, report.CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		name := "/tmp/h3demo" + agents[len(agents)-1]
		f, _ := os.Create(name + ".png")
		if err := report.CompareChart(f, c, report.PNG); err != nil {
			t.Fatal(err)
		}
		f.Close()
		f, _ = os.Create(name + ".txt")
		report.CompareText(f, c)
		f.Close()
	}
}
