package results_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cabra-run/results"
)

const (
	crashes     = 120
	crashTrials = 400
)

// runWriter is the process that gets killed: it recovers the run and works
// through the plan, and says on standard output what the store has promised to
// keep: "x KEY N SEQ" an exchange, "c KEY N" committed artefacts, "r KEY N" a
// row, "v KEY N" a verdict.
func runWriter(dir string) error {
	ctx := context.Background()
	s, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		return err
	}
	rec, err := s.Recover(ctx)
	if err != nil {
		return err
	}
	for _, ref := range rec.ToScore {
		if err := judge(ctx, s, os.Stdout, ref.TrialKey, ref.Number); err != nil {
			return err
		}
	}
	for r, err := range s.Results(ctx) {
		if err != nil {
			return err
		}
		if r.State == results.StatePending {
			if err := work(ctx, s, os.Stdout, r.Key); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

func work(ctx context.Context, s *results.Store, say io.Writer, key string) error {
	a, err := s.StartAttempt(ctx, key)
	if err != nil {
		return err
	}
	art, err := s.BeginArtefacts(key, a.Number)
	if err != nil {
		return err
	}
	for seq := 1; seq <= 3; seq++ {
		used := int64(seq)
		e := results.Exchange{Seq: seq, Started: a.Started, Ended: a.Started.Add(time.Duration(seq) * time.Second),
			Complete: true, Usage: results.Usage{Input: &used}}
		if err := s.AddExchange(ctx, key, a.Number, e); err != nil {
			return err
		}
		fmt.Fprintln(say, "x", key, a.Number, seq)
	}
	if err := art.Root().Mkdir(results.FilesDir, 0o755); err != nil {
		return err
	}
	if err := art.Root().WriteFile(results.FilesDir+"/solution.py", []byte(key), 0o644); err != nil {
		return err
	}
	a.Outcome, a.Ended = results.Answered, a.Started.Add(time.Minute)
	if err := art.Commit(ctx, a); err != nil {
		return err
	}
	fmt.Fprintln(say, "c", key, a.Number)
	if err := s.Collected(ctx, a); err != nil {
		return err
	}
	fmt.Fprintln(say, "r", key, a.Number)
	return judge(ctx, s, say, key, a.Number)
}

func judge(ctx context.Context, s *results.Store, say io.Writer, key string, n int) error {
	err := s.SetVerdict(ctx, key, n, results.Verdict{Scorer: "strict", Version: "s1", Solved: n == 1})
	if err == nil {
		fmt.Fprintln(say, "v", key, n)
	}
	return err
}

// promises is what killed writers have said, by trial and attempt.
type promises struct {
	exchanges map[attemptID]int
	committed map[attemptID]bool
	verdicts  map[string]int // the judged attempt of a trial
}

type attemptID struct {
	key string
	n   int
}

func (p *promises) hear(line string) error {
	var what, key string
	var n, seq int
	if _, err := fmt.Sscan(line, &what, &key, &n); err != nil {
		return err
	}
	id := attemptID{key, n}
	switch what {
	case "x":
		if _, err := fmt.Sscan(line, &what, &key, &n, &seq); err != nil {
			return err
		}
		p.exchanges[id] = seq
	case "c", "r":
		p.committed[id] = true
	case "v":
		p.verdicts[key] = n
	}
	return nil
}

// TestKilledWriter kills the writing process at random, 120 times, and looks
// each time at what is left after Recover.
func TestKilledWriter(t *testing.T) {
	s, err := results.Create(filepath.Join(memoryDir(t), "r"), testLock())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Plan(context.Background(), testTrials(crashTrials)), s.Close()); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	heard := &promises{map[attemptID]int{}, map[attemptID]bool{}, map[string]int{}}
	var adopted, closed, toScore, temp int
	for i := range crashes {
		killWriter(t, s.Dir(), 1+rng.IntN(18), heard)
		readDead(t, s.Dir())
		s := reopen(t, s.Dir())
		rec, err := s.Recover(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		checkPromises(t, s, heard)
		checkSound(t, s)
		for _, ref := range rec.ToScore { // as resume does, or there would be nothing more to kill
			if err := s.SetVerdict(context.Background(), ref.TrialKey, ref.Number,
				results.Verdict{Scorer: "strict", Version: "s1", Solved: ref.Number == 1}); err != nil {
				t.Fatal(err)
			}
		}
		adopted, closed = adopted+len(rec.Adopted), closed+len(rec.Closed)
		toScore, temp = toScore+len(rec.ToScore), temp+rec.RemovedTemp
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("after crash %d", i+1)
		}
	}
	t.Logf("%d crashes: adopted %d, closed %d, to score %d, temporary folders removed %d",
		crashes, adopted, closed, toScore, temp)
	if closed == 0 || temp == 0 || adopted+toScore == 0 {
		t.Error("the kills did not reach every step")
	}
	finish(t, s.Dir())
}

// memoryDir is a folder in memory where there is one: a killed process loses
// nothing of the page cache, so syncing to a busy disk would only cost time.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cabra-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// killWriter lets a writer say some lines and kills it; what it says before it
// is dead counts too.
func killWriter(t *testing.T, dir string, lines int, heard *promises) {
	t.Helper()
	cmd := helper(t, "writer", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	for n := 0; scan.Scan(); n++ {
		if n == lines {
			cmd.Process.Kill()
		}
		if err := heard.hear(scan.Text()); err != nil && scan.Err() == nil && n < lines {
			t.Fatal(err)
		}
	}
	cmd.Wait()
}

// readDead reads a run whose writer is dead, before anybody has put it in order.
func readDead(t *testing.T, dir string) {
	t.Helper()
	s, err := results.Open(dir, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := len(all(t, s)); n != crashTrials {
		t.Errorf("a reader sees %d trials of %d", n, crashTrials)
	}
}

func checkPromises(t *testing.T, s *results.Store, heard *promises) {
	t.Helper()
	found := map[attemptID]results.AttemptResult{}
	verdicts := map[string]int{}
	for _, r := range all(t, s) {
		for i, a := range r.Attempts {
			if a.Number != i+1 || a.Outcome == "" {
				t.Errorf("trial %s: attempt %d at place %d has outcome %q", r.TaskID, a.Number, i+1, a.Outcome)
			}
			found[attemptID{r.Key, a.Number}] = a
		}
		if len(r.Verdicts) > 1 {
			t.Errorf("trial %s has %d verdicts", r.TaskID, len(r.Verdicts))
		}
		if r.Verdict != nil {
			verdicts[r.Key] = r.Verdict.Attempt
		}
	}
	for id, seq := range heard.exchanges {
		want := int64(seq * (seq + 1) / 2)
		if got := found[id].Usage; got.Input == nil || *got.Input < want {
			t.Errorf("attempt %v: usage %+v, promised %d", id, got, want)
		}
	}
	for id := range heard.committed {
		checkArtefacts(t, s, id, found[id])
	}
	for key, n := range heard.verdicts {
		if verdicts[key] != n {
			t.Errorf("trial %s: promised a verdict of attempt %d, has one of %d", key, n, verdicts[key])
		}
	}
}

func checkArtefacts(t *testing.T, s *results.Store, id attemptID, a results.AttemptResult) {
	t.Helper()
	if a.Outcome != results.Answered || !a.HasArtefacts || a.Unscored {
		t.Errorf("attempt %v was committed and is %+v", id, a.Attempt)
		return
	}
	code, err := os.ReadFile(filepath.Join(s.AttemptDir(a.Attempt), "files", "solution.py"))
	if err != nil || string(code) != id.key {
		t.Errorf("attempt %v: code %q, %v", id, code, err)
	}
}

// checkSound looks for leftovers and at the database as SQLite sees it.
func checkSound(t *testing.T, s *results.Store) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(s.Dir(), "tmp")); err != nil || len(left) > 0 {
		t.Errorf("temporary folders left: %v, %v", left, err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Dir(), "run.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check says %q, %v", verdict, err)
	}
	var strays int
	err = db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&strays)
	if err != nil || strays > 0 {
		t.Errorf("%d rows refer to nothing, %v", strays, err)
	}
}

// finish lets a writer end in peace: every trial then has its one verdict.
func finish(t *testing.T, dir string) {
	t.Helper()
	cmd := helper(t, "writer", dir)
	cmd.Stdout = io.Discard
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	s := reopen(t, dir)
	for _, r := range all(t, s) {
		if r.State != results.StateDone || len(r.Verdicts) != 1 {
			t.Fatalf("trial %s is %q with %d verdicts", r.TaskID, r.State, len(r.Verdicts))
		}
	}
}
