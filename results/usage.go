package results

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
