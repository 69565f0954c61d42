package runner_test

import (
	"context"
	"database/sql"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cabra-run/results"
)

// history is what was seen of a run between two processes: what was done once
// stays as it was.
type history map[string]doneTrial

type doneTrial struct {
	attempts int
	verdicts []results.AttemptVerdict
}

// look compares the run with what was seen of it before. A run that a kill has
// not let come into being has nothing to compare.
func (h history) look(t *testing.T, j job) {
	t.Helper()
	store, err := results.Open(j.Dir, results.ReadOnly)
	if err != nil {
		if len(h) > 0 {
			t.Errorf("a run that was there cannot be opened: %v", err)
		}
		return
	}
	defer store.Close()
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		was, known := h[tr.Key]
		if known && (tr.State != results.StateDone || len(tr.Attempts) != was.attempts || !sameVerdicts(tr.Verdicts, was.verdicts)) {
			t.Errorf("%s was done after %d attempts with %v and is now %s after %d with %v",
				tr.TaskID, was.attempts, was.verdicts, tr.State, len(tr.Attempts), tr.Verdicts)
		}
		if tr.State == results.StateDone {
			h[tr.Key] = doneTrial{len(tr.Attempts), tr.Verdicts}
		}
	}
}

func sameVerdicts(a, b []results.AttemptVerdict) bool {
	return slices.EqualFunc(a, b, func(x, y results.AttemptVerdict) bool {
		return x.Attempt == y.Attempt && x.Scorer == y.Scorer && x.Solved == y.Solved
	})
}

// checkWhole looks at a run that was worked off to its end after so many kills.
func (j job) checkWhole(t *testing.T, kills int) {
	t.Helper()
	store, err := results.Open(j.Dir, results.ReadWrite) // whoever was killed holds no lock
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j.checkTrials(t, store)
	j.checkMoney(t, store, kills)
	checkFolder(t, store)
	checkDatabase(t, j.Dir)
}

// checkTrials wants every trial done, with one verdict of each kind on the same
// attempt, and no attempt that never ended.
func (j job) checkTrials(t *testing.T, store *results.Store) {
	t.Helper()
	trials := 0
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		trials++
		var scorers []string
		for _, v := range tr.Verdicts {
			scorers = append(scorers, v.Scorer)
		}
		slices.Sort(scorers)
		if tr.State != results.StateDone || !slices.Equal(scorers, []string{"official", "strict"}) ||
			tr.Verdicts[0].Attempt != tr.Verdicts[1].Attempt {
			t.Errorf("%s: %s with verdicts %+v", tr.TaskID, tr.State, tr.Verdicts)
		}
		answered := 0
		for i, a := range tr.Attempts {
			if a.Number != i+1 || a.Outcome != results.Answered && a.Outcome != results.Cancelled || a.Ended.Before(a.Started) {
				t.Errorf("%s: attempt %+v at place %d", tr.TaskID, a.Attempt, i+1)
			}
			if a.Outcome == results.Answered {
				answered++
			}
		}
		if answered != 1 {
			t.Errorf("%s: %d attempts came to their end, want one: no finished one is made again", tr.TaskID, answered)
		}
	}
	if trials != j.trials() {
		t.Errorf("%d trials, want %d", trials, j.trials())
	}
}

// checkMoney holds the books against the ledger. An answer is in the books once
// if at all; a request that the books do not tell the cost of is in them as one
// of unknown cost. A kill may come between the booking of a request and its
// sending, once for each attempt in flight: such a one is booked too much.
func (j job) checkMoney(t *testing.T, store *results.Store, kills int) {
	t.Helper()
	asked, answered := j.calls(t)
	known, unknown, usd := map[int64]bool{}, 0, 0.0
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			list, err := store.Exchanges(context.Background(), tr.Key, a.Number)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range list {
				if e.Seq != i+1 || e.Started.Before(a.Started) {
					t.Errorf("%s: exchange %+v at place %d of an attempt begun %v", tr.TaskID, e, i+1, a.Started)
				}
				if e.Usage.Input == nil {
					if unknown++; e.WorstUSD == nil || e.Usage.CostUSD != nil {
						t.Errorf("%s: of unknown cost and not at its worst: %+v", tr.TaskID, e)
					}
					continue
				}
				id := *e.Usage.Input
				if known[id] || !answered[id] {
					t.Errorf("%s: exchange %d is in the books twice, or was never answered", tr.TaskID, id)
				}
				known[id] = true
				usd += *e.Usage.CostUSD
			}
			if a.Outcome == results.Answered && (a.Usage.Unknown.Input > 0 || a.Usage.Exchanges != len(list) || len(list) == 0) {
				t.Errorf("%s attempt %d came to its end with %+v", tr.TaskID, a.Number, a.Usage)
			}
		}
	}
	lost := len(asked) - len(known) // to the books as a figure
	if unknown < lost || unknown > lost+kills*max(1, j.Jobs) {
		t.Errorf("of %d calls %d are in the books with their cost and %d without, after %d kills", len(asked), len(known), unknown, kills)
	}
	checkSums(t, store, usd, unknown)
}

func checkSums(t *testing.T, store *results.Store, usd float64, unknown int) {
	t.Helper()
	if err := store.CheckBooks(context.Background()); err != nil {
		t.Error(err)
	}
	spent, _, err := store.Spending(context.Background())
	if err != nil || math.Abs(spent.USD-usd) > 1e-6 || spent.Unknown != unknown {
		t.Errorf("spending %+v, %v; the exchanges make $%g and %d unknown", spent, err, usd, unknown)
	}
}

// checkFolder wants in the run's folder the artefacts of recorded attempts and
// nothing besides.
func checkFolder(t *testing.T, store *results.Store) {
	t.Helper()
	want := map[string]bool{".": true, "run.json": true, "run.db": true, "lock": true, "tmp": true, "trials": true}
	for _, name := range []string{"run.db-wal", "run.db-shm"} { // of this very look
		want[name] = true
	}
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			if !a.HasArtefacts {
				continue
			}
			for p := a.Path; p != "."; p = path.Dir(p) {
				want[p] = true
			}
			if _, err := os.Stat(filepath.Join(store.AttemptDir(a.Attempt), results.AttemptFile)); err != nil {
				t.Errorf("%s attempt %d: %v", tr.TaskID, a.Number, err)
			}
		}
	}
	err := fs.WalkDir(os.DirFS(store.Dir()), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !want[name] {
			t.Errorf("left in the run's folder: %s", name)
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), "attempt-") {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// checkDatabase asks SQLite itself.
func checkDatabase(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "run.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check says %q, %v", verdict, err)
	}
	var strays int
	if err := db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&strays); err != nil || strays > 0 {
		t.Errorf("%d rows refer to nothing, %v", strays, err)
	}
}
