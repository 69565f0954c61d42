package results_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cabra-run/results"
)

// shards makes a run of n trials in count closed shards, finished ones, below
// dir. change may alter the lock of a shard.
func shards(t *testing.T, dir string, n, count int, change func(i int, l *results.Lock)) (dirs []string) {
	t.Helper()
	ctx := context.Background()
	trials := testTrials(n)
	for i := 1; i <= count; i++ {
		lock := testLock()
		lock.Run, lock.Shard = fmt.Sprintf("s%d", i), results.Shard{Index: i, Count: count}
		lock.Host.CPUs, lock.Engine.Name, lock.Jobs = i, fmt.Sprintf("engine %d", i), i
		lock.Created = lock.Created.AddDate(0, 0, i)
		if change != nil {
			change(i, &lock)
		}
		s, err := results.Create(filepath.Join(dir, lock.Run), lock)
		if err != nil {
			t.Fatal(err)
		}
		var own []results.Trial
		for _, trial := range trials {
			if lock.Shard.Has(trial.Seq) {
				own = append(own, trial)
			}
		}
		if err := s.Plan(ctx, own); err != nil {
			t.Fatal(err)
		}
		for _, trial := range own {
			if err := work(ctx, s, io.Discard, trial.Key); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, s.Dir())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// Shards become one run in which everything is as it was, once, and nothing is
// left to do.
func TestMerge(t *testing.T) {
	for _, opts := range []results.MergeOptions{{}, {Copy: true}} {
		ctx := context.Background()
		dir := memoryDir(t)
		dirs := shards(t, dir, 23, 3, nil)
		drifted := reopen(t, dirs[1])
		if err := drifted.RecordDrift(ctx, []results.Difference{{Field: "engine", Was: "a", Now: "b"}}); err != nil {
			t.Fatal(err)
		}
		if err := drifted.Close(); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(dirs) // the order does not matter
		dst := filepath.Join(dir, "all")
		report, err := results.Merge(ctx, dst, dirs, opts)
		if err != nil {
			t.Fatal(err)
		}
		if report.Trials != 23 || report.Attempts != 23 || report.Exchanges != 69 || report.Verdicts != 23 ||
			report.Folders != 23 || report.Linked == opts.Copy || report.Counts != (results.Counts{Planned: 23, Done: 23}) ||
			*report.Spent.Input != 23*6 || strings.Join(report.Shards, " ") != "s1 s2 s3" || len(report.Drift) > 0 {
			t.Errorf("%+v", report)
		}
		s := reopen(t, dst)
		l := s.Lock()
		if l.Run != "all" || l.Shard.Count != 0 || strings.Join(l.Merged, " ") != "s1 s2 s3" || l.Tasks != testLock().Tasks {
			t.Errorf("%+v", l)
		}
		if err := s.Plan(ctx, testTrials(23)); err != nil { // as resume plans the whole
			t.Fatal(err)
		}
		rec, err := s.Recover(ctx)
		if err != nil || len(rec.Adopted)+len(rec.Closed)+len(rec.ToScore)+len(rec.Missing)+len(rec.Orphans) > 0 {
			t.Errorf("%+v, %v", rec, err)
		}
		drifts, err := s.Drifts(ctx)
		if err != nil || len(drifts) != 1 || drifts[0].Field != "engine (shard 2/3)" {
			t.Errorf("%+v, %v", drifts, err)
		}
		checkSound(t, s)
		sameAsShards(t, s, dirs)
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if _, err := results.Merge(ctx, dst, dirs, opts); !isExists(err) {
			t.Errorf("merged into a run: %v", err)
		}
	}
}

func isExists(err error) bool {
	var exists *results.ExistsError
	return errors.As(err, &exists) && exists.IsRun
}

// sameAsShards compares every trial of a merged run with that of its shard.
func sameAsShards(t *testing.T, s *results.Store, dirs []string) {
	t.Helper()
	byKey := map[string]results.TrialResult{}
	for _, dir := range dirs {
		shard, err := results.Open(dir, results.ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all(t, shard) {
			byKey[r.Key] = r
		}
		if err := shard.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range all(t, s) {
		was := byKey[r.Key]
		if got, want := fmt.Sprintf("%+v", asText(r)), fmt.Sprintf("%+v", asText(was)); r.Seq != i || got != want {
			t.Errorf("at place %d:\n%s, in its shard\n%s", i, got, want)
		}
		code, err := os.ReadFile(filepath.Join(s.AttemptDir(r.Attempts[0].Attempt), results.FilesDir, "solution.py"))
		if err != nil || string(code) != r.Key {
			t.Errorf("code of %s: %q, %v", r.TaskID, code, err)
		}
	}
	if len(byKey) != len(all(t, s)) {
		t.Errorf("%d trials in the shards", len(byKey))
	}
}

// asText is a result without pointers.
func asText(r results.TrialResult) any {
	verdict := *r.Verdict
	input := *r.Usage.Input
	r.Verdict, r.Usage.Usage = nil, results.Usage{}
	for i := range r.Attempts {
		r.Attempts[i].Usage.Usage = results.Usage{}
	}
	return []any{r, verdict, input}
}

// What is not all of one finished run is refused, with what is wrong.
func TestMergeRefuses(t *testing.T) {
	ctx := context.Background()
	dir := memoryDir(t)
	dirs := shards(t, filepath.Join(dir, "a"), 7, 3, nil)
	other := shards(t, filepath.Join(dir, "b"), 7, 3, func(i int, l *results.Lock) {
		if i == 2 {
			l.Tasks.Seed, l.Program = 43, "0.2.0"
		}
	})
	halves := shards(t, filepath.Join(dir, "c"), 7, 2, nil)
	whole := newStore(t, testTrials(1))
	cases := []struct {
		name string
		dirs []string
		says []string
	}{
		{"none", nil, []string{"none is named"}},
		{"one missing", dirs[:2], []string{"shard 3/3 is missing"}},
		{"two missing", dirs[1:2], []string{"shard 1/3 is missing", "shard 3/3 is missing"}},
		{"one twice", []string{dirs[0], dirs[1], dirs[1], dirs[2]}, []string{"are both shard 2/3"}},
		{"other number", []string{dirs[0], dirs[1], halves[1]}, []string{"is shard", "others are of"}},
		{"whole run", []string{dirs[0], dirs[1], dirs[2], whole.Dir()}, []string{"is a whole run"}},
		{"other locks", []string{dirs[0], other[1], dirs[2]},
			[]string{"seed (shard 2/3): was 42, is 43", "program version (shard 2/3): was 0.1.0, is 0.2.0"}},
		{"no run", []string{dirs[0], dir}, []string{"is not a run"}},
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		dst := filepath.Join(dir, "dst")
		_, err := results.Merge(ctx, dst, c.dirs, results.MergeOptions{})
		var hinted interface{ Hint() string }
		if err == nil || !errors.As(err, &hinted) || hinted.Hint() == "" {
			t.Errorf("%s: %v, without a hint", c.name, err)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", c.name, err, part)
			}
		}
		if _, err := os.Stat(dst); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s left something: %v", c.name, err)
		}
	}
	// The same with drift allowed: it is recorded.
	report, err := results.Merge(ctx, filepath.Join(dir, "dst"), []string{dirs[0], other[1], dirs[2]},
		results.MergeOptions{AllowDrift: true})
	if err != nil || len(report.Drift) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	drifts, err := reopen(t, filepath.Join(dir, "dst")).Drifts(ctx)
	if err != nil || len(drifts) != 2 || drifts[1].Field != "seed (shard 2/3)" {
		t.Errorf("%+v, %v", drifts, err)
	}
}

// A shard that is being written is not merged, and one that is being merged is
// not written.
func TestMergeAndWriter(t *testing.T) {
	dir := memoryDir(t)
	dirs := shards(t, dir, 4, 2, nil)
	writer := reopen(t, dirs[1])
	_, err := results.Merge(context.Background(), filepath.Join(dir, "all"), dirs, results.MergeOptions{})
	var locked *results.LockedError
	if !errors.As(err, &locked) || locked.Dir != dirs[1] || locked.PID != os.Getpid() {
		t.Errorf("merged a run that is written: %v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Merge(context.Background(), filepath.Join(dir, "all"), dirs, results.MergeOptions{}); err != nil {
		t.Error(err)
	}
	reopen(t, dirs[0]) // the shards are free again
}

// Unfinished shards are refused with what is left, or united all the same; the
// merged run is then put in order and finished like any other.
func TestMergeUnfinished(t *testing.T) {
	ctx := context.Background()
	dir := memoryDir(t)
	trials := testTrials(8)
	dirs := shards(t, dir, 6, 2, nil) // places 6 and 7 come now
	pending, running := trials[6:7], trials[7:]
	if !(results.Shard{Index: 1, Count: 2}).Has(6) {
		pending, running = running, pending
	}
	s := reopen(t, dirs[0])
	if err := s.Plan(ctx, pending); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, dirs[1])
	if err := s.Plan(ctx, running); err != nil {
		t.Fatal(err)
	}
	a := start(t, s, running[0].Key) // committed, and then the process died
	if err := s.OpenExchange(ctx, a.TrialKey, 1, results.Exchange{Seq: 1, WorstUSD: ptr(2.0), WorstTokens: 10}); err != nil {
		t.Fatal(err)
	}
	commit(t, s, ended(a, results.Answered))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := results.Merge(ctx, filepath.Join(dir, "all"), dirs, results.MergeOptions{})
	var unfinished *results.UnfinishedError
	if !errors.As(err, &unfinished) || len(unfinished.Shards) != 2 || unfinished.Shards[0].Pending != 1 ||
		unfinished.Shards[1].Running != 1 || !strings.Contains(unfinished.Hint(), "--partial") {
		t.Fatalf("%v", err)
	}
	report, err := results.Merge(ctx, filepath.Join(dir, "all"), dirs, results.MergeOptions{Partial: true})
	if err != nil || report.Counts != (results.Counts{Planned: 8, Pending: 1, Running: 1, Done: 6}) || report.Folders != 7 {
		t.Fatalf("%+v, %v", report, err)
	}
	merged := reopen(t, filepath.Join(dir, "all"))
	if total, _, err := merged.Spending(ctx); err != nil || total.WorstUSD != 2 {
		t.Errorf("%+v, %v", total, err)
	}
	rec, err := merged.Recover(ctx)
	if err != nil || len(rec.Adopted) != 1 || len(rec.ToScore) != 1 {
		t.Errorf("%+v, %v", rec, err)
	}
	if err := merged.CheckBooks(ctx); err != nil {
		t.Error(err)
	}
}

// A merge that is killed leaves nothing at its destination, and the next one
// makes it whole.
func TestMergeIsKilled(t *testing.T) {
	dir := memoryDir(t)
	dirs := shards(t, dir, 60, 2, nil)
	dst := filepath.Join(dir, "all")
	staging := filepath.Join(dir, ".all.merging")
	seen := 0
	for step := range 12 {
		cmd := helper(t, "merge", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Killed when so many folders are there; the first time at once.
		for {
			found, err := filepath.Glob(filepath.Join(staging, "trials/search/add-return/math/n005/*/1/attempt-1"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dst); err == nil || len(found) >= step*5 && (step == 0 || len(found) > 0) {
				break
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := os.Stat(dst); err == nil {
			break // it was faster
		}
		if _, err := os.Stat(staging); err == nil {
			seen++
		}
	}
	if seen == 0 {
		t.Error("no merge was killed while it worked")
	}
	if _, err := os.Stat(dst); errors.Is(err, os.ErrNotExist) {
		if _, err := results.Merge(context.Background(), dst, dirs, results.MergeOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	sameAsShards(t, reopen(t, dst), dirs)
	if _, err := os.Stat(staging); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}

// runMerge merges the shards s1 and s2 in dir into a run beside them.
func runMerge(dir string) error {
	_, err := results.Merge(context.Background(), filepath.Join(dir, "all"),
		[]string{filepath.Join(dir, "s1"), filepath.Join(dir, "s2")}, results.MergeOptions{})
	return err
}
