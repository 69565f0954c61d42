package score

import (
	"fmt"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
)

// rules are what the strict reading asks of a candidate's tree.
type rules interface {
	judge(*module) []results.Check
}

// ruleset are the rules of a call-graph program, made once for each task from
// its starter and reference.
type ruleset struct {
	starter   *module
	reference *module
	kept      map[string]*statement // functions of the reference
	removed   []string              // functions that only the starter has
	edited    []string              // functions that the reference changes
	names     map[string]bool       // all of both
	library   map[string]bool       // names from mylibrary
	freshTemp bool                  // added parameters may lack their default
	live      map[string]bool       // which branch of a function runs, where functions are guarded
	repaired  bool                  // kept functions may differ from the starter's without being listed
	lines     *lineRules            // what is inserted in edited functions; may be nil
}

func newRuleset(t *tasks.Task, starter, reference *module) *ruleset {
	r := &ruleset{
		starter: starter, reference: reference, kept: reference.functions(),
		names: map[string]bool{}, library: map[string]bool{},
		freshTemp: t.Cell.Refactoring == tasks.CacheFunction, live: t.Check.Live,
		repaired: t.Check.Branches && t.Cell.Refactoring == tasks.DeadCode,
	}
	for name := range r.kept {
		r.names[name] = true
	}
	for name := range starter.functions() {
		if !r.names[name] {
			r.removed = append(r.removed, name)
		}
		r.names[name] = true
	}
	slices.Sort(r.removed)
	for _, name := range t.Check.Edited {
		if r.kept[name] != nil {
			r.edited = append(r.edited, name)
		}
	}
	for _, name := range t.Check.Library {
		r.library[name] = true
	}
	return r
}

