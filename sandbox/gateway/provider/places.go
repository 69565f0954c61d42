package provider

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// places says where the fields of definitions stand.
type places struct {
	lines map[string]int    // by path, "providers.openai.key"
	files map[string]string // the same paths
	file  string            // that all of it comes from, when it is one
}

func (p *places) set(path, file string, line int) {
	if p.lines == nil {
		p.lines, p.files = map[string]int{}, map[string]string{}
	}
	p.lines[path], p.files[path] = line, file
}

// takeAll notes what another says about a path and all below it, and returns
// the first line of that.
func (p *places) takeAll(other places, path string) int {
	first := 0
	for at, line := range other.lines {
		if at != path && !strings.HasPrefix(at, path+".") {
			continue
		}
		p.set(at, other.files[at], line)
		if first == 0 || line < first {
			first = line
		}
	}
	if _, ok := p.lines[path]; !ok {
		p.set(path, other.file, first)
	}
	return first
}

func (p places) clone() places { return places{lines: maps.Clone(p.lines), files: maps.Clone(p.files)} }

// of returns file and line of a field, or of the table around it.
func (p places) of(path string) string {
	for at := path; at != ""; {
		if line, ok := p.lines[at]; ok {
			return fmt.Sprintf("%s:%d", p.files[at], line)
		}
		i := strings.LastIndexByte(at, '.')
		at = at[:max(i, 0)]
	}
	return "providers"
}

// wrap puts file, line and field in front of an error.
func (p places) wrap(path string, err error) error {
	return fmt.Errorf("%s: %s: %w", p.of(path), path, err)
}

// findPlaces notes the lines of all tables and fields of a text that is valid
// TOML. Within inline tables the line is that of the table's own field.
func findPlaces(file string, text []byte) places {
	p := places{file: file}
	parser := unstable.Parser{}
	parser.Reset(text)
	var table []string
	for parser.NextExpression() {
		node := parser.Expression()
		key, line := keyOf(&parser, node)
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = key
			p.set(strings.Join(table, "."), file, line)
		case unstable.KeyValue:
			p.set(strings.Join(append(append([]string{}, table...), key...), "."), file, line)
		}
	}
	return p
}

// keyOf returns the parts of a key and its line.
func keyOf(parser *unstable.Parser, node *unstable.Node) (parts []string, line int) {
	for it := node.Key(); it.Next(); {
		part := it.Node()
		if line == 0 {
			line = parser.Shape(part.Raw).Start.Line
		}
		parts = append(parts, string(part.Data))
	}
	return parts, line
}

// located puts file and line in front of an error of the TOML reader.
func located(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Errorf("%s:%d: unknown field %q", file, row, strings.Join(strict.Errors[0].Key(), "."))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, _ := decode.Position()
		if key := decode.Key(); len(key) > 0 {
			return fmt.Errorf("%s:%d: %s: %w", file, row, strings.Join(key, "."), err)
		}
		return fmt.Errorf("%s:%d: %w", file, row, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}
