package score

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Stage is what the jobs of one kind took so far. CPU is that of the processes
// that did the jobs, Evaluated the part of it that Python spent in functions of
// programs, and Wall goes from asking for a worker to the answer. What is in
// none of them is ours: drawing, comparing, and the rules.
type Stage struct {
	Role      string        `json:"role"` // of the worker: parser, reference, candidate
	Kind      string        `json:"kind"` // of the job: parse, run, classes, official
	Jobs      int           `json:"jobs"`
	Wall      time.Duration `json:"wall_ns"`
	CPU       time.Duration `json:"cpu_ns"`
	Evaluated time.Duration `json:"evaluated_ns"`
}

// usage adds up what jobs took.
type usage struct {
	mu     sync.Mutex
	stages map[[2]string]Stage
}

func (u *usage) add(s Stage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stages == nil {
		u.stages = map[[2]string]Stage{}
	}
	key := [2]string{s.Role, s.Kind}
	u.stages[key] = s.plus(u.stages[key])
}

func (s Stage) plus(o Stage) Stage {
	s.Jobs += o.Jobs
	s.Wall += o.Wall
	s.CPU += o.CPU
	s.Evaluated += o.Evaluated
	return s
}

// Usage returns what the jobs of this scorer took so far, sorted by role and kind.
func (s *Scorer) Usage() []Stage {
	return s.usage.sorted()
}

func (u *usage) sorted() []Stage {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []Stage
	for _, stage := range u.stages {
		out = append(out, stage)
	}
	slices.SortFunc(out, func(a, b Stage) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// job is anything that a worker does.
type job interface{ kind() string }

func (j runJob) kind() string      { return j.Op }
func (j officialJob) kind() string { return j.Op }
func (j parseJob) kind() string    { return j.Op }

// ask has a job done by a worker of a role and notes what it took.
func (s *Scorer) ask(ctx context.Context, r role, j job, limits wireLimits) (jobReply, error) {
	began := time.Now()
	reply, err := s.pools[r].run(ctx, j, limits)
	cpu := time.Duration(reply.CPU * float64(time.Second))
	s.usage.add(Stage{
		Role: string(r), Kind: j.kind(), Jobs: 1, Wall: time.Since(began), CPU: cpu,
		Evaluated: time.Duration(min(reply.Evaluated, uint64(max(cpu, 0)))),
	})
	return reply, err
}

// since returns what was added to stages.
func since(before, after []Stage) []Stage {
	u := usage{}
	for _, s := range after {
		u.add(s)
	}
	for _, s := range before {
		u.add(Stage{s.Role, s.Kind, -s.Jobs, -s.Wall, -s.CPU, -s.Evaluated})
	}
	return u.sorted()
}
