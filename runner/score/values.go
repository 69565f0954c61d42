package score

import (
	"fmt"
	"slices"
	"strconv"

	"cabra-run/tasks"
)

// values checks that numbered values keep their names on their way through a
// function: outputs do not show it where values are added or multiplied.
func (r *ruleset) values(function node) []string {
	v := valueWay{rules: r, lines: r.lines, targets: map[string]int{}}
	for _, n := range function.nodes("body") {
		walk(n, v.visit)
	}
	if len(v.targets) > 0 {
		v.say("binds a value in another way than by an assignment")
	}
	if r.lines.refactoring == tasks.AddReturn {
		v.firstCall(function)
	}
	slices.Sort(v.problems)
	return slices.Compact(v.problems)
}

type valueWay struct {
	rules    *ruleset
	lines    *lineRules
	problems []string
	targets  map[string]int // how often each value is bound beyond the assignments
	shift    *int           // between a value's number and its index, where one is taken by index
}

func (v *valueWay) say(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *valueWay) visit(n node) {
	switch n.class() {
	case "Call":
		v.call(n)
	case "Assign":
		for _, target := range n.nodes("targets") {
			walk(target, func(n node) { v.count(n, -1) })
			v.assign(target, n.child("value"))
		}
	case "Name", "arg":
		v.count(n, 1)
	}
}

// count counts where values are bound: as a target, or as a parameter of an
// inner function.
func (v *valueWay) count(n node, by int) {
	name := n.text("arg")
	if n.class() == "Name" && n.text("ctx") == "Store" {
		name = n.text("id")
	}
	if v.lines.values[name] == 0 {
		return
	}
	if v.targets[name] += by; v.targets[name] == 0 {
		delete(v.targets, name)
	}
}

// call checks that parameters get the values of their names.
func (v *valueWay) call(n node) {
	callee := v.rules.kept[n.child("func").text("id")]
	if callee == nil {
		return
	}
	params, _ := parameters(callee.node())
	receives := slices.ContainsFunc(params, func(p parameter) bool { return v.lines.values[p.Name] > 0 })
	for i, arg := range n.nodes("args") {
		switch {
		case arg.class() == "Starred" && receives:
			v.say("passes values on without telling which")
		case i < len(params):
			v.passed(params[i].Name, arg)
		}
	}
	for _, keyword := range n.nodes("keywords") {
		if keyword.text("arg") == "" && receives {
			v.say("passes values on without telling which")
		}
		v.passed(keyword.text("arg"), keyword.child("value"))
	}
}

func (v *valueWay) passed(param string, arg node) {
	if v.lines.values[param] > 0 && arg.text("id") != param {
		v.say("passes another value as %s", param)
	}
}

// assign checks where a value's name comes from.
func (v *valueWay) assign(target, value node) {
	if target.class() == "Tuple" || target.class() == "List" {
		v.unpack(target, value)
		return
	}
	number := v.lines.values[target.text("id")]
	if number == 0 {
		return
	}
	switch value.class() {
	case "Call":
		switch {
		case !v.rules.library[value.child("func").text("id")]:
			v.say("takes %s from something else than the library or a tuple", target.text("id"))
		case v.index(value) != number:
			v.say("computes %s with another index", target.text("id"))
		}
	case "Subscript":
		v.byIndex(number, value.child("slice"))
	default:
		v.say("takes %s from something else than the library or a tuple", target.text("id"))
	}
}

// sequence reports whether values can be unpacked from something: the result
// of a function, a variable or an end of one of them.
func (v *valueWay) sequence(n node) bool {
	switch n.class() {
	case "Name":
		return true
	case "Call":
		return v.lines.callees[n.child("func").text("id")]
	case "Subscript":
		slice := n.child("slice")
		return slice.class() == "Slice" && slice["step"] == nil && slice["upper"] == nil && v.sequence(n.child("value"))
	}
	return false
}

// index returns the last argument of a call, if it is a number.
func (v *valueWay) index(call node) int {
	args := call.nodes("args")
	for _, keyword := range call.nodes("keywords") {
		args = append(args, keyword.child("value"))
	}
	if len(args) == 0 {
		return 0
	}
	return intConstant(args[len(args)-1])
}

// intConstant returns the value of a small positive integer, 0 for all else.
func intConstant(n node) int {
	text := n.text("value")
	if n.class() != "Constant" || len(text) < 3 || text[0] != 'i' {
		return 0
	}
	number, err := strconv.ParseInt(text[1:len(text)-1], 16, 32)
	if err != nil {
		return 0
	}
	return int(number)
}

// byIndex allows the values to be taken out of a tuple by index.
func (v *valueWay) byIndex(number int, index node) {
	shift := number - intConstant(index)
	if shift != 0 && shift != 1 || v.shift != nil && *v.shift != shift {
		v.say("takes values by other indexes than their own")
	}
	v.shift = &shift
}

// unpack asks for the values in their order, all next to each other.
func (v *valueWay) unpack(target, value node) {
	elements, sources := target.nodes("elts"), value.nodes("elts")
	last := 0
	for i, e := range elements {
		number := v.lines.values[e.text("id")]
		if number == 0 {
			continue
		}
		if len(sources) == len(elements) {
			v.assign(e, sources[i])
			continue
		}
		if number != last+1 || last == 0 && i > 1 || last > 0 && v.lines.values[elements[i-1].text("id")] != last {
			v.say("unpacks values in another order")
			return
		}
		last = number
	}
	if last > 0 && len(sources) == 0 && !v.sequence(value) {
		v.say("unpacks values from something else than a result")
	}
	if last > 0 && last != len(v.lines.values) {
		v.say("does not unpack all values")
	}
}

// firstCall asks for the values of the first call that returns some.
func (v *valueWay) firstCall(function node) {
	for _, n := range function.nodes("body") {
		edited := false
		walk(n, func(n node) {
			edited = edited || n.class() == "Call" && slices.Contains(v.rules.edited, n.child("func").text("id"))
		})
		if !edited {
			continue
		}
		target := node{}
		if targets := n.nodes("targets"); len(targets) == 1 {
			target = targets[0]
		}
		if target.class() == "Tuple" && !v.lines.binds(target) && v.bindsFromCall(function) {
			v.say("does not keep the values of the first call")
		}
		return
	}
}

// bindsFromCall reports whether the result of an edited function is unpacked
// into values.
func (v *valueWay) bindsFromCall(function node) bool {
	for _, n := range function.nodes("body") {
		callee := n.child("value").child("func").text("id")
		if n.class() == "Assign" && v.lines.binds(n) && slices.Contains(v.rules.edited, callee) {
			return true
		}
	}
	return false
}
