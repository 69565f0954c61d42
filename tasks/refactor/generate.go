package refactor

import (
	"slices"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

// pair is a task's programs and what its check has to know.
type pair struct {
	starter, reference string
	check              tasks.Check
}

// generateCell writes what the cell's tasks are on a sample.
func (b *base) generateCell(c tasks.Cell, s *callgraph.Sample) (pair, error) {
	switch c.Axis {
	case tasks.Runtime:
		return guarded{base: b, steps: c.Size}.generate(c.Refactoring, s), nil
	case tasks.Instructions:
		return b.generateRules(c, s)
	case tasks.CommentCopy:
		comment := copiedComment(b.seed, s.ID, c.Size)
		p := instructed{base: b, inserted: []string{comment}, atTop: true}.generate(c.Refactoring, s)
		p.check.Comment = comment
		return p, nil
	}
	return b.generate(c.Refactoring, s), nil
}

// generateRules draws as many rules as the cell's size says.
func (b *base) generateRules(c tasks.Cell, s *callgraph.Sample) (pair, error) {
	bank := ruleBank(c.Refactoring, c.Code)
	rules, err := sampleRules(b.seed, s.ID, valueStem(c.Refactoring, b.language), bank, c.Size)
	if err != nil {
		return pair{}, err
	}
	p := instructed{base: b, inserted: insertedLines(rules, bank)}.generate(c.Refactoring, s)
	p.check.Rules = rules
	return p, nil
}

// generate writes starter and reference of a refactoring on a sample.
func (b *base) generate(r tasks.Refactoring, s *callgraph.Sample) pair {
	if e, changes := editOf(r); changes {
		return b.generateEdit(e, s)
	}
	return b.generateDeadCode(s)
}

func (b *base) generateEdit(e edit, s *callgraph.Sample) pair {
	form, library := e.form(s), []string{e.library(b.language)}
	starter := b.program(form.Combined, library, names(form.Combined, form.Combined.Roots()))
	reference := starter
	reference.Functions = slices.Clone(starter.Functions)

	order := fileOrder(b.seed, form.Combined.Len())
	sites := newSites(form, b.language)
	for i, v := range order {
		if v < form.EditStart() {
			continue
		}
		e.seed(sites.of(v, &starter.Functions[i]))
		e.solve(sites.of(v, &reference.Functions[i]))
	}
	return pair{
		starter:   starter.Text(program.Normal),
		reference: reference.Text(program.Normal),
		check:     checkOf(form, library),
	}
}

// generateDeadCode removes all edit functions. The starter is the only program
// that is not in the normal style.
func (b *base) generateDeadCode(s *callgraph.Sample) pair {
	form := &s.Dead
	starter := b.program(form.Combined, nil, deadCodeEntries(form))
	reference := starter
	reference.Functions = withoutEdits(form, starter.Functions)
	return pair{
		starter:   starter.Text(program.Raw),
		reference: reference.Text(program.Normal),
		check:     checkOf(form, []string{}),
	}
}

// deadCodeEntries are the roots that main calls: those that are not removed.
func deadCodeEntries(form *callgraph.Form) []string {
	live := slices.DeleteFunc(form.Combined.Roots(), func(v int) bool { return v >= form.EditStart() })
	return names(form.Combined, live)
}

func withoutEdits(form *callgraph.Form, functions []program.Function) []program.Function {
	dead := nameSet(form.Edit)
	return slices.DeleteFunc(slices.Clone(functions), func(f program.Function) bool { return dead[f.Name] })
}

func checkOf(form *callgraph.Form, library []string) tasks.Check {
	return tasks.Check{Kind: tasks.CallGraphCheck, Edited: slices.Clone(form.Edit.Names()), Library: library}
}

// program returns the program of a graph without any refactoring.
func (b *base) program(g *callgraph.Graph, library, entries []string) program.Program {
	p := program.Program{Imports: b.importsWith(library), Main: b.main(entries), Run: b.run()}
	for _, v := range fileOrder(b.seed, g.Len()) {
		p.Functions = append(p.Functions, b.plain(g, v))
	}
	return p
}

// sites knows the part that each edit function of a form plays.
type sites struct {
	language   *language
	form       *callgraph.Form
	edits      map[string]bool
	root, sink map[int]bool // nodes of the edit graph alone
}

func newSites(form *callgraph.Form, l *language) sites {
	return sites{language: l, form: form, edits: nameSet(form.Edit),
		root: nodeSet(form.Edit.Roots()), sink: nodeSet(form.Edit.Sinks())}
}

// of returns the site of a node of the combined graph. The function gets a
// body of its own, so that two programs may differ in it.
func (s sites) of(node int, f *program.Function) site {
	f.Body = slices.Clone(f.Body)
	v := node - s.form.EditStart()
	return site{Function: f, language: s.language, edits: s.edits,
		wrapper: v == s.form.Edit.Len()-1, root: s.root[v], sink: s.sink[v]}
}

// ofBranch is of for a function whose body will be one of two branches.
func (s sites) ofBranch(node int, f *program.Function) site {
	at := s.of(node, f)
	at.branch = true
	return at
}

func names(g *callgraph.Graph, nodes []int) []string {
	list := make([]string, len(nodes))
	for i, v := range nodes {
		list[i] = g.Name(v)
	}
	return list
}

func nameSet(g *callgraph.Graph) map[string]bool {
	set := make(map[string]bool, g.Len())
	for _, name := range g.Names() {
		set[name] = true
	}
	return set
}

func nodeSet(nodes []int) map[int]bool {
	set := make(map[int]bool, len(nodes))
	for _, v := range nodes {
		set[v] = true
	}
	return set
}
