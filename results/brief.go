package results

import (
	"context"
	"database/sql"
	"encoding/json"
)

// How Brief reads: the columns that reports count and sum up, and no others.
// Each value costs its way out of the database, and long texts cost reading
// pages that nobody needs.

func (b *batch) briefTrials(ctx context.Context, tx view) error {
	var id int64
	var t TrialResult
	c := &t.Cell
	return b.rows(ctx, tx, `SELECT id, task_id, axis, size, refactoring, code, agent, version, model, repetition,
		settings, reopened FROM trials WHERE %s`, "id",
		[]any{&id, &t.TaskID, &c.Axis, &c.Size, &c.Refactoring, &c.Code, &t.Agent, &t.Version, &t.Model, &t.Repetition,
			&t.Settings, &t.Reopened}, func() { b.trials[b.place[id]] = t })
}

func (b *batch) briefAttempts(ctx context.Context, tx view) error {
	var trial int64
	var a Attempt
	var started string
	var ended sql.NullString
	var flags int
	var sums usageRow
	dest := append([]any{&trial, &a.Number, &started, &ended, &a.Outcome, &a.LimitHit, &flags, &a.WallSeconds,
		&a.UsageNote, &a.Effective}, sums.dest()...)
	list := attemptList{b: b}
	err := b.rows(ctx, tx, `SELECT trial_id, number, started, ended, outcome, limit_hit, unchanged + 2 * unscored,
		wall_seconds, usage_note, effective, `+usageColumns+`
		FROM attempts WHERE %s ORDER BY trial_id, number`, "trial_id", dest, func() {
		a.Started, a.Ended = parseTime(started), parseTime(ended.String)
		a.Unchanged, a.Unscored = flags&1 != 0, flags&2 != 0
		list.add(trial, AttemptResult{Attempt: a, Usage: sums.total()})
	})
	list.hand()
	return err
}

func (b *batch) briefVerdicts(ctx context.Context, tx view) error {
	var trial int64
	var s storedVerdict
	return b.rows(ctx, tx, `SELECT trial_id, id, number, scorer, version, solved
		FROM verdicts WHERE superseded = 0 AND %s`, "trial_id",
		[]any{&trial, &s.id, &s.v.Attempt, &s.v.Scorer, &s.v.Version, &s.v.Solved},
		func() { b.addVerdict(trial, s) })
}

// missedReasons reads why the attempts of trials without any verdict ended as
// they did: a report lists these trials, few as a rule.
func (b *batch) missedReasons(ctx context.Context, tx view) error {
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
