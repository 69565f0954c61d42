package score

import (
	"fmt"
	"slices"
	"strings"
)

// expressions checks arithmetic on names and whole numbers.
type expressions struct {
	names    map[string]bool
	self     string          // where methods may be called: what they are called on
	methods  map[string]bool // that may be called
	problems []string
}

func (x *expressions) say(format string, args ...any) {
	if problem := fmt.Sprintf(format, args...); !slices.Contains(x.problems, problem) {
		x.problems = append(x.problems, problem)
	}
}

func (x *expressions) check(n node) {
	switch n.class() {
	case "Name":
		if name := n.text("id"); !x.names[name] {
			x.say("uses %s, which is neither a parameter nor a variable", shorten(name, 40))
		}
	case "Constant":
		if !strings.HasPrefix(n.text("value"), "i") {
			x.say("has a constant that is no int")
		}
	case "UnaryOp":
		if op := n.child("op").class(); op != "USub" && op != "UAdd" {
			x.say("has the operator %s", op)
		}
		x.check(n.child("operand"))
	case "BinOp":
		x.binary(n)
	case "Call":
		x.call(n)
	case "Tuple":
		if x.self == "" {
			x.say("has a Tuple")
		}
		for _, item := range n.nodes("elts") {
			x.check(item)
		}
	default:
		x.say("has a %s", shorten(n.class(), 40))
	}
}

const maxExponent = 16

func (x *expressions) binary(n node) {
	op, right := n.child("op").class(), n.child("right")
	switch op {
	case "Add", "Sub", "Mult":
	case "Pow":
		exponent := intConstant(right)
		if x.self == "" || (exponent == 0 && right.text("value") != "i0;") || exponent > maxExponent {
			x.say("has a power")
		}
	default:
		x.say("has the operator %s", op)
	}
	x.check(n.child("left"))
	x.check(right)
}

// call allows calls of methods on the object itself.
func (x *expressions) call(n node) {
	f := n.child("func")
	own := f.class() == "Attribute" && f.child("value").text("id") == x.self && x.methods[f.text("attr")]
	if x.self == "" || !own {
		x.say("calls something that is not a method of %s", parentClass)
		return
	}
	for _, arg := range n.nodes("args") {
		x.check(arg)
	}
	for _, keyword := range n.nodes("keywords") {
		if keyword.text("arg") == "" {
			x.say("passes a mapping")
			continue
		}
		x.check(keyword.child("value"))
	}
}

// parentReader checks the class that holds what is common.
type parentReader struct {
	rules    *mergeRules
	problems []string
}

func (p *parentReader) say(format string, args ...any) {
	p.problems = append(p.problems, "class "+parentClass+": "+fmt.Sprintf(format, args...))
}

func (p *parentReader) read(class node) []string {
	for _, base := range class.nodes("bases") {
		name := base.text("id") + base.text("attr")
		inner := base.class() == "Attribute" && base.child("value").class() != "Name"
		if name != "ABC" && name != "object" || inner || len(class.list("bases")) > 1 {
			p.say("has the base %s", shorten(name, 40))
		}
	}
	found, more := methods(class)
	for _, problem := range more {
		p.say("%s", problem)
	}
	callable := map[string]bool{}
	for _, m := range found {
		if name := m.text("name"); name != computeName {
			callable[name] = true
		}
	}
	helpers := p.rules.helperNames()
	for _, m := range found {
		p.method(m, callable, helpers)
	}
	if !slices.ContainsFunc(found, func(m node) bool { return m.text("name") == computeName }) {
		p.say("has no method %s", computeName)
	}
	return p.problems
}

