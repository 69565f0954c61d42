package results_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cabra-run/results"

	"golang.org/x/sync/errgroup"
)

// A whole trial: every step in the order of writing, read back after closing.
func TestTrialFromStartToVerdict(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(3)
	s := newStore(t, trials)
	a := start(t, s, trials[1].Key)
	if a.Number != 1 || a.Path != "trials/search/add-return/math/n005/02/1/attempt-1" {
		t.Fatalf("attempt %d at %q", a.Number, a.Path)
	}
	whole := results.Exchange{Seq: 1, Started: begin, Ended: begin.Add(time.Second), Model: "m", Status: 200,
		Complete: true, Wire: "messages", Usage: results.Usage{Input: ptr(int64(100)), Cached: ptr(int64(40)), CacheWrite: ptr(int64(9)),
			Output: ptr(int64(7)), CostUSD: ptr(0.25)}, WorstUSD: ptr(1.5), WorstTokens: 900}
	cut := results.Exchange{Seq: 2, Started: begin, Ended: begin.Add(time.Second), Status: 200, Error: "cut"}
	for _, e := range []results.Exchange{whole, cut} {
		if err := s.AddExchange(ctx, a.TrialKey, 1, e); err != nil {
			t.Fatal(err)
		}
	}
	end := ended(a, results.Answered)
	end.ExitCode, end.UsageNote = ptr(0), "the agent counts 3 requests, the wire 2"
	collect(t, s, end)
	verdict := results.Verdict{Scorer: "strict", Version: "s1", Solved: true, Reason: "all agree",
		Checks: []results.Check{{Name: "compiles", Pass: true}}}
	if err := s.SetVerdict(ctx, a.TrialKey, 1, verdict); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = reopen(t, s.Dir())
	list := all(t, s)
	if len(list) != 3 || list[0].Word != results.Pending || list[0].State != results.StatePending {
		t.Fatalf("results: %+v", list)
	}
	r := list[1]
	if !reflect.DeepEqual(r.Trial, trials[1]) {
		t.Errorf("trial is %+v, planned was %+v", r.Trial, trials[1])
	}
	if r.Word != results.Solved || r.State != results.StateDone || r.Verdict == nil || len(r.Verdict.Checks) != 1 {
		t.Errorf("word %q, state %q, verdict %+v", r.Word, r.State, r.Verdict)
	}
	end.HasArtefacts = true
	if got := r.Attempts[0].Attempt; !reflect.DeepEqual(got, end) {
		t.Errorf("attempt is\n%+v, recorded was\n%+v", got, end)
	}
	u := r.Usage
	if *u.Input != 100 || *u.Cached != 40 || *u.Output != 7 || u.Reasoning != nil || *u.CostUSD != 0.25 {
		t.Errorf("usage %+v", u)
	}
	if u.Exchanges != 2 || u.Unknown != (results.UsageGaps{Input: 1, Cached: 1, CacheWrite: 1, Output: 1, Reasoning: 2, Cost: 1}) {
		t.Errorf("exchanges %d, unknown %+v", u.Exchanges, u.Unknown)
	}
	if got, err := s.Exchanges(ctx, a.TrialKey, 1); err != nil || !reflect.DeepEqual(got, []results.Exchange{whole, cut}) {
		t.Errorf("exchanges %+v, %v", got, err)
	}
	root, err := s.OpenAttempt(r.Attempts[0].Attempt)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if code, err := root.ReadFile("files/solution.py"); err != nil || string(code) != "x = 1\n" {
		t.Errorf("code %q, %v", code, err)
	}
}

// Closed, a run is run.json, run.db alone (no log beside it), the lock file and its folders.
func TestClosedRunHasNoLogFile(t *testing.T) {
	trials := testTrials(1)
	s := newStore(t, trials)
	collect(t, s, ended(start(t, s, trials[0].Key), results.Answered))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "lock run.db run.json tmp trials" {
		t.Errorf("run folder holds %s", got)
	}
}

