package model

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"cabra-run/tasks"
)

// hunk replaces a block of whole lines of a file by another one.
type hunk struct {
	file     string
	old, new []string
}

// applyDiff reads a diff and applies it. The lines that a hunk keeps and removes
// must stand in the file as one block, behind the hunk before or, when they do
// not, anywhere, and there only once.
func applyDiff(block string, code tasks.Files) (tasks.Files, error) {
	hunks, err := readDiff(block, code)
	if err != nil {
		return nil, err
	}
	texts := map[string]*patched{}
	for i, h := range hunks {
		if texts[h.file] == nil {
			texts[h.file] = newPatched(code[h.file])
		}
		if err := texts[h.file].apply(h); err != nil {
			return nil, fmt.Errorf("hunk %d, of %q: %w", i+1, h.file, err)
		}
	}
	out := maps.Clone(code)
	for name, p := range texts {
		out[name] = p.whole()
	}
	return out, nil
}

// diffReader collects the hunks of a diff.
type diffReader struct {
	code  tasks.Files
	file  string
	hunks []hunk
	open  bool // a hunk may have more lines
	blank int  // empty lines that are the hunk's only if more of it follows
}

// readDiff reads the hunks, in fences or without.
func readDiff(block string, code tasks.Files) ([]hunk, error) {
	r := &diffReader{code: code}
	lines := strings.Split(block, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if i+1 < len(lines) && strings.HasPrefix(line, "--- ") && strings.HasPrefix(lines[i+1], "+++ ") {
			if err := r.begin(line[4:], lines[i+1][4:]); err != nil {
				return nil, err
			}
			i++
			continue
		}
		if err := r.line(line); err != nil {
			return nil, err
		}
	}
	if len(r.hunks) == 0 {
		return nil, errors.New("there is no hunk in the diff")
	}
	return r.hunks, nil
}

// begin takes the two lines that name a file, with or without the a/ and b/
// that some tools put before it.
func (r *diffReader) begin(from, to string) error {
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !has(r.code, from) && strings.HasPrefix(from, "a/") && strings.HasPrefix(to, "b/") {
		from, to = from[2:], to[2:]
	}
	if from != to || !has(r.code, from) {
		return fmt.Errorf("%.100q names no file of the repository", to)
	}
	r.file, r.open = from, false
	return nil
}

// line takes a line that names no file.
func (r *diffReader) line(line string) error {
	switch {
	case strings.HasPrefix(line, "@@"):
		if r.file == "" {
			return errors.New("a hunk stands before the name of its file")
		}
		if len(r.hunks) >= maxHunks {
			return fmt.Errorf("there are more than %d hunks", maxHunks)
		}
		r.hunks, r.open, r.blank = append(r.hunks, hunk{file: r.file}), true, 0
	case isFence(line):
		r.open = false
	case line == "" && r.open:
		r.blank++
	case !r.open && strings.TrimSpace(line) == "", strings.HasPrefix(line, `\ No newline`):
	case !r.open && r.file == "": // words before the diff
	case !r.open:
		return fmt.Errorf("a line of no hunk: %.100q", line)
	default:
		// An empty line is one that stays, whose blank was lost.
		h := &r.hunks[len(r.hunks)-1]
		for ; r.blank > 0; r.blank-- {
			h.old, h.new = append(h.old, ""), append(h.new, "")
		}
		return h.add(line)
	}
	return nil
}

// add takes a line of the hunk, which is not empty.
func (h *hunk) add(line string) error {
	sign, text := line[0], line[1:]
	switch sign {
	case ' ':
		h.old, h.new = append(h.old, text), append(h.new, text)
	case '-':
		h.old = append(h.old, text)
	case '+':
		h.new = append(h.new, text)
	default:
		return fmt.Errorf("a line of a hunk begins with none of \"+\", \"-\" and blank: %.100q", line)
	}
	return nil
}

// patched is a file while hunks are applied. Its text stands between newlines,
// so that whole lines can be looked for.
type patched struct {
	text string
	at   int    // where the last hunk ended: at a newline
	tail string // newline at the end of the file, if it had one
}

func newPatched(text string) *patched {
	p := &patched{}
	if strings.HasSuffix(text, "\n") || text == "" {
		p.tail, text = "\n", strings.TrimSuffix(text, "\n")
	}
	if text != "" {
		text = "\n" + text
	}
	p.text = text + "\n"
	return p
}

func (p *patched) whole() string {
	if len(p.text) < 2 {
		return ""
	}
	return p.text[1:len(p.text)-1] + p.tail
}

// block is lines as they stand in a text, each behind a newline.
func block(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lines, "\n")
}

func (p *patched) apply(h hunk) error {
	old, fresh := block(h.old), block(h.new)
	i := 0
	switch {
	case old != "":
		var err error
		if i, err = p.find(old + "\n"); err != nil {
			return err
		}
	case p.text != "\n":
		return errors.New("it keeps and removes no line, so its place is unknown")
	}
	if len(p.text)-len(old)+len(fresh) > maxFile {
		return fmt.Errorf("the file grows beyond %d MiB", maxFile>>20)
	}
	p.text = p.text[:i] + fresh + p.text[i+len(old):]
	p.at = i + len(fresh)
	return nil
}

// find returns where a block of lines stands: the only place behind the last
// hunk, else the only place at all.
func (p *patched) find(old string) (int, error) {
	for _, from := range []int{p.at, 0} {
		i := strings.Index(p.text[from:], old)
		if i < 0 {
			continue
		}
		i += from
		if strings.Contains(p.text[i+1:], old) {
			return 0, errors.New("its lines stand in the file more than once")
		}
		return i, nil
	}
	return 0, errors.New("its lines do not stand in the file")
}
