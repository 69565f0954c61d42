package results

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"cabra-run/tasks"
)

// How Brief reads: the columns that reports count and sum up, and no others.
// Each value costs its way out of the database, and long texts cost reading
// pages that nobody needs.

func (b *batch) briefTrials(ctx context.Context, tx *sql.Tx) error {
	return b.brief(ctx, tx, `SELECT id, reopened, task_id, axis, size, refactoring, code, agent, version, model, repetition,
		settings FROM trials WHERE %s`, "id", func(v *values) {
		t := &b.trials[b.place[v.int()]]
		t.Reopened = int(v.int())
		t.TaskID = tasks.ID(v.text())
		t.Cell = tasks.Cell{Axis: tasks.Axis(v.text()), Size: int(v.int()), Refactoring: tasks.Refactoring(v.text()),
			Code: tasks.CodeType(v.text())}
		t.Agent, t.Version, t.Model = v.text(), v.text(), v.text()
		t.Repetition, t.Settings = int(v.int()), v.text()
	})
}

func (b *batch) briefAttempts(ctx context.Context, tx *sql.Tx) error {
	list := attemptList{b: b}
	err := b.brief(ctx, tx, `SELECT trial_id, number, started, ended, outcome, limit_hit, unchanged + 2 * unscored,
		wall_seconds, usage_note, effective, `+usageColumns+`
		FROM attempts WHERE %s ORDER BY trial_id, number`, "trial_id", func(v *values) {
		trial := v.int()
		a := Attempt{Number: int(v.int()), Started: parseTime(v.text()), Ended: parseTime(v.text()),
			Outcome: Outcome(v.text()), LimitHit: v.text()}
		flags := v.int()
		a.Unchanged, a.Unscored = flags&1 != 0, flags&2 != 0
		a.WallSeconds, a.UsageNote, a.Effective = v.float(), v.text(), v.text()
		list.add(trial, AttemptResult{Attempt: a, Usage: v.usage()})
	})
	list.hand()
	return err
}

func (b *batch) briefVerdicts(ctx context.Context, tx *sql.Tx) error {
	return b.brief(ctx, tx, `SELECT trial_id, id, number, scorer, version, solved
		FROM verdicts WHERE superseded = 0 AND %s`, "trial_id", func(v *values) {
		trial := v.int()
		s := storedVerdict{id: v.int()}
		s.v.Attempt, s.v.Scorer, s.v.Version, s.v.Solved = int(v.int()), v.text(), v.text(), v.int() != 0
		b.addVerdict(trial, s)
	})
}

// brief reads rows of the page's trials like rows, each as values.
func (b *batch) brief(ctx context.Context, tx *sql.Tx, query, column string, use func(*values)) error {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(query, fmt.Sprintf(b.where, column)), b.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	v := values{list: make([]any, len(columns))}
	dest := make([]any, len(columns))
	for i := range dest {
		dest[i] = &v.list[i]
	}
	for rows.Next() && v.err == nil {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		v.next = 0
		use(&v)
	}
	return cmp.Or(v.err, rows.Err())
}

// values are those of a row, taken in their order, as SQLite has them: what
// database/sql makes of a number by way of text takes longer than reading it.
type values struct {
	list []any
	next int
	err  error // the first value that was of another kind than is wanted
}

// value takes the next value; NULL is the zero value.
func value[T int64 | float64 | string](v *values) (got T) {
	is := v.list[v.next]
	v.next++
	got, ok := is.(T)
	if !ok && is != nil && v.err == nil {
		v.err = fmt.Errorf("column %d holds %T, not %T", v.next, is, got)
	}
	return got
}

func (v *values) int() int64     { return value[int64](v) }
func (v *values) float() float64 { return value[float64](v) }
func (v *values) text() string   { return value[string](v) }

// usage takes usageColumns.
func (v *values) usage() UsageTotal {
	u := usageRow{exchanges: int(v.int())}
	u.input, u.gaps.Input = v.int(), int(v.int())
	u.cached, u.gaps.Cached = v.int(), int(v.int())
	u.write, u.gaps.CacheWrite = v.int(), int(v.int())
	u.output, u.gaps.Output = v.int(), int(v.int())
	u.reasoning, u.gaps.Reasoning = v.int(), int(v.int())
	u.cost, u.gaps.Cost = v.float(), int(v.int())
	return u.total()
}

// missedReasons reads why the attempts of trials without any verdict ended as
// they did: a report lists these trials, few as a rule.
func (b *batch) missedReasons(ctx context.Context, tx *sql.Tx) error {
	var ids []int64
	for id, i := range b.place {
		if len(b.verdicts[i]) == 0 && len(b.trials[i].Attempts) > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT trial_id, number, reason FROM attempts
		WHERE trial_id IN (SELECT value FROM json_each(?)) AND reason <> ''`, string(list))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var number int
		var reason string
		if err := rows.Scan(&id, &number, &reason); err != nil {
			return err
		}
		b.trials[b.place[id]].explain(number, reason)
	}
	return rows.Err()
}

// explain gives an attempt its reason.
func (t *TrialResult) explain(number int, reason string) {
	for i := range t.Attempts {
		if t.Attempts[i].Number == number {
			t.Attempts[i].Reason = reason
		}
	}
}
