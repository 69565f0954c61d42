package gateway

import (
	"bytes"
	"fmt"
	"strings"
)

// form is how a model without tools is to show the code in its answer.
type form string

const (
	wholeFiles form = "files"
	asDiff     form = "diff"
)

// formOf tells by its parts whether a request is the prompt for a model without
// tools, "" when it is not: the code and the problem stand in elements of their
// own. JSON may escape the brackets.
func formOf(body []byte) form {
	for _, element := range []string{"code repository", "problem statement", "solution"} {
		if !bytes.Contains(body, []byte("<"+element+">")) && !bytes.Contains(body, []byte(`\u003c`+element+`\u003e`)) {
			return ""
		}
	}
	if bytes.Contains(body, []byte("```diff")) {
		return asDiff
	}
	return wholeFiles
}

// bare is the answer of a model without tools: a thought and the solution.
func (p *player) bare(f form) *turn {
	text := p.script.Reference
	switch p.behaviour.Name {
	case wrong:
		text = p.script.wrongText()
	case untouched:
		text = p.script.Starter
	case garbled:
		if p.behaviour.After == 0 || p.garbled.Add(1) <= int64(p.behaviour.After) {
			return &turn{text: "<thought>\nThis needs more thought.\n</thought>\nI would rather look at the code once more."}
		}
	case remove, endless, flood, slowtool: // what they do takes tools
		return &turn{text: "I would need tools for that."}
	}
	return &turn{text: "<thought>\nThe task names " + p.script.File + "; the functions it speaks of have to change.\n</thought>\n" +
		"<solution>\n" + p.shown(f, text) + "\n</solution>"}
}

// shown is the file's new text in that form.
func (p *player) shown(f form, text string) string {
	if f == asDiff {
		return "```diff\n" + p.diff(text) + "```"
	}
	return fmt.Sprintf("# === %s ===\n%s", p.script.File, strings.Trim(text, "\n"))
}

// diff shows what changes from the starter, a hunk for each edit; where edits
// cannot be told apart, and where there is none, one hunk has the whole file.
func (p *player) diff(text string) string {
	list := edits(p.script.Starter, text, maxDiffEdits)
	if list == nil {
		list = []edit{{p.script.Starter, text}}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %[1]s\n", p.script.File)
	for _, e := range list {
		b.WriteString("@@ ... @@\n")
		for _, half := range []struct{ sign, text string }{{"-", e.old}, {"+", e.new}} {
			for line := range strings.Lines(half.text) {
				b.WriteString(half.sign + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	return b.String()
}

// maxDiffEdits is more than any task has functions.
const maxDiffEdits = 1000
