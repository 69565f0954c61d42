package score

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cabra-run/results"
)

var generatedName = regexp.MustCompile(`^(mult|prefix|key|slow)\d+$`)

// constraints compares, function by function, the lines about generated values
// that the published scorer recognises. Where they stand does not matter to it.
func (o officialPrograms) constraints() results.Check {
	generated := generatedNames(o.reference)
	if len(generated) == 0 {
		return skipped(kindConstraints)
	}
	want, got := o.reference.functions(), o.candidate.functions()
	var problems []string
	for name, s := range want {
		expected := recogniser{generated}.keys(o.reference, s)
		if got[name] == nil {
			if len(expected) > 0 {
				problems = append(problems, "missing function "+name)
			}
			continue
		}
		found := recogniser{generated}.keys(o.candidate, got[name])
		problems = append(problems, keyDifferences(name, expected, found)...)
	}
	for name, s := range got {
		if want[name] == nil && len((recogniser{generated}).keys(o.candidate, s)) > 0 {
			problems = append(problems, "lines in another function "+shorten(name, 40))
		}
	}
	return unless(kindConstraints, problems)
}

// generatedNames returns the names of generated values in a program.
func generatedNames(m *module) map[string]bool {
	names := map[string]bool{}
	for _, s := range m.Statements {
		if !mayNameGenerated(s.Tree) {
			continue
		}
		walk(s.raw(), func(n node) {
			for _, name := range []string{n.text("id"), n.text("arg")} {
				if generatedName.MatchString(name) {
					names[name] = true
				}
			}
		})
	}
	return names
}

// mayNameGenerated saves reading most trees.
func mayNameGenerated(tree []byte) bool {
	for _, stem := range []string{"mult", "prefix", "key", "slow"} {
		for rest := tree; ; {
			_, after, found := bytes.Cut(rest, []byte(stem))
			if !found {
				break
			}
			if len(after) > 0 && after[0] >= '0' && after[0] <= '9' {
				return true
			}
			rest = after
		}
	}
	return false
}

func keyDifferences(function string, want, got []string) []string {
	var problems []string
	left := slices.Clone(got)
	for _, key := range want {
		if i := slices.Index(left, key); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			problems = append(problems, fmt.Sprintf("%s lacks %s", function, keyText(key)))
		}
	}
	for _, key := range left {
		problems = append(problems, fmt.Sprintf("%s has %s more than asked for", function, keyText(key)))
	}
	return problems
}

func keyText(key string) string {
	return shorten(strings.Join(strings.SplitN(key, "\x00", 4), " "), 100)
}

func joinKey(parts ...string) string { return strings.Join(parts, "\x00") }

// recogniser finds the lines about generated values in a function.
type recogniser struct{ generated map[string]bool }

// keys returns a text for each line, in the order of the file.
func (r recogniser) keys(m *module, s *statement) []string {
	var keys []string
	for _, n := range s.raw().nodes("body") {
		if key := r.key(n); key != "" {
			keys = append(keys, key)
		}
	}
	for _, c := range officialComments(m, s) {
		names := map[string]bool{}
		for _, word := range wordPattern.FindAllString(c.Text, -1) {
			if r.generated[word] {
				names[word] = true
			}
		}
		if len(names) > 0 {
			keys = append(keys, joinKey("comment", strings.Join(sortedNames(names), " "), strings.TrimSpace(c.Text)))
		}
	}
	return keys
}

var wordPattern = regexp.MustCompile(`\w+`)

func (r recogniser) key(n node) string {
	switch n.class() {
	case "Assert":
		return r.assertion(n.child("test"))
	case "Expr":
		return r.print(n.child("value"))
	case "AugAssign":
		if name := n.child("target").text("id"); r.generated[name] {
			return joinKey("update", name, n.child("op").class(), treeText(n["value"]))
		}
	case "Assign":
		if targets := n.nodes("targets"); len(targets) == 1 && targets[0].class() == "Name" {
			return r.assignment(targets[0].text("id"), n.child("value"))
		}
	}
	return ""
}

// mentioned returns the generated names in a tree.
func (r recogniser) mentioned(v any) map[string]bool {
	names := map[string]bool{}
	walk(v, func(n node) {
		if name := n.text("id"); n.class() == "Name" && r.generated[name] {
			names[name] = true
		}
	})
	return names
}

