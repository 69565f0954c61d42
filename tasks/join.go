package tasks

import (
	"context"
	"iter"
)

// Join returns the tasks of all sources, one source after the other. Sources of
// Grid.Of parts, given in the order of AllAxes, yield the whole grid in its order.
func Join(sources ...Source) Source { return joined(sources) }

type joined []Source

func (j joined) Len() int {
	n := 0
	for _, s := range j {
		n += s.Len()
	}
	return n
}

func (j joined) Tasks(ctx context.Context) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		for _, s := range j {
			for t, err := range s.Tasks(ctx) {
				if !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
}
