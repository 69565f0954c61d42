package tasks

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
)

func sampleTask() Task {
	c := Cell{Axis: Search, Size: 5, Refactoring: AddReturn, Code: Math}
	return Task{
		ID: CellID(c, 3), Cell: c, Instance: 3, SampleID: "00000000-0000-0000-0000-000000000001",
		Statement: "Do it.\n",
		Starter:   Files{"solution.py": "a"}, Reference: Files{"solution.py": "b"},
		Check: Check{Kind: CallGraphCheck, Edited: []string{"f", "g"}, Library: []string{"external"}},
	}
}

// The value was computed from the definition with another program: every text
// behind its length in eight bytes, big end first.
func TestTaskDigestGolden(t *testing.T) {
	task := sampleTask()
	if got := task.Digest(); got != "sha256:cf28c1831b68e54c096ed2132a3c81e7f43a7fe8d98a13075d958ecafbc79708" {
		t.Errorf("digest %s", got)
	}
	if got := task.StatementDigest(); got != "sha256:d4cfd6ddae967cf477ca2e10b9c2ac3d291cd89cfc2d425ca6833de32185535f" {
		t.Errorf("statement digest %s", got)
	}
}

func TestTaskDigestCoversEverythingButTheStatement(t *testing.T) {
	original := sampleTask()
	for name, change := range map[string]func(*Task){
		"id":          func(t *Task) { t.ID = "x" },
		"axis":        func(t *Task) { t.Cell.Axis = Traversal },
		"size":        func(t *Task) { t.Cell.Size = 10 },
		"refactoring": func(t *Task) { t.Cell.Refactoring = DeadCode },
		"code":        func(t *Task) { t.Cell.Code = Array },
		"instance":    func(t *Task) { t.Instance = 4 },
		"sample":      func(t *Task) { t.SampleID = "y" },
		"starter":     func(t *Task) { t.Starter = Files{"solution.py": "c"} },
		"file name":   func(t *Task) { t.Starter = Files{"other.py": "a"} },
		"more files":  func(t *Task) { t.Starter = Files{"solution.py": "a", "z": ""} },
		"reference":   func(t *Task) { t.Reference = Files{"solution.py": "c"} },
		"both":        func(t *Task) { t.Starter, t.Reference = t.Reference, t.Starter },
		"kind":        func(t *Task) { t.Check.Kind = "other" },
		"edited":      func(t *Task) { t.Check.Edited = []string{"g", "f"} },
		"library":     func(t *Task) { t.Check.Library = nil },
		"variant":     func(t *Task) { t.Cell.Variant = "hint" },
		"branches":    func(t *Task) { t.Check.Branches = true },
		"live": func(t *Task) {
			t.Check.Branches, t.Check.Live = true, map[string]bool{"f": true}
		},
		"values":   func(t *Task) { t.Check.Values = 10 },
		"rules":    func(t *Task) { t.Check.Rules = []Rule{{Line: "x"}} },
		"inserted": func(t *Task) { t.Check.Inserted = []string{"x"} },
		"comment":  func(t *Task) { t.Check.Comment = "# x" },
		"boundary": func(t *Task) { t.Cell.Refactoring, t.Cell.Code = "add-returnm", "ath" },
	} {
		task := sampleTask()
		change(&task)
		if task.Digest() == original.Digest() {
			t.Errorf("the digest does not cover the %s", name)
		}
	}
	a, b := sampleTask(), sampleTask()
	a.Check.Branches, a.Check.Live = true, map[string]bool{"f": true}
	b.Check.Branches, b.Check.Live = true, map[string]bool{"f": false}
	if a.Digest() == b.Digest() {
		t.Error("the digest does not cover which branch runs")
	}
	task := sampleTask()
	task.Statement = "Do it better.\n"
	if task.Digest() != original.Digest() || task.StatementDigest() == original.StatementDigest() {
		t.Error("the statement belongs to its own digest alone")
	}
}

// listSource yields tasks and then err, if there is one.
type listSource struct {
	tasks []Task
	err   error
}

