// Package resultstest looks at runs after whatever happened to them: what must
// hold of every run that was worked off to its end, however often its process
// was killed on the way. It knows the store and nothing of who fills it, and
// must not be imported by anything but tests.
package resultstest

import (
	"context"
	"database/sql"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cabra-run/results"
)

// History is what was seen of a run between two processes, by trial: what was
// done once stays as it was.
type History map[string]doneTrial

type doneTrial struct {
	attempts int
	verdicts []results.AttemptVerdict
}

// Look compares the run at dir with what was seen of it before. A run that a
// kill has not let come into being has nothing to compare.
func (h History) Look(t testing.TB, dir string) {
	t.Helper()
	store, err := results.Open(dir, results.ReadOnly)
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

// CheckDone wants so many trials, each done with one verdict of each kind that
// the lock names, all on one attempt that came to its end; every other attempt
// was cut off.
func CheckDone(t testing.TB, store *results.Store, trials int) {
	t.Helper()
	n := 0
	for tr, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if tr.State != results.StateDone {
			t.Errorf("%s is %s", tr.TaskID, tr.State)
		}
		checkAttempts(t, &tr)
		checkVerdicts(t, &tr, store.Lock().Verdicts())
	}
	if n != trials {
		t.Errorf("%d trials, want %d", n, trials)
	}
}

func checkAttempts(t testing.TB, tr *results.TrialResult) {
	t.Helper()
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
		t.Errorf("%s: %d attempts came to their end, want one: none is made again", tr.TaskID, answered)
	}
}

func checkVerdicts(t testing.TB, tr *results.TrialResult, want []string) {
	t.Helper()
	var scorers []string
	for _, v := range tr.Verdicts {
		scorers = append(scorers, v.Scorer)
		if v.Attempt != tr.Verdicts[0].Attempt {
			t.Errorf("%s: verdicts on several attempts: %+v", tr.TaskID, tr.Verdicts)
		}
	}
	want = slices.Clone(want)
	slices.Sort(scorers)
	slices.Sort(want)
	if !slices.Equal(scorers, want) {
		t.Errorf("%s has verdicts of %v, want one of each of %v", tr.TaskID, scorers, want)
	}
}

// CheckFolder wants in the run's folder the artefacts of recorded attempts and
// nothing besides. The run was closed before it was opened for this look.
func CheckFolder(t testing.TB, store *results.Store) {
	t.Helper()
	want := map[string]bool{".": true, "run.json": true, "run.db": true, "lock": true, "tmp": true, "trials": true}
	for _, suffix := range []string{"-wal", "-shm", "-journal"} { // of this very look
		want["run.db"+suffix] = true
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
			checkArtefacts(t, store, a.Attempt)
		}
	}
	err := fs.WalkDir(os.DirFS(store.Dir()), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !want[name] && !emptyParent(store.Dir(), name, d) {
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

// checkArtefacts wants the attempt's folder to say of it what its row says: one
// that came to its end is not taken for one that was cut off.
func checkArtefacts(t testing.TB, store *results.Store, a results.Attempt) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(store.AttemptDir(a), results.AttemptFile))
	var told results.Attempt
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err != nil || told.Outcome != a.Outcome || told.TrialKey != a.TrialKey || told.Number != a.Number {
		t.Errorf("%s says %s, its row %s: %v", a.Path, told.Outcome, a.Outcome, err)
	}
}

// emptyParent reports whether name is a folder made for artefacts that never
// came: harmless, and the next attempt of the trial goes there.
func emptyParent(dir, name string, d fs.DirEntry) bool {
	if !d.IsDir() || !strings.HasPrefix(name, "trials/") || strings.HasPrefix(d.Name(), "attempt-") {
		return false
	}
	empty := true
	_ = fs.WalkDir(os.DirFS(filepath.Join(dir, name)), ".", func(_ string, d fs.DirEntry, err error) error {
		empty = empty && err == nil && d.IsDir() && !strings.HasPrefix(d.Name(), "attempt-")
		return nil
	})
	return empty
}

// CheckDatabase asks SQLite itself.
func CheckDatabase(t testing.TB, dir string) {
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
