package results

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// page is how many trials are read at a time.
const page = 1000

// reading says which trials are read, and how much of them.
type reading struct {
	where string // condition on trials, "" for all
	args  []any
	brief bool
	total *int // is given the number of all trials, as of the same moment
}

// eachResult reads trials page by page, all as of one moment, and the next page
// while what it has read is used.
func (s *Store) eachResult(ctx context.Context, r reading, use func(TrialResult) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	ids, err := planIDs(ctx, tx, r)
	if err != nil {
		return err
	}
	ahead := 1
	if !s.wal {
		ahead = len(ids)/page + 1
	}
	pages := make(chan *batch, ahead)
	var reader sync.WaitGroup
	defer reader.Wait() // or the store could be closed under it
	defer cancel()
	reader.Go(func() { readPages(ctx, tx, r.brief, ids, pages) })
	if !s.wal { // nobody can write while the transaction is open, and who reads in between waits for the writer
		reader.Wait()
		tx.Rollback()
	}
	for b := range pages {
		if more, err := b.each(use); err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// planIDs lists the row ids of the trials that are read, in the plan's order.
func planIDs(ctx context.Context, tx *sql.Tx, r reading) ([]int64, error) {
	if r.total != nil {
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM trials`).Scan(r.total); err != nil {
			return nil, err
		}
	}
	where := ``
	if r.where != "" {
		where = ` WHERE ` + r.where
	}
	rows, err := tx.QueryContext(ctx, `SELECT id FROM trials`+where+` ORDER BY seq, id`, r.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func readPages(ctx context.Context, tx *sql.Tx, brief bool, ids []int64, out chan<- *batch) {
	defer close(out)
	for part := range slices.Chunk(ids, page) {
		b := newBatch(part)
		b.err = b.read(ctx, tx, brief)
		select {
		case out <- b:
		case <-ctx.Done():
			return
		}
	}
}

// batch is a page of trials.
type batch struct {
	trials   []TrialResult
	verdicts [][]storedVerdict // of each trial
	place    map[int64]int     // in the page, by row id
	where    string            // holds for the rows of these trials, of which %s is the row id
	args     []any
	err      error
}

// storedVerdict is a verdict as it is in the database.
type storedVerdict struct {
	id     int64
	v      AttemptVerdict
	checks string
}

func newBatch(ids []int64) *batch {
	b := &batch{trials: make([]TrialResult, len(ids)), verdicts: make([][]storedVerdict, len(ids)),
		place: make(map[int64]int, len(ids))}
	for i, id := range ids {
		b.place[id] = i
	}
	low, high := slices.Min(ids), slices.Max(ids)
	if high-low+1 == int64(len(ids)) { // as it is for a whole plan
		b.where, b.args = `%s BETWEEN ? AND ?`, []any{low, high}
		return b
	}
	list, _ := json.Marshal(ids) // numbers cannot fail
	b.where, b.args = `%s IN (SELECT value FROM json_each(?))`, []any{string(list)}
	return b
}

func (b *batch) read(ctx context.Context, tx *sql.Tx, brief bool) error {
	steps := []func(context.Context, *sql.Tx) error{b.readTrials, b.readAttempts, b.readVerdicts}
	if brief {
		steps = []func(context.Context, *sql.Tx) error{b.briefTrials, b.briefAttempts, b.briefVerdicts, b.missedReasons}
	}
	for _, step := range steps {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// rows reads the rows of the page's trials: query has a %s for the condition,
// column is where the trial's row id is, dest takes a row for use.
func (b *batch) rows(ctx context.Context, tx *sql.Tx, query, column string, dest []any, use func()) error {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(query, fmt.Sprintf(b.where, column)), b.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		use()
	}
	return rows.Err()
}

func (b *batch) readTrials(ctx context.Context, tx *sql.Tx) error {
	var row trialRow
	var reopened int
	return b.rows(ctx, tx, `SELECT id, `+trialColumns+`, reopened FROM trials WHERE %s`, "id",
		append(row.dest(), &reopened), func() {
			b.trials[b.place[row.id]] = TrialResult{Trial: row.t, Reopened: reopened}
		})
}

const attemptColumns = `number, started, ended, outcome, limit_hit, exit_code, requests, answers, wall_seconds,
	wait_seconds, memory_peak, trace_state, tool_calls, artefacts + 2 * unchanged + 4 * unscored + 8 * adopted,
	path, reason, usage_note, effective`

func (b *batch) readAttempts(ctx context.Context, tx *sql.Tx) error {
	var row attemptRow
	list := attemptList{b: b}
	err := b.rows(ctx, tx, `SELECT trial_id, `+attemptColumns+`, `+usageColumns+`
		FROM attempts WHERE %s ORDER BY trial_id, number`, "trial_id", row.dest(), func() {
		list.add(row.trial, row.result(b.trials[b.place[row.trial]].Key))
	})
	list.hand()
	return err
}

// attemptList holds the attempts of a page's trials, trial by trial, in one piece.
type attemptList struct {
	b      *batch
	all    []AttemptResult
	trial  int64 // whose attempts come just now
	begins int
}

func (l *attemptList) add(trial int64, a AttemptResult) {
	if trial != l.trial {
		l.hand()
		l.trial, l.begins = trial, len(l.all)
	}
	if l.all == nil {
		l.all = make([]AttemptResult, 0, len(l.b.trials)*3/2)
	}
	l.all = append(l.all, a)
}

// hand gives the attempts that came last to their trial.
func (l *attemptList) hand() {
	if len(l.all) > l.begins {
		l.b.trials[l.b.place[l.trial]].Attempts = l.all[l.begins:len(l.all):len(l.all)]
	}
}

// attemptRow takes attemptColumns behind the trial's row id, then usageColumns.
type attemptRow struct {
	trial   int64
	a       Attempt
	started string
	ended   sql.NullString
	flags   int // four columns in one: each value costs its way out of the database
	sums    usageRow
}

func (r *attemptRow) dest() []any {
	a := &r.a
	return append([]any{&r.trial, &a.Number, &r.started, &r.ended, &a.Outcome, &a.LimitHit, &a.ExitCode, &a.Requests,
		&a.Answers, &a.WallSeconds, &a.WaitSeconds, &a.MemoryPeak, &a.TraceState, &a.ToolCalls, &r.flags,
		&a.Path, &a.Reason, &a.UsageNote, &a.Effective}, r.sums.dest()...)
}

func (r *attemptRow) result(key string) AttemptResult {
	a := r.a
	a.TrialKey, a.Started, a.Ended = key, parseTime(r.started), parseTime(r.ended.String)
	a.HasArtefacts, a.Unchanged = r.flags&1 != 0, r.flags&2 != 0
	a.Unscored, a.Adopted = r.flags&4 != 0, r.flags&8 != 0
	return AttemptResult{Attempt: a, Usage: r.sums.total()}
}

func (b *batch) readVerdicts(ctx context.Context, tx *sql.Tx) error {
	var trial int64
	var s storedVerdict
	return b.rows(ctx, tx, `SELECT trial_id, id, number, scorer, version, solved, reason, checks
		FROM verdicts WHERE superseded = 0 AND %s`, "trial_id",
		[]any{&trial, &s.id, &s.v.Attempt, &s.v.Scorer, &s.v.Version, &s.v.Solved, &s.v.Reason, &s.checks},
		func() { b.addVerdict(trial, s) })
}

func (b *batch) addVerdict(trial int64, s storedVerdict) {
	i := b.place[trial]
	if b.verdicts[i] == nil {
		b.verdicts[i] = make([]storedVerdict, 0, 2) // as many as there are, as a rule
	}
	b.verdicts[i] = append(b.verdicts[i], s)
}

// each hands the trials out, whole, until use has enough.
func (b *batch) each(use func(TrialResult) bool) (more bool, err error) {
	if b.err != nil {
		return false, b.err
	}
	for i := range b.trials {
		t := &b.trials[i]
		if err := b.unpack(i); err != nil {
			return false, err
		}
		t.sum()
		if !use(*t) {
			return false, nil
		}
	}
	return true, nil
}

// unpack gives a trial its verdicts, in the order in which they were recorded.
func (b *batch) unpack(i int) error {
	list := b.verdicts[i]
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(x, y storedVerdict) int { return cmp.Compare(x.id, y.id) })
	verdicts := make([]AttemptVerdict, len(list))
	for k, s := range list {
		verdicts[k] = s.v
		if s.checks == "" { // left out
			continue
		}
		var err error
		if verdicts[k].Checks, err = decodeChecks(s.checks); err != nil {
			return fmt.Errorf("reading the checks of a verdict: %w", err)
		}
	}
	b.trials[i].Verdicts = verdicts
	return nil
}