func TestReaderBesideWriter(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(600) // more than a page
	s := newStore(t, trials)
	r, err := results.Open(s.Dir(), results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	slow, stop := iter.Pull2(r.Results(ctx)) // a reader that is still reading when the writer closes
	defer stop()
	if _, err, ok := slow(); err != nil || !ok {
		t.Fatal(err)
	}
	for res, err := range r.Results(ctx) { // writing while a reader is in the middle
		if err != nil {
			t.Fatal(err)
		}
		if res.Seq != n {
			t.Fatalf("trial %d came as number %d", res.Seq, n)
		}
		if n%100 == 0 {
			start(t, s, res.Key)
		}
		if len(res.Attempts) != 0 {
			t.Fatalf("reading sees an attempt that began after it")
		}
		n++
	}
	if n != 600 {
		t.Fatalf("read %d of 600", n)
	}
	running := 0
	for _, res := range all(t, r) {
		if res.State == results.StateRunning {
			running++
		}
	}
	if running != 6 {
		t.Errorf("a second reading sees %d running attempts, want 6", running)
	}
	if _, err := r.StartAttempt(ctx, trials[0].Key); err == nil {
		t.Error("a reader could start an attempt")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing beside a reader: %v", err)
	}
	for range 599 {
		if res, err, ok := slow(); err != nil || !ok || len(res.Attempts) != 0 {
			t.Fatalf("the slow reader sees %+v, %v", res.Attempts, err)
		}
	}
}

// Several goroutines take trials through every step at once, as a sweep does.
func TestManyTrialsAtOnce(t *testing.T) {
	trials := testTrials(60)
	s := newStore(t, trials)
	var group errgroup.Group
	group.SetLimit(8)
	for _, trial := range trials {
		group.Go(func() error { return work(context.Background(), s, io.Discard, trial.Key) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range all(t, s) {
		if r.Word != results.Solved || *r.Usage.Input != 6 || len(r.Attempts) != 1 {
			t.Errorf("trial %s is %q with usage %+v", r.TaskID, r.Word, r.Usage)
		}
	}
	total, err := s.Spent(context.Background())
	if err != nil || *total.Input != 360 || total.Exchanges != 180 || total.CostUSD != nil || total.Unknown.Cost != 180 {
		t.Errorf("spent %+v, %v", total, err)
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	s := newStore(t, nil)
	_, err := results.Open(s.Dir(), results.ReadWrite)
	var locked *results.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("second writer got %v", err)
	}
	if locked.Hint() == "" {
		t.Error("no hint")
	}
	s.Close()
	reopen(t, s.Dir())
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	s := newStore(t, testTrials(1))
	s.Close()
	var exists *results.ExistsError
	if _, err := results.Create(s.Dir(), testLock()); !errors.As(err, &exists) || !exists.IsRun {
		t.Errorf("creating over a run: %v", err)
	}
	if err := os.Remove(filepath.Join(s.Dir(), "run.json")); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(s.Dir(), "trials"))
	if _, err := results.Create(s.Dir(), testLock()); !errors.As(err, &exists) || !exists.IsRun {
		t.Errorf("creating over a run that lost its run.json: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.tex"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Create(other, testLock()); !errors.As(err, &exists) || exists.IsRun {
		t.Errorf("creating in somebody's folder: %v", err)
	}
	entries, _ := os.ReadDir(other)
	if len(entries) != 1 {
		t.Errorf("a refused Create left %v", entries)
	}
}

// A Create that was killed before run.json can be done again.
func TestCreateAfterKilledCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock", "run.db", "run.db-wal", ".run.json.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := results.Create(dir, testLock())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	reopen(t, dir)
}

func TestFailedCreateLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(file, "r"), file} {
		if _, err := results.Create(dir, testLock()); err == nil {
			t.Errorf("created a run at %q", dir)
		}
	}
	entries, _ := os.ReadDir(parent)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestOddRunNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "100% what? #1 &x=y")
	s, err := results.Create(dir, testLock())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	reopen(t, dir)
}
