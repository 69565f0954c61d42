package results

import "context"

// UsageTotal is a sum over exchanges that does not hide what is unknown.
type UsageTotal struct {
	// Usage holds the sums of the figures that are known. A field is nil when
	// there were exchanges and none of them tells it.
	Usage
	Exchanges int `json:"exchanges"`
	// Unknown counts the exchanges that do not tell a figure, cut answers
	// above all; where it is not 0 the sum is a lower bound.
	Unknown UsageGaps `json:"unknown"`
}

// UsageGaps counts exchanges without a figure.
type UsageGaps struct {
	Input      int `json:"input"`
	Cached     int `json:"cached"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
	Cost       int `json:"cost_usd"`
}

// Add adds another sum.
func (t *UsageTotal) Add(o UsageTotal) {
	t.Exchanges += o.Exchanges
	addFigure(&t.Input, &t.Unknown.Input, o.Input, o.Unknown.Input, t.Exchanges)
	addFigure(&t.Cached, &t.Unknown.Cached, o.Cached, o.Unknown.Cached, t.Exchanges)
	addFigure(&t.CacheWrite, &t.Unknown.CacheWrite, o.CacheWrite, o.Unknown.CacheWrite, t.Exchanges)
	addFigure(&t.Output, &t.Unknown.Output, o.Output, o.Unknown.Output, t.Exchanges)
	addFigure(&t.Reasoning, &t.Unknown.Reasoning, o.Reasoning, o.Unknown.Reasoning, t.Exchanges)
	addFigure(&t.CostUSD, &t.Unknown.Cost, o.CostUSD, o.Unknown.Cost, t.Exchanges)
}

// addFigure adds one figure and its gaps. When none of all exchanges tells it,
// the sum is unknown, even if one side had no exchanges and so a known zero.
func addFigure[T int64 | float64](sum **T, gaps *int, more *T, moreGaps, exchanges int) {
	*gaps += moreGaps
	switch {
	case exchanges > 0 && *gaps == exchanges:
		*sum = nil
	case *sum == nil:
		*sum = more
	case more != nil:
		total := **sum + *more
		*sum = &total
	}
}

// usageColumns are the books of attempts that make a UsageTotal, in the order
// of usageRow.dest; usageSums are their sums.
const (
	usageColumns = `used_exchanges, used_input, untold_input, used_cached, untold_cached,
	used_cache_write, untold_cache_write, used_output, untold_output, used_reasoning, untold_reasoning,
	used_cost_usd, untold_cost_usd`
	usageSums = `coalesce(sum(used_exchanges), 0), coalesce(sum(used_input), 0), coalesce(sum(untold_input), 0),
	coalesce(sum(used_cached), 0), coalesce(sum(untold_cached), 0),
	coalesce(sum(used_cache_write), 0), coalesce(sum(untold_cache_write), 0),
	coalesce(sum(used_output), 0), coalesce(sum(untold_output), 0),
	coalesce(sum(used_reasoning), 0), coalesce(sum(untold_reasoning), 0),
	coalesce(sum(used_cost_usd), 0), coalesce(sum(untold_cost_usd), 0)`
)

// usageRow takes usageColumns.
type usageRow struct {
	exchanges                               int
	input, cached, write, output, reasoning int64
	cost                                    float64
	gaps                                    UsageGaps
}

func (u *usageRow) dest() []any {
	return []any{&u.exchanges, &u.input, &u.gaps.Input, &u.cached, &u.gaps.Cached, &u.write, &u.gaps.CacheWrite,
		&u.output, &u.gaps.Output, &u.reasoning, &u.gaps.Reasoning, &u.cost, &u.gaps.Cost}
}

func (u *usageRow) total() UsageTotal {
	sums := &struct { // in one piece: a report reads a hundred thousand of them
		input, cached, write, output, reasoning int64
		cost                                    float64
	}{u.input, u.cached, u.write, u.output, u.reasoning, u.cost}
	return UsageTotal{Exchanges: u.exchanges, Unknown: u.gaps, Usage: Usage{
		Input:      known(&sums.input, u.gaps.Input, u.exchanges),
		Cached:     known(&sums.cached, u.gaps.Cached, u.exchanges),
		CacheWrite: known(&sums.write, u.gaps.CacheWrite, u.exchanges),
		Output:     known(&sums.output, u.gaps.Output, u.exchanges),
		Reasoning:  known(&sums.reasoning, u.gaps.Reasoning, u.exchanges),
		CostUSD:    known(&sums.cost, u.gaps.Cost, u.exchanges),
	}}
}

// known is a sum, nil when there were exchanges and none of them tells it.
// Without any exchange nothing was used.
func known[T int64 | float64](sum *T, gaps, exchanges int) *T {
	if exchanges > 0 && gaps == exchanges {
		return nil
	}
	return sum
}

// Spent is what all attempts of the run have used so far.
func (s *Store) Spent(ctx context.Context) (UsageTotal, error) {
	var sums usageRow
	err := s.read.QueryRowContext(ctx, `SELECT `+usageSums+` FROM attempts`).Scan(sums.dest()...)
	return sums.total(), storageError("summing usage", s.dir, err)
}
