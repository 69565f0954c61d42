package model

import (
	"regexp"
	"strings"
)

// section is a file of an answer with its lines; without a name it is what
// stands before the first file.
type section struct {
	name   string
	lines  []string
	fenced bool // a fence was opened before its header and is not closed yet
}

// fence is a line that begins or ends a fenced block.
var fence = regexp.MustCompile("^[ \t]*(?:`{3,}|~{3,})[ \t]*([A-Za-z0-9_+.-]*)[ \t]*$")

// settle takes off the fences that stand around the section and not in its
// file, and reports whether one is open behind it: each file may have a pair
// below its header, or around header and text, or all files one together.
func (s *section) settle(followed bool) (open bool) {
	s.lines = trimBlank(s.lines)
	if n := len(s.lines); n > 0 && isFence(s.lines[0]) && (s.name != "" || n > 1) && !s.fenced {
		s.lines, s.fenced = s.lines[1:], true
	}
	trailing := trailingFences(s.lines)
	last := len(s.lines) - 1
	opensNext := followed && trailing > 0 &&
		(trailing > 1 || !s.fenced || fence.FindStringSubmatch(s.lines[last])[1] != "")
	if opensNext {
		s.lines = trimBlank(s.lines[:last])
		trailing--
	}
	if trailing > 0 && s.fenced {
		s.lines = s.lines[:len(s.lines)-1]
		s.fenced = false
	}
	return s.fenced || opensNext
}

// trailingFences counts the fences behind the last other line.
func trailingFences(lines []string) int {
	n := 0
	for i := len(lines) - 1; i >= 0 && (isFence(lines[i]) || strings.TrimSpace(lines[i]) == ""); i-- {
		if isFence(lines[i]) {
			n++
		}
	}
	return n
}

func isFence(line string) bool { return fence.MatchString(line) }

// trimBlank takes off empty lines at both ends.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
