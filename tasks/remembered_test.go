package tasks_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"cabra-run/tasks"
)

// counted is a source of three tasks that counts how many it has made.
type counted struct {
	made int
	fail bool
}

func (c *counted) Len() int { return 3 }

func (c *counted) Tasks(context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for i := range 3 {
			c.made++
			t := tasks.Task{ID: tasks.ID("t" + string(rune('0'+i))), Instance: i + 1, Statement: "do it",
				Starter: tasks.Files{"solution.py": "x"}}
			if !yield(t, nil) {
				return
			}
		}
		if c.fail {
			yield(tasks.Task{}, errors.New("broken"))
		}
	}
}

func heads(t *testing.T, s tasks.Source) []tasks.Head {
	t.Helper()
	var all []tasks.Head
	for h, err := range tasks.Heads(context.Background(), s) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

func TestRememberedGeneratesOnce(t *testing.T) {
	c := &counted{}
	s := tasks.Remembered(c)
	set, statements, err := tasks.SetDigest(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	first, plain := heads(t, s), heads(t, &counted{})
	if c.made != 3 {
		t.Errorf("%d tasks were generated for the digest and the heads, want 3", c.made)
	}
	if !slices.Equal(first, plain) || len(first) != 3 || first[1].ID != "t1" || first[1].Instance != 2 {
		t.Errorf("remembered %v, generated %v", first, plain)
	}
	if again, text, err := tasks.SetDigest(context.Background(), &counted{}); again != set || text != statements || err != nil {
		t.Errorf("digests %s %s of the remembered source, %s %s of the plain one, %v", set, statements, again, text, err)
	}
}

// What was not ranged over to its end is not remembered.
func TestRememberedForgetsWhatWasCutShort(t *testing.T) {
	c := &counted{}
	s := tasks.Remembered(c)
	for range s.Tasks(context.Background()) {
		break
	}
	if got := heads(t, s); len(got) != 3 {
		t.Errorf("%d heads after a pass that was cut short, want 3", len(got))
	}
	broken := tasks.Remembered(&counted{fail: true})
	for range 2 {
		var last error
		for _, err := range tasks.Heads(context.Background(), broken) {
			last = err
		}
		if last == nil {
			t.Error("a source that fails is remembered as whole")
		}
	}
}
