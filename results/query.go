package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
)

// Results yields every trial of the plan in its order, with attempts, verdicts
// and usage, as of one moment, also while a sweep runs. Words go by the run's
// first verdict; a trial is done when it has all verdicts that the lock names.
// Nothing is yielded after an error.
func (s *Store) Results(ctx context.Context) iter.Seq2[TrialResult, error] {
	return s.results(ctx, s.lock.Verdict(), s.lock.Verdicts())
}

// ResultsBy is Results as the named verdict alone has it ("" is the run's
// first): words go by it, and no other one is waited for.
func (s *Store) ResultsBy(ctx context.Context, scorer string) iter.Seq2[TrialResult, error] {
	if scorer == "" {
		scorer = s.lock.Verdict()
	}
	return s.results(ctx, scorer, []string{scorer})
}

func (s *Store) results(ctx context.Context, scorer string, needed []string) iter.Seq2[TrialResult, error] {
	return func(yield func(TrialResult, error) bool) {
		err := s.eachResult(ctx, func(t TrialResult) bool {
			t.judge(s.lock.RetryOf(t.Trial), scorer, needed)
			return yield(t, nil)
		})
		if err != nil {
			yield(TrialResult{}, storageError("reading results", s.dir, err))
		}
	}
}

// page is how many trials are read at a time.
const page = 500

func (s *Store) eachResult(ctx context.Context, use func(TrialResult) bool) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for after := (cursor{-1 << 62, 0}); ; {
		batch, err := readPage(ctx, tx, &after)
		if err != nil || len(batch.trials) == 0 {
			return err
		}
		for i := range batch.trials {
			t := &batch.trials[i]
			t.sum()
			if !use(*t) {
				return nil
			}
		}
	}
}

// cursor is the place in the plan after which a page begins.
type cursor struct{ seq, id int64 }

// batch is a page of trials, found by row id.
type batch struct {
	trials []TrialResult
	index  map[int64]int
}

func readPage(ctx context.Context, tx *sql.Tx, after *cursor) (*batch, error) {
	b := &batch{index: map[int64]int{}}
	from := *after
	rows, err := tx.QueryContext(ctx, `SELECT id, `+trialColumns+` FROM trials
		WHERE (seq, id) > (?, ?) ORDER BY seq, id LIMIT ?`, from.seq, from.id, page)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		id, t, err := scanTrial(rows)
		if err != nil {
			return nil, err
		}
		b.index[id] = len(b.trials)
		b.trials = append(b.trials, TrialResult{Trial: t})
		*after = cursor{int64(t.Seq), id}
	}
	if err := rows.Err(); err != nil || len(b.trials) == 0 {
		return b, err
	}
	if err := b.readAttempts(ctx, tx, from, *after); err != nil {
		return nil, err
	}
	return b, b.readVerdicts(ctx, tx, from, *after)
}

// pageTrials selects the rows of a page again, for the tables that hang on it.
const pageTrials = `(SELECT id FROM trials WHERE (seq, id) > (?, ?) AND (seq, id) <= (?, ?))`

const attemptColumns = `a.number, a.path, a.artefacts, a.started, a.ended, a.outcome, a.reason, a.limit_hit,
	a.unchanged, a.unscored, a.exit_code, a.requests, a.answers, a.wall_seconds, a.wait_seconds, a.memory_peak,
	a.trace_state, a.adopted, a.usage_note`

const usageColumns = `count(e.seq), sum(e.input), count(e.input), sum(e.cached), count(e.cached),
	sum(e.output), count(e.output), sum(e.reasoning), count(e.reasoning), sum(e.cost_usd), count(e.cost_usd),
	sum(e.cache_write), count(e.cache_write)`

func (b *batch) readAttempts(ctx context.Context, tx *sql.Tx, from, to cursor) error {
	rows, err := tx.QueryContext(ctx, `SELECT a.trial_id, `+attemptColumns+`, `+usageColumns+`
		FROM attempts a LEFT JOIN exchanges e ON e.trial_id = a.trial_id AND e.number = a.number
		WHERE a.trial_id IN `+pageTrials+` GROUP BY a.trial_id, a.number ORDER BY a.trial_id, a.number`,
		from.seq, from.id, to.seq, to.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var ar AttemptResult
		if err := scanAttempt(rows, &id, &ar); err != nil {
			return err
		}
		t := &b.trials[b.index[id]]
		ar.TrialKey = t.Key
		t.Attempts = append(t.Attempts, ar)
	}
	return rows.Err()
}

