package tasks

import (
	"context"
	"iter"
	"sync"
)

// Head is what identifies a task, without its texts.
type Head struct {
	ID                      ID
	Cell                    Cell
	Instance                int
	SampleID                string
	Digest, StatementDigest string
}

func headOf(t *Task) Head {
	return Head{ID: t.ID, Cell: t.Cell, Instance: t.Instance, SampleID: t.SampleID,
		Digest: t.Digest(), StatementDigest: t.StatementDigest()}
}

// Remembered returns s with a memory: once its tasks were ranged over to their
// end, Heads does not generate them again.
func Remembered(s Source) Source { return &remembered{Source: s} }

type remembered struct {
	Source

	mu    sync.Mutex
	heads []Head // nil before the first whole pass
}

func (r *remembered) Tasks(ctx context.Context) iter.Seq2[Task, error] {
	if r.known() != nil {
		return r.Source.Tasks(ctx)
	}
	return func(yield func(Task, error) bool) {
		heads := make([]Head, 0, r.Len())
		for t, err := range r.Source.Tasks(ctx) {
			if err == nil {
				heads = append(heads, headOf(&t))
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heads = heads
	}
}

func (r *remembered) known() []Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heads
}

// Heads yields the heads of a source's tasks in their order, from memory where
// the source has one, else by generating the tasks.
func Heads(ctx context.Context, s Source) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		if r, ok := s.(*remembered); ok {
			if known := r.known(); known != nil {
				for _, h := range known {
					if !yield(h, nil) {
						return
					}
				}
				return
			}
		}
		for t, err := range s.Tasks(ctx) {
			if err != nil {
				yield(Head{}, err)
				return
			}
			if !yield(headOf(&t), nil) {
				return
			}
		}
	}
}
