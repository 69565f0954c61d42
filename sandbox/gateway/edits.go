package gateway

import (
	"regexp"
	"slices"
	"strings"
)

// segment is a top-level piece of a Python file with the blank lines behind
// it: a function, or the lines between functions.
type segment struct {
	name string // of a function, "" for other lines
	text string
}

var defLine = regexp.MustCompile(`^(?:async )?def ([A-Za-z_][A-Za-z0-9_]*)\(`)

// segments splits a file; joined again they are the file.
func segments(text string) []segment {
	var out []segment
	for line := range strings.SplitAfterSeq(text, "\n") {
		if line == "" {
			continue
		}
		top := line[0] != ' ' && line[0] != '\t' && line[0] != '\n' && line[0] != '\r'
		name := ""
		if m := defLine.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		// Lines outside of functions form one piece, a function begins one.
		if len(out) == 0 || name != "" || top && out[len(out)-1].name != "" {
			out = append(out, segment{name: name})
		}
		out[len(out)-1].text += line
	}
	return out
}

func join(segs []segment) string {
	var b strings.Builder
	for _, s := range segs {
		b.WriteString(s.text)
	}
	return b.String()
}

// edit replaces one text, which stands once in the file, by another.
type edit struct{ old, new string }

// patch is the edit in the form of the tool apply_patch.
func (e edit) patch(file string) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Update File: " + file + "\n@@\n")
	for _, half := range []struct{ sign, text string }{{"-", e.old}, {"+", e.new}} {
		for line := range strings.Lines(half.text) {
			b.WriteString(half.sign + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}

// edits are at most max edits that turn one file into the other, along the
// borders of functions; nil when there is no such way.
func edits(from, to string, max int) []edit {
	hunks := align(segments(from), segments(to))
	if hunks == nil {
		return nil
	}
	changed := 0
	for _, h := range hunks {
		if h.old != h.new {
			changed++
		}
	}
	if changed == 0 {
		return nil
	}
	out := group(hunks, (changed+max-1)/max)
	text := from
	for _, e := range out {
		if e.old == "" || strings.Count(text, e.old) != 1 {
			return nil
		}
		text = strings.Replace(text, e.old, e.new, 1)
	}
	if text != to {
		return nil
	}
	return out
}

// align pairs the pieces of two files whose functions have the same order, one
// of them possibly lacking some; nil when they cannot be paired.
func align(from, to []segment) []edit {
	var out []edit
	kept := 0
	for _, s := range from {
		switch {
		case kept < len(to) && s.name == to[kept].name:
			out = append(out, edit{s.text, to[kept].text})
			kept++
		case s.name != "":
			out = append(out, edit{s.text, ""})
		default:
			return nil
		}
	}
	if kept != len(to) {
		return nil
	}
	return out
}

// group joins neighbouring pieces so that every edit holds per changed pieces,
// with what lies unchanged between them.
func group(hunks []edit, per int) []edit {
	var out []edit
	var current, between edit
	held := 0
	for _, h := range hunks {
		if h.old == h.new {
			if held > 0 {
				between.old, between.new = between.old+h.old, between.new+h.new
			}
			continue
		}
		if held == per {
			out = append(out, current)
			current, held = edit{}, 0
		} else {
			current.old, current.new = current.old+between.old, current.new+between.new
		}
		between = edit{}
		current.old, current.new = current.old+h.old, current.new+h.new
		held++
	}
	if held > 0 {
		out = append(out, current)
	}
	return out
}

// wrongText is a text between starter and reference that solves nothing: one
// function stays as it was in the starter, which breaks what calls it, or one
// that had to go stays. It compiles, as it is made of whole functions.
func (s *Script) wrongText() string {
	from, to := segments(s.Starter), segments(s.Reference)
	pairs := align(from, to)
	var candidates []int // of from
	for i, h := range pairs {
		if from[i].name != "" && forgettable(from[i].name, h) {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 {
		// The starter solves nothing, so neither does the starter with a remark.
		return s.Starter + "\n# reviewed: nothing else to change\n"
	}
	forgotten := candidates[s.Place%len(candidates)]
	var b strings.Builder
	for i, h := range pairs {
		if i == forgotten {
			b.WriteString(h.old)
		} else {
			b.WriteString(h.new)
		}
	}
	return b.String()
}

// forgettable reports whether the solution is surely wrong when this function
// is left as it was: it had to go, or both its first line and its body had to
// change, so that its callers and its own results are wrong without it.
func forgettable(name string, h edit) bool {
	if h.new == "" {
		return true
	}
	oldHead, oldBody, _ := strings.Cut(h.old, "\n")
	newHead, newBody, _ := strings.Cut(h.new, "\n")
	return name != "main" && oldHead != newHead && strings.TrimSpace(oldBody) != strings.TrimSpace(newBody)
}

// firstEdited is a function to look for: an edited one that is in the starter.
func (s *Script) firstEdited() string {
	names := segments(s.Starter)
	for _, name := range s.Edited {
		if slices.ContainsFunc(names, func(g segment) bool { return g.name == name }) {
			return name
		}
	}
	return "main"
}
