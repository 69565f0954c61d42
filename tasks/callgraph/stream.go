package callgraph

import "cabra-run/tasks/mt"

// Stream is the source of random numbers of everything that is drawn here.
type Stream = mt.Stream

// NewStream returns the stream of an integer seed.
func NewStream(seed int64) *Stream { return mt.NewStream(seed) }

// NewTextStream returns the stream of a text seed.
func NewTextStream(seed string) *Stream { return mt.NewTextStream(seed) }

// NewRealStream returns the stream of a real seed in [0, 1), a multiple of 2^-53.
func NewRealStream(seed float64) *Stream { return mt.NewRealStream(seed) }

// Choice returns one of the items, of which there must be at least one.
func Choice[T any](s *Stream, items []T) T { return mt.Choice(s, items) }

// Shuffle permutes the items in place.
func Shuffle[T any](s *Stream, items []T) { mt.Shuffle(s, items) }

// Choose returns k items at different positions in the order of drawing.
func Choose[T any](s *Stream, items []T, k int) []T { return mt.Choose(s, items, k) }
