package results_test

import (
	"context"
	"path/filepath"
	"testing"

	"cabra-run/results"
)

// twoVerdicts is a run whose trials need both verdicts; no_output is final, and
// a time-out is tried three times.
func twoVerdicts(t *testing.T, trials []results.Trial) *results.Store {
	t.Helper()
	lock := testLock()
	lock.Scorer = results.Scorer{Verdicts: []string{"strict", "official"},
		Versions: map[string]string{"strict": "s1", "official": "o1"}}
	lock.Retry = results.Retry{Attempts: 3, Classes: []results.Outcome{results.Timeout}}
	s, err := results.Create(filepath.Join(t.TempDir(), "two"), lock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Plan(context.Background(), trials); err != nil {
		t.Fatal(err)
	}
	return s
}

func set(t *testing.T, s *results.Store, key string, attempt int, scorer string, solved bool) {
	t.Helper()
	v := results.Verdict{Scorer: scorer, Version: "v", Solved: solved}
	if err := s.SetVerdict(context.Background(), key, attempt, v); err != nil {
		t.Fatal(err)
	}
}

// by reads the only trial as one verdict has it.
func by(t *testing.T, s *results.Store, scorer string) results.TrialResult {
	t.Helper()
	for r, err := range s.ResultsBy(context.Background(), scorer) {
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatal("no trial")
	return results.TrialResult{}
}

// A trial with one of its two verdicts waits for the other one, on the same
// code; it is neither done nor tried again. By the verdict that it has, it is
// done.
func TestOneOfTwoVerdicts(t *testing.T) {
	for _, have := range []string{"strict", "official"} {
		for _, outcome := range []results.Outcome{results.Answered, results.Timeout} {
			t.Run(have+" of "+string(outcome), func(t *testing.T) {
				trials := testTrials(1)
				s := twoVerdicts(t, trials)
				key := trials[0].Key
				collect(t, s, ended(start(t, s, key), outcome))
				set(t, s, key, 1, have, true)
				r := all(t, s)[0]
				if a := r.Scorable(); r.State != results.StateUnscored || a == nil || a.Number != 1 {
					t.Fatalf("%s, to be scored: %+v", r.State, a)
				}
				rec, err := s.Recover(context.Background())
				if err != nil || len(rec.ToScore) != 1 || rec.ToScore[0].Number != 1 {
					t.Errorf("recovery %+v, %v", rec.ToScore, err)
				}
				other := map[string]string{"strict": "official", "official": "strict"}[have]
				if mine, its := by(t, s, have), by(t, s, other); mine.State != results.StateDone ||
					mine.Verdict == nil || its.State != results.StateUnscored || its.Verdict != nil {
					t.Errorf("by %s %s, by %s %s", have, mine.State, other, its.State)
				}
				set(t, s, key, 1, other, false)
				if r := all(t, s)[0]; r.State != results.StateDone || len(r.Verdicts) != 2 {
					t.Errorf("with both: %s, %d verdicts", r.State, len(r.Verdicts))
				}
			})
		}
	}
}

// The word goes by the verdict that is asked for, and so does the reason.
func TestWordsByVerdict(t *testing.T) {
	trials := testTrials(1)
	s := twoVerdicts(t, trials)
	key := trials[0].Key
	collect(t, s, ended(start(t, s, key), results.Answered))
	set(t, s, key, 1, "strict", false)
	set(t, s, key, 1, "official", true)
	for scorer, want := range map[string]string{"": "failed", "strict": "failed", "official": "solved", "other": "answered"} {
		if r := by(t, s, scorer); r.Word != want {
			t.Errorf("by %q: %s, want %s", scorer, r.Word, want)
		}
	}
	r := all(t, s)[0]
	if view := r.By("official", s.Lock().Retry); view.Word != "solved" || r.Word != "failed" || view.Verdict.Scorer != "official" {
		t.Errorf("a view says %s, the trial %s", view.Word, r.Word)
	}
}

// A run of before there were two verdicts reads as it did: its trials are done
// with the one that they have, and the other one is missing where it is asked for.
func TestRunWithOneVerdict(t *testing.T) {
	trials := testTrials(2)
	s := newStore(t, trials) // its lock names strict alone, with a version
	collect(t, s, ended(start(t, s, trials[0].Key), results.Answered))
	set(t, s, trials[0].Key, 1, "strict", true)
	collect(t, s, ended(start(t, s, trials[1].Key), results.Answered))
	lock := reopenedLock(t, s)
	if lock.Verdict() != "strict" || lock.VerdictVersion("strict") != "s1" || lock.VerdictVersion("official") != "" {
		t.Errorf("verdict %s, versions %q and %q", lock.Verdict(), lock.VerdictVersion("strict"), lock.VerdictVersion("official"))
	}
	s = reopen(t, s.Dir())
	got := all(t, s)
	if got[0].State != results.StateDone || got[0].Word != "solved" || got[1].State != results.StateUnscored {
		t.Errorf("%s %s, %s", got[0].State, got[0].Word, got[1].State)
	}
	if r := by(t, s, "official"); r.State != results.StateUnscored || r.Verdict != nil || r.Word != "answered" {
		t.Errorf("by the missing verdict: %s %s", r.State, r.Word)
	}
	// Scored again, it has both and is as done as before.
	set(t, s, trials[0].Key, 1, "official", false)
	if r := all(t, s)[0]; r.State != results.StateDone || r.Word != "solved" || len(r.Verdicts) != 2 {
		t.Errorf("after scoring: %s %s", r.State, r.Word)
	}
}

func reopenedLock(t *testing.T, s *results.Store) results.Lock {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := results.Open(s.Dir(), results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Lock()
}
