package runner_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"cabra-run/results"
	"cabra-run/results/report"
)

// stepped is what time.Now returns once somebody has set the machine's clock:
// the wall clock shows another time, the monotonic clock goes on. There is no
// way to make such a time but by its form; the test below checks that it is one.
func stepped(t time.Time, d time.Duration) time.Time {
	form := (*struct {
		wall uint64 // 1 bit, 33 bits of seconds, 30 bits of nanoseconds
		ext  int64  // monotonic
		loc  *time.Location
	})(unsafe.Pointer(&t))
	form.wall = uint64(int64(form.wall) + int64(d/time.Second)<<30)
	return t
}

// restless is a clock that is set anew before every look at it.
type restless struct {
	t     *testing.T
	mu    sync.Mutex
	looks int
}

func (c *restless) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := []time.Duration{0, 5 * time.Hour, -5 * time.Hour, 72 * time.Hour}[c.looks%4]
	c.looks++
	now := time.Now()
	then := stepped(now, by)
	if then.Sub(now) != 0 || then.Round(0).Sub(now.Round(0)) != by {
		c.t.Fatalf("%v is no clock set by %s", then, by)
	}
	return then
}

// Whoever sets the machine's clock in mid-attempt changes nothing: an attempt is
// timed out at its time and not before, stalls when nothing happens, and what is
// recorded of it lasts as long as it did.
func TestClockIsSet(t *testing.T) {
	tests := []struct {
		name                   string
		linger, timeout, stall time.Duration
		outcome                results.Outcome
		least                  time.Duration // that the attempt lasts
	}{
		{"in time", 1200 * time.Millisecond, time.Hour, time.Hour, results.Answered, 1200 * time.Millisecond},
		{"out of time", time.Hour, 2 * time.Second, 0, results.Timeout, 2 * time.Second},
		{"stalled", time.Hour, time.Hour, 2 * time.Second, results.Stalled, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, filepath.Join(t.TempDir(), "run"))
			r.sweep.SetClock((&restless{t: t}).now)
			r.sweep.Settings.Timeout, r.sweep.Settings.Stall, r.sweep.Settings.Jobs = tt.timeout, tt.stall, 10
			r.world.linger, r.world.asks = tt.linger, 2
			r.run(t)
			checkSpan(t, r, tt.outcome, tt.least)
		})
	}
}

// checkSpan wants attempts that lasted at least that long, and no hour more: the
// clock is set by several.
func checkSpan(t *testing.T, r *rig, outcome results.Outcome, least time.Duration) {
	t.Helper()
	most := least + time.Hour
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		a := tr.Attempts[0]
		span, wall := a.Ended.Sub(a.Started), time.Duration(a.WallSeconds*float64(time.Second))
		if a.Outcome != outcome || len(tr.Attempts) != 1 || span < least || span > most || wall < least || wall > most {
			t.Errorf("%s: %s after %s, %s of them the agent's", tr.TaskID, a.Outcome, span, wall)
		}
		list, err := r.store.Exchanges(context.Background(), tr.Key, 1)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d exchanges, %v", len(list), err)
		}
		for i, e := range list {
			if e.Seq != i+1 || e.Started.Before(a.Started) || e.Ended.Before(e.Started) || e.Ended.After(a.Ended) {
				t.Errorf("exchange %d from %s to %s of an attempt from %s to %s", e.Seq, e.Started, e.Ended, a.Started, a.Ended)
			}
		}
	}
}

// A run that was recorded under a clock that was set back, by an older version
// or between two processes, is recovered and reported all the same: nothing in
// it lasts less than no time.
func TestRunFromTheFuture(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.run(t)
	ctx := context.Background()
	trials, err := r.store.Trials(ctx)
	if err != nil {
		t.Fatal(err)
	}
	odd := trials[0]
	if err := r.store.Reopen(ctx, []string{odd.Key}); err != nil {
		t.Fatal(err)
	}
	a, err := r.store.StartAttempt(ctx, odd.Key)
	if err != nil {
		t.Fatal(err)
	}
	for seq := 2; seq >= 1; seq-- { // an order that only the numbers tell
		e := results.Exchange{Seq: seq, Started: a.Started.Add(-time.Duration(seq) * time.Hour), Ended: a.Started.Add(-5 * time.Hour)}
		if err := r.store.AddExchange(ctx, odd.Key, a.Number, e); err != nil {
			t.Fatal(err)
		}
	}
	now := a.Started.Add(-48 * time.Hour)
	checkReports(t, r.store, now) // while it runs
	if _, err := r.store.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	list, err := r.store.Exchanges(ctx, odd.Key, a.Number)
	if err != nil || len(list) != 2 || list[0].Seq != 1 || list[1].Seq != 2 {
		t.Errorf("exchanges %+v, %v: want them by number", list, err)
	}
	checkReports(t, r.store, now)
}

// checkReports reads the run in every form and looks for what cannot be.
func checkReports(t *testing.T, store *results.Store, now time.Time) {
	t.Helper()
	ctx := context.Background()
	var out bytes.Buffer
	status, err := report.BuildStatus(store.Results(ctx), store.Lock(), now)
	if err == nil {
		err = report.StatusText(&out, status)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, running := range status.Running {
		if running.Seconds < 0 {
			t.Errorf("runs for %g seconds", running.Seconds)
		}
	}
	if status.Remaining != nil && *status.Remaining < 0 {
		t.Errorf("%g seconds remain", *status.Remaining)
	}
	rep, err := report.Build(store.Results(ctx), store.Lock(), report.Options{Partial: true})
	if err == nil {
		err = report.Text(&out, rep)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), " -") {
		t.Errorf("something is negative:\n%s", &out)
	}
	for tr, err := range store.Results(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			if a.WallSeconds < 0 || a.Outcome != "" && a.Ended.Before(a.Started) {
				t.Errorf("%s: %+v", tr.TaskID, a.Attempt)
			}
		}
	}
}
