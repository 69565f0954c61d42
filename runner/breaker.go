package runner

import (
	"fmt"
	"sync"

	"cabra-run/results"
)

// breaker pauses a sweep after several failures in a row that are not the
// agent's, and at once after one that trying again cannot mend.
type breaker struct {
	limit int

	mu    sync.Mutex
	inRow int
	last  string
}

// unscored counts one trial that could not be scored, or none with nil, and
// returns why the sweep must pause, or "".
func (b *breaker) unscored(err error) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.inRow = 0
		return ""
	}
	b.inRow++
	if b.limit <= 0 || b.inRow < b.limit {
		return ""
	}
	return fmt.Sprintf("%d trials in a row could not be scored; the last one: %s", b.inRow, plainLine(err.Error()))
}

// record counts one ended attempt and returns why the sweep must pause, or "".
func (b *breaker) record(o results.Outcome, reason string, permanent bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o {
	case results.Cancelled:
		return ""
	case results.InfraError, results.ProviderError:
		b.inRow++
		b.last = reason
	default:
		b.inRow = 0
		return ""
	}
	if permanent {
		return reason
	}
	if b.limit > 0 && b.inRow >= b.limit {
		return fmt.Sprintf("%d attempts in a row failed outside of the agent; the last one: %s", b.inRow, b.last)
	}
	return ""
}
