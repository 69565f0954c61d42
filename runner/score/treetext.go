package score

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// maxTreeDepth bounds the nesting of lists and nodes that are read; the parser
// nests nodes at most 400 deep, each in a list at most.
const maxTreeDepth = 1000

// readTree reads a syntax tree as a parser writes it: JSON without blanks. It
// is read here rather than by encoding/json since all that a verdict costs on
// this side of the boxes was once that.
func readTree(text []byte) (node, error) {
	r := treeReader{text: text, names: map[string]string{}}
	v, err := r.value(0)
	n, ok := v.(node)
	if err != nil || !ok || r.at != len(text) {
		return nil, errTree
	}
	return n, nil
}

type treeReader struct {
	text  []byte
	at    int
	names map[string]string // texts that were met, to keep one of each
}

// next takes the byte c, if it comes next.
func (r *treeReader) next(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *treeReader) value(depth int) (any, error) {
	if r.at >= len(r.text) || depth > maxTreeDepth {
		return nil, errTree
	}
	switch r.text[r.at] {
	case '{':
		return r.node(depth)
	case '[':
		return r.list(depth)
	case '"':
		return r.string()
	}
	return r.word()
}

func (r *treeReader) node(depth int) (any, error) {
	r.at++
	n := make(node, 4)
	for !r.next('}') {
		if len(n) > 0 && !r.next(',') {
			return nil, errTree
		}
		name, err := r.string()
		if err != nil || !r.next(':') {
			return nil, errTree
		}
		if n[name], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (r *treeReader) list(depth int) (any, error) {
	r.at++
	l := []any{}
	for !r.next(']') {
		if len(l) > 0 && !r.next(',') {
			return nil, errTree
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	return l, nil
}

func (r *treeReader) string() (string, error) {
	if !r.next('"') {
		return "", errTree
	}
	start := r.at
	for r.at < len(r.text) && r.text[r.at] != '"' {
		if r.text[r.at] == '\\' {
			r.at++
		}
		r.at++
	}
	if r.at >= len(r.text) {
		return "", errTree
	}
	raw := r.text[start:r.at]
	r.at++
	if known, ok := r.names[string(raw)]; ok {
		return known, nil
	}
	text := string(raw)
	if bytes.IndexByte(raw, '\\') >= 0 && json.Unmarshal(r.text[start-1:r.at], &text) != nil {
		return "", errTree
	}
	r.names[string(raw)] = text
	return text, nil
}

// word reads a number, true, false or null.
func (r *treeReader) word() (any, error) {
	end := r.at
	for end < len(r.text) && bytes.IndexByte([]byte(",]}"), r.text[end]) < 0 {
		end++
	}
	word := string(r.text[r.at:end])
	r.at = end
	switch word {
	case "true", "false":
		return word == "true", nil
	case "null":
		return nil, nil
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return nil, errTree
	}
	return f, nil
}