func (r recogniser) assignment(target string, value node) string {
	names := r.mentioned(value)
	if r.generated[target] {
		return r.update(target, value, names)
	}
	method := value.class() == "Call" && value.child("func").class() == "Attribute" &&
		value.child("func").text("attr") == "replace"
	plain := value.class() == "Name" || value.class() == "BinOp" || method
	if len(names) != 1 || !plain {
		return ""
	}
	return joinKey("temp", target, sortedNames(names)[0], treeText(value))
}

func (r recogniser) update(target string, value node, names map[string]bool) string {
	if !names[target] || value.class() == "Name" {
		return ""
	}
	left := value.child("left")
	if value.class() == "BinOp" && left.class() == "Name" && left.text("id") == target {
		return joinKey("update", target, value.child("op").class(), treeText(value["right"]))
	}
	return joinKey("update", target, "=", treeText(value))
}

// turned is an operator with its sides exchanged.
var turned = map[string]string{
	"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE",
}

func (r recogniser) assertion(test node) string {
	if key := r.comparison(test); key != "" {
		return key
	}
	args := test.nodes("args")
	if test.class() == "Call" && test.child("func").text("id") == "isinstance" && len(args) == 2 {
		if name := args[0].text("id"); r.generated[name] {
			return joinKey("assert_isinstance", name, strings.Join(typeNames(args[1]), " "))
		}
	}
	if len(r.mentioned(test)) > 0 {
		return joinKey("assert_other", treeText(test))
	}
	return ""
}

func typeNames(n node) []string {
	names := map[string]bool{}
	walk(n, func(n node) {
		if n.class() == "Name" {
			names[n.text("id")] = true
		}
	})
	return sortedNames(names)
}

// comparison recognises one comparison of a value with a plain constant.
func (r recogniser) comparison(test node) string {
	ops, others := test.nodes("ops"), test.nodes("comparators")
	if test.class() != "Compare" || len(ops) != 1 || len(others) != 1 || turned[ops[0].class()] == "" {
		return ""
	}
	op, name, other := ops[0].class(), test.child("left"), others[0]
	if !r.generated[name.text("id")] {
		op, name, other = turned[op], other, name
	}
	constant, ok := plainConstant(other)
	if !r.generated[name.text("id")] || name.class() != "Name" || !ok {
		return ""
	}
	return joinKey("assert_cmp", name.text("id"), op, constant)
}

// plainConstant writes a number, as a float, or a text.
func plainConstant(n node) (string, bool) {
	if n.class() != "Constant" {
		return "", false
	}
	v, err := parseValue(n.text("value"))
	switch {
	case err != nil:
		return "", false
	case v.number():
		return strconv.FormatFloat(v.asFloat(), 'f', 10, 64), true
	case v.Kind == 's':
		return strconv.Quote(v.Text), true
	}
	return "", false
}

// print recognises the print of one text in which one value stands.
func (r recogniser) print(call node) string {
	args := call.nodes("args")
	if call.class() != "Call" || call.child("func").text("id") != "print" || len(args) != 1 {
		return ""
	}
	t := template{recogniser: r, names: map[string]bool{}}
	t.add(args[0])
	if len(t.names) != 1 {
		return ""
	}
	return joinKey("print", sortedNames(t.names)[0], t.text.String())
}

// template is what is printed, with a mark for a value.
type template struct {
	recogniser
	names map[string]bool
	text  strings.Builder
}

const templateMark = "\x01"

func (t *template) add(n node) {
	switch {
	case n.class() == "Constant" && isTextTag(n.text("value")):
		v, _ := parseValue(n.text("value"))
		t.text.WriteString(v.Text)
	case n.class() == "JoinedStr":
		for _, part := range n.nodes("values") {
			t.add(part)
		}
	case n.class() == "FormattedValue":
		t.add(n.child("value"))
	case n.class() == "BinOp" && n.child("op").class() == "Add":
		t.add(n.child("left"))
		t.add(n.child("right"))
	case n.class() == "Call" && isConversion(n):
		t.add(n.nodes("args")[0])
	case n.class() == "Name" && t.generated[n.text("id")]:
		t.names[n.text("id")] = true
		t.text.WriteString(templateMark)
	default:
		for name := range t.mentioned(n) {
			t.names[name] = true
		}
		t.text.WriteString(treeText(n) + templateMark)
	}
}

func isTextTag(tag string) bool {
	v, err := parseValue(tag)
	return err == nil && v.Kind == 's'
}

func isConversion(call node) bool {
	name := call.child("func").text("id")
	return (name == "str" || name == "repr" || name == "format") && len(call.nodes("args")) > 0
}
