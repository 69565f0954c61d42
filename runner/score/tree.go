package score

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// module is a parsed program. Problem says why there is none.
type module struct {
	Source     string
	Problem    string
	Statements []*statement
	Comments   []comment // if the layout was asked for
}

// comment is a comment of a source text.
type comment struct {
	Line, Column int
	Alone        bool // no code stands before it on its line
	Text         string
}

// UnmarshalJSON reads [line, column, stands alone, text].
func (c *comment) UnmarshalJSON(data []byte) error {
	fields := []any{&c.Line, &c.Column, &c.Alone, &c.Text}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != 4 {
		return errTree
	}
	return nil
}

// spans say on which lines a function's parts stand.
type spans struct {
	Header int      `json:"header"` // last line of its head
	End    int      `json:"end"`
	Body   [][3]int `json:"body"` // first and last line and column of each statement
}

// statement is one statement of a module.
type statement struct {
	Line int             `json:"line"`
	Def  string          `json:"def"` // the name, for a plain function
	Tree json.RawMessage `json:"tree"`
	// Spans is set for plain functions, if the layout was asked for.
	Spans spans `json:"spans"`

	once    sync.Once
	decoded node
}

// node is a node of a syntax tree as python/program.py writes it. Its class
// stands under "t"; empty fields are missing.
type node map[string]any

var errTree = errors.New("broken syntax tree")

// readModule reads a parser's answer.
func readModule(body []byte) (*module, error) {
	m := &module{}
	lines := bytes.Split(bytes.TrimRight(body, "\n"), []byte("\n"))
	last := len(lines) - 1
	if last < 0 || string(lines[last]) != "." {
		return nil, fmt.Errorf("%w: no end", errTree)
	}
	for _, line := range lines[:last] {
		var s struct {
			statement
			Error    string    `json:"error"`
			Comments []comment `json:"comments"`
		}
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%w: %v", errTree, err)
		}
		if s.Error != "" {
			m.Problem = s.Error
			continue
		}
		if s.Tree == nil {
			m.Comments = s.Comments
			continue
		}
		m.Statements = append(m.Statements, &statement{Line: s.Line, Def: s.Def, Tree: s.Tree, Spans: s.Spans})
	}
	return m, nil
}

// functions returns the plain functions at the top level, the last of each name.
func (m *module) functions() map[string]*statement {
	out := map[string]*statement{}
	for _, s := range m.Statements {
		if s.Def != "" {
			out[s.Def] = s
		}
	}
	return out
}

// node returns the statement's tree in canonical form: without annotations
// and docstrings, which no rule looks at.
func (s *statement) node() node {
	s.once.Do(func() {
		var raw map[string]any
		if json.Unmarshal(s.Tree, &raw) == nil {
			s.decoded, _ = canonical(raw).(node)
		}
	})
	return s.decoded
}

// raw returns the statement's tree as it is, with annotations and docstrings.
func (s *statement) raw() node {
	var decoded map[string]any
	if json.Unmarshal(s.Tree, &decoded) != nil {
		return nil
	}
	n, _ := nodesOf(decoded).(node)
	return n
}

// nodesOf turns decoded JSON into nodes without changing anything.
func nodesOf(raw any) any {
	switch v := raw.(type) {
	case map[string]any:
		n := make(node, len(v))
		for field, value := range v {
			n[field] = nodesOf(value)
		}
		return n
	case []any:
		for i := range v {
			v[i] = nodesOf(v[i])
		}
	}
	return raw
}

// treeText writes a tree such that equal trees have equal texts.
func treeText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// same reports whether two statements do not differ but in annotations,
// docstrings, comments and layout.
func (s *statement) same(other *statement) bool {
	return bytes.Equal(s.Tree, other.Tree) || reflect.DeepEqual(s.node(), other.node())
}

// canonical turns decoded JSON into nodes.
func canonical(raw any) any {
	switch v := raw.(type) {
	case map[string]any:
		return canonicalNode(v)
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
		return v
	}
	return raw
}

func canonicalNode(raw map[string]any) node {
	n := node{}
	for field, v := range raw {
		if field != "annotation" && field != "returns" {
			n[field] = canonical(v)
		}
	}
	switch n.class() {
	case "FunctionDef", "AsyncFunctionDef", "ClassDef":
		n.dropDocstring()
	case "AnnAssign": // as the plain assignment
		if target, ok := n["target"]; ok && n["value"] != nil {
			return node{"t": "Assign", "targets": []any{target}, "value": n["value"]}
		}
	}
	return n
}

func (n node) dropDocstring() {
	body := n.list("body")
	if len(body) < 2 || !isText(body[0]) {
		return
	}
	n["body"] = body[1:]
}

// isText reports whether a statement is a text and nothing else.
func isText(v any) bool {
	n, ok := v.(node)
	if !ok || n.class() != "Expr" {
		return false
	}
	constant := n.child("value")
	text := constant.text("value")
	return constant.class() == "Constant" && text != "" && (text[0] == 's' || text[0] == 'u')
}

func (n node) class() string            { return n.text("t") }
func (n node) text(field string) string { s, _ := n[field].(string); return s }
func (n node) child(field string) node  { c, _ := n[field].(node); return c }
func (n node) list(field string) []any  { l, _ := n[field].([]any); return l }

// nodes returns the nodes in a list field.
func (n node) nodes(field string) []node {
	var out []node
	for _, item := range n.list(field) {
		if c, ok := item.(node); ok {
			out = append(out, c)
		}
	}
	return out
}

// walk calls visit for every node below and including v.
func walk(v any, visit func(node)) {
	switch v := v.(type) {
	case node:
		visit(v)
		for _, field := range v.fields() {
			walk(v[field], visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// fields returns the names of n's fields in a fixed order.
func (n node) fields() []string {
	names := make([]string, 0, len(n))
	for name := range n {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
