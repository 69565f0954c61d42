package merge

import (
	"errors"
	"fmt"
	"math"

	"cabra-run/tasks"
)

// rejection says why nothing can be made from a seed; the next one is tried.
type rejection string

// Error names the reason.
func (r rejection) Error() string { return string(r) }

// problem is what a seed yields.
type problem struct {
	seed    int64
	drawn   *canonical
	classes [2]*class
	vectors [][]int
}

// draw draws the problem of one seed as the published generator does. The error
// is a rejection where that rejects the seed.
func draw(cfg config, seed int64) (*problem, error) {
	drawn, err := drawCanonical(cfg, seed)
	if err != nil {
		return nil, err
	}
	p := &problem{seed: seed, drawn: drawn}
	for i := range p.classes {
		p.classes[i] = rewrite(drawn, cfg, seed, i)
		if err := checkReads(p.classes[i], drawn); err != nil {
			return nil, err
		}
	}
	return p, p.checkValues()
}

// drawStrict is draw for tasks. Beyond the published generator it rejects seeds
// for which the reference is not the shortest solution, because a difference
// has no effect or none without another one.
func drawStrict(cfg config, seed int64) (*problem, error) {
	p, err := draw(cfg, seed)
	if err != nil {
		return nil, err
	}
	p.vectors, err = p.drawn.strictVectors(seed)
	return p, err
}

// maxSeeds is how many seeds are tried for the tasks of a cell.
const maxSeeds = 100

// maxSeed leaves room for those behind the first one.
const maxSeed = math.MaxInt64 - maxSeeds

// problems draws the problems of seeds that are of use, from the given one on,
// until yield returns false. The error says that there were not enough.
func problems(cfg config, first int64, yield func(*problem) bool) error {
	found := 0
	for seed := first; seed < first+maxSeeds; seed++ {
		p, err := drawStrict(cfg, seed)
		if r := rejection(""); errors.As(err, &r) {
			continue
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		found++
		if !yield(p) {
			return nil
		}
	}
	return fmt.Errorf("the seeds %d to %d yield no more than %d tasks", first, first+maxSeeds-1, found)
}

func (p *problem) starter() string {
	return starterText(p.classes[0].method(p.drawn), p.classes[1].method(p.drawn))
}

func (p *problem) check(cfg config) tasks.Check {
	m := &tasks.MergeCheck{Seed: p.seed, Params: cfg.params, Transforms: cfg.transforms, Vectors: p.vectors}
	for i, c := range p.classes {
		for _, group := range c.groups {
			m.Groups[i] = append(m.Groups[i], len(group))
		}
	}
	names := canonicalNames(p.drawn.params, p.drawn.targets())
	for _, d := range p.drawn.differences {
		a, b := d.versions[0], d.versions[1]
		m.Differences = append(m.Differences, tasks.MergeDifference{
			Target:    names[a.target],
			Kind:      d.kind,
			Arguments: named(reads(a, b), names),
			A:         expression(a, names),
			B:         expression(b, names),
			Operators: max(a.operators(), b.operators()),
		})
	}
	return tasks.Check{Kind: tasks.MergeKind, Merge: m}
}
