// Package resultsbench makes large runs and measures how fast package results
// reads and writes them, for benchmarks and the bench command. It knows the
// schema of the database, because runs of a hundred thousand trials cannot be
// made one synced step at a time; nothing but measuring may use it.
package resultsbench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"cabra-run/results"
	"cabra-run/tasks"

	_ "modernc.org/sqlite" // results registers it as well
)

// begun is when the attempts of a built run begin; a fixed time, so that two
// builds make the same run.
var begun = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

const (
	exchangesEach = 6 // of an attempt
	secondEvery   = 2 // every second trial has two attempts
	timeLayout    = "2006-01-02T15:04:05.000000Z"
)

// Lock is the lock of a built run: two verdicts, one agent.
func Lock() results.Lock {
	return results.Lock{Run: "bench", Created: begun, Program: "bench",
		Tasks: results.TaskSet{Grid: "bench", Seed: 1, Scheme: "bench", Prompts: "own"},
		Agent: results.Agent{Name: "nop", Version: "1"}, Model: "scripted:solve",
		Provider: results.Provider{Description: "scripted", Scripted: true}, Repetitions: 1,
		Network: "none", TimeoutSeconds: 600, StallSeconds: 120, Retry: results.DefaultRetry(),
		Scorer: results.Scorer{Verdicts: []string{results.Strict, results.Official},
			Versions: map[string]string{results.Strict: "1", results.Official: "1"}}}
}

// Trials is a plan of n trials over all axes, refactorings and codes.
func Trials(n int) []results.Trial {
	axes := []tasks.Axis{tasks.Traversal, tasks.Search, tasks.Runtime, tasks.Instructions}
	refactorings := []tasks.Refactoring{tasks.DeadCode, tasks.AddParameter, tasks.AddReturn, tasks.CacheFunction}
	codes := []tasks.CodeType{tasks.Math, tasks.String, tasks.Array}
	settings := Lock().SettingsDigest()
	list := make([]results.Trial, n)
	for i := range list {
		rest := i
		pick := func(of int) int { at := rest % of; rest /= of; return at }
		cell := tasks.Cell{Axis: axes[pick(len(axes))], Refactoring: refactorings[pick(len(refactorings))],
			Code: codes[pick(len(codes))], Size: 5 * (1 + pick(20))}
		t := results.Trial{TaskID: tasks.CellID(cell, rest+1), TaskDigest: fmt.Sprintf("sha256:%064x", i), Cell: cell,
			Instance: rest + 1, SampleID: fmt.Sprintf("sample-%06d", i), Agent: "nop", Version: "1",
			Model: "scripted:solve", Repetition: 1, Settings: settings, Seq: i}
		t.Key = results.TrialKey(t)
		list[i] = t
	}
	return list
}

// Build makes a closed, finished run of n trials at dir, which must not exist:
// one or two attempts each, six requests in each, two verdicts with their
// checks. With folders it also makes the attempts' artefact folders, empty.
func Build(ctx context.Context, dir string, n int, folders bool) error {
	s, err := results.Create(dir, Lock())
	if err != nil {
		return err
	}
	trials := Trials(n)
	if err := errors.Join(s.Plan(ctx, trials), s.Close()); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(dir, "run.db"), trials); err != nil {
		return fmt.Errorf("filling a run of %d trials: %w", n, err)
	}
	if !folders {
		return nil
	}
	for i, t := range trials {
		for k := 1; k <= attemptsOf(i); k++ {
			if err := os.MkdirAll(filepath.Join(dir, results.ArtefactPath(t, k)), 0o777); err != nil {
				return err
			}
		}
	}
	return nil
}

func attemptsOf(i int) int {
	if i%secondEvery == 0 {
		return 2
	}
	return 1
}

