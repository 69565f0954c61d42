package model

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cabra-run/tasks"
)

// Bounds on what is read of an answer.
const (
	maxAnswer = 16 << 20 // bytes of text
	maxFile   = 1 << 20  // bytes of a file, after a diff too; the scorer takes no longer one
	maxHunks  = 5000
)

// Parse reads the solution out of an answer's text: all files of the codebase,
// changed or not. Its errors say in one line why an answer has none; the same
// question may well get a better answer.
func Parse(form Form, answer string, code tasks.Files) (tasks.Files, error) {
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)
	}
	answer = strings.ReplaceAll(answer, "\r\n", "\n")
	block, err := solution(answer)
	if err != nil {
		return nil, err
	}
	if form == Diff {
		return applyDiff(block, code)
	}
	return readFiles(block, code)
}

// The tags, which may stand anywhere in a line.
const (
	openTag    = "<solution>"
	closeTag   = "</solution>"
	thoughtEnd = "</thought>"
)

// solution returns the text of the last complete block behind the thought. What
// a thought says of these tags is no solution.
func solution(answer string) (string, error) {
	rest := answer[endOfThought(answer):]
	end := strings.LastIndex(rest, closeTag)
	begin := strings.LastIndex(rest, openTag)
	switch {
	case begin < 0:
		return "", errors.New("there is no " + openTag)
	case end < begin:
		// The last block is the one that is meant; it is not all there.
		return "", errors.New("the last " + openTag + " has no end")
	}
	block := rest[begin+len(openTag) : end]
	if strings.Contains(block, closeTag) {
		return "", errors.New("behind the last " + openTag + " there are several " + closeTag)
	}
	return block, nil
}

// endOfThought returns where the thought is over, 0 where no tag says so. It is
// the first closing tag with a solution right behind it, for the files of the
// solution may hold such a tag too; without one it is the last closing tag.
func endOfThought(answer string) int {
	for at := 0; ; {
		i := strings.Index(answer[at:], thoughtEnd)
		if i < 0 {
			break
		}
		at += i + len(thoughtEnd)
		if strings.HasPrefix(strings.TrimLeft(answer[at:], " \t\n"), openTag) {
			return at
		}
	}
	if i := strings.LastIndex(answer, thoughtEnd); i >= 0 {
		return i + len(thoughtEnd)
	}
	return 0
}

// header is a line that names a file: three equal signs to each side, blanks
// between them and the name, and nothing else in the line.
var header = regexp.MustCompile(`^#[ \t]*===[ \t]+(\S|\S.*\S)[ \t]+===[ \t]*$`)

// nearHeader is a line that may have been meant as one.
var nearHeader = regexp.MustCompile(`^[ \t]*#?[ \t]*={3,}[ \t]*(.*[^ \t=])[ \t]*={3,}[ \t]*$`)

// fileName is what looks like the name of a file, with a suffix.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_./-]+\.[A-Za-z0-9]{1,8}$`)

// nearHeaders are the lines of the code that look like headers and are none.
func nearHeaders(code tasks.Files) map[string]bool {
	lines := map[string]bool{}
	for _, text := range code {
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); nearHeader.MatchString(line) {
				lines[line] = true
			}
		}
	}
	return lines
}

// misnames reports whether a line was meant to begin a file that does not
// exist, or says the name of one with something around it. Rulers and banners
// of comments are text, and so is every line that the code had before.
func misnames(line string, code tasks.Files, had map[string]bool) bool {
	m := nearHeader.FindStringSubmatch(line)
	if m == nil || had[line] {
		return false
	}
	named := fileName.MatchString(m[1])
	for name := range code {
		named = named || strings.Contains(m[1], name)
	}
	return named
}

// readFiles splits a block at the headers of the codebase's files. What stands
// before the first of them is no part of any file.
func readFiles(block string, code tasks.Files) (tasks.Files, error) {
	sections := []*section{{}}
	seen, had := map[string]bool{}, nearHeaders(code)
	for _, line := range strings.Split(block, "\n") {
		current := sections[len(sections)-1]
		if m := header.FindStringSubmatch(line); m != nil && has(code, m[1]) {
			if seen[m[1]] {
				return nil, fmt.Errorf("file %q is there twice", m[1])
			}
			seen[m[1]] = true
			sections = append(sections, &section{name: m[1], fenced: current.settle(true)})
			continue
		}
		if misnames(line, code, had) {
			return nil, fmt.Errorf("%.100q names no file of the repository", strings.TrimSpace(line))
		}
		current.lines = append(current.lines, line)
	}
	if len(sections) == 1 {
		return nil, errors.New("there is no file in the solution")
	}
	sections[len(sections)-1].settle(false)
	return collect(sections[1:], code)
}

func has(code tasks.Files, name string) bool {
	_, ok := code[name]
	return ok
}

// collect makes the files of the codebase from what the answer has of them. All
// of them are asked for: a missing one is not taken to be unchanged.
func collect(sections []*section, code tasks.Files) (tasks.Files, error) {
	out := tasks.Files{}
	for _, s := range sections {
		text := strings.Join(s.lines, "\n")
		if len(text) > maxFile {
			return nil, fmt.Errorf("file %q is longer than %d MiB", s.name, maxFile>>20)
		}
		out[s.name] = withEnds(text, code[s.name])
	}
	for _, name := range code.Paths() {
		if !has(out, name) {
			return nil, fmt.Errorf("file %q is missing", name)
		}
	}
	return out, nil
}

// withEnds gives a text the empty lines at both ends that the file had: the
// form of the answer has no room for them.
func withEnds(text, was string) string {
	text = strings.Trim(text, "\n")
	inner := strings.Trim(was, "\n")
	if inner == "" {
		return text + "\n"
	}
	i := strings.Index(was, inner)
	return was[:i] + text + was[i+len(inner):]
}
