package merge

import (
	_ "embed" // for the text
	"fmt"
	"strings"
)

//go:embed statement.md
var statementText string

const hintPlaceholder = "{{HINT}}\n\n"

// statement returns the text that all tasks share. With a hint it also tells how
// many lines differ.
func statement(hint bool, differences int) string {
	text := ""
	if hint {
		text = hintText(differences) + "\n\n"
	}
	return strings.Replace(statementText, hintPlaceholder, text, 1)
}

func hintText(differences int) string {
	lines := "one line"
	if differences > 1 {
		lines = fmt.Sprintf("%d lines", differences)
	}
	return "A hint: apart from the way in which they are written, the two methods `compute` differ in exactly " + lines + "."
}
