package program

import "strings"

// Style is how a program is written down.
type Style int

const (
	// Normal is the form that Python's own syntax-tree printer gives.
	Normal Style = iota
	// Raw keeps brackets that mean nothing.
	Raw
)

const indent = "    "

// Text prints the program in the given style: one blank line between blocks,
// no line end after the last line.
func (p *Program) Text(style Style) string {
	w := writer{style: style}
	const usualFunction = 192 // bytes; longer ones make the buffer grow
	w.Grow(usualFunction * (len(p.Functions) + 2))
	for i, imported := range p.Imports {
		if i > 0 {
			w.add("\n")
		}
		w.imported(imported)
	}
	if p.Helper != "" {
		w.add("\n\n", p.Helper)
	}
	for _, f := range p.Functions {
		w.add("\n\n")
		w.function(f)
	}
	w.add("\n\n")
	w.function(p.Main)
	w.add("\n\nif __name__ == '__main__':\n", indent)
	w.expr(p.Run)
	return strings.Clone(w.String()) // thousands are held at one time, without room for more
}

type writer struct {
	strings.Builder
	style Style
}

func (w *writer) add(texts ...string) {
	for _, text := range texts {
		w.WriteString(text)
	}
}

func (w *writer) imported(i Import) {
	switch {
	case i.Name != "":
		w.add("from ", i.Module, " import ", i.Name)
	case i.As != "":
		w.add("import ", i.Module, " as ", i.As)
	default:
		w.add("import ", i.Module)
	}
}

func (w *writer) function(f Function) {
	w.add("def ", f.Name, "(")
	for i, p := range f.Params {
		if i > 0 {
			w.add(", ")
		}
		w.add(p.Name, ": ", p.Type)
		if p.Default != nil {
			w.add("=")
			w.expr(p.Default)
		}
	}
	w.add(")")
	if f.Returns != "" {
		w.add(" -> ", f.Returns)
	}
	w.add(":")
	w.block(f.Body, "\n"+indent)
}

// block prints statements, each after the line end and indentation given.
func (w *writer) block(body []Stmt, start string) {
	for _, s := range body {
		w.add(start)
		w.stmt(s, start)
	}
}

func (w *writer) stmt(s Stmt, start string) {
	switch s := s.(type) {
	case Assign:
		w.add(strings.Join(s.Targets, ", "))
		if s.Type != "" {
			w.add(": ", s.Type)
		}
		w.add(" = ")
		w.expr(s.Value)
	case Return:
		w.add("return ")
		w.expr(s.Value)
	case Line:
		w.add(string(s))
	case *If:
		w.add("if ")
		w.expr(s.Cond)
		w.add(":")
		w.block(s.Then, start+indent)
		w.add(start, "else:")
		w.block(s.Else, start+indent)
	}
}

func (w *writer) expr(e Expr) {
	switch e := e.(type) {
	case Atom:
		w.add(string(e))
	case Call:
		w.add(e.Func, "(")
		w.list(e.Args, ", ")
		w.add(")")
	case Keyword:
		w.add(e.Name, "=")
		w.expr(e.Value)
	case Chain:
		w.list(e.Operands, " "+e.Op+" ")
	case Tuple:
		w.add("(")
		w.list(e, ", ")
		w.add(")")
	case Group:
		w.group(e)
	}
}

func (w *writer) group(g Group) {
	if w.style != Raw {
		w.expr(g.Inner)
		return
	}
	w.add("(")
	w.expr(g.Inner)
	w.add(")")
}

func (w *writer) list(items []Expr, separator string) {
	for i, e := range items {
		if i > 0 {
			w.add(separator)
		}
		w.expr(e)
	}
}
