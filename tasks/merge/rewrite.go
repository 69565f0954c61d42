package merge

import (
	"fmt"
	"slices"

	"cabra-run/tasks/mt"
	"cabra-run/tasks/program"
)

// class is one of the two rewritten programs.
type class struct {
	names  []string // of all variables, temporaries included
	groups [][]line // blocks and differences in turn
}

func (c *class) lines() []line { return slices.Concat(c.groups...) }

// rewriter rewrites the blocks of one class.
type rewriter struct {
	config config
	stream *mt.Stream
	params int // variables below are parameters
	// pool holds names that are free; names those of the variables so far.
	pool  []string
	names []string
}

// rewrite returns class A for 0, class B for 1. Differences are taken as they
// are; what is rewritten stays in its block.
func rewrite(c *canonical, cfg config, seed int64, index int) *class {
	w := &rewriter{config: cfg, params: c.params,
		stream: mt.NewTextStream(fmt.Sprintf("%d-class%d", seed, index))}
	w.deal(c)
	var groups [][]line
	for k, block := range c.blocks {
		groups = append(groups, w.block(block, c.liveOut(k)))
		if k < len(c.differences) {
			groups = append(groups, []line{c.differences[k].versions[index]})
		}
	}
	return &class{names: w.names, groups: groups}
}

// canonicalNames returns a, b, … for the parameters and m01, m02, … for the
// targets.
func canonicalNames(params, targets int) []string {
	names := make([]string, 0, params+targets)
	for i := range params {
		names = append(names, string(rune('a'+i)))
	}
	for i := range targets {
		names = append(names, fmt.Sprintf("m%02d", i+1))
	}
	return names
}

// deal shuffles the pool of names and sets some aside for parameters and
// targets, which get them if that is allowed. The names that they had are given
// to nobody.
func (w *rewriter) deal(c *canonical) {
	old := canonicalNames(c.params, c.targets())
	temporaries := 3 * len(c.blocks)
	w.pool = program.SymbolicNames(len(old) + temporaries + len(old))
	mt.Shuffle(w.stream, w.pool)
	w.pool = slices.DeleteFunc(w.pool, func(name string) bool { return slices.Contains(old, name) })
	w.names, w.pool = slices.Clone(w.pool[:len(old)]), w.pool[len(old):]
	if !w.config.allows(renameVariables) {
		w.names = old
	}
}

// temporary returns a new variable.
func (w *rewriter) temporary() int {
	w.names, w.pool = append(w.names, w.pool[0]), w.pool[1:]
	return len(w.names) - 1
}

// block applies the allowed transformations in their order.
func (w *rewriter) block(shared []line, live map[int]bool) []line {
	lines := make([]line, len(shared))
	for i := range shared {
		lines[i] = shared[i].clone()
	}
	if w.config.allows(multiLines) {
		lines = w.inline(lines, live)
		lines = w.decompose(lines)
	}
	if w.config.allows(reorder) {
		w.reorder(lines)
	}
	if w.config.allows(logicalEquiv) {
		w.vary(lines)
	}
	if w.config.allows(shuffleLines) {
		lines = w.shuffle(lines)
	}
	return lines
}

// liveOut returns the targets of a block that are returned or read by a later
// block or by either version of a later difference.
func (c *canonical) liveOut(block int) map[int]bool {
	live := map[int]bool{}
	for _, v := range c.leaves {
		live[v] = true
	}
	for k := block; k < len(c.blocks); k++ {
		if k > block {
			for _, v := range reads(c.blocks[k]...) {
				live[v] = true
			}
		}
		if k < len(c.differences) {
			for _, v := range reads(c.differences[k].versions[:]...) {
				live[v] = true
			}
		}
	}
	return live
}
