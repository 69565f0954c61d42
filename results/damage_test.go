package results_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
)

// damaged is a run with three trials: the first solved, the second collected
// and without verdict, the third started when the process died.
func damaged(t *testing.T) (dir string, keys [3]string) {
	t.Helper()
	ctx := context.Background()
	trials := testTrials(3)
	s := newStore(t, trials)
	for i := range keys {
		keys[i] = trials[i].Key
		a := start(t, s, keys[i])
		if err := s.AddExchange(ctx, keys[i], 1, results.Exchange{Seq: 1, Complete: true, Started: a.Started,
			Ended: a.Started.Add(5e9), Usage: results.Usage{Output: ptr(int64(10))}}); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			collect(t, s, ended(a, results.Answered))
		}
	}
	if err := s.SetVerdict(ctx, keys[0], 1, results.Verdict{Scorer: "strict", Solved: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginArtefacts(keys[2], 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, "4711\n", s.Dir(), "lock") // of the process that died
	return s.Dir(), keys
}

// A run that was closed is not searched for what nobody can have lost; a crash
// or an older database put back brings the search on.
func TestSearchAfterCrashOnly(t *testing.T) {
	cases := []struct {
		name    string
		damage  func(t *testing.T, dir, before string)
		adopted int
	}{
		{"closed", func(*testing.T, string, string) {}, 0},
		{"crashed", func(t *testing.T, dir, _ string) { write(t, "4711\n", dir, "lock") }, 1},
		{"lock file removed", func(t *testing.T, dir, _ string) { remove(t, dir, "lock") }, 1},
		{"older database", func(t *testing.T, dir, before string) { write(t, before, dir, "run.db") }, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			dir, _ := damaged(t)
			if err := reopen(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
			// The second trial's rows are lost; in the old database they are too.
			execSQL(t, dir, `PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM exchanges WHERE trial_id = 2;
				DELETE FROM attempts WHERE trial_id = 2; PRAGMA wal_checkpoint(TRUNCATE)`)
			before, err := os.ReadFile(filepath.Join(dir, "run.db"))
			if err != nil {
				t.Fatal(err)
			}
			if err := reopen(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir, string(before))
			remove(t, dir, attempt1) // the loss of a folder is seen in any case
			rec, err := reopen(t, dir).Recover(ctx)
			if err != nil || len(rec.Adopted) != c.adopted || len(rec.Missing) != 1 {
				t.Errorf("%+v, %v", rec, err)
			}
		})
	}
}

func execSQL(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "run.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, data string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

// words is what a reader sees of the run, "word/state" by trial.
func words(t *testing.T, s *results.Store) string {
	t.Helper()
	var list []string
	for _, r := range all(t, s) {
		list = append(list, r.Word+"/"+string(r.State))
	}
	return strings.Join(list, " ")
}

const attempt1 = "trials/search/add-return/math/n005/01/1/attempt-1"

// TestRecoverDamagedRun damages a run in each way from which it recovers.
func TestRecoverDamagedRun(t *testing.T) {
	const usual = "solved/done answered/unscored cancelled/pending"
	cases := []struct {
		name   string
		damage func(t *testing.T, dir string)
		words  string
		check  func(t *testing.T, rec results.Recovery)
	}{
		{"nothing but the crash", func(*testing.T, string) {}, usual, func(t *testing.T, rec results.Recovery) {
			if len(rec.Closed) != 1 || len(rec.ToScore) != 1 || rec.RemovedTemp != 1 || len(rec.Adopted) != 0 {
				t.Errorf("%+v", rec)
			}
		}},
		{"log cut short", func(t *testing.T, dir string) {
			write(t, "\x37\x7f\x06\x82 torn", dir, "run.db-wal")
		}, usual, nil},
		{"run.json missing", func(t *testing.T, dir string) { remove(t, dir, "run.json") }, usual, nil},
		{"tmp missing", func(t *testing.T, dir string) { remove(t, dir, "tmp") }, usual, nil},
		{"folder without row (4)", func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE attempts SET outcome = '', ended = NULL, artefacts = 0 WHERE trial_id = 2`)
		}, usual, func(t *testing.T, rec results.Recovery) {
			if len(rec.Adopted) != 1 || rec.Adopted[0].Number != 1 || len(rec.ToScore) != 1 {
				t.Errorf("%+v", rec)
			}
		}},
		{"folder without any row", func(t *testing.T, dir string) {
			execSQL(t, dir, `DELETE FROM exchanges WHERE trial_id = 2; DELETE FROM attempts WHERE trial_id = 2`)
		}, usual, func(t *testing.T, rec results.Recovery) {
			if len(rec.Adopted) != 1 || len(rec.ToScore) != 1 {
				t.Errorf("%+v", rec)
			}
		}},
		{"folder without row and record", func(t *testing.T, dir string) {
			execSQL(t, dir, `DELETE FROM exchanges WHERE trial_id = 2; DELETE FROM attempts WHERE trial_id = 2`)
			remove(t, dir, strings.Replace(attempt1, "/01/", "/02/", 1), "attempt.json")
		}, "solved/done cancelled/pending cancelled/pending", func(t *testing.T, rec results.Recovery) {
			if len(rec.Closed) != 2 || len(rec.Adopted) != 0 {
				t.Errorf("%+v", rec)
			}
		}},
		{"record of another attempt", func(t *testing.T, dir string) {
			execSQL(t, dir, `UPDATE attempts SET outcome = '', ended = NULL, artefacts = 0 WHERE trial_id = 2`)
			other, err := os.ReadFile(filepath.Join(dir, attempt1, "attempt.json"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, string(other), dir, strings.Replace(attempt1, "/01/", "/02/", 1), "attempt.json")
		}, "solved/done cancelled/pending cancelled/pending", nil},
		{"row without folder, judged", func(t *testing.T, dir string) { remove(t, dir, attempt1) },
			usual, func(t *testing.T, rec results.Recovery) {
				if len(rec.Missing) != 1 || rec.Missing[0].Path != attempt1 {
					t.Errorf("%+v", rec)
				}
			}},
		{"row without folder, not judged", func(t *testing.T, dir string) {
			remove(t, dir, strings.Replace(attempt1, "/01/", "/02/", 1))
		}, "solved/done answered/pending cancelled/pending", func(t *testing.T, rec results.Recovery) {
			if len(rec.Missing) != 1 || len(rec.ToScore) != 0 {
				t.Errorf("%+v", rec)
			}
		}},
		{"folder of an unknown trial", func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, "trials/x/1/attempt-1"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, usual, func(t *testing.T, rec results.Recovery) {
			if len(rec.Orphans) != 1 || rec.Orphans[0] != "trials/x/1/attempt-1" {
				t.Errorf("%+v", rec)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, keys := damaged(t)
			c.damage(t, dir)
			s := reopen(t, dir)
			rec, err := s.Recover(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := words(t, s); got != c.words {
				t.Errorf("words are %q, want %q", got, c.words)
			}
			if c.check != nil {
				c.check(t, rec)
			}
			third := all(t, s)[2].Attempts[0]
			if third.Usage.Output == nil || *third.Usage.Output != 10 || third.WallSeconds != 5 || third.Answers != 1 {
				t.Errorf("the cancelled attempt lost its usage: %+v", third)
			}
			if a := start(t, s, keys[2]); a.Number != 2 {
				t.Errorf("next attempt is number %d", a.Number)
			}
			again, err := s.Recover(context.Background())
			if err != nil || len(again.Adopted)+len(again.Missing)+again.RemovedTemp != 0 {
				t.Errorf("a second recovery found %+v, %v", again, err)
			}
		})
	}
}

// TestOpenRefusesDamage damages a run in each way that must be refused, for
// readers and writers alike, and looks that opening changes nothing.
func TestOpenRefusesDamage(t *testing.T) {
	cases := []struct {
		name, says string
		damage     func(t *testing.T, dir string)
	}{
		{"newer schema", "written by a newer version", func(t *testing.T, dir string) {
			execSQL(t, dir, `PRAGMA user_version = 99`)
		}},
		{"older schema", "cannot read", func(t *testing.T, dir string) { execSQL(t, dir, `PRAGMA user_version = -1`) }},
		{"another program's database", "another program", func(t *testing.T, dir string) {
			execSQL(t, dir, `PRAGMA application_id = 7`)
		}},
		{"not a database", "not a database", func(t *testing.T, dir string) { write(t, "hello", dir, "run.db") }},
		{"empty database", "not a database", func(t *testing.T, dir string) { write(t, "", dir, "run.db") }},
		{"no database", "run.db is missing", func(t *testing.T, dir string) { remove(t, dir, "run.db") }},
		{"neither", "neither run.json nor run.db", func(t *testing.T, dir string) {
			remove(t, dir, "run.db")
			remove(t, dir, "run.json")
		}},
		{"no folder", "no such folder", func(t *testing.T, dir string) { remove(t, dir) }},
		{"a file", "a file, not a folder", func(t *testing.T, dir string) {
			remove(t, dir)
			write(t, "x", dir)
		}},
		{"lock changed", "run.json was changed", func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, "run.json"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, strings.Replace(string(data), `"seed": 42`, `"seed": 43`, 1), dir, "run.json")
		}},
		{"database cut in the middle", "", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "run.db"), 5000); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, _ := damaged(t)
			c.damage(t, dir)
			for _, mode := range []results.Mode{results.ReadOnly, results.ReadWrite} {
				s, err := results.Open(dir, mode)
				if err == nil {
					s.Close()
					t.Fatalf("opened in mode %d", mode)
				}
				if !strings.Contains(err.Error(), c.says) {
					t.Errorf("mode %d says %q", mode, err)
				}
				var hinted interface{ Hint() string }
				if !errors.As(err, &hinted) || hinted.Hint() == "" {
					t.Errorf("mode %d: no hint with %q", mode, err)
				}
			}
		})
	}
}

// TestTornLog cuts the log of a dead writer at many places. However much of
// it is lost, the folders bring the attempts back.
func TestTornLog(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(3)
	s := newStore(t, trials)
	if err := s.Checkpoint(ctx); err != nil { // the plan is safe
		t.Fatal(err)
	}
	for _, trial := range trials {
		if err := work(ctx, s, io.Discard, trial.Key); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Stat(filepath.Join(s.Dir(), "run.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	const cuts = 40
	scored := map[int]int{} // how many verdicts survived, and how often
	for i := range cuts + 1 {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(s.Dir())); err != nil {
			t.Fatal(err)
		}
		remove(t, dir, "run.db-shm")
		if err := os.Truncate(filepath.Join(dir, "run.db-wal"), log.Size()*int64(i)/cuts); err != nil {
			t.Fatal(err)
		}
		scored[recoverTorn(t, dir)]++
	}
	if len(scored) != 4 || s.Close() != nil {
		t.Errorf("the cuts left 0 to 3 verdicts this often: %v", scored)
	}
}

func recoverTorn(t *testing.T, dir string) (verdicts int) {
	t.Helper()
	s := reopen(t, dir)
	defer s.Close()
	rec, err := s.Recover(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	checkSound(t, s)
	for _, r := range all(t, s) {
		if len(r.Attempts) != 1 || r.Attempts[0].Outcome != results.Answered || !r.Attempts[0].HasArtefacts {
			t.Errorf("trial %s came back as %+v", r.TaskID, r.Attempts)
		}
		verdicts += len(r.Verdicts)
	}
	if verdicts+len(rec.ToScore) != 3 {
		t.Errorf("%d verdicts and %d to score", verdicts, len(rec.ToScore))
	}
	return verdicts
}
