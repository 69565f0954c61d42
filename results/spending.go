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

// untold holds for a request whose tokens are unknown: nobody told them, or its
// answer broke off and what had been told by then is not all. One that has a
// cost was whole.
const untold = `(e.input IS NULL OR e.output IS NULL
	OR e.cost_usd IS NULL AND NOT e.complete AND e.status BETWEEN 200 AND 299)`

// spendingQuery adds up per trial. A request that told its tokens but has no
// price costs nothing in money and its tokens in tokens, as in the gateway.
const spendingQuery = `SELECT t.key,
	coalesce(sum(e.cost_usd), 0),
	coalesce(sum(CASE WHEN NOT ` + untold + ` THEN e.input + e.output END), 0),
	sum(e.cost_usd IS NULL AND (e.worst_usd IS NOT NULL OR ` + untold + `)),
	coalesce(sum(CASE WHEN e.cost_usd IS NULL THEN e.worst_usd END), 0),
	coalesce(sum(CASE WHEN ` + untold + ` THEN e.worst_tokens END), 0)
	FROM exchanges e JOIN trials t ON t.id = e.trial_id GROUP BY t.id`

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
