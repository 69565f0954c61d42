package refactor

import (
	"fmt"
	"sync"

	"cabra-run/tasks/callgraph"
)

// drawn holds what was drawn for the jobs of one range over the tasks, as long
// as a job may still need it. It is safe for concurrent use.
type drawn struct {
	mu     sync.Mutex
	worlds map[int64]*world
}

// world is all that comes from one seed. Refactorings and code types share the
// samples of a pair of sizes.
type world struct {
	draws   *drawCache
	streams map[sizePair]*sampleStream
	left    int // jobs that are not done
}

func newDrawn(jobs []job) *drawn {
	d := &drawn{worlds: make(map[int64]*world)}
	for _, j := range jobs {
		w := d.worlds[j.seed]
		if w == nil {
			w = &world{draws: newDrawCache(j.seed), streams: make(map[sizePair]*sampleStream)}
			d.worlds[j.seed] = w
		}
		w.left++
		sizes, _ := sizesOf(j.cell)
		if w.streams[sizes] == nil {
			w.streams[sizes] = newSampleStream(j.seed, sizes)
		}
		w.streams[sizes].left++
	}
	return d
}

// of returns what a job is made from.
func (d *drawn) of(j job) (*drawCache, *sampleStream) {
	sizes, _ := sizesOf(j.cell)
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.worlds[j.seed]
	return w.draws, w.streams[sizes]
}

// done forgets what no other job needs.
func (d *drawn) done(j job) {
	sizes, _ := sizesOf(j.cell)
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.worlds[j.seed]
	if w.streams[sizes].left--; w.streams[sizes].left == 0 {
		delete(w.streams, sizes)
	}
	if w.left--; w.left == 0 {
		delete(d.worlds, j.seed)
	}
}

// sampleStream holds the samples that were drawn so far: each depends on those
// before it.
type sampleStream struct {
	left int // jobs that are not done, guarded by drawn

	mu      sync.Mutex
	sampler *callgraph.Sampler
	drawn   []*callgraph.Sample
	err     error // why no more can be drawn
}

func newSampleStream(seed int64, sizes sizePair) *sampleStream {
	s := &sampleStream{}
	s.sampler, s.err = callgraph.NewSampler(seed, sizes.init, sizes.edit)
	return s
}

func (s *sampleStream) get(instance int) (*callgraph.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.drawn) < instance {
		if s.err != nil {
			return nil, s.err
		}
		sample, err := s.sampler.Next()
		if err != nil {
			s.err = fmt.Errorf("sample %d: %w", len(s.drawn)+1, err)
			continue
		}
		s.drawn = append(s.drawn, sample)
	}
	return s.drawn[instance-1], nil
}
