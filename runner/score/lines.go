package score

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// lineRules say what is inserted in every edited function of a task whose
// program passes numbered values around, and where.
type lineRules struct {
	refactoring tasks.Refactoring
	values      map[string]int // the values' names and numbers
	names       *regexp.Regexp // finds one as a word
	comments    []string
	statements  []node
	texts       []string // of the statements
	temporaries map[string]bool
	callees     map[string]bool // functions of the program and of its library
	top         bool            // the comments stand in front of everything else
}

var valueName = regexp.MustCompile(`^(mult|prefix|key|slow)[1-9]\d*$`)

// newLineRules reads the lines of a task; parsed holds those that are no
// comments as a module.
func newLineRules(t *tasks.Task, reference, parsed *module) *lineRules {
	l := &lineRules{
		refactoring: t.Cell.Refactoring, values: map[string]int{}, temporaries: map[string]bool{},
		callees: map[string]bool{}, top: t.Check.Comment != "",
	}
	for name := range reference.functions() {
		l.callees[name] = true
	}
	for _, name := range t.Check.Library {
		l.callees[name] = true
	}
	for name := range reference.names() {
		if valueName.MatchString(name) {
			l.values[name], _ = strconv.Atoi(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))
		}
	}
	l.names = regexp.MustCompile(`\b(mult|prefix|key|slow)[1-9]\d*\b`)
	for _, line := range t.Check.Inserted {
		if strings.HasPrefix(line, "#") {
			l.comments = append(l.comments, line)
		} else {
			l.texts = append(l.texts, line)
		}
	}
	for _, s := range parsed.Statements {
		n := s.node()
		l.statements = append(l.statements, n)
		for _, target := range n.nodes("targets") {
			l.temporaries[target.text("id")] = true
		}
	}
	return l
}

