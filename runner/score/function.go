package score

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// reflective names give a function hold of things that no refactoring needs,
// and that could tamper with the counting of library calls: by themselves, by
// the frame of a generator, or by the modules that numpy holds.
var reflective = []string{
	"eval", "exec", "compile", "__import__", "globals", "locals", "vars", "getattr",
	"setattr", "delattr", "open", "breakpoint", "sys", "attrgetter", "methodcaller",
	"gi_frame", "cr_frame", "ag_frame", "tb_frame", "f_back", "f_globals", "f_locals", "f_builtins",
}

// innerModules are attributes by which numpy leads to modules of Python.
var innerModules = []string{"os", "builtins", "ctypes", "ctypeslib", "lib", "core", "testing", "f2py"}

// function returns what is wrong with an edited function: its signature, a
// library function at the wrong place, or something that is banned.
func (r *ruleset) function(mine, reference node) []string {
	problems := r.signature(mine, reference)
	if len(mine.list("decorator_list")) > 0 {
		problems = append(problems, "has a decorator")
	}
	problems = append(problems, r.branch(mine, reference)...)
	got, want := r.libraryUses(mine), r.libraryUses(reference)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !want[name] {
			problems = append(problems, fmt.Sprintf("uses %s, which belongs elsewhere", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !got[name] {
			problems = append(problems, fmt.Sprintf("does not use %s", name))
		}
	}
	problems = append(problems, r.passing(mine, reference)...)
	if hasAnnotation(mine["args"]) || mine["returns"] != nil {
		problems = append(problems, "has an annotation that is no type")
	}
	return append(problems, r.banned(mine)...)
}

// hasAnnotation reports whether an annotation is left in a canonical tree, as
// those are that do more than name a type.
func hasAnnotation(v any) bool {
	found := false
	walk(v, func(n node) { found = found || n["annotation"] != nil || n["returns"] != nil })
	return found
}

// passing checks that a function hands the same parameters to other functions
// as the reference does. Outputs do not always show it: a maximum may hide
// whatever its smaller argument was made from.
func (r *ruleset) passing(mine, reference node) []string {
	want, got := r.passed(reference), r.passed(mine)
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] == nil {
			problems = append(problems, fmt.Sprintf("does not call %s any more", name))
		}
	}
	if name := r.uncalled(mine, want); name != "" {
		problems = append(problems, fmt.Sprintf("uses %s without calling it", name))
	}
	if name := r.rebound(mine, want); name != "" {
		problems = append(problems, fmt.Sprintf("gives the name %s to something else", name))
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		for _, params := range slices.Sorted(maps.Keys(got[name])) {
			if want[name] != nil && !want[name][params] && !want[name][anyParameters] && params != anyParameters {
				problems = append(problems, fmt.Sprintf("passes (%s) to %s, not (%s)",
					params, name, strings.Join(slices.Sorted(maps.Keys(want[name])), ") or (")))
			}
		}
	}
	return problems
}

// uncalled returns the name of a wanted function that stands elsewhere than in
// front of its arguments: what is passed to it then cannot be told.
func (r *ruleset) uncalled(function node, want map[string]map[string]bool) string {
	count := map[string]int{}
	walk(r.running(function), func(n node) {
		if id := n.text("id"); n.class() == "Name" && want[id] != nil {
			count[id]++
		}
		if id := n.child("func").text("id"); n.class() == "Call" && want[id] != nil {
			count[id]--
		}
	})
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > 0 {
			return name
		}
	}
	return ""
}

// rebound returns the name of a wanted function that means something else
// somewhere in a function: a call there need not be one of it.
func (r *ruleset) rebound(function node, want map[string]map[string]bool) string {
	bound := map[string]bool{}
	walk(r.running(function), func(n node) { bound[boundName(n)] = true })
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if bound[name] {
			return name
		}
	}
	return ""
}

// boundName returns the name that a node by itself gives to something: as a
// target, a parameter of an inner function, a handler or a pattern.
func boundName(n node) string {
	switch n.class() {
	case "Name":
		if n.text("ctx") != "" {
			return n.text("id")
		}
	case "arg":
		return n.text("arg")
	case "alias":
		return cmp.Or(n.text("asname"), n.text("name"))
	case "ExceptHandler", "MatchAs", "MatchStar":
		return n.text("name")
	case "MatchMapping":
		return n.text("rest")
	}
	return ""
}

// anyParameters stands for a call whose parameters cannot be told.
const anyParameters = "*"

