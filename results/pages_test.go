package results_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"cabra-run/results"
)

// everyState is a run of more than two pages in which trials are in every
// state, those of the first hundred in turn, and planned out of order.
func everyState(t *testing.T) *results.Store {
	t.Helper()
	ctx := context.Background()
	trials := testTrials(2300)
	s, err := results.Create(memoryDir(t)+"/r", testLock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, part := range [][]results.Trial{trials[1200:], trials[:1200]} {
		if err := s.Plan(ctx, part); err != nil {
			t.Fatal(err)
		}
	}
	for i, trial := range trials[:100] {
		if i%7 == 0 {
			continue // pending
		}
		a := start(t, s, trial.Key)
		switch i % 7 {
		case 1: // running
		case 2, 3:
			collect(t, s, ended(a, results.Answered))
			if i%7 == 3 {
				v := results.Verdict{Scorer: "strict", Version: "s1", Solved: i%2 == 0, Reason: fmt.Sprint(i),
					Checks: []results.Check{{Name: "compiles", Pass: true}, {Name: "calls", Detail: "ü \"x\""}}}
				if err := s.SetVerdict(ctx, trial.Key, 1, v); err != nil {
					t.Fatal(err)
				}
			}
		case 4: // due again
			collect(t, s, ended(a, results.AgentError))
		case 5: // done without an outcome
			for range results.DefaultRetry().Infra {
				collect(t, s, ended(a, results.InfraError))
				a = start(t, s, trial.Key)
			}
			collect(t, s, ended(a, results.InfraError))
		case 6:
			collect(t, s, ended(a, results.Timeout))
			if i%2 == 0 {
				if err := s.Reopen(ctx, []string{trial.Key}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return s
}

// The lighter ways to read say what Results says.
func TestWaysToRead(t *testing.T) {
	ctx := context.Background()
	s := everyState(t)
	var unfinished []results.TrialResult
	var want results.Counts
	whole := all(t, s)
	for i, r := range whole {
		if r.Seq != i || r.TaskID != testTrials(i + 1)[i].TaskID {
			t.Fatalf("at place %d is %s", i, r.TaskID)
		}
		want.Planned++
		switch r.State {
		case results.StateDone:
			want.Done++
			if i%7 == 5 {
				want.WithoutOutcome++
			}
			continue
		case results.StatePending:
			want.Pending++
		case results.StateRunning:
			want.Running++
		case results.StateUnscored:
			want.Unscored++
		}
		unfinished = append(unfinished, r)
	}
	if want.Running != 15 || want.Pending != 2300-15-21-28 || want.Unscored != 14+7 || want.WithoutOutcome != 14 {
		t.Errorf("the run is %+v", want)
	}
	if got, err := s.Counts(ctx); err != nil || got != want {
		t.Errorf("%+v, want %+v, %v", got, want, err)
	}
	var got []results.TrialResult
	for r, err := range s.Unfinished(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if !reflect.DeepEqual(got, unfinished) {
		t.Errorf("%d unfinished trials, want %d, or they differ", len(got), len(unfinished))
	}
	i := 0
	for r, err := range s.Brief(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if w := shortened(whole[i]); !reflect.DeepEqual(r, w) {
			t.Fatalf("brief\n%+v, want\n%+v", r, w)
		}
		i++
	}
	if i != len(whole) {
		t.Errorf("brief has %d trials", i)
	}
}

// shortened is a result as Brief gives it.
func shortened(r results.TrialResult) results.TrialResult {
	r.Key, r.TaskDigest, r.SampleID, r.Instance, r.Seq = "", "", "", 0, 0
	attempts := r.Attempts
	r.Attempts = nil
	for _, a := range attempts {
		brief := results.AttemptResult{Usage: a.Usage, Attempt: results.Attempt{Number: a.Number, Started: a.Started,
			Ended: a.Ended, Outcome: a.Outcome, LimitHit: a.LimitHit, Unchanged: a.Unchanged, Unscored: a.Unscored,
			WallSeconds: a.WallSeconds, UsageNote: a.UsageNote, Effective: a.Effective}}
		if len(r.Verdicts) == 0 {
			brief.Reason = a.Reason
		}
		r.Attempts = append(r.Attempts, brief)
	}
	for i := range r.Verdicts {
		r.Verdicts[i].Reason, r.Verdicts[i].Checks = "", nil
	}
	if r.Verdict != nil {
		v := *r.Verdict
		v.Reason, v.Checks = "", nil
		r.Verdict = &v
	}
	return r
}

// A reader that has enough, or is told to stop, leaves nothing behind: the store
// can be closed at once.
func TestReadingIsLeft(t *testing.T) {
	s := everyState(t)
	n := 0
	for range s.Results(context.Background()) {
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	n = 0
	for _, err := range s.Results(ctx) {
		cancel()
		n, last = n+1, err
	}
	if last == nil || n > 2300 {
		t.Errorf("%d trials after the end of the context, then %v", n, last)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// While somebody writes, a reader sees one moment: whoever has a verdict has an
// attempt, and the count of attempts is that of one commit.
func TestReadingSeesOneMoment(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	trials := testTrials(2300)
	s, err := results.Create(memoryDir(t)+"/r", testLock())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Plan(ctx, trials); err != nil {
		t.Fatal(err)
	}
	reader, err := results.Open(s.Dir(), results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// Attempts alternate between the first page and the third: at any one
	// moment the first has as many as the third, or one more.
	done := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil && i < 300; i++ {
			for _, at := range []int{i, 2000 + i} {
				if _, err := s.StartAttempt(context.Background(), trials[at].Key); err != nil {
					done <- err
					return
				}
			}
		}
		done <- nil
	}()
	for range 15 {
		var pages [3]int
		for r, err := range reader.Results(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			pages[r.Seq/1000] += len(r.Attempts)
		}
		if d := pages[0] - pages[2]; d < 0 || d > 1 {
			t.Errorf("a reader saw %v attempts", pages)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
