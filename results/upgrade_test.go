package results_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cabra-run/results"
)

// oldRun is a closed run as an older version wrote it: one solved trial with
// three requests, of which one told nothing, and one trial in flight.
func oldRun(t *testing.T, version int) (dir string, trials []results.Trial) {
	t.Helper()
	trials = testTrials(2)
	s := newStore(t, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir = s.Dir()
	lock, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile(fmt.Sprintf("testdata/schema%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	remove(t, dir, "run.db")
	execSQL(t, dir, "PRAGMA journal_mode = WAL;"+string(schema))
	execSQL(t, dir, fmt.Sprintf(`INSERT INTO lock VALUES (1, x'%x')`, lock))
	for i, trial := range trials {
		execSQL(t, dir, fmt.Sprintf(`INSERT INTO trials VALUES (%d, '%s', %d, 'trials/%s/1', '%s', '%s', '%s', %d, '%s',
			'%s', %d, '%s', '%s', '%s', '%s', 1, '%s')`, i+1, trial.Key, i, trial.TaskID, trial.TaskID, trial.TaskDigest,
			trial.Cell.Axis, trial.Cell.Size, trial.Cell.Refactoring, trial.Cell.Code, trial.Instance, trial.SampleID,
			trial.Agent, trial.Version, trial.Model, trial.Settings))
		execSQL(t, dir, fmt.Sprintf(`INSERT INTO attempts (trial_id, number, path, started)
			VALUES (%d, 1, 'trials/%s/1/attempt-1', '2030-05-01T12:00:00.000000Z')`, i+1, trial.TaskID))
	}
	execSQL(t, dir, `UPDATE attempts SET outcome = 'answered', ended = '2030-05-01T12:01:00.000000Z',
		artefacts = 1 WHERE trial_id = 1;
		INSERT INTO verdicts (trial_id, number, scorer, version, solved, reason, checks, at)
		VALUES (1, 1, 'strict', 's1', 1, 'all well', '[]', '2030-05-01T12:02:00.000000Z');
		INSERT INTO exchanges (trial_id, number, seq, started, ended, model, status, complete, error,
			input, cached, output, reasoning, cost_usd) VALUES
		(1, 1, 1, '2030-05-01T12:00:01.000000Z', '2030-05-01T12:00:02.000000Z', 'm', 200, 1, '', 100, 50, 10, NULL, 0.25),
		(1, 1, 2, '2030-05-01T12:00:02.000000Z', '2030-05-01T12:00:03.000000Z', 'm', 200, 1, '', 200, NULL, 20, NULL, 0.5),
		(1, 1, 3, '2030-05-01T12:00:03.000000Z', '2030-05-01T12:00:04.000000Z', 'm', 200, 0, 'cut', NULL, NULL, NULL, NULL, NULL);`)
	if version >= 2 {
		execSQL(t, dir, `INSERT INTO exchanges (trial_id, number, seq, started, ended, model, status, complete, error,
			worst_usd, worst_tokens, open) VALUES (2, 1, 1, '', '', 'm', 0, 0, 'in flight', 0.7, 900, 1)`)
	}
	execSQL(t, dir, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version, 0x63616272))
	return dir, trials
}

// Runs of the earlier schemas are read and continued; what they recorded stays
// and is in the books.
func TestOlderSchemaIsUpgraded(t *testing.T) {
	for version := 1; version <= 2; version++ {
		for _, mode := range []results.Mode{results.ReadOnly, results.ReadWrite} {
			t.Run(fmt.Sprintf("schema %d in mode %d", version, mode), func(t *testing.T) {
				ctx := context.Background()
				dir, trials := oldRun(t, version)
				s, err := results.Open(dir, mode)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if err := s.CheckBooks(ctx); err != nil {
					t.Error(err)
				}
				if got := words(t, s); got != "solved/done pending/running" {
					t.Errorf("words are %q", got)
				}
				u := all(t, s)[0].Usage
				if u.Exchanges != 3 || *u.Input != 300 || *u.Cached != 50 || *u.Output != 30 || u.Reasoning != nil ||
					u.CacheWrite != nil || *u.CostUSD != 0.75 ||
					u.Unknown != (results.UsageGaps{Input: 1, Cached: 2, CacheWrite: 3, Output: 1, Reasoning: 3, Cost: 1}) {
					t.Errorf("usage %+v", u)
				}
				total, by, err := s.Spending(ctx)
				want := results.Spending{USD: 0.75, Tokens: 330, Unknown: 1}
				if by[trials[0].Key] != want {
					t.Errorf("first trial %+v, %v", by[trials[0].Key], err)
				}
				if version == 2 {
					want.Unknown, want.WorstUSD, want.WorstTokens = 2, 0.7, 900
				}
				if total != want {
					t.Errorf("run %+v, want %+v", total, want)
				}
			})
		}
	}
}

// An upgraded run goes on: what is recorded from then on is in its books.
func TestUpgradedRunGoesOn(t *testing.T) {
	ctx := context.Background()
	dir, trials := oldRun(t, 2)
	s := reopen(t, dir)
	if rec, err := s.Recover(ctx); err != nil || len(rec.Closed) != 1 {
		t.Fatalf("%+v, %v", rec, err)
	}
	a := start(t, s, trials[1].Key)
	e := results.Exchange{Seq: 1, Complete: true, Usage: results.Usage{Input: ptr(int64(7)), Output: ptr(int64(1))}}
	if err := s.AddExchange(ctx, a.TrialKey, a.Number, e); err != nil {
		t.Fatal(err)
	}
	a.Effective = "memory 1 GiB (2 GiB wanted)"
	collect(t, s, ended(a, results.Answered))
	r := all(t, s)[1]
	if r.Usage.Exchanges != 2 || *r.Usage.Input != 7 || r.Attempts[1].Effective != a.Effective {
		t.Errorf("%+v", r)
	}
	if err := s.CheckBooks(ctx); err != nil {
		t.Error(err)
	}
}

// Books that are not the sums of the exchanges are found, whichever it is.
func TestCheckBooksFindsDifferences(t *testing.T) {
	for _, column := range []string{"used_exchanges", "untold_reasoning", "spent_worst_tokens"} {
		dir, keys := damaged(t)
		execSQL(t, dir, `UPDATE attempts SET `+column+` = `+column+` + 1 WHERE trial_id = 2`)
		s := reopen(t, dir)
		var wrong *results.BooksError
		if err := s.CheckBooks(context.Background()); !errors.As(err, &wrong) || len(wrong.Differences) != 1 {
			t.Fatalf("%s: %v", column, err)
		}
		var key, has string
		if _, err := fmt.Sscanf(wrong.Differences[0], "attempt 1 of trial %s has %s", &key, &has); err != nil ||
			key != keys[1] || has != column {
			t.Errorf("%s: %q, %v", column, wrong.Differences[0], err)
		}
	}
	dir, _ := damaged(t)
	execSQL(t, dir, `UPDATE attempts SET used_cost_usd = 0.001 WHERE trial_id = 2`)
	if err := reopen(t, dir).CheckBooks(context.Background()); err == nil {
		t.Error("money out of nowhere is not found")
	}
}