// passed returns which parameters a function hands to each function of the
// program, one text for each way it does so.
func (r *ruleset) passed(function node) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	walk(r.running(function), func(n node) {
		name := n.child("func").text("id")
		if n.class() != "Call" || r.kept[name] == nil {
			return
		}
		if out[name] == nil {
			out[name] = map[string]bool{}
		}
		out[name][r.bind(name, n)] = true
	})
	return out
}

// bind returns the names of the parameters that a call gives values to.
func (r *ruleset) bind(name string, call node) string {
	params, _ := parameters(r.kept[name].node())
	given := map[string]bool{}
	for i, arg := range call.nodes("args") {
		if i >= len(params) || arg.class() == "Starred" {
			return anyParameters
		}
		given[params[i].Name] = true
	}
	for _, keyword := range call.nodes("keywords") {
		if keyword.text("arg") == "" { // two stars
			return anyParameters
		}
		given[shorten(keyword.text("arg"), 40)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(given)), ", ")
}

// libraryUses returns the library functions that a function's body names.
func (r *ruleset) libraryUses(function node) map[string]bool {
	used := map[string]bool{}
	for _, statement := range r.running(function) {
		walk(statement, func(n node) {
			for _, field := range []string{"id", "attr", "name"} {
				if name := n.text(field); r.library[name] {
					used[name] = true
				}
			}
		})
	}
	return used
}

// banned returns what no function may contain.
func (r *ruleset) banned(function node) []string {
	found := map[string]bool{}
	for _, statement := range r.running(function) {
		walk(statement, func(n node) {
			if what := r.bannedNode(n); what != "" {
				found[what] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(found))
}

func (r *ruleset) bannedNode(n node) string {
	if n["annotation"] != nil || n["returns"] != nil {
		return "has an annotation that is no type"
	}
	switch n.class() {
	case "Global", "Nonlocal":
		return "has a " + strings.ToLower(n.class()) + " statement"
	case "Attribute":
		if n.text("ctx") != "" {
			return "changes the attribute " + shorten(n.text("attr"), 40)
		}
		if name := n.text("attr"); strings.HasPrefix(name, "_") || slices.Contains(innerModules, name) {
			return "uses " + shorten(name, 40)
		}
		return bannedName(n.text("attr"))
	case "MatchClass": // reads attributes by names that are no names in the tree
		return "has a class pattern"
	case "Name":
		return bannedName(n.text("id"))
	case "FunctionDef", "AsyncFunctionDef", "ClassDef":
		if name := n.text("name"); r.names[name] {
			return "defines " + name + " again"
		}
	case "Import", "ImportFrom":
		return r.bannedImport(n)
	}
	return ""
}

func bannedName(name string) string {
	if slices.Contains(reflective, name) || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return "uses " + shorten(name, 40)
	}
	return ""
}

// bannedImport lets a function import again what the starter imports.
func (r *ruleset) bannedImport(n node) string {
	allowed, _ := r.beside(r.starter)
	for _, i := range imports(n) {
		ok := false
		for a := range allowed {
			ok = ok || a.Module == i.Module && i.Module != "sys"
		}
		if !ok {
			return "has a new " + i.String()
		}
	}
	return ""
}

// parameter is one plain parameter with its default, nil for none.
type parameter struct {
	Name    string
	Default any
}

// parameters returns a function's parameters; ok is false when it has others
// than plain ones.
func parameters(function node) (out []parameter, ok bool) {
	args := function.child("args")
	for _, field := range []string{"posonlyargs", "kwonlyargs", "vararg", "kwarg"} {
		if args[field] != nil {
			return nil, false
		}
	}
	plain, defaults := args.nodes("args"), args.list("defaults")
	for i, arg := range plain {
		p := parameter{Name: arg.text("arg")}
		if d := i - (len(plain) - len(defaults)); d >= 0 {
			p.Default = defaults[d]
		}
		out = append(out, p)
	}
	return out, true
}

// signature compares parameters by name, order and default.
func (r *ruleset) signature(mine, reference node) []string {
	got, ok := parameters(mine)
	want, _ := parameters(reference)
	if !ok {
		return []string{"has parameters that are not plain ones"}
	}
	if !slices.EqualFunc(got, want, func(a, b parameter) bool { return a.Name == b.Name }) {
		return []string{fmt.Sprintf("has the parameters (%s), not (%s)", nameList(got), nameList(want))}
	}
	var problems []string
	for i, p := range got {
		if !reflect.DeepEqual(p.Default, want[i].Default) && !(r.freshTemp && i > 0 && p.Default == nil) {
			problems = append(problems, fmt.Sprintf("parameter %s has another default", p.Name))
		}
	}
	return problems
}

func nameList(params []parameter) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = shorten(p.Name, 40)
	}
	return shorten(strings.Join(names, ", "), 200)
}
