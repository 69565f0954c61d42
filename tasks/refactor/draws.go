package refactor

import (
	"strconv"
	"sync"

	"cabra-run/tasks/callgraph"
)

// operatorKey is all that the draws for a function depend on, beside the seed:
// its name, the number of its operators and the size of their bank.
type operatorKey struct {
	name        string
	count, bank int
}

// guardKey is all that a guard depends on, beside the seed.
type guardKey struct {
	operatorKey
	steps int
}

// drawCache remembers what was drawn for functions: making a stream costs more
// than all else about a function, and programs share names. It is safe for
// concurrent use.
type drawCache struct {
	seed   int64
	mu     sync.Mutex
	drawn  map[operatorKey][]int
	guards map[guardKey]guard
}

func newDrawCache(seed int64) *drawCache {
	return &drawCache{seed: seed, drawn: make(map[operatorKey][]int), guards: make(map[guardKey]guard)}
}

// operators returns positions in the bank.
func (c *drawCache) operators(key operatorKey) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	indexes, ok := c.drawn[key]
	if !ok {
		_, indexes = c.stream(key)
		c.drawn[key] = indexes
	}
	return indexes
}

// guard returns the guard of a function, which is drawn behind its operators.
func (c *drawCache) guard(key operatorKey, steps int) guard {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.guards[guardKey{key, steps}]
	if !ok {
		stream, _ := c.stream(key)
		g = drawGuard(stream, steps)
		c.guards[guardKey{key, steps}] = g
	}
	return g
}

// stream returns the stream of a function behind its operators, and these.
func (c *drawCache) stream(key operatorKey) (*callgraph.Stream, []int) {
	stream := callgraph.NewTextStream(strconv.FormatInt(c.seed, 10) + ":" + key.name)
	indexes := make([]int, key.count)
	for i := range indexes {
		indexes[i] = stream.Below(key.bank)
	}
	return stream, indexes
}
