package score

import (
	"context"
	"regexp"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// Places where a candidate can forget one step of a refactoring, with what it
// would then write.
var forgettable = map[tasks.Refactoring]struct {
	step *regexp.Regexp
	with string
}{
	tasks.AddParameter:  {regexp.MustCompile(`\(val, (mult|prefix)=(mult|prefix)\)`), "(val)"},
	tasks.CacheFunction: {regexp.MustCompile(`\(val, temp\)`), "(val)"},
	tasks.AddReturn:     {regexp.MustCompile(`, \w+_str\)\n`), ", 'goat')\n"},
	tasks.DontRepeat:    {regexp.MustCompile(`return (mult \*|prefix \+) `), "return "},
}

// A candidate that forgets a single step is found out, wherever the step is,
// and by its behaviour alone unless the program hides it: nine times in ten.
func TestForgottenSteps(t *testing.T) {
	grid, err := tasks.ParseGrid("axis=traversal; size=10; instances=1; task=add-parameter,cache-function,add-return,dont-repeat")
	if err != nil {
		t.Fatal(err)
	}
	src, err := refactor.NewSource(grid, refactor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := newScorer(t, 2)
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		t.Run(string(task.ID), func(t *testing.T) {
			t.Parallel()
			checkForgotten(t, s, &task)
		})
	}
}

func checkForgotten(t *testing.T, s *Scorer, task *tasks.Task) {
	text := task.Reference[tasks.SolutionFile]
	mutation := forgettable[task.Cell.Refactoring]
	places := mutation.step.FindAllStringIndex(text, -1)
	if len(places) == 0 {
		t.Fatal("nothing to forget")
	}
	hidden := 0
	for _, p := range places {
		v, err := s.Score(context.Background(), task, solution(text[:p[0]]+mutation.with+text[p[1]:]))
		if err != nil {
			t.Fatal(err)
		}
		step := text[max(p[0]-30, 0):p[1]]
		if v.Solved {
			t.Errorf("not found out: %q", step)
		}
		if !failsWith(v.Checks, "behaviour", "expected") {
			hidden++
			t.Logf("not seen in the outputs: %q", step)
		}
	}
	if 10*hidden > len(places) {
		t.Errorf("%d of %d steps are not seen in the outputs", hidden, len(places))
	}
}
