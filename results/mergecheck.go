package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// MergeError says that runs are not the shards of one run.
type MergeError struct {
	Problems []string
	// Differences is set when the shards were made under different locks, and
	// nothing else is wrong.
	Differences []Difference
}

func (e *MergeError) Error() string {
	if len(e.Problems) > 0 {
		return "these are not the shards of one run: " + strings.Join(e.Problems, "; ")
	}
	list := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		list[i] = d.String()
	}
	return "the shards were made under different locks: " + strings.Join(list, "; ")
}

// Hint says what to do about it.
func (e *MergeError) Hint() string {
	if len(e.Problems) > 0 {
		return "name every shard of one run once"
	}
	return "run the shard that differs again, or unite them all the same with --allow-drift, which records the differences"
}

// UnfinishedError says that shards have trials that are not done.
type UnfinishedError struct {
	Shards []UnfinishedShard
}

// UnfinishedShard is a shard with what is left to do in it.
type UnfinishedShard struct {
	Dir   string
	Shard Shard
	Counts
}

func (e *UnfinishedError) Error() string {
	var list []string
	for _, s := range e.Shards {
		list = append(list, fmt.Sprintf("%s (%s) has %d pending, %d running and %d not scored",
			s.Dir, s.Shard, s.Pending, s.Running, s.Unscored))
	}
	return "not all shards are finished: " + strings.Join(list, "; ")
}

// Hint says what to do about it.
func (e *UnfinishedError) Hint() string {
	return "finish them with resume, or unite what there is with --partial and resume the merged run"
}

// shard is a run that is merged, with a lock that keeps writers away.
type shard struct {
	*Store
	held *os.File // nil where the run has no lock file
}

// openShard opens a run that nobody writes.
func openShard(ctx context.Context, dir string) (*shard, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := looksLikeRun(dir); err != nil {
		return nil, storageError("opening a shard", dir, err)
	}
	s, err := Open(dir, ReadOnly) // may bring an old run to the present schema, so before the lock
	if err != nil {
		return nil, err
	}
	held, err := holdShared(filepath.Join(dir, flockOn), dir)
	if err != nil {
		return nil, storageError("opening a shard", dir, errors.Join(err, s.Close()))
	}
	return &shard{Store: s, held: held}, nil
}

// holdShared keeps writers away as long as the file is open.
func holdShared(path, dir string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &LockedError{Dir: dir, PID: lockOwner(f)}
	} else if err != nil {
		err = lockFailure(dir, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (s *shard) close() error {
	err := s.Store.Close()
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	return err
}

// check makes sure that the shards are those of one plan, and finished. It
// brings them into the order of their index.
func (m *merge) check(ctx context.Context) error {
	slices.SortStableFunc(m.shards, func(a, b *shard) int { return a.lock.Shard.Index - b.lock.Shard.Index })
	if problems := shardProblems(m.shards); len(problems) > 0 {
		return &MergeError{Problems: problems}
	}
	for _, s := range m.shards[1:] {
		m.drift = append(m.drift, shardDiff(m.shards[0].lock, s.lock)...)
	}
	if len(m.drift) > 0 && !m.opts.AllowDrift {
		return &MergeError{Differences: m.drift}
	}
	return m.checkFinished(ctx)
}

// shardProblems says why runs are not all shards of one run, each once.
func shardProblems(shards []*shard) []string {
	if len(shards) == 0 {
		return []string{"none is named"}
	}
	var problems []string
	count := 0
	seen := map[int]string{}
	for _, s := range shards {
		part := s.lock.Shard
		switch {
		case part.Count <= 1:
			problems = append(problems, fmt.Sprintf("%s is a whole run", s.dir))
			continue
		case count != 0 && part.Count != count:
			problems = append(problems, fmt.Sprintf("%s is shard %s, others are of %d", s.dir, part, count))
			continue
		case seen[part.Index] != "":
			problems = append(problems, fmt.Sprintf("%s and %s are both shard %s", seen[part.Index], s.dir, part))
		}
		count, seen[part.Index] = part.Count, s.dir
	}
	for i := 1; i <= count; i++ {
		if seen[i] == "" {
			problems = append(problems, fmt.Sprintf("shard %d/%d is missing", i, count))
		}
	}
	return problems
}

// ofMachine are the facts in which shards may differ: where they ran.
var ofMachine = []string{"shard", "host architecture", "engine", "engine transport"}

// shardDiff lists in what a shard's lock differs from the first one's.
func shardDiff(first, other Lock) []Difference {
	var diffs []Difference
	for _, d := range append(first.Diff(other), diffOf(first.rules(), other.rules())...) {
		if slices.Contains(ofMachine, d.Field) {
			continue
		}
		d.Field += fmt.Sprintf(" (shard %s)", other.Shard)
		diffs = append(diffs, d)
	}
	return diffs
}

func (m *merge) checkFinished(ctx context.Context) error {
	var unfinished UnfinishedError
	for _, s := range m.shards {
		c, err := s.Counts(ctx)
		if err != nil {
			return err
		}
		if c.Done < c.Planned {
			unfinished.Shards = append(unfinished.Shards, UnfinishedShard{Dir: s.dir, Shard: s.lock.Shard, Counts: c})
		}
	}
	if len(unfinished.Shards) > 0 && !m.opts.Partial {
		return &unfinished
	}
	return m.checkPlans(ctx)
}

// checkPlans makes sure that each trial of the plan is in one shard, the one it
// belongs to.
func (m *merge) checkPlans(ctx context.Context) error {
	seen := map[int]bool{}
	last := -1
	for _, s := range m.shards {
		trials, err := s.Trials(ctx)
		if err != nil {
			return err
		}
		for _, t := range trials {
			if seen[t.Seq] || !s.lock.Shard.Has(t.Seq) {
				return &MergeError{Problems: []string{fmt.Sprintf("trial %s at place %d of the plan is not one of shard %s (%s)",
					t.TaskID, t.Seq, s.lock.Shard, s.dir)}}
			}
			seen[t.Seq], last = true, max(last, t.Seq)
		}
	}
	whole := m.shards[0].lock.Origin == nil // a rerun may be of some trials only
	for seq := range last {
		if whole && !seen[seq] {
			return &MergeError{Problems: []string{fmt.Sprintf("no shard has the trial at place %d of the plan", seq)}}
		}
	}
	return nil
}
