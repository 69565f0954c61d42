package tasks

import (
	"context"
	"iter"
)

// First returns the first n tasks of a source, or all where it has fewer.
func First(s Source, n int) Source { return first{s, n} }

type first struct {
	of Source
	n  int
}

func (f first) Len() int { return min(f.n, f.of.Len()) }

func (f first) Tasks(ctx context.Context) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		left := f.n
		if left <= 0 {
			return
		}
		for t, err := range f.of.Tasks(ctx) {
			if !yield(t, err) || err != nil {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}
