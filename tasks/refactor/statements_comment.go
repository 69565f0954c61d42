package refactor

import (
	_ "embed" // for the list of words
	"fmt"
	"slices"
	"strings"
	"sync"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// CommentCopyStatement returns our own statement of a task that asks for a
// comment in every edited function, as Statements.RenderComment does.
func CommentCopyStatement(c tasks.Cell, comment string) (string, error) {
	return Statements(nil).RenderComment(c, comment)
}

// RenderComment returns the statement of one task on the axis comment-copy. The
// comment is a whole line that begins with "# ".
func (s Statements) RenderComment(c tasks.Cell, comment string) (string, error) {
	if c.Axis != tasks.CommentCopy {
		return "", fmt.Errorf("axis %q asks for no comment", c.Axis)
	}
	if !strings.HasPrefix(comment, "# ") || strings.ContainsAny(comment, "\r\n") {
		return "", fmt.Errorf("%q is no comment line", comment)
	}
	text, set, err := s.text(c)
	if err != nil {
		return "", err
	}
	return fill(text, set.placeholder, comment), nil
}

//go:embed statements/words.txt
var commentWordList string

// commentWords returns the words that comments are made of.
var commentWords = sync.OnceValue(func() []string { return strings.Fields(commentWordList) })

// copiedComment draws the comment of a sample, as a whole line with the given
// number of words, without repeats as long as there are enough. The comments of
// one sample begin alike: the shorter is the beginning of the longer. Nothing
// official fixes the words.
func copiedComment(seed int64, sampleID string, words int) string {
	drawn := slices.Clone(commentWords())
	callgraph.Shuffle(callgraph.NewTextStream(fmt.Sprintf("%d:comment:%s", seed, sampleID)), drawn)
	var line strings.Builder
	line.WriteString("#")
	for i := range words {
		line.WriteString(" " + drawn[i%len(drawn)])
	}
	return line.String()
}