// unlisted returns the functions that the reference changes, adds or removes
// although the task's check does not list them.
func (r *ruleset) unlisted(t *tasks.Task) []string {
	starter := r.starter.functions()
	var out []string
	for name := range r.names {
		before, after := starter[name], r.kept[name]
		both := before != nil && after != nil
		if !(both && (r.repaired || before.same(after))) && !slices.Contains(t.Check.Edited, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// judge implements rules.
func (r *ruleset) judge(c *module) []results.Check {
	checks := []results.Check{
		check("functions", r.functions(c)...), check("structure", r.structure(c)...),
	}
	if r.lines != nil {
		checks = append(checks, check("lines", r.inserted(c)...))
	}
	return checks
}

// functions returns what is wrong with the set of functions of c.
func (r *ruleset) functions(c *module) []string {
	var problems []string
	count := map[string]int{}
	for _, s := range c.Statements {
		if s.Def == "" {
			continue
		}
		count[s.Def]++
		switch {
		case count[s.Def] == 2:
			problems = append(problems, fmt.Sprintf("function %s is defined more than once", s.Def))
		case count[s.Def] > 2 || r.kept[s.Def] != nil:
		case slices.Contains(r.removed, s.Def):
			problems = append(problems, fmt.Sprintf("function %s should be gone", s.Def))
		default:
			problems = append(problems, fmt.Sprintf("function %s was added", shorten(s.Def, 40)))
		}
	}
	for _, s := range r.reference.Statements {
		if s.Def != "" && count[s.Def] == 0 {
			problems = append(problems, fmt.Sprintf("function %s is missing", s.Def))
		}
	}
	return problems
}

// structure returns which rules c breaks beside its set of functions.
func (r *ruleset) structure(c *module) []string {
	problems := r.moduleLevel(c)
	defined := c.functions()
	for _, s := range r.reference.Statements {
		mine := defined[s.Def]
		if s.Def == "" || mine == nil || mine.same(s) {
			continue
		}
		if !slices.Contains(r.edited, s.Def) {
			problems = append(problems, fmt.Sprintf("function %s %s", s.Def, r.whyUnedited(mine, s)))
			continue
		}
		for _, problem := range r.function(mine.node(), s.node()) {
			problems = append(problems, fmt.Sprintf("function %s: %s", s.Def, problem))
		}
	}
	return problems
}

// whyUnedited tells what is wrong with a function that is neither edited nor
// the reference's.
func (r *ruleset) whyUnedited(mine, reference *statement) string {
	if before := r.starter.functions()[mine.Def]; before != nil && !before.same(reference) {
		if mine.same(before) {
			return "still calls removed functions"
		}
		if problems := r.branch(mine.node(), reference.node()); len(problems) > 0 {
			return problems[0]
		}
		return "was changed in the branch that runs, but should not be"
	}
	return "was changed, but should not be"
}

// moduleLevel checks everything that stands beside the functions: the
// starter's imports, of which unused ones may be left out, and its guard.
func (r *ruleset) moduleLevel(c *module) []string {
	want, guards := r.beside(r.reference)
	got, rest := r.beside(c)
	var problems []string
	for name := range got {
		if !want[name] {
			problems = append(problems, "new "+name.String())
		}
	}
	used := c.names()
	for name := range want {
		if !got[name] && used[name.bound()] {
			problems = append(problems, "missing "+name.String())
		}
	}
	slices.Sort(problems)
	return append(problems, guardProblems(c, guards, rest)...)
}

// guardProblems compares the statements that are neither functions nor
// imports; they must come after all functions.
func guardProblems(c *module, want, got []*statement) []string {
	var problems []string
	matched := 0
	for _, s := range got {
		if matched < len(want) && s.same(want[matched]) {
			matched++
			continue
		}
		what := shorten(s.node().class(), 40)
		problems = append(problems, fmt.Sprintf("line %d: %s at module level", s.Line, what))
	}
	if matched < len(want) {
		return append(problems, "the __main__ block is missing or changed")
	}
	if len(want) == 0 {
		return problems
	}
	// As a program, the file would run main before it knows what comes here.
	last := c.Statements[len(c.Statements)-1]
	if !last.same(want[len(want)-1]) {
		problems = append(problems, fmt.Sprintf("line %d stands behind the __main__ block", last.Line))
	}
	return problems
}

// imported is one name that an import statement binds.
type imported struct{ Module, Name, As string }

func (i imported) bound() string {
	switch {
	case i.As != "":
		return i.As
	case i.Name != "":
		return i.Name
	}
	head, _, _ := strings.Cut(i.Module, ".")
	return head
}

func (i imported) String() string {
	text := "import " + i.Module
	if i.Name != "" {
		text = "from " + i.Module + " import " + i.Name
	}
	if i.As != "" {
		text += " as " + i.As
	}
	return shorten(text, 80)
}

// beside returns what a module holds beside functions and texts.
func (r *ruleset) beside(m *module) (map[imported]bool, []*statement) {
	names := map[imported]bool{}
	var rest []*statement
	for _, s := range m.Statements {
		if s.Def != "" {
			continue
		}
		n := s.node()
		if bound := imports(n); bound != nil {
			for _, i := range bound {
				names[i] = true
			}
		} else if !isText(n) {
			rest = append(rest, s)
		}
	}
	return names, rest
}

// imports returns what an import statement binds, or nil for another one.
func imports(n node) []imported {
	var out []imported
	for _, alias := range n.nodes("names") {
		switch n.class() {
		case "Import":
			out = append(out, imported{Module: alias.text("name"), As: alias.text("asname")})
		case "ImportFrom":
			level, _ := n["level"].(float64)
			from := strings.Repeat(".", int(min(level, 8))) + n.text("module")
			out = append(out, imported{Module: from, Name: alias.text("name"), As: alias.text("asname")})
		}
	}
	return out
}

// names returns all plain names that occur in a module.
func (m *module) names() map[string]bool {
	used := map[string]bool{}
	for _, s := range m.Statements {
		walk(s.node(), func(n node) {
			if n.class() == "Name" {
				used[n.text("id")] = true
			}
		})
	}
	return used
}
