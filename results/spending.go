package results

import "context"

// Spending is what has been spent as a budget counts it: what is known, and
// for every request whose cost or tokens nobody told, the most that it can
// have cost.
type Spending struct {
	USD         float64 // known cost
	Tokens      int64   // known tokens, input and output together
	Unknown     int     // requests that tell their cost or their tokens not
	WorstUSD    float64 // the most that those can have cost
	WorstTokens int64
}

// spendingQuery adds up per trial. What requests in flight can cost is not in
// the books of attempts.
const spendingQuery = `SELECT t.key, sum(a.used_cost_usd), sum(a.spent_tokens), sum(a.spent_untold),
	sum(a.spent_worst_usd) + coalesce(o.worst_usd, 0), sum(a.spent_worst_tokens)
	FROM attempts a JOIN trials t ON t.id = a.trial_id
	LEFT JOIN (SELECT trial_id, sum(worst_usd) AS worst_usd FROM exchanges WHERE open GROUP BY trial_id) o
	ON o.trial_id = a.trial_id WHERE a.used_exchanges > 0 GROUP BY a.trial_id`

// Spending returns what the run has spent, and what each of its trials has,
// by trial key.
func (s *Store) Spending(ctx context.Context) (total Spending, trials map[string]Spending, err error) {
	rows, err := s.read.QueryContext(ctx, spendingQuery)
	if err != nil {
		return total, nil, storageError("summing what was spent", s.dir, err)
	}
	defer rows.Close()
	trials = map[string]Spending{}
	for rows.Next() {
		var key string
		var p Spending
		if err := rows.Scan(&key, &p.USD, &p.Tokens, &p.Unknown, &p.WorstUSD, &p.WorstTokens); err != nil {
			return total, nil, storageError("summing what was spent", s.dir, err)
		}
		trials[key] = p
		total.USD += p.USD
		total.Tokens += p.Tokens
		total.Unknown += p.Unknown
		total.WorstUSD += p.WorstUSD
		total.WorstTokens += p.WorstTokens
	}
	return total, trials, storageError("summing what was spent", s.dir, rows.Err())
}
