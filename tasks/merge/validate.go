package merge

import (
	"fmt"
	"math/big"
	"slices"

	"cabra-run/tasks/mt"
)

// checkReads rejects a class in which a line behind the first one reads nothing
// computed, or in which a value is used by nobody.
func checkReads(c *class, of *canonical) error {
	needed := map[int]bool{}
	for _, v := range of.leaves {
		needed[v] = true
	}
	lines := c.lines()
	for i := len(lines) - 1; i >= 0; i-- {
		if !needed[lines[i].target] {
			return rejection(fmt.Sprintf("%s is read by nobody", c.names[lines[i].target]))
		}
		if i > 0 && !lines[i].readsFrom(of.params) {
			return rejection(fmt.Sprintf("%s is computed from parameters alone", c.names[lines[i].target]))
		}
		for _, v := range reads(lines[i]) {
			needed[v] = true
		}
	}
	return nil
}

const (
	checkedVectors = 50 // beside 1, 2, 3, …
	checkedLimit   = 5  // of the absolute value of an argument
)

// checkValues rejects a problem whose classes compute the same. That a class
// computes something else than the lines that it came from is a mistake of this
// package and no rejection.
func (p *problem) checkValues() error {
	vectors := p.verifyVectors()
	common := [2][]line{p.drawn.lines(0), p.drawn.lines(p.drawn.full())}
	var results [2][]uint64
	for i, c := range p.classes {
		results[i] = p.drawn.wrapped(common[i], vectors)
		if !slices.Equal(p.drawn.wrapped(c.lines(), vectors), results[i]) {
			return fmt.Errorf("class %d computes something else than before it was rewritten", i)
		}
	}
	if different(results[0], results[1]) > 0 || p.drawn.anyDiffers(common, vectors) {
		return nil
	}
	return rejection("the classes do not differ")
}

func (p *problem) verifyVectors() [][]int {
	stream := mt.NewTextStream(fmt.Sprintf("%d-verify", p.seed))
	vectors := [][]int{counting(p.drawn.params)}
	for range checkedVectors {
		vectors = append(vectors, vector(stream, p.drawn.params, checkedLimit))
	}
	return vectors
}

// full has the bits of all differences set.
func (c *canonical) full() uint { return 1<<len(c.differences) - 1 }

// counting returns 1, 2, 3, ….
func counting(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i + 1
	}
	return v
}

func vector(stream *mt.Stream, n, limit int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = stream.Between(-limit, limit)
	}
	return v
}

// wrapped runs lines and returns the sum of the leaves for each vector, modulo
// 2^64.
func (c *canonical) wrapped(lines []line, vectors [][]int) []uint64 {
	values := make([]uint64, c.params+c.targets()+len(lines))
	sums := make([]uint64, len(vectors))
	for i, arguments := range vectors {
		for k, a := range arguments {
			values[k] = uint64(a)
		}
		for _, l := range lines {
			values[l.target] = l.wrapped(values)
		}
		for _, v := range c.leaves {
			sums[i] += values[v]
		}
	}
	return sums
}

// exact runs lines and returns the sum of the leaves.
func (c *canonical) exact(lines []line, arguments []int) *big.Int {
	values := make([]*big.Int, c.params+c.targets()+len(lines))
	for i, a := range arguments {
		values[i] = big.NewInt(int64(a))
	}
	for _, l := range lines {
		values[l.target] = l.exact(values)
	}
	sum := new(big.Int)
	for _, v := range c.leaves {
		sum.Add(sum, values[v])
	}
	return sum
}

// anyDiffers compares two programs exactly.
func (c *canonical) anyDiffers(programs [2][]line, vectors [][]int) bool {
	for _, v := range vectors {
		if c.exact(programs[0], v).Cmp(c.exact(programs[1], v)) != 0 {
			return true
		}
	}
	return false
}
