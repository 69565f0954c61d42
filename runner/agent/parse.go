package agent

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxDefinition is the largest definition that is read, in bytes.
const maxDefinition = 1 << 20

// FileError is something wrong in an agent's definition.
type FileError struct {
	File  string
	Line  int    // 0 when the file as a whole is meant
	Field string // "command", "when[2].args", or ""
	Why   string
}

func (e *FileError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return where + ": " + e.Why
}

// parse reads a definition and checks it whole. Its errors are FileErrors, all
// that were found.
func parse(file, text string) (*definition, error) {
	if len(text) > maxDefinition {
		return nil, &FileError{File: file, Why: fmt.Sprintf("larger than %d bytes", maxDefinition)}
	}
	var d definition
	dec := toml.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, decodeErrors(file, err)
	}
	c := &checker{file: file, lines: fieldLines(text)}
	c.definition(&d)
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return &d, nil
}

// decodeErrors turns the decoder's errors into FileErrors.
func decodeErrors(file string, err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		var list []error
		for i := range missing.Errors {
			e := decodeError(file, &missing.Errors[i])
			e.Why = "there is no such field"
			list = append(list, e)
		}
		return errors.Join(list...)
	}
	var one *toml.DecodeError
	if errors.As(err, &one) {
		return decodeError(file, one)
	}
	return &FileError{File: file, Why: err.Error()}
}

var wrongType = regexp.MustCompile(`^cannot decode TOML (.+) into (?:struct field \S+ of type )?(\S+)$`)

func decodeError(file string, err *toml.DecodeError) *FileError {
	line, _ := err.Position()
	why := strings.TrimPrefix(err.Error(), "toml: ")
	if m := wrongType.FindStringSubmatch(why); m != nil {
		why = fmt.Sprintf("there is %s %s, but %s belongs there", article(m[1]), m[1], typeWord(m[2]))
	}
	return &FileError{File: file, Line: line, Field: strings.Join(err.Key(), "."), Why: why}
}

func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an"
	}
	return "a"
}

// typeWord names a Go type to people.
func typeWord(name string) string {
	switch {
	case name == "string":
		return "a text"
	case name == "[]string":
		return "a list of texts"
	case strings.HasPrefix(name, "map["):
		return "a table of texts"
	case strings.HasPrefix(name, "[]"):
		return "a list of tables"
	}
	return "a table"
}

// fieldLines tells the line of every field of a document that decodes. The
// tables of a list are counted from 1: "when[2].args".
func fieldLines(text string) map[string]int {
	lines := map[string]int{}
	p := &unstable.Parser{}
	p.Reset([]byte(text))
	table, counts := "", map[string]int{}
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table = noteKey(p, lines, "", e.Key())
		case unstable.ArrayTable:
			name := keyOf(e.Key())
			counts[name]++
			table = noteKey(p, lines, "", e.Key())
			table = fmt.Sprintf("%s[%d]", name, counts[name])
			lines[table] = lines[name]
		case unstable.KeyValue:
			noteValue(p, lines, table, e)
		}
	}
	return lines
}

// noteValue notes a field, and the fields of a table that stands in one line.
func noteValue(p *unstable.Parser, lines map[string]int, table string, e *unstable.Node) {
	name := noteKey(p, lines, table, e.Key())
	if v := e.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			noteValue(p, lines, name, it.Node())
		}
	}
}

func noteKey(p *unstable.Parser, lines map[string]int, table string, key unstable.Iterator) string {
	name, line := table, 0
	for key.Next() {
		n := key.Node()
		if line == 0 {
			line = p.Shape(n.Raw).Start.Line
		}
		name = join(name, string(n.Data))
	}
	lines[name] = line
	return name
}

func keyOf(key unstable.Iterator) string {
	name := ""
	for key.Next() {
		name = join(name, string(key.Node().Data))
	}
	return name
}

func join(table, field string) string {
	if table == "" {
		return field
	}
	return table + "." + field
}