// plainLines is a program of the lines that are no comments.
func plainLines(t *tasks.Task) string {
	var b strings.Builder
	for _, line := range t.Check.Inserted {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// inserted returns what is wrong with the lines inserted in a module's functions.
func (r *ruleset) inserted(c *module) []string {
	var problems []string
	for i, s := range c.Statements {
		if s.Def == "" {
			continue
		}
		end := int(^uint(0) >> 1)
		if i+1 < len(c.Statements) {
			end = c.Statements[i+1].Line
		}
		comments := s.comments(c, end)
		var found []string
		if slices.Contains(r.edited, s.Def) {
			found = append(r.lines.within(s, comments), r.values(s.node())...)
		} else {
			found = r.lines.outside(comments)
		}
		for _, problem := range found {
			problems = append(problems, fmt.Sprintf("function %s: %s", s.Def, problem))
		}
	}
	return problems
}

// comments returns the comments of a function: all up to the next statement of
// the module that do not stand at the left margin.
func (s *statement) comments(c *module, end int) []comment {
	var out []comment
	for _, found := range c.Comments {
		if found.Line >= s.Line && found.Line < end && (found.Column > 0 || found.Line <= s.Spans.End) {
			out = append(out, found)
		}
	}
	return out
}

// concerns reports whether a comment is one that somebody asked for, or
// mentions a value.
func (l *lineRules) concerns(c comment) bool {
	text := strings.TrimSpace(c.Text)
	return slices.Contains(l.comments, text) || !l.top && l.names.MatchString(text)
}

func (l *lineRules) outside(comments []comment) []string {
	for _, c := range comments {
		if l.concerns(c) {
			return []string{fmt.Sprintf("has the comment %q, which does not belong there", shorten(c.Text, 60))}
		}
	}
	return nil
}

// block is the place of the inserted statements in a function's body.
type block struct{ start, end int }

// within checks the lines of an edited function.
func (l *lineRules) within(s *statement, comments []comment) []string {
	function := s.node()
	body := function.nodes("body")
	spans := s.Spans.Body[max(0, len(s.Spans.Body)-len(body)):]
	if len(spans) != len(body) {
		return []string{"cannot be laid out"}
	}
	places, problems := l.match(body)
	problems = append(problems, l.unasked(body, places)...)
	if len(problems) > 0 {
		return problems
	}
	at, problem := l.place(body, places)
	if problem != "" {
		return []string{problem}
	}
	return l.checkComments(s, comments, spans, at)
}

// match finds the statement of the body for each one asked for.
func (l *lineRules) match(body []node) (places, problems []string) {
	places = make([]string, len(body))
	for i, want := range l.statements {
		at := -1
		for k, n := range body {
			if places[k] == "" && reflect.DeepEqual(n, want) {
				at = k
				break
			}
		}
		if at < 0 {
			problems = append(problems, fmt.Sprintf("lacks %q", l.texts[i]))
			continue
		}
		places[at] = l.texts[i]
	}
	return places, problems
}

// place finds the block of the inserted statements and checks that it is whole,
// in the order of its kinds and where it has to be.
func (l *lineRules) place(body []node, places []string) (block, string) {
	at := block{-1, -1}
	kind := 0
	for i, text := range places {
		if text == "" {
			continue
		}
		switch {
		case at.start < 0:
			at.start = i
		case i != at.end:
			return at, fmt.Sprintf("%q does not stand with the other inserted lines", text)
		}
		at.end = i + 1
		if k := lineKind(body[i]); k < kind {
			return at, fmt.Sprintf("%q does not stand in the order of kinds", text)
		} else {
			kind = k
		}
	}
	want := l.wantedPlace(body, places)
	if at.start < 0 {
		return block{want, want}, ""
	}
	if l.refactoring == tasks.AddReturn && !l.top {
		want = len(body) - 1 - (at.end - at.start)
	}
	if at.start != want {
		return at, fmt.Sprintf("%q and the other inserted lines do not stand at their place", places[at.start])
	}
	return at, ""
}

// wantedPlace returns where in the body a block of no statements has to be:
// for others it is the same but before a return.
func (l *lineRules) wantedPlace(body []node, places []string) int {
	switch {
	case l.top:
		return 0
	case l.refactoring == tasks.AddReturn:
		return len(body) - 1
	}
	last := -1
	for i, n := range body {
		if places[i] == "" && l.binds(n) {
			last = i
		}
	}
	return last + 1
}

// lineKind orders the kinds of inserted statements.
func lineKind(n node) int {
	switch n.class() {
	case "Assert":
		return 1
	case "Expr":
		return 2
	}
	return 3
}

// binds reports whether a statement gives a value its name.
func (l *lineRules) binds(n node) bool {
	found := false
	walk(n, func(n node) {
		found = found || n.class() == "Name" && n.text("ctx") == "Store" && l.values[n.text("id")] > 0
	})
	return found
}

// mentions returns how many values a tree reads.
func (l *lineRules) mentions(v any) int {
	names := map[string]bool{}
	walk(v, func(n node) {
		if name := n.text("id"); n.class() == "Name" && n.text("ctx") == "" && l.values[name] > 0 {
			names[name] = true
		}
	})
	return len(names)
}

// unasked returns statements about values that nobody asked for, wherever they
// stand, and uses of the temporary variables.
func (l *lineRules) unasked(body []node, places []string) []string {
	var problems []string
	for i, n := range body {
		if places[i] != "" {
			continue
		}
		walk(n, func(n node) {
			if what := l.unaskedNode(n); what != "" {
				problems = append(problems, what)
			}
		})
	}
	return problems
}

func (l *lineRules) unaskedNode(n node) string {
	switch n.class() {
	case "Assert":
		if l.mentions(n) > 0 {
			return "has another assertion about a value"
		}
	case "Call":
		if n.child("func").text("id") == "print" && l.mentions(n) > 0 {
			return "has another print of a value"
		}
	case "Assign", "NamedExpr":
		// Calls pass values on or receive them; products of several are a result.
		if l.mentions(n["value"]) == 1 && !l.hasCall(n["value"]) {
			return "has another assignment of a value"
		}
	case "For", "comprehension":
		if l.mentions(n["iter"]) > 0 && !l.hasCall(n["iter"]) {
			return "has a loop over a value"
		}
	case "Match":
		if l.mentions(n["subject"]) > 0 {
			return "matches a value"
		}
	case "AugAssign":
		if l.mentions(n["value"]) == 1 || l.values[n.child("target").text("id")] > 0 {
			return "changes a value, or with one"
		}
	case "Name":
		if name := n.text("id"); l.temporaries[name] && n.text("ctx") == "" {
			return "uses the temporary variable " + name
		}
	}
	return ""
}

func (l *lineRules) hasCall(v any) bool {
	found := false
	walk(v, func(n node) { found = found || n.class() == "Call" && l.callees[n.child("func").text("id")] })
	return found
}

// checkComments asks for each comment once, on a line of its own, behind what
// stands before the block and before its statements.
func (l *lineRules) checkComments(s *statement, comments []comment, spans [][3]int, at block) []string {
	above := s.Spans.Header
	if at.start > 0 {
		above = spans[at.start-1][1]
	}
	below, column := s.Spans.End+1, spans[0][2]
	if at.start < len(spans) {
		below = spans[at.start][0]
	}
	var problems []string
	missing := slices.Clone(l.comments)
	for _, c := range comments {
		text := strings.TrimSpace(c.Text)
		i := slices.Index(missing, text)
		inBlock := c.Alone && c.Line > above && c.Line < below && c.Column == column
		switch {
		case i >= 0 && inBlock:
			missing = slices.Delete(missing, i, i+1)
		case l.concerns(c):
			problems = append(problems, fmt.Sprintf("the comment %q is not asked for there", shorten(c.Text, 60)))
		}
	}
	for _, text := range missing {
		problems = append(problems, fmt.Sprintf("lacks %q at its place", text))
	}
	return problems
}
