package runner

import (
	"errors"
	"sync"

	"cabra-run/results"
)

// debts are exchanges that the store did not take when they ended, a busy
// database for one: what was paid for must not be forgotten.
type debts struct {
	mu   sync.Mutex
	list []results.Exchange
}

func (d *debts) add(e results.Exchange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, e)
}

// pay offers every exchange once more and keeps those that are not taken.
func (d *debts) pay(take func(results.Exchange) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	var left []results.Exchange
	for _, e := range d.list {
		if err := take(e); err != nil {
			errs, left = append(errs, err), append(left, e)
		}
	}
	d.list = left
	return errors.Join(errs...)
}