func (s listSource) Len() int { return len(s.tasks) }

func (s listSource) Tasks(context.Context) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		for _, t := range s.tasks {
			if !yield(t, nil) {
				return
			}
		}
		if s.err != nil {
			yield(Task{}, s.err)
		}
	}
}

func TestSetDigest(t *testing.T) {
	one, two := sampleTask(), sampleTask()
	two.Instance = 4
	set, statements := digestsOf(t, one, two)
	turned, _ := digestsOf(t, two, one)
	if turned == set {
		t.Error("the order does not matter")
	}
	two.Statement = "Other."
	sameSet, otherStatements := digestsOf(t, one, two)
	if sameSet != set || otherStatements == statements {
		t.Error("a statement changed the wrong digest")
	}
	boom := errors.New("boom")
	if s, p, err := SetDigest(t.Context(), listSource{[]Task{one}, boom}); !errors.Is(err, boom) ||
		s != "" || p != "" {
		t.Errorf("got %q, %q, %v", s, p, err)
	}
}

func digestsOf(t *testing.T, list ...Task) (set, statements string) {
	t.Helper()
	set, statements, err := SetDigest(t.Context(), listSource{tasks: list})
	if err != nil {
		t.Fatal(err)
	}
	return set, statements
}

func TestIDValid(t *testing.T) {
	for id, want := range map[ID]bool{
		"traversal/add-parameter/math/n050/07": true, "a": true, "a.b_c-d/0": true,
		"": false, "/": false, "a/": false, "/a": false, "a//b": false, "../a": false, "a/..": false,
		".": false, "-a": false,
		"A": false, "a b": false, "a\\b": false, "a\n": false, "é": false,
		ID(strings.Repeat("a", 64)): true, ID(strings.Repeat("a", 65)): false,
		"1/2/3/4/5/6/7/8": true, "1/2/3/4/5/6/7/8/9": false,
	} {
		if id.Valid() != want {
			t.Errorf("%q: valid is %v", id, !want)
		}
	}
}

func TestFilesEqual(t *testing.T) {
	a := Files{"x": "1", "b/y": "2"}
	for _, c := range []struct {
		other Files
		want  bool
	}{
		{Files{"b/y": "2", "x": "1"}, true}, {Files{"x": "1"}, false}, {Files{"x": "1", "b/y": "3"}, false},
		{Files{"x": "1", "z": "2"}, false}, {nil, false}, {Files{"x": "1", "b/y": "2", "z": ""}, false},
	} {
		if a.Equal(c.other) != c.want || c.other.Equal(a) != c.want {
			t.Errorf("%v: equal is not %v", c.other, c.want)
		}
	}
	if got := strings.Join(a.Paths(), " "); got != "b/y x" {
		t.Errorf("paths %s", got)
	}
}

func TestJoin(t *testing.T) {
	one, two, three := sampleTask(), sampleTask(), sampleTask()
	two.Instance, three.Instance = 4, 5
	boom := errors.New("boom")
	for _, c := range []struct {
		src  Source
		want []int
		err  error
	}{
		{Join(), nil, nil},
		{Join(listSource{tasks: []Task{one}}, listSource{}, listSource{tasks: []Task{two, three}}), []int{3, 4, 5}, nil},
		{Join(listSource{[]Task{one}, boom}, listSource{tasks: []Task{two}}), []int{3}, boom},
	} {
		for range 2 {
			var got []int
			var last error
			for task, err := range c.src.Tasks(t.Context()) {
				if last = err; err == nil {
					got = append(got, task.Instance)
				}
			}
			if !slices.Equal(got, c.want) || !errors.Is(last, c.err) {
				t.Errorf("got %v, %v, want %v, %v", got, last, c.want, c.err)
			}
		}
	}
	joined := Join(listSource{tasks: []Task{one, two}}, listSource{tasks: []Task{three}})
	if joined.Len() != 3 {
		t.Errorf("Len %d", joined.Len())
	}
	n := 0
	for range joined.Tasks(t.Context()) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("stopped after %d", n)
	}
}
