package refactor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

func TestCommentCopyStatement(t *testing.T) {
	const comment = "# violet hammer bridge"
	eachOf(t, tasks.CommentCopy, func(t *testing.T, r tasks.Refactoring, code tasks.CodeType) {
		text, err := CommentCopyStatement(tasks.Cell{Axis: tasks.CommentCopy, Size: 3, Refactoring: r,
			Code: code}, comment)
		want := strings.Replace(textOf(t, tasks.CommentCopy, r, code), commentPlaceholder, comment, 1)
		if err != nil || text != want || !strings.HasSuffix(text, "\n```python\n"+comment+"\n```\n") {
			t.Errorf("got %q, %v", text, err)
		}
		base, _, _ := strings.Cut(text, "\n## Comment\n")
		if instructions := textOf(t, tasks.Instructions, r, code); !strings.HasPrefix(instructions, base) {
			t.Error("up to the comment it is not the text of the axis instructions")
		}
		if strings.Contains(text, "equirement") {
			t.Error("speaks of requirements")
		}
	})
}

func TestCommentCopyStatementRefuses(t *testing.T) {
	cell := tasks.Cell{Axis: tasks.CommentCopy, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	for _, comment := range []string{"", "violet", "#violet", "# violet\n# hammer", "# violet\rhammer"} {
		if text, err := CommentCopyStatement(cell, comment); err == nil {
			t.Errorf("%q: %q", comment, text)
		}
	}
	cell.Axis = tasks.Instructions
	if text, err := CommentCopyStatement(cell, "# violet"); err == nil {
		t.Errorf("on another axis: %q", text)
	}
	loaded := Statements{"comment-copy/add-return.math": "Copy:\n{{COMMENT}}\n"}
	cell.Axis = tasks.CommentCopy
	if text, err := loaded.RenderComment(cell, "# violet"); err != nil || text != "Copy:\n# violet\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestCommentWords(t *testing.T) {
	words := commentWords()
	if len(words) < 1000 || !slices.IsSorted(words) ||
		len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("%d words, sorted %v", len(words), slices.IsSorted(words))
	}
	plain := regexp.MustCompile(`^[a-z]{5,12}$`)
	for _, w := range words {
		if !plain.MatchString(w) {
			t.Errorf("%q", w)
		}
	}
	// Words of the programs or of Python would make the comment look like code.
	for _, w := range []string{"prefix", "check", "default", "external", "class", "while", "return",
		"float", "round", "value",
		"counter", "print", "lambda", "yield", "range", "reverse", "mirror"} {
		if slices.Contains(words, w) {
			t.Errorf("%q is no plain word", w)
		}
	}
}

func TestCopiedComments(t *testing.T) {
	const sample = "1825bc54-30be-b45f-6835-14f2ceb81f9d"
	long := copiedComment(42, sample, 200)
	words := strings.Fields(long)
	if len(words) != 201 || words[0] != "#" || strings.Join(words, " ") != long {
		t.Errorf("got %q", long)
	}
	sorted := slices.Sorted(slices.Values(words))
	if len(slices.Compact(sorted)) != 201 {
		t.Error("words are repeated")
	}
	for _, n := range tasks.Sizes() {
		if got := copiedComment(42, sample, n); got != strings.Join(words[:n+1], " ") {
			t.Errorf("the comment of %d words does not begin that of 200: %q", n, got)
		}
	}
	// As Python's random.Random(text).shuffle gives it. Whoever changes the list
	// changes the tasks.
	const want = "# stature kayak drama important pirate"
	if got := copiedComment(42, sample, 5); got != want {
		t.Errorf("got %q", got)
	}
	if copiedComment(43, sample, 5) == want || copiedComment(42, sample[1:], 5) == want {
		t.Error("neither seed nor sample matters")
	}
	if all := strings.Fields(copiedComment(1, "", len(commentWords())+1)); all[len(all)-1] != all[1] {
		t.Error("does not begin anew after the last word")
	}
}