func scanAttempt(rows *sql.Rows, id *int64, ar *AttemptResult) error {
	a := &ar.Attempt
	var started string
	var ended sql.NullString
	dest := []any{id, &a.Number, &a.Path, &a.HasArtefacts, &started, &ended, &a.Outcome, &a.Reason, &a.LimitHit,
		&a.Unchanged, &a.Unscored, &a.ExitCode, &a.Requests, &a.Answers, &a.WallSeconds, &a.WaitSeconds,
		&a.MemoryPeak, &a.TraceState, &a.Adopted, &a.UsageNote}
	var sums usageRow
	if err := rows.Scan(append(dest, sums.dest()...)...); err != nil {
		return err
	}
	a.Started, a.Ended = parseTime(started), parseTime(ended.String)
	ar.Usage = sums.total()
	return nil
}

// usageRow takes usageColumns.
type usageRow struct {
	n                                               int
	input, cached, output, reasoning, write         sql.NullInt64
	cost                                            sql.NullFloat64
	nInput, nCached, nOutput, nReason, nUSD, nWrite int
}

func (u *usageRow) dest() []any {
	return []any{&u.n, &u.input, &u.nInput, &u.cached, &u.nCached, &u.output, &u.nOutput,
		&u.reasoning, &u.nReason, &u.cost, &u.nUSD, &u.write, &u.nWrite}
}

func (u *usageRow) total() UsageTotal {
	known := func(v sql.NullInt64) *int64 {
		if !v.Valid && u.n > 0 {
			return nil
		}
		return &v.Int64 // without any exchange, nothing was used
	}
	t := UsageTotal{Exchanges: u.n}
	t.Input, t.Cached, t.Output, t.Reasoning = known(u.input), known(u.cached), known(u.output), known(u.reasoning)
	t.CacheWrite = known(u.write)
	if u.cost.Valid || u.n == 0 {
		t.CostUSD = &u.cost.Float64
	}
	t.Unknown = UsageGaps{Input: u.n - u.nInput, Cached: u.n - u.nCached, CacheWrite: u.n - u.nWrite,
		Output: u.n - u.nOutput, Reasoning: u.n - u.nReason, Cost: u.n - u.nUSD}
	return t
}

func (b *batch) readVerdicts(ctx context.Context, tx *sql.Tx, from, to cursor) error {
	rows, err := tx.QueryContext(ctx, `SELECT trial_id, number, scorer, version, solved, reason, checks
		FROM verdicts WHERE superseded = 0 AND trial_id IN `+pageTrials+` ORDER BY trial_id, id`,
		from.seq, from.id, to.seq, to.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var v AttemptVerdict
		var checks string
		if err := rows.Scan(&id, &v.Attempt, &v.Scorer, &v.Version, &v.Solved, &v.Reason, &checks); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(checks), &v.Checks); err != nil {
			return err
		}
		t := &b.trials[b.index[id]]
		t.Verdicts = append(t.Verdicts, v)
	}
	return rows.Err()
}

// Exchanges lists the requests of one attempt in their order.
func (s *Store) Exchanges(ctx context.Context, key string, n int) ([]Exchange, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT e.seq, started, ended, e.model, status, complete, error,
		input, cached, output, reasoning, cost_usd, cache_write, wire, worst_usd, worst_tokens
		FROM exchanges e JOIN trials t ON t.id = e.trial_id
		WHERE t.key = ? AND number = ? ORDER BY e.seq`, key, n)
	if err != nil {
		return nil, storageError("reading exchanges", s.dir, err)
	}
	defer rows.Close()
	var list []Exchange
	for rows.Next() {
		var e Exchange
		var started, ended string
		err := rows.Scan(&e.Seq, &started, &ended, &e.Model, &e.Status, &e.Complete, &e.Error, &e.Usage.Input,
			&e.Usage.Cached, &e.Usage.Output, &e.Usage.Reasoning, &e.Usage.CostUSD, &e.Usage.CacheWrite,
			&e.Wire, &e.WorstUSD, &e.WorstTokens)
		if err != nil {
			return nil, storageError("reading exchanges", s.dir, err)
		}
		e.Started, e.Ended = parseTime(started), parseTime(ended)
		list = append(list, e)
	}
	return list, storageError("reading exchanges", s.dir, rows.Err())
}

// Spent is what all attempts of the run have used so far.
func (s *Store) Spent(ctx context.Context) (UsageTotal, error) {
	var sums usageRow
	err := s.read.QueryRowContext(ctx, `SELECT `+usageColumns+` FROM exchanges e`).Scan(sums.dest()...)
	return sums.total(), storageError("summing usage", s.dir, err)
}
