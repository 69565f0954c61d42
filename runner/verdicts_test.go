package runner_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/score"
	"cabra-run/tasks"
)

// twoScorer gives both verdicts, the official one always "solved", so that they
// differ; the verdicts in broken fail. It remembers what it was asked for.
type twoScorer struct {
	mu     sync.Mutex
	broken map[string]error
	asked  []string
}

func (s *twoScorer) ScoreBy(ctx context.Context, t *tasks.Task, code tasks.Files, names ...string) ([]results.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.Join(names, "+"))
	given, err := equal{}.ScoreBy(ctx, t, code, names...)
	var errs []error
	for name, broken := range s.broken {
		given = slices.DeleteFunc(given, func(v results.Verdict) bool { return v.Scorer == name })
		if slices.Contains(names, name) {
			errs = append(errs, broken)
		}
	}
	for i := range given {
		if given[i].Scorer == score.Official {
			given[i].Solved = true
		}
	}
	return given, errors.Join(append(errs, err)...)
}

func (s *twoScorer) times(names string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.asked {
		if a == names {
			n++
		}
	}
	return n
}

// makeTwo makes the toy's run, whose lock names both verdicts.
func makeTwo(t *testing.T, dir string) {
	t.Helper()
	store, err := results.Create(dir, results.Lock{Run: "toy", Retry: results.DefaultRetry(),
		Scorer: results.Scorer{Verdicts: score.Verdicts(), Versions: map[string]string{"strict": "toy", "official": "toy"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// verdicts counts the verdicts of the run as "strict 10 official 10".
func (r *rig) verdicts(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range tr.Verdicts {
			counts[v.Scorer]++
			if v.Solved {
				counts[v.Scorer+" solved"]++
			}
		}
	}
	return counts
}

func wantVerdicts(t *testing.T, r *rig, strict, strictSolved, official int) {
	t.Helper()
	got := r.verdicts(t)
	if got["strict"] != strict || got["strict solved"] != strictSolved || got["official"] != official || got["official solved"] != official {
		t.Errorf("verdicts %v, want %d strict with %d solved, %d official", got, strict, strictSolved, official)
	}
}

// Every trial gets both verdicts in one go, and words go by the strict one.
func TestSweepGivesBothVerdicts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	makeTwo(t, dir)
	r := newRig(t, dir)
	s := &twoScorer{}
	r.sweep.Scorer = s
	if sum := r.run(t); sum.Done != 10 {
		t.Errorf("summary %+v", sum)
	}
	wantVerdicts(t, r, 10, 5, 10)
	wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
	if n := s.times("strict+official"); n != 10 || len(s.asked) != 10 {
		t.Errorf("asked %v", s.asked)
	}
}

// A verdict that cannot be given loses no other: the one that was given stays
// as it is, and a resume asks for the missing one alone, on the same code.
func TestResumeGivesTheMissingVerdict(t *testing.T) {
	for broken, have := range map[string]string{score.Official: score.Strict, score.Strict: score.Official} {
		t.Run(broken+" fails", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			makeTwo(t, dir)
			r := newRig(t, dir)
			s := &twoScorer{broken: map[string]error{broken: errors.New("no scorer box")}}
			r.sweep.Scorer = s
			sum := r.run(t)
			if sum.Done != 0 || sum.Pending != 10 {
				t.Errorf("summary %+v", sum)
			}
			if got := r.verdicts(t); got[have] != 10 || got[broken] != 0 {
				t.Errorf("verdicts %v", got)
			}
			// Asked for both once, then again for what is missing alone.
			retries := results.DefaultRetry().Infra
			if s.times("strict+official") != 10 || s.times(broken) != 10*retries {
				t.Errorf("asked %d times for both, %d times for %s", s.times("strict+official"), s.times(broken), broken)
			}
			if err := r.store.Close(); err != nil {
				t.Fatal(err)
			}
			again := newRig(t, dir)
			whole := &twoScorer{}
			again.sweep.Scorer = whole
			if sum := again.run(t); sum.Done != 10 || again.model.calls != 0 {
				t.Errorf("summary %+v, %d model calls", sum, again.model.calls)
			}
			wantVerdicts(t, again, 10, 5, 10)
			if whole.times(broken) != 10 || len(whole.asked) != 10 {
				t.Errorf("asked %v", whole.asked)
			}
		})
	}
}

// A task that can judge nobody is not asked about again and again.
func TestDefectiveTaskIsAskedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	makeTwo(t, dir)
	r := newRig(t, dir)
	s := &twoScorer{broken: map[string]error{score.Official: &score.TaskDefect{Task: "x", Reason: "its reference"}}}
	r.sweep.Scorer = s
	r.run(t)
	if len(s.asked) != 10 {
		t.Errorf("asked %v", s.asked)
	}
	wantVerdicts(t, r, 10, 5, 0)
	said := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == runner.Notice && strings.HasPrefix(e.Reason, "only the strict verdict was given") {
			said++
		}
	}
	if said != 10 {
		t.Errorf("said %d times", said)
	}
}

// A run of before there were two verdicts needs one; what is finished now gets
// both, and what was finished before is left as it is.
func TestResumeOfRunWithOneVerdict(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, dir) // its lock names strict alone
	r.run(t)
	wantVerdicts(t, r, 10, 5, 0)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, dir)
	s := &twoScorer{}
	again.sweep.Scorer, again.sweep.Verdicts = s, score.Verdicts()
	if sum := again.run(t); sum.Done != 10 || len(s.asked) != 0 {
		t.Errorf("summary %+v, asked %v", sum, s.asked)
	}
	other := newRig(t, filepath.Join(t.TempDir(), "other"))
	other.sweep.Scorer, other.sweep.Verdicts = &twoScorer{}, score.Verdicts()
	other.run(t)
	wantVerdicts(t, other, 10, 5, 10)
}
