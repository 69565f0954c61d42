package merge

import (
	"slices"

	"cabra-run/tasks/mt"
)

const (
	maxMergedTerms    = 16 // of a line into which another one was put
	maxDecompositions = 3
	maxSubsets        = 8 // tries for the terms of a new line
)

// inline puts some lines into the only place that reads them.
func (w *rewriter) inline(lines []line, live map[int]bool) []line {
	for range w.stream.Between(1, len(lines)) {
		order := make([]int, len(lines))
		for i := range order {
			order[i] = i
		}
		mt.Shuffle(w.stream, order)
		at := slices.IndexFunc(order, func(i int) bool { _, ok := w.consumer(lines, i, live); return ok })
		if at < 0 {
			return lines
		}
		i := order[at]
		use, _ := w.consumer(lines, i, live)
		distribute(&lines[use.line], use.term, lines[i])
		lines = slices.Delete(lines, i, i+1)
	}
	return lines
}

// place is a term of a line.
type place struct{ line, term int }

// consumer returns the term that a line can be put into: the only one that
// reads its target, once, in a later line that does not get too long.
func (w *rewriter) consumer(lines []line, i int, live map[int]bool) (use place, ok bool) {
	source := lines[i]
	if live[source.target] || !source.readsFrom(w.params) {
		return place{}, false
	}
	count := 0
	for k, l := range lines {
		for t := range l.terms {
			for _, v := range l.terms[t].factors {
				if v == source.target {
					use = place{k, t}
					count++
				}
			}
		}
	}
	fits := count == 1 && len(lines[use.line].terms)-1+len(source.terms) <= maxMergedTerms
	return use, fits && use.line > i
}

// distribute replaces the variable of the source in a term by the source's sum.
func distribute(l *line, at int, source line) {
	outer := l.terms[at]
	rest := slices.DeleteFunc(slices.Clone(outer.factors), func(v int) bool { return v == source.target })
	products := make([]term, len(source.terms))
	for i, inner := range source.terms {
		products[i] = term{
			factors:     slices.Concat(rest, inner.factors),
			coefficient: outer.coefficient * inner.coefficient,
			negative:    outer.negative != inner.negative,
		}
	}
	l.terms = slices.Concat(l.terms[:at], products, l.terms[at+1:])
}

// decompose moves some terms of long lines to new lines in front of them.
func (w *rewriter) decompose(lines []line) []line {
	for range w.stream.Between(1, maxDecompositions) {
		var long []int
		for i, l := range lines {
			if len(l.terms) >= 3 && l.readsFrom(w.params) {
				long = append(long, i)
			}
		}
		if len(long) == 0 {
			continue
		}
		i := mt.Choice(w.stream, long)
		moved, ok := w.subset(lines[i])
		if !ok {
			continue
		}
		front := line{target: w.temporary()}
		var rest []term
		for t, moving := range lines[i].terms {
			if slices.Contains(moved, t) {
				front.terms = append(front.terms, moving)
			} else {
				rest = append(rest, moving)
			}
		}
		lines[i].terms = append(rest, term{factors: []int{front.target}, coefficient: 1})
		lines = slices.Insert(lines, i, front)
	}
	return lines
}

// subset draws two or more but not all terms of a line, of which one reads
// something computed.
func (w *rewriter) subset(l line) (terms []int, ok bool) {
	for range maxSubsets {
		size := w.stream.Between(2, len(l.terms)-1)
		terms = w.stream.Positions(len(l.terms), size)
		slices.Sort(terms)
		if slices.ContainsFunc(terms, func(t int) bool { return l.terms[t].readsFrom(w.params) }) {
			return terms, true
		}
	}
	return nil, false
}
