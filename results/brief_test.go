package results_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cabra-run/results"
	"cabra-run/results/report"
)

// The lighter ways to read say what Results says of any run: of several agents
// and repetitions, with one or two verdicts, with trials in every state.
func TestBriefOfAnyRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawRun(t, rt)
		defer s.Close()
		ctx := context.Background()
		whole := collected(rt, s.Results(ctx))
		checkSame(rt, "Brief", collected(rt, s.Brief(ctx)), shortenedAll(whole))
		unfinished := func(r results.TrialResult) bool { return r.State != results.StateDone }
		checkSame(rt, "Unfinished", collected(rt, s.Unfinished(ctx)), only(whole, unfinished))
		wanted := rapid.SliceOfNDistinct(rapid.SampledFrom(results.Outcomes()), 1, 4, rapid.ID[results.Outcome]).Draw(rt, "ended")
		checkSame(rt, "Ended", collected(rt, s.Ended(ctx, wanted...)), only(whole, func(r results.TrialResult) bool {
			return slices.ContainsFunc(r.Attempts, func(a results.AttemptResult) bool { return slices.Contains(wanted, a.Outcome) })
		}))
		for _, scorer := range []string{"", "strict", "official"} {
			by := collected(rt, s.ResultsBy(ctx, scorer))
			checkSame(rt, "BriefBy "+scorer, collected(rt, s.BriefBy(ctx, scorer)), shortenedAll(by))
			checkReports(rt, s, scorer)
		}
	})
}

// checkReports compares what is printed of both ways to read.
func checkReports(rt *rapid.T, s *results.Store, scorer string) {
	ctx, lock := context.Background(), s.Lock()
	opts := report.Options{Scorer: scorer, Partial: rapid.Bool().Draw(rt, "partial")}
	now := time.Now()
	for _, c := range []struct {
		name string
		of   func(report.Results) (any, error)
	}{
		{"report", func(all report.Results) (any, error) { return report.Build(all, lock, opts) }},
		{"status", func(all report.Results) (any, error) { return report.BuildStatus(all, lock, now) }},
		{"usage", func(all report.Results) (any, error) { return report.BuildUsage(all, lock, nil) }},
	} {
		whole, err := c.of(s.ResultsBy(ctx, scorer))
		if err != nil {
			rt.Fatal(err)
		}
		brief, err := c.of(s.BriefBy(ctx, scorer))
		if err != nil {
			rt.Fatal(err)
		}
		want, got := encoded(rt, whole), encoded(rt, brief)
		if !bytes.Equal(got, want) {
			rt.Errorf("%s by %q\n%s, want\n%s", c.name, scorer, got, want)
		}
	}
}

func encoded(rt *rapid.T, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return text
}

func checkSame(rt *rapid.T, what string, got, want []results.TrialResult) {
	if len(got) != len(want) {
		rt.Fatalf("%s has %d trials, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			rt.Fatalf("%s\n%+v, want\n%+v", what, got[i], want[i])
		}
	}
}

func collected(rt *rapid.T, all iter.Seq2[results.TrialResult, error]) (list []results.TrialResult) {
	for r, err := range all {
		if err != nil {
			rt.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func only(all []results.TrialResult, keep func(results.TrialResult) bool) (list []results.TrialResult) {
	for _, r := range all {
		if keep(r) {
			list = append(list, r)
		}
	}
	return list
}

// shortenedAll shortens copies.
func shortenedAll(all []results.TrialResult) (list []results.TrialResult) {
	for _, r := range all {
		r.Verdicts = slices.Clone(r.Verdicts)
		list = append(list, shortened(r))
	}
	return list
}

// drawRun is a run of up to twelve trials, some opened again, of one pairing or
// two, planned in any order.
func drawRun(t *testing.T, rt *rapid.T) *results.Store {
	lock := testLock()
	pairs := rapid.IntRange(1, 2).Draw(rt, "pairings")
	if pairs == 2 {
		second := results.Agent{Name: "claude", Version: "2"}
		lock.Pairings = []results.Pairing{{Agent: lock.Agent, Model: lock.Model, Provider: lock.Provider, Retry: lock.Retry},
			{Agent: second, Model: "m", Retry: results.Retry{Attempts: 1}}}
	}
	if rapid.Bool().Draw(rt, "both verdicts") {
		lock.Scorer = results.Scorer{Verdicts: []string{"strict", "official"},
			Versions: map[string]string{"strict": "s1", "official": "o1"}}
	}
	s, err := results.Create(memoryDir(t)+"/r", lock)
	if err != nil {
		rt.Fatal(err)
	}
	var trials []results.Trial
	for _, base := range testTrials(rapid.IntRange(1, 3).Draw(rt, "tasks")) {
		for rep := 1; rep <= rapid.IntRange(1, 2).Draw(rt, "repetitions"); rep++ {
			for pair := range pairs {
				trial := base
				trial.Repetition, trial.Seq = rep, len(trials)
				if pair == 1 {
					trial.Agent, trial.Version, trial.Model, trial.Settings = "claude", "2", "m", "sha256:dd"
				}
				trial.Key = results.TrialKey(trial)
				trials = append(trials, trial)
			}
		}
	}
	for _, trial := range rapid.Permutation(trials).Draw(rt, "order") {
		if err := s.Plan(context.Background(), []results.Trial{trial}); err != nil {
			rt.Fatal(err)
		}
		if rapid.Bool().Draw(rt, "worked on") {
			drawLife(rt, s, trial.Key, lock.Verdicts())
		}
	}
	return s
}

// drawLife gives a trial up to three attempts, verdicts on the last ones, and
// opens it again in between.
func drawLife(rt *rapid.T, s *results.Store, key string, verdicts []string) {
	ctx := context.Background()
	for range rapid.IntRange(1, 3).Draw(rt, "attempts") {
		a, err := s.StartAttempt(ctx, key)
		if err != nil {
			rt.Fatal(err)
		}
		for seq := range rapid.IntRange(0, 2).Draw(rt, "requests") {
			if err := s.AddExchange(ctx, key, a.Number, drawExchange(rt, seq+1)); err != nil {
				rt.Fatal(err)
			}
		}
		if rapid.IntRange(0, 9).Draw(rt, "left running") == 0 {
			return
		}
		a = ended(a, rapid.SampledFrom(results.Outcomes()).Draw(rt, "outcome"))
		a.WallSeconds = rapid.Float64Range(0, 1000).Draw(rt, "wall")
		a.LimitHit = rapid.SampledFrom([]string{"", "memory", "disk"}).Draw(rt, "limit")
		a.UsageNote = rapid.SampledFrom([]string{"", "the agent counts otherwise"}).Draw(rt, "note")
		a.Effective = rapid.SampledFrom([]string{"", "2 CPUs instead of 4"}).Draw(rt, "effective")
		a.Unchanged, a.Unscored = rapid.Bool().Draw(rt, "unchanged"), !a.Outcome.HasCode()
		if err := s.Collected(ctx, a); err != nil {
			rt.Fatal(err)
		}
		if a.Outcome.HasCode() {
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(verdicts), rapid.ID[string]).Draw(rt, "verdicts") {
				v := results.Verdict{Scorer: name, Version: "v", Solved: rapid.Bool().Draw(rt, "solved"), Reason: "calls: why",
					Checks: []results.Check{{Name: "calls"}}}
				if err := s.ReplaceVerdict(ctx, key, a.Number, v); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if rapid.IntRange(0, 2).Draw(rt, "opened again") == 0 {
			if err := s.Reopen(ctx, []string{key}); err != nil {
				rt.Fatal(err)
			}
		}
	}
}
