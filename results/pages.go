package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
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

// eachResult reads trials page by page, all as of one moment. Several readers
// take turns with the pages, while what they have read is used.
func (s *Store) eachResult(ctx context.Context, r reading, use func(TrialResult) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait() // or the store could be closed under them
	defer cancel()
	views, err := s.sameViews(ctx, readersAtMost)
	defer func() { closeViews(views) }()
	if err != nil {
		return err
	}
	ends, err := pageEnds(ctx, views[0], r)
	if err != nil {
		return err
	}
	turns := make([]chan *batch, len(views))
	for i, v := range views {
		turns[i] = make(chan *batch, 1)
		readers.Go(func() { readTurns(ctx, v, r, ends, turns[i], i, len(views)) })
	}
	for n := range ends[1:] {
		b, ok := <-turns[n%len(turns)]
		if !ok {
			return ctx.Err()
		}
		if more, err := b.each(use); err != nil || !more {
			return err
		}
	}
	return nil
}

// readTurns reads every count-th page, beginning with the one at place first.
func readTurns(ctx context.Context, v view, r reading, ends []cursor, out chan<- *batch, first, count int) {
	defer close(out)
	for n := first; n < len(ends)-1; n += count {
		select {
		case out <- readPage(ctx, v, r, ends[n], ends[n+1]):
		case <-ctx.Done():
			return
		}
	}
}

// cursor is a place in the plan.
type cursor struct{ seq, id int64 }

// pageEnds divides the trials that are read into pages: each begins behind a
// cursor and ends with the next one.
func pageEnds(ctx context.Context, tx view, r reading) ([]cursor, error) {
	if r.total != nil {
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM trials`).Scan(r.total); err != nil {
			return nil, err
		}
	}
	where := `1`
	if r.where != "" {
		where = r.where
	}
	rows, err := tx.QueryContext(ctx, `SELECT seq, id FROM (SELECT seq, id, row_number() OVER (ORDER BY seq, id) AS n,
		count(*) OVER () AS all_of_them FROM trials WHERE `+where+`) WHERE n % ? = 0 OR n = all_of_them
		ORDER BY seq, id`, append(slices.Clone(r.args), page)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ends := []cursor{{math.MinInt64, 0}}
	for rows.Next() {
		var c cursor
		if err := rows.Scan(&c.seq, &c.id); err != nil {
			return nil, err
		}
		ends = append(ends, c)
	}
	return ends, rows.Err()
}

// batch is a page of trials, found by row id.
type batch struct {
	trials []TrialResult
	checks [][]string // of each trial's verdicts, as they are stored
	index  map[int64]int
	low    int64 // the least and the greatest row id
	high   int64
	err    error
}

func readPage(ctx context.Context, tx view, r reading, after, end cursor) *batch {
	b := &batch{index: make(map[int64]int, page), trials: make([]TrialResult, 0, page)}
	b.err = b.readTrials(ctx, tx, r, after, end)
	if b.err == nil && len(b.trials) > 0 {
		b.err = b.readAttempts(ctx, tx, r.brief)
	}
	if b.err == nil && len(b.trials) > 0 {
		b.err = b.readVerdicts(ctx, tx, r.brief)
	}
	return b
}

func (b *batch) readTrials(ctx context.Context, tx view, r reading, after, end cursor) error {
	where := `(seq, id) > (?, ?) AND (seq, id) <= (?, ?)`
	if r.where != "" {
		where += ` AND ` + r.where
	}
	args := append([]any{after.seq, after.id, end.seq, end.id}, r.args...)
	rows, err := tx.QueryContext(ctx, `SELECT id, `+trialColumnsOf(r.brief)+`, reopened FROM trials
		WHERE `+where+` ORDER BY seq, id`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var row trialRow
	var reopened int
	dest := append(row.dest(), &reopened)
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if b.low == 0 {
			b.low, b.high = row.id, row.id
		}
		b.low, b.high = min(b.low, row.id), max(b.high, row.id)
		b.index[row.id] = len(b.trials)
		b.trials = append(b.trials, TrialResult{Trial: row.t, Reopened: reopened})
	}
	b.checks = make([][]string, len(b.trials))
	return rows.Err()
}

// rows is a condition that holds for the rows of the page's trials in another
// table.
func (b *batch) rows() (where string, args []any) {
	if b.high-b.low+1 == int64(len(b.trials)) { // as it is for a whole plan
		return `trial_id BETWEEN ? AND ?`, []any{b.low, b.high}
	}
	ids := make([]int64, 0, len(b.index))
	for id := range b.index {
		ids = append(ids, id)
	}
	list, _ := json.Marshal(ids) // cannot fail
	return `trial_id IN (SELECT value FROM json_each(?))`, []any{string(list)}
}

func attemptColumns(brief bool) string {
	texts := `path, reason, usage_note, effective`
	if brief {
		texts = `'', '', '', ''`
	}
	return `number, started, ended, outcome, limit_hit, exit_code, requests, answers, wall_seconds, wait_seconds,
		memory_peak, trace_state, tool_calls, artefacts + 2 * unchanged + 4 * unscored + 8 * adopted, ` + texts
}

func (b *batch) readAttempts(ctx context.Context, tx view, brief bool) error {
	where, args := b.rows()
	rows, err := tx.QueryContext(ctx, `SELECT trial_id, `+attemptColumns(brief)+`, `+usageColumns+`
		FROM attempts WHERE `+where+` ORDER BY trial_id, number`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var row attemptRow
	dest := row.dest()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		t := &b.trials[b.index[row.trial]]
		t.Attempts = append(t.Attempts, row.result(t.Key))
	}
	return rows.Err()
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

func (b *batch) readVerdicts(ctx context.Context, tx view, brief bool) error {
	texts := `reason, checks`
	if brief {
		texts = `'', ''`
	}
	where, args := b.rows()
	rows, err := tx.QueryContext(ctx, `SELECT trial_id, number, scorer, version, solved, `+texts+`
		FROM verdicts WHERE superseded = 0 AND `+where+` ORDER BY trial_id, id`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var id int64
	var v AttemptVerdict
	var checks string
	dest := []any{&id, &v.Attempt, &v.Scorer, &v.Version, &v.Solved, &v.Reason, &checks}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		i := b.index[id]
		b.trials[i].Verdicts = append(b.trials[i].Verdicts, v)
		if !brief {
			b.checks[i] = append(b.checks[i], checks)
		}
	}
	return rows.Err()
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

// unpack decodes the checks of a trial's verdicts.
func (b *batch) unpack(i int) error {
	for k, text := range b.checks[i] {
		list, err := decodeChecks(text)
		if err != nil {
			return err
		}
		b.trials[i].Verdicts[k].Checks = list
	}
	return nil
}