// method checks one method of the parent.
func (p *parentReader) method(m node, callable map[string]bool, helpers []string) {
	name := m.text("name")
	isHelper := strings.HasPrefix(name, helperPrefix)
	if isHelper && !slices.Contains(helpers, name) {
		p.say("has %s, which is not needed", shorten(name, 40))
	}
	if isHelper && abstract(m) {
		return
	}
	if len(m.list("decorator_list")) > 0 {
		p.say("%s has a decorator", shorten(name, 40))
		return
	}
	calls := helperCalls(m)
	if name != computeName && len(calls) > 0 {
		p.say("%s calls %s", shorten(name, 40), calls[0])
	}
	switch order := callOrder(m["body"]); {
	case name != computeName:
	case !slices.Equal(calls, slices.Sorted(slices.Values(helpers))):
		p.say("%s calls %s, not each of %s once", name, orNone(calls), strings.Join(helpers, ", "))
	case len(order) == len(helpers) && !slices.Equal(order, helpers):
		p.say("%s uses %s in this order, not numbered from 1", name, strings.Join(order, ", "))
	}
	methods := map[string]bool{}
	for other := range callable {
		methods[other] = true
	}
	for _, helper := range helpers {
		methods[helper] = name == computeName
	}
	p.straight(m, methods)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "no helper"
	}
	return shorten(strings.Join(names, ", "), 100)
}

// abstract reports whether a method does nothing but say that it is missing.
func abstract(m node) bool {
	if _, problem := methodNames(m); problem != "" { // defaults are evaluated
		return false
	}
	for _, d := range m.nodes("decorator_list") {
		inner := d.class() == "Attribute" && d.child("value").class() != "Name"
		name := d.text("id") + d.text("attr")
		if name != "abstractmethod" && name != "staticmethod" || inner {
			return false
		}
	}
	for _, n := range m.nodes("body") {
		raised := n.child("exc")
		if raised.class() == "Call" {
			raised = raised.child("func")
		}
		if !isFiller(n) && !(n.class() == "Raise" && raised.text("id") == "NotImplementedError") {
			return false
		}
	}
	return true
}

// helperCalls returns the names of the helpers that are named anywhere in a
// method, once for each time.
func helperCalls(m node) []string {
	var calls []string
	walk(m["body"], func(n node) {
		if name := n.text("attr"); strings.HasPrefix(name, helperPrefix) {
			calls = append(calls, name)
		}
	})
	slices.Sort(calls)
	return calls
}

// callOrder returns the names of the helpers in the order in which straight
// code calls them: arguments first, from the left to the right.
func callOrder(v any) []string {
	var order []string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			order = append(order, callOrder(item)...)
		}
	case node:
		if v.class() != "Call" {
			var space [12]string
			for _, field := range v.fields(space[:0]) {
				order = append(order, callOrder(v[field])...)
			}
			return order
		}
		order = append(callOrder(v["args"]), callOrder(v["keywords"])...)
		if name := v.child("func").text("attr"); strings.HasPrefix(name, helperPrefix) {
			order = append(order, name)
		}
	}
	return order
}

// straight checks that a method computes its result without any condition: a
// method that can tell which class it runs for makes a sham of the helpers.
func (p *parentReader) straight(m node, methods map[string]bool) {
	name := shorten(m.text("name"), 40)
	names, problem := methodNames(m)
	if problem != "" {
		p.say("%s %s", name, problem)
		return
	}
	x := expressions{names: names, self: selfOf(m), methods: methods}
	delete(x.names, x.self)
	body := slices.DeleteFunc(m.nodes("body"), isFiller)
	for i, n := range body {
		x.statement(n, i == len(body)-1)
	}
	for _, problem := range x.problems {
		p.say("%s %s", name, problem)
	}
}

func (x *expressions) statement(n node, last bool) {
	switch {
	case n.class() == "Return" && last:
		x.check(n.child("value"))
	case last:
		x.say("does not end in a return")
	case n.class() == "Assign":
		x.check(n.child("value"))
		for _, target := range n.nodes("targets") {
			x.bind(target)
		}
	case n.class() == "AugAssign":
		target := n.child("target")
		x.check(node{"t": "BinOp", "left": node{"t": "Name", "id": target["id"]}, "op": n["op"], "right": n["value"]})
	default:
		x.say("has a %s statement", shorten(n.class(), 40))
	}
}

func (x *expressions) bind(target node) {
	switch name := target.text("id"); {
	case target.class() == "Tuple":
		for _, item := range target.nodes("elts") {
			x.bind(item)
		}
	case target.class() != "Name" || name == x.self:
		x.say("assigns to something that is not a variable")
	default:
		x.names[name] = true
	}
}
