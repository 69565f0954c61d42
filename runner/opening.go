package runner

import (
	"context"
	"sync"
)

// openAtOnce is how many boxes are made at one time. An engine makes them one
// after the other anyway; a thousand orders at once would only run into their
// deadlines.
const openAtOnce = 64

// opening bounds how many attempts open their boxes at one time.
type opening struct {
	once  sync.Once
	slots chan struct{}
}

// enter waits for a slot, which leave gives back.
func (o *opening) enter(ctx context.Context) (leave func(), err error) {
	o.once.Do(func() { o.slots = make(chan struct{}, openAtOnce) })
	select {
	case o.slots <- struct{}{}:
		return func() { <-o.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