// fill writes attempts, requests and verdicts in one transaction that is not
// synced: whoever loses such a run builds another.
func fill(ctx context.Context, file string, trials []results.Trial) error {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+
		"?_pragma=synchronous(OFF)&_pragma=cache_size(-200000)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	w, err := newFiller(ctx, tx)
	if err != nil {
		return err
	}
	for i, t := range trials {
		for k := 1; k <= attemptsOf(i); k++ {
			if err := w.attempt(ctx, i, k, results.ArtefactPath(t, k)); err != nil {
				return err
			}
		}
		if err := w.verdicts(ctx, i); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

type filler struct{ attempts, exchanges, judge *sql.Stmt }

func newFiller(ctx context.Context, tx *sql.Tx) (f filler, err error) {
	for _, q := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&f.attempts, `INSERT INTO attempts (trial_id, number, path, artefacts, started, ended, outcome, reason,
			exit_code, requests, answers, wall_seconds, wait_seconds, memory_peak, trace_state)
			VALUES (?, ?, ?, 1, ?, ?, ?, ?, 0, 6, 6, 90.5, 12.25, 300000000, 'complete')`},
		{&f.exchanges, `INSERT INTO exchanges (trial_id, number, seq, started, ended, model, status, complete, error,
			input, cached, output, reasoning, cost_usd, cache_write, wire, worst_usd, worst_tokens)
			VALUES (?, ?, ?, ?, ?, 'gpt-5.5', 200, 1, '', ?, ?, ?, ?, ?, 0, 'responses', 0.5, 200000)`},
		{&f.judge, `INSERT INTO verdicts (trial_id, number, scorer, version, solved, reason, checks, at)
			VALUES (?, ?, ?, '1', ?, ?, ?, ?)`},
	} {
		if *q.stmt, err = tx.PrepareContext(ctx, q.text); err != nil {
			return f, err
		}
	}
	return f, nil
}

// attempt writes the k-th attempt of the trial at place i; all but a trial's
// last one ended in an error of the agent.
func (f *filler) attempt(ctx context.Context, i, k int, path string) error {
	outcome, reason := results.Answered, "the agent finished its task and said so"
	if k < attemptsOf(i) {
		outcome, reason = results.AgentError, "the agent ended before its first answer: exit code 1"
	}
	at := begun.Add(time.Duration(i) * time.Second)
	stamp := func(seconds int) string { return at.Add(time.Duration(seconds) * time.Second).Format(timeLayout) }
	if _, err := f.attempts.ExecContext(ctx, i+1, k, path, stamp(0), stamp(90), outcome, reason); err != nil {
		return err
	}
	for seq := 1; seq <= exchangesEach; seq++ {
		tokens := int64(1000*seq + i%997)
		if _, err := f.exchanges.ExecContext(ctx, i+1, k, seq, stamp(10*seq), stamp(10*seq+5),
			tokens, tokens/2, tokens/10, tokens/20, float64(tokens)/1e6); err != nil {
			return err
		}
	}
	return nil
}

const goodChecks = `[{"name":"compiles","pass":true},{"name":"functions","pass":true},` +
	`{"name":"behaviour","pass":true},{"name":"calls","pass":true},{"name":"structure","pass":true}]`

const badChecks = `[{"name":"compiles","pass":true},{"name":"functions","pass":true},` +
	`{"name":"behaviour","pass":false,"detail":"f12(3, -7): expected 41, got 40; 12 of 50 inputs differ"},` +
	`{"name":"calls","pass":true},{"name":"structure","pass":false,"detail":"f9 still takes two parameters"}]`

func (f *filler) verdicts(ctx context.Context, i int) error {
	solved, reason, checks := true, "all 50 inputs of 12 functions give what they should", goodChecks
	if i%3 == 0 {
		solved, reason, checks = false, "behaviour: f12(3, -7): expected 41, got 40", badChecks
	}
	at := begun.Add(time.Duration(i+120) * time.Second).Format(timeLayout)
	for _, scorer := range []string{results.Strict, results.Official} {
		if _, err := f.judge.ExecContext(ctx, i+1, attemptsOf(i), scorer, solved, reason, checks, at); err != nil {
			return err
		}
	}
	return nil
}
