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
	programs
}

// programs is the code that a parser made of a source text.
type programs struct {
	Program []byte `json:"program"` // the whole
	Kept    []byte `json:"kept"`    // what the published scorer makes of it
	Unkept  string `json:"unkept"`  // why it makes nothing
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

	read *lazyTree
}

// lazyTree is a statement's tree, read when it is looked at. Statements with
// equal texts may share one.
type lazyTree struct {
	text           json.RawMessage
	onceRaw, once  sync.Once
	whole, shorter node
}

// node is a node of a syntax tree as python/program.py writes it. Its class
// stands under "t"; empty fields are missing.
type node map[string]any

var errTree = errors.New("broken syntax tree")

// readModules reads a parser's answer about n sources.
func readModules(body []byte, n int) ([]*module, error) {
	lines := bytes.Split(bytes.TrimRight(body, "\n"), []byte("\n"))
	last := len(lines) - 1
	if string(lines[last]) != "." {
		return nil, fmt.Errorf("%w: no end", errTree)
	}
	modules := []*module{}
	m := &module{}
	for _, line := range lines[:last] {
		end, err := m.add(line)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", errTree, err)
		}
		if end {
			modules = append(modules, m)
			m = &module{}
		}
	}
	if len(modules) != n || len(m.Statements) > 0 || m.Problem != "" {
		return nil, fmt.Errorf("%w: %d programs instead of %d", errTree, len(modules), n)
	}
	return modules, nil
}

// moduleLine is any line about a source but for the tree in it.
type moduleLine struct {
	Line     int       `json:"line"`
	Def      string    `json:"def"`
	Spans    spans     `json:"spans"`
	Error    string    `json:"error"`
	Comments []comment `json:"comments"`
	End      bool      `json:"end"`
	programs
}

var treeMark = []byte(`,"tree":`)

// add takes a line; end says whether it was the last about its source.
func (m *module) add(line []byte) (end bool, err error) {
	// Within a text its quotes would be escaped.
	head, tree, found := bytes.Cut(line, treeMark)
	if found {
		head = append(head[:len(head):len(head)], '}')
	}
	var l moduleLine
	if err := json.Unmarshal(head, &l); err != nil {
		return false, err
	}
	switch {
	case l.Error != "":
		m.Problem = l.Error
	case found:
		m.Statements = append(m.Statements, newStatement(l, bytes.TrimSuffix(tree, []byte("}"))))
	case l.Comments != nil:
		m.Comments = l.Comments
	case l.Program != nil:
		m.programs = l.programs
	}
	return l.End, nil
}

func newStatement(l moduleLine, tree []byte) *statement {
	return &statement{Line: l.Line, Def: l.Def, Tree: tree, Spans: l.Spans, read: &lazyTree{text: tree}}
}

// share lets statements use what is read of equal ones.
func (m *module) share(with ...*module) {
	for _, other := range with {
		known := other.functions()
		for _, s := range m.Statements {
			if k := known[s.Def]; s.Def != "" && k != nil && bytes.Equal(k.Tree, s.Tree) {
				s.read = k.read
			}
		}
	}
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

// node returns the statement's tree in canonical form: without annotations of
// types and docstrings, which no rule looks at.
func (s *statement) node() node {
	s.read.once.Do(func() {
		if raw := s.raw(); raw != nil {
			s.read.shorter, _ = canonical(raw).(node)
		}
	})
	return s.read.shorter
}

// raw returns the statement's tree as it is, with annotations and docstrings;
// nil for a text that is no tree.
func (s *statement) raw() node {
	s.read.onceRaw.Do(func() {
		if n, err := readTree(s.read.text); err == nil {
			s.read.whole = n
		}
	})
	return s.read.whole
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

// canonical returns a tree in canonical form, which may share parts with it.
func canonical(raw any) any {
	switch v := raw.(type) {
	case node:
		return canonicalNode(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = canonical(v[i])
		}
		return out
	}
	return raw
}

func canonicalNode(raw node) node {
	n := make(node, len(raw))
	for field, v := range raw {
		if c := canonical(v); field != "annotation" && field != "returns" || !namesType(c) {
			n[field] = c
		}
	}
	switch n.class() {
	case "FunctionDef", "AsyncFunctionDef", "ClassDef":
		n.dropDocstring()
	case "AnnAssign": // as the plain assignment
		if target, ok := n["target"]; ok && n["value"] != nil && n["annotation"] == nil {
			return node{"t": "Assign", "targets": []any{target}, "value": n["value"]}
		}
	}
	return n
}

// typeClasses are what annotations of types consist of.
var typeClasses = []string{"Name", "Attribute", "Subscript", "Constant", "Tuple", "List", "BinOp", "BitOr"}

// namesType reports whether an annotation does no more than name a type.
// Python evaluates those of functions, so that code can hide in them.
func namesType(v any) bool {
	plain := true
	walk(v, func(n node) { plain = plain && slices.Contains(typeClasses, n.class()) && n.text("ctx") == "" })
	return plain
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
		var space [12]string
		for _, field := range v.fields(space[:0]) {
			walk(v[field], visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// fields appends the names of n's fields in a fixed order.
func (n node) fields(names []string) []string {
	for name := range n {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
