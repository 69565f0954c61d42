package score

import (
	"container/list"
	"context"
	"sync"
)

// maxCacheBytes bounds what is kept of expectations.
const maxCacheBytes = 64 << 20

// cache keeps the expectations of the tasks used last. A task that several
// ask for at once is prepared once.
type cache struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List // of *entry, the last used first
	bytes int
}

// entry is one expectation, or one in the making.
type entry struct {
	key   string
	ready chan struct{} // closed when the rest is set
	value *expectation
	err   error
	bytes int
}

// maker runs the reference of a task.
type maker func(context.Context) (*expectation, error)

func newCache() *cache { return &cache{byKey: map[string]*list.Element{}} }

// get returns the expectation under key, made by make when it is not there.
// Failures are not kept.
func (c *cache) get(ctx context.Context, key string, make maker) (*expectation, error) {
	for {
		e, mine := c.claim(key)
		if mine {
			e.value, e.err = make(ctx)
			c.settle(e)
			close(e.ready)
			return e.value, e.err
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// The other's context may have ended; that says nothing about us.
		if e.err == nil {
			return e.value, nil
		}
	}
}

// claim returns the entry under key, and whether the caller has to make it.
func (c *cache) claim(key string) (e *entry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[key]; ok {
		c.order.MoveToFront(el)
		return el.Value.(*entry), false
	}
	e = &entry{key: key, ready: make(chan struct{})}
	c.byKey[key] = c.order.PushFront(e)
	return e, true
}

// settle accounts for a made entry and lets the oldest ones go.
func (c *cache) settle(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.err != nil {
		c.drop(c.byKey[e.key])
		return
	}
	e.bytes = e.value.bytes
	c.bytes += e.bytes
	for el := c.order.Back(); el != nil && c.bytes > maxCacheBytes; {
		previous := el.Prev()
		if old := el.Value.(*entry); old.bytes > 0 && old != e {
			c.drop(el)
		}
		el = previous
	}
}

func (c *cache) drop(el *list.Element) {
	e := el.Value.(*entry)
	c.order.Remove(el)
	delete(c.byKey, e.key)
	c.bytes -= e.bytes
}
