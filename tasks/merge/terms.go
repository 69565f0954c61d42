package merge

import (
	"math/big"
	"slices"
)

// A variable is a number here: the parameters come first, then the targets in
// program order, then the temporaries of one class.

// term is a product of variables and a coefficient of at least 1.
type term struct {
	factors     []int
	coefficient int
	negative    bool
}

// signed returns the coefficient with the sign.
func (t term) signed() int {
	if t.negative {
		return -t.coefficient
	}
	return t.coefficient
}

// line assigns a sum of terms to its target.
type line struct {
	target int
	terms  []term
}

func (l line) clone() line {
	terms := slices.Clone(l.terms)
	for i := range terms {
		terms[i].factors = slices.Clone(terms[i].factors)
	}
	return line{l.target, terms}
}

// reads returns the variables that the lines read, in the order of their first
// use.
func reads(lines ...line) []int {
	var read []int
	for _, l := range lines {
		for _, t := range l.terms {
			for _, v := range t.factors {
				if !slices.Contains(read, v) {
					read = append(read, v)
				}
			}
		}
	}
	return read
}

// readsFrom reports whether the line reads a variable of at least the given
// number: with the number of parameters, whether it reads anything computed.
func (l line) readsFrom(first int) bool {
	return slices.ContainsFunc(l.terms, func(t term) bool { return t.readsFrom(first) })
}

func (t term) readsFrom(first int) bool {
	return slices.ContainsFunc(t.factors, func(v int) bool { return v >= first })
}

// operators is the number of operators that Python sees in the expression.
func (l line) operators() int {
	n := len(l.terms) - 1
	if l.terms[0].negative {
		n++
	}
	for _, t := range l.terms {
		n += len(t.factors) - 1
		if t.coefficient > 1 {
			n++
		}
	}
	return n
}

// exact evaluates the line for the values of all variables that it reads.
func (l line) exact(values []*big.Int) *big.Int {
	sum := new(big.Int)
	for _, t := range l.terms {
		product := big.NewInt(int64(t.signed()))
		for _, v := range t.factors {
			product.Mul(product, values[v])
		}
		sum.Add(sum, product)
	}
	return sum
}

// wrapped evaluates the line modulo 2^64. Where two of these values differ, so
// do the exact ones.
func (l line) wrapped(values []uint64) uint64 {
	var sum uint64
	for _, t := range l.terms {
		product := uint64(t.signed())
		for _, v := range t.factors {
			product *= values[v]
		}
		sum += product
	}
	return sum
}
