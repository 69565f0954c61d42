package report_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/tasks"
)

// TestRetriedTrial takes a trial through a real store: a first attempt without
// output, a second one solved. What the first one took counts too.
func TestRetriedTrial(t *testing.T) {
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
	for n, outcome := range []results.Outcome{results.NoOutput, results.Answered} {
		attempt(t, s, trial.Key, outcome, 0.25*float64(n+1))
	}
	if err := s.SetVerdict(ctx, trial.Key, 2, results.Verdict{Scorer: "strict", Solved: true}); err != nil {
		t.Fatal(err)
	}
	drift := []results.Difference{{Field: "agent version", Was: "1", Now: "2"}, {Field: "time-out (shard 3/3)", Was: "600s", Now: "300s"}}
	if err := s.RecordDrift(ctx, drift); err != nil {
		t.Fatal(err)
	}
	drifts, err := s.Drifts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Build(s.Results(ctx), s.Lock(), report.Options{Drift: drifts})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Overall.Effort
	if !r.Complete || rate(r.Overall.All) != "1/1 = 1.000 ± 0.000" || e.Attempts != 2 || e.Wall.Sum != 20 {
		t.Errorf("%s, effort %+v", rate(r.Overall.All), e)
	}
	if *e.Cost.Sum != 0.75 || e.Cost.Partly != 0 || e.Input.Sum != nil || e.Input.Unknown != 1 {
		t.Errorf("cost %+v, input %+v", e.Cost, e.Input)
	}
	var out bytes.Buffer
	if err := report.Text(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CONTINUED UNDER OTHER CONDITIONS since ", "Z: agent version: was 1, is 2\n",
		"\nPARTS MADE UNDER DIFFERENT CONDITIONS: time-out (shard 3/3): was 600s, is 300s\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text does not tell of the drift: no %q", want)
		}
	}
}

// attempt records an attempt of ten seconds with one exchange that has a cost
// and no token figures.
func attempt(t *testing.T, s *results.Store, key string, outcome results.Outcome, cost float64) {
	t.Helper()
	ctx := context.Background()
	a, err := s.StartAttempt(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	e := results.Exchange{Seq: 1, Started: a.Started, Ended: a.Started, Usage: results.Usage{CostUSD: &cost}}
	if err := s.AddExchange(ctx, key, a.Number, e); err != nil {
		t.Fatal(err)
	}
	a.Outcome, a.Ended, a.WallSeconds = outcome, a.Started.Add(10*time.Second), 10
	art, err := s.BeginArtefacts(key, a.Number)
	if err != nil {
		t.Fatal(err)
	}
	defer art.Discard()
	if err := art.Commit(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := s.Collected(ctx, a); err != nil {
		t.Fatal(err)
	}
}
