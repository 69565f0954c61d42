package merge

import (
	"fmt"

	"cabra-run/tasks/mt"
)

const (
	strictVectors = 50 // of the strict verdict
	nearVectors   = 25 // of these with small arguments, among them 1, 2, 3, …
	farLimit      = 99 // of the absolute value of the other arguments
	leastDiffer   = 10 // vectors on which the classes differ
	vectorTries   = 8
)

// strictVectors draws arguments that tell the classes apart, and either class
// from every mixture of their differing lines.
func (c *canonical) strictVectors(seed int64) ([][]int, error) {
	for try := range vectorTries {
		stream := mt.NewTextStream(fmt.Sprintf("%d-strict-%d", seed, try))
		vectors := [][]int{counting(c.params)}
		for len(vectors) < strictVectors {
			limit := checkedLimit
			if len(vectors) >= nearVectors {
				limit = farLimit
			}
			vectors = append(vectors, vector(stream, c.params, limit))
		}
		if c.toldApart(vectors) {
			return vectors, nil
		}
	}
	return nil, rejection("not every difference can be seen")
}

// toldApart reports whether the vectors are good enough: a value modulo 2^64
// that differs proves that the exact one does.
func (c *canonical) toldApart(vectors [][]int) bool {
	full := c.full()
	results := make([][]uint64, full+1)
	for versions := range results {
		results[versions] = c.wrapped(c.lines(uint(versions)), vectors)
	}
	if different(results[0], results[full]) < leastDiffer {
		return false
	}
	for versions := uint(1); versions < full; versions++ {
		if different(results[versions], results[0]) == 0 || different(results[versions], results[full]) == 0 {
			return false
		}
	}
	return true
}

func different(a, b []uint64) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
