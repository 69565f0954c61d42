package refactor

import (
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

// instructed writes programs that pass numbered values around instead of one,
// and whose references have the same extra lines in every edit function.
type instructed struct {
	*base
	inserted []string
	atTop    bool // the lines stand in front of all others
}

// generate writes starter and reference of a refactoring that changes
// functions.
func (b instructed) generate(r tasks.Refactoring, s *callgraph.Sample) pair {
	e, _ := editOf(r)
	v := values{stem: valueStem(r, b.language), inserted: b.inserted}
	if b.atTop {
		v.inserted = nil
	}
	seed, solve := v.edit(r)
	e.seed, e.solve = seed, func(s site) {
		solve(s)
		if b.atTop {
			s.insert(0, statements(b.inserted)...)
		}
	}
	p := b.generateEdit(e, s)
	p.check.Values, p.check.Inserted = generatedValues, b.inserted
	return p
}

// values are the numbered values of a program, and the lines about them.
type values struct {
	stem     string
	inserted []string
}

// edit returns what a refactoring does to the edit functions when it passes
// these values.
func (v values) edit(r tasks.Refactoring) (seed, solve func(site)) {
	switch r {
	case tasks.AddParameter:
		return v.seedParameters, v.solveParameters
	case tasks.AddReturn:
		return v.seedKeys, v.solveKeys
	case tasks.CacheFunction:
		return v.seedSlow, v.solveSlow
	default:
		return v.seedHelpers, v.solveHelpers
	}
}

func (v values) seedParameters(s site) {
	if !s.wrapper {
		return
	}
	for i, name := range v.names() {
		s.addParam(program.Param{Name: name, Type: s.helper, Default: indexed("default", i)})
	}
}

func (v values) solveParameters(s site) {
	for i, name := range v.names() {
		s.addParam(program.Param{Name: name, Type: s.helper, Default: indexed("default", i)})
	}
	s.passToEdits(v.keywords()...)
	if s.sink {
		s.applyToResult(s.apply, v.atoms()...)
	}
	s.insert(0, v.lines()...)
}

func (v values) seedKeys(s site) {
	if s.wrapper {
		s.insertBeforeReturn(v.externalLine())
	}
}

// solveKeys keeps the keys of the first call that returns some.
func (v values) solveKeys(s site) {
	s.Returns = tupleType(s.value, slices.Repeat([]string{"str"}, generatedValues)...)
	if s.wrapper {
		s.insertBeforeReturn(v.externalLine())
	}
	first := true
	s.eachEditCall(func(line program.Assign, call program.Call) program.Assign {
		targets := v.names()
		if !first {
			targets = slices.Repeat([]string{"_"}, generatedValues)
		}
		first = false
		line.Targets = append(slices.Clip(line.Targets), targets...)
		return line
	})
	s.setResult(v.tuple(s.result()))
	s.insertBeforeReturn(v.lines()...)
}

func (v values) externalLine() program.Stmt {
	count := program.Atom(strconv.Itoa(generatedValues))
	return program.Assign{Targets: v.names(), Value: program.Call{Func: "external", Args: []program.Expr{count}}}
}

func (v values) seedSlow(s site) {
	if !s.sink {
		return
	}
	calls := make([]program.Expr, generatedValues)
	for i := range calls {
		calls[i] = indexed("slow", i)
	}
	s.applyToResult("+", calls...)
}

func (v values) solveSlow(s site) {
	s.passToEdits(v.keywords()...)
	if s.wrapper {
		defined := make([]program.Stmt, generatedValues)
		for i, name := range v.names() {
			defined[i] = s.helperLine(name, indexed("slow", i))
		}
		s.insert(0, append(defined, v.lines()...)...)
		return
	}
	for _, name := range v.names() {
		s.addParam(program.Param{Name: name, Type: s.helper, Default: program.Atom(s.neutral)})
	}
	if s.sink {
		s.applyToResult("+", v.atoms()...)
	}
	s.insert(0, v.lines()...)
}

// seedHelpers defines the values in descending order, as the published starters do.
func (v values) seedHelpers(s site) {
	if !s.root {
		return
	}
	defined := v.helperLines(s)
	slices.Reverse(defined)
	s.insert(0, defined...)
	s.applyToResult(s.apply, v.atoms()...)
}

// solveHelpers gives roots the helper's type as their annotation, as the
// published references do: in array programs, it is not what they return.
func (v values) solveHelpers(s site) {
	if s.wrapper {
		s.insert(0, append(v.helperLines(s), v.lines()...)...)
	} else {
		s.eachEditCall(func(line program.Assign, call program.Call) program.Assign {
			line.Targets = append(slices.Clip(line.Targets), v.names()...)
			return line
		})
		s.insert(1, v.lines()...) // behind the one call
	}
	if s.root {
		s.Returns = s.helper
		s.applyToResult(s.apply, v.atoms()...)
		return
	}
	s.Returns = tupleType(s.value, slices.Repeat([]string{s.helper}, generatedValues)...)
	s.setResult(v.tuple(s.result()))
}

func (v values) helperLines(s site) []program.Stmt {
	lines := make([]program.Stmt, generatedValues)
	for i, name := range v.names() {
		call := indexed(s.getter, i)
		call.Args = append([]program.Expr{program.Atom(argument)}, call.Args...)
		lines[i] = s.helperLine(name, call)
	}
	return lines
}

// indexed calls a library function for the value at position i; numbers start
// at 1.
func indexed(function string, i int) program.Call {
	return program.Call{Func: function, Args: []program.Expr{program.Atom(strconv.Itoa(i + 1))}}
}

func (v values) names() []string {
	names := make([]string, generatedValues)
	for i := range names {
		names[i] = v.stem + strconv.Itoa(i+1)
	}
	return names
}

func (v values) atoms() []program.Expr {
	atoms := make([]program.Expr, generatedValues)
	for i, name := range v.names() {
		atoms[i] = program.Atom(name)
	}
	return atoms
}

func (v values) keywords() []program.Expr {
	keywords := make([]program.Expr, generatedValues)
	for i, name := range v.names() {
		keywords[i] = program.Keyword{Name: name, Value: program.Atom(name)}
	}
	return keywords
}

// tuple returns the values behind a result.
func (v values) tuple(result program.Expr) program.Tuple {
	return append(program.Tuple{result}, v.atoms()...)
}

func (v values) lines() []program.Stmt { return statements(v.inserted) }

func statements(texts []string) []program.Stmt {
	lines := make([]program.Stmt, len(texts))
	for i, text := range texts {
		lines[i] = program.Line(text)
	}
	return lines
}

// tupleType is the annotation of a tuple.
func tupleType(first string, others ...string) string {
	return "tuple[" + first + ", " + strings.Join(others, ", ") + "]"
}
