package merge

import (
	"slices"

	"cabra-run/tasks/mt"
)

// reorder permutes the terms of every line, and swaps the factors of some of
// its products of two.
func (w *rewriter) reorder(lines []line) {
	for _, l := range lines {
		mt.Shuffle(w.stream, l.terms)
		for _, t := range l.terms {
			if len(t.factors) == 2 && w.stream.Random() < 0.5 {
				slices.Reverse(t.factors)
			}
		}
	}
}

// vary splits coefficients and joins like terms, a few times.
func (w *rewriter) vary(lines []line) {
	const maxSteps = 3
	for range w.stream.Between(1, maxSteps) {
		if w.stream.Random() < 0.5 {
			w.expand(lines)
		} else {
			w.collapse(lines)
		}
	}
}

// expand replaces a term by several that add up to it.
func (w *rewriter) expand(lines []line) {
	var places []place
	for i, l := range lines {
		for t := range l.terms {
			if l.terms[t].coefficient > 1 {
				places = append(places, place{i, t})
			}
		}
	}
	if len(places) == 0 {
		return
	}
	at := mt.Choice(w.stream, places)
	l := &lines[at.line]
	whole := l.terms[at.term]
	var split []term
	for _, part := range w.parts(whole.coefficient) {
		split = append(split, term{factors: slices.Clone(whole.factors), coefficient: part, negative: whole.negative})
	}
	l.terms = slices.Concat(l.terms[:at.term], split, l.terms[at.term+1:])
}

// parts returns two or three positive numbers with the given sum, which is at
// least 2.
func (w *rewriter) parts(sum int) []int {
	parts := []int{sum - 1, 1}
	if sum >= 4 {
		cuts := w.stream.Positions(sum-1, w.stream.Between(2, min(3, sum))-1)
		slices.Sort(cuts)
		parts = parts[:0]
		before := 0
		for _, cut := range append(cuts, sum-1) {
			parts = append(parts, cut+1-before)
			before = cut + 1
		}
	}
	mt.Shuffle(w.stream, parts)
	return parts
}

// collapse joins the like terms of one kind in one line.
func (w *rewriter) collapse(lines []line) {
	l := &lines[w.stream.Below(len(lines))]
	groups := slices.DeleteFunc(likeTerms(*l), func(g []int) bool { return len(g) < 2 })
	if len(groups) == 0 {
		return
	}
	group := mt.Choice(w.stream, groups)
	first := group[0]
	for _, t := range group[1:] {
		l.terms[first].coefficient += l.terms[t].coefficient
	}
	var kept []term
	for t := range l.terms {
		if t == first || !slices.Contains(group, t) {
			kept = append(kept, l.terms[t])
		}
	}
	l.terms = kept
}

// likeTerms groups the terms of a line that differ in nothing but coefficient
// and order of factors, both in first-seen order.
func likeTerms(l line) (groups [][]int) {
	var keys []term
	for t := range l.terms {
		key := term{factors: slices.Sorted(slices.Values(l.terms[t].factors)), negative: l.terms[t].negative}
		at := slices.IndexFunc(keys, func(k term) bool {
			return k.negative == key.negative && slices.Equal(k.factors, key.factors)
		})
		if at < 0 {
			at = len(keys)
			keys, groups = append(keys, key), append(groups, nil)
		}
		groups[at] = append(groups[at], t)
	}
	return groups
}

// shuffle puts the lines into a random order in which each comes behind those
// that it reads; then lines that read parameters alone come first.
func (w *rewriter) shuffle(lines []line) []line {
	waits := make([]map[int]bool, len(lines)) // targets of the block that are not there yet
	for i, l := range lines {
		waits[i] = map[int]bool{}
		for _, v := range reads(l) {
			if slices.ContainsFunc(lines, func(other line) bool { return other.target == v }) {
				waits[i][v] = true
			}
		}
	}
	placed := make([]bool, len(lines))
	var order []line
	for range lines {
		var ready []int
		for i := range lines {
			if !placed[i] && len(waits[i]) == 0 {
				ready = append(ready, i)
			}
		}
		i := mt.Choice(w.stream, ready)
		placed[i] = true
		order = append(order, lines[i])
		for k := range waits {
			delete(waits[k], lines[i].target)
		}
	}
	slices.SortStableFunc(order, func(a, b line) int { return w.rank(a) - w.rank(b) })
	return order
}

// rank is 0 for lines that read parameters alone and 1 for all others.
func (w *rewriter) rank(l line) int {
	if l.readsFrom(w.params) {
		return 1
	}
	return 0
}
