package refactor

import (
	"slices"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

// site is one edit function while a refactoring works on it.
type site struct {
	*program.Function
	*language
	branch  bool // the body is one of two branches
	wrapper bool // the one root or sink that was added around the edit graph
	root    bool // no edit function calls it
	sink    bool // it calls no edit function
	edits   map[string]bool
}

// edit is what a refactoring does to the edit functions of a program.
type edit struct {
	form func(*callgraph.Sample) *callgraph.Form
	// library is what the program imports from the hidden library.
	library func(*language) string
	// seedsBoth says that seed is for branches that do not run, too.
	seedsBoth bool
	// seed changes a plain function to that of the starter.
	seed func(site)
	// solve changes a plain function to that of the reference.
	solve func(site)
}

// editOf returns the edit of a refactoring that changes functions; dead code,
// which only removes them, has none.
func editOf(r tasks.Refactoring) (edit, bool) {
	switch r {
	case tasks.AddParameter:
		return addParameter(), true
	case tasks.AddReturn:
		return addReturn(), true
	case tasks.CacheFunction:
		return cacheFunction(), true
	case tasks.DontRepeat:
		return dontRepeat(), true
	}
	return edit{}, false
}

// addParameter hands a parameter of the root down to all sinks, which apply it.
func addParameter() edit {
	addParam := func(s site) {
		s.addParam(program.Param{Name: s.derived, Type: s.helper, Default: program.Call{Func: "default"}})
	}
	return edit{
		form:    func(s *callgraph.Sample) *callgraph.Form { return &s.Parameter },
		library: func(*language) string { return "default" },
		seed: func(s site) {
			if s.wrapper {
				addParam(s)
			}
		},
		solve: func(s site) {
			addParam(s)
			s.passToEdits(program.Keyword{Name: s.derived, Value: program.Atom(s.derived)})
			if s.sink {
				s.applyToResult(s.apply, program.Atom(s.derived))
			}
		},
	}
}

// addReturn hands a text that the sink's external now returns up to all roots.
func addReturn() edit {
	callExternal := func(s site) {
		s.setResult(program.Call{Func: "external", Args: []program.Expr{s.result()}})
	}
	return edit{
		form:    func(s *callgraph.Sample) *callgraph.Form { return &s.Return },
		library: func(*language) string { return "external" },
		seed: func(s site) {
			if s.wrapper {
				callExternal(s)
			}
		},
		solve: func(s site) {
			s.Returns = tupleType(s.value, "str")
			if s.wrapper {
				callExternal(s)
				return
			}
			unpacked := s.unpackEdits(func(callee string) string { return callee + "_str" })
			s.setResult(program.Tuple{s.result(), program.Atom(unpacked[0])})
		},
	}
}

// cacheFunction lets the root call slow once and hand the value down to the
// sinks, each of which called it.
func cacheFunction() edit {
	const cached, slow = "temp", "slow"
	return edit{
		form:      func(s *callgraph.Sample) *callgraph.Form { return &s.Cache },
		library:   func(*language) string { return slow },
		seedsBoth: true,
		seed: func(s site) {
			if s.sink {
				s.applyToResult("+", program.Call{Func: slow})
			}
		},
		solve: func(s site) {
			s.passToEdits(program.Atom(cached))
			if s.wrapper {
				s.defineFirst(cached, program.Call{Func: slow})
				return
			}
			s.addParam(program.Param{Name: cached, Type: s.helper, Default: program.Atom(s.neutral)})
			if s.sink {
				s.applyToResult("+", program.Atom(cached))
			}
		},
	}
}

// dontRepeat lets the sink compute the value that each root computed, and hand
// it up to them.
func dontRepeat() edit {
	defineDerived := func(s site) { s.defineFirst(s.derived, callOf(s.getter)) }
	return edit{
		form:      func(s *callgraph.Sample) *callgraph.Form { return &s.Repeat },
		library:   func(l *language) string { return l.getter },
		seedsBoth: true,
		seed: func(s site) {
			if !s.root {
				return
			}
			if s.branch {
				s.insertBeforeReturn(s.helperLine(s.derived, callOf(s.getter)))
			} else {
				defineDerived(s)
			}
			s.applyToResult(s.apply, program.Atom(s.derived))
		},
		solve: func(s site) {
			s.unpackEdits(func(string) string { return s.derived })
			if s.root {
				s.applyToResult(s.apply, program.Atom(s.derived))
				return
			}
			s.Returns = tupleType(s.value, s.helper)
			s.setResult(program.Tuple{s.result(), program.Atom(s.derived)})
			if s.wrapper {
				defineDerived(s)
			}
		},
	}
}

func (s site) addParam(p program.Param) { s.Params = append(slices.Clip(s.Params), p) }

// result is what the function returns; the return is its last statement.
func (s site) result() program.Expr {
	return s.Body[len(s.Body)-1].(program.Return).Value
}

func (s site) setResult(value program.Expr) {
	s.Body[len(s.Body)-1] = program.Return{Value: value}
}

// applyToResult joins values and what was returned before with an operator.
func (s site) applyToResult(operator string, values ...program.Expr) {
	s.setResult(program.Chain{Op: operator, Operands: append(slices.Clip(values), s.result())})
}

// helperLine defines an annotated helper variable.
func (s site) helperLine(name string, value program.Call) program.Stmt {
	return program.Assign{Targets: []string{name}, Type: s.helper, Value: value}
}

// defineFirst puts an annotated helper variable in front of the body.
func (s site) defineFirst(name string, value program.Call) {
	s.insert(0, s.helperLine(name, value))
}

// insert puts statements in front of the one at the given place.
func (s site) insert(at int, lines ...program.Stmt) {
	s.Body = slices.Insert(s.Body, at, lines...)
}

func (s site) insertBeforeReturn(lines ...program.Stmt) { s.insert(len(s.Body)-1, lines...) }

// passToEdits adds arguments to each call of an edit function.
func (s site) passToEdits(extra ...program.Expr) {
	s.eachEditCall(func(line program.Assign, call program.Call) program.Assign {
		call.Args = append(slices.Clip(call.Args), extra...)
		line.Value = call
		return line
	})
}

// unpackEdits lets each call of an edit function set one more variable, and
// returns these variables.
func (s site) unpackEdits(nameOf func(callee string) string) (unpacked []string) {
	s.eachEditCall(func(line program.Assign, call program.Call) program.Assign {
		name := nameOf(call.Func)
		unpacked = append(unpacked, name)
		line.Targets = append(slices.Clip(line.Targets), name)
		return line
	})
	return unpacked
}

func (s site) eachEditCall(change func(program.Assign, program.Call) program.Assign) {
	for i, stmt := range s.Body {
		line, isAssign := stmt.(program.Assign)
		if !isAssign {
			continue
		}
		if call, isCall := line.Value.(program.Call); isCall && s.edits[call.Func] {
			s.Body[i] = change(line, call)
		}
	}
}
