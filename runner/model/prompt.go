package model

import (
	_ "embed" // of the prompts
	"fmt"
	"strings"

	"cabra-run/tasks"
)

// Form is how an answer shows the changed code.
type Form string

// The forms.
const (
	WholeFiles Form = "files"
	Diff       Form = "diff"
)

//go:embed prompts/files.txt
var filesPrompt string

//go:embed prompts/diff.txt
var diffPrompt string

// Prompt is what the model is asked: the one message of a request.
func Prompt(form Form, code tasks.Files, problem string) string {
	text := filesPrompt
	if form == Diff {
		text = diffPrompt
	}
	// One pass, so that nothing that looks like a slot in the code is one.
	return strings.NewReplacer("{{code}}", serialise(code), "{{problem}}", problem).Replace(text)
}

// serialise writes files below each other, each below its header.
func serialise(code tasks.Files) string {
	parts := make([]string, 0, len(code))
	for _, name := range code.Paths() {
		parts = append(parts, fmt.Sprintf("# === %s ===\n%s", name, strings.Trim(code[name], "\n")))
	}
	return strings.Join(parts, "\n\n")
}
