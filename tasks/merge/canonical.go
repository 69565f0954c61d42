package merge

import (
	"math/big"
	"slices"

	"cabra-run/tasks/mt"
)

// canonical is the computation before it is rewritten: blocks of shared lines
// with one difference between each two of them.
type canonical struct {
	params      int
	blocks      [][]line
	differences []difference
	leaves      []int // targets whose sum is returned
}

// difference is a line that the classes do not share.
type difference struct {
	versions [2]line // of class A, which is the canonical one, and of class B
	kind     string  // how the second came from the first
}

// targets is the number of lines, differences included.
func (c *canonical) targets() int {
	n := len(c.differences)
	for _, b := range c.blocks {
		n += len(b)
	}
	return n
}

// lines returns the program in which the differences whose bits are set have
// B's version: 0 for class A, all bits for class B.
func (c *canonical) lines(versions uint) []line {
	var list []line
	for k, b := range c.blocks {
		list = append(list, b...)
		if k < len(c.differences) {
			list = append(list, c.differences[k].versions[versions>>k&1])
		}
	}
	return list
}

// drawing is a canonical program while it is being drawn.
type drawing struct {
	config config
	stream *mt.Stream
	// values holds what all variables so far are worth for the arguments 1, 2,
	// 3, …; its length is the next variable.
	values []*big.Int
}

// drawCanonical returns the program of a seed, or a rejection.
func drawCanonical(cfg config, seed int64) (*canonical, error) {
	d := &drawing{config: cfg, stream: mt.NewStream(seed)}
	for i := range cfg.params {
		d.values = append(d.values, big.NewInt(int64(i+1)))
	}
	c := &canonical{params: cfg.params}
	forced := -1
	for k, size := range d.blockSizes() {
		block := make([]line, size)
		for i := range block {
			block[i] = d.line(forced)
			d.done(block[i])
			forced = -1
		}
		c.blocks = append(c.blocks, block)
		if k == cfg.differences {
			break
		}
		diff, err := d.difference()
		if err != nil {
			return nil, err
		}
		forced = diff.versions[0].target
		d.done(diff.versions[0])
		c.differences = append(c.differences, diff)
	}
	c.leaves = unread(c.lines(0))
	return c, nil
}

// unread returns the targets that none of the lines reads, in their order.
func unread(lines []line) (targets []int) {
	read := reads(lines...)
	for _, l := range lines {
		if !slices.Contains(read, l.target) {
			targets = append(targets, l.target)
		}
	}
	return targets
}

// blockSizes deals the lines beyond the least to random blocks.
func (d *drawing) blockSizes() []int {
	sizes := make([]int, d.config.differences+1)
	for k := range sizes {
		sizes[k] = d.config.minBlock
	}
	for range d.config.shared - len(sizes)*d.config.minBlock {
		sizes[d.stream.Below(len(sizes))]++
	}
	return sizes
}

// done makes the target of a line a variable.
func (d *drawing) done(l line) { d.values = append(d.values, l.exact(d.values)) }

// signedCoefficients are the coefficients that are drawn.
func signedCoefficients() []int { return []int{-5, -4, -3, -2, -1, 1, 2, 3, 4, 5} }

// line draws the next line. It reads the forced variable; if that is negative,
// any variable that was computed before, if there is one.
func (d *drawing) line(forced int) line {
	l := line{target: len(d.values), terms: make([]term, d.stream.Between(2, 3))}
	for i := range l.terms {
		l.terms[i] = d.term()
	}
	switch {
	case forced >= 0:
		if !slices.Contains(reads(l), forced) {
			l.terms[0].factors[0] = forced
		}
	case len(d.values) > d.config.params && !l.readsFrom(d.config.params):
		d.connect(l)
	}
	return l
}

func (d *drawing) term() term {
	factors := make([]int, mt.Choice(d.stream, []int{1, 1, 2}))
	for i := range factors {
		factors[i] = d.stream.Below(len(d.values))
	}
	return signedTerm(factors, mt.Choice(d.stream, signedCoefficients()))
}

func signedTerm(factors []int, coefficient int) term {
	return term{factors: factors, coefficient: max(coefficient, -coefficient), negative: coefficient < 0}
}

// connect puts a computed variable somewhere into the line. The variable is
// drawn before its place in the term.
func (d *drawing) connect(l line) {
	t := mt.Choice(d.stream, l.terms)
	computed := d.config.params + d.stream.Below(len(d.values)-d.config.params)
	t.factors[d.stream.Below(len(t.factors))] = computed
}
