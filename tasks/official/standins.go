package official

import (
	_ "embed" // for the strops library
	"fmt"
	"strings"

	"cabra-run/tasks"
)

//go:embed standins/strops.py
var stropsText string

// standIns is what the blocks for a code type are made of: alternatives of the
// four functions of mylibrary behind the imports of all of them.
type standIns struct {
	head                            string
	external, fixed, helpers, slows []string
}

// prefixBlocks returns the stand-ins for the libraries that programs of a code
// type import: the product of all alternatives, that of slow running fastest.
// Where values are numbered, the functions take a number.
func prefixBlocks(c tasks.CodeType, numbered bool) []string {
	s := standInsOf(c, numbered)
	var blocks []string
	for _, external := range s.external {
		for _, fixed := range s.fixed {
			for _, helper := range s.helpers {
				for _, slow := range s.slows {
					blocks = append(blocks, strings.Join([]string{s.head, external, fixed, helper, slow}, "\n\n"))
				}
			}
		}
	}
	return blocks
}

func standInsOf(c tasks.CodeType, numbered bool) standIns {
	s := standIns{head: "import math\nimport operator"}
	names, constants := []string{"cabra", "goat", "chevre", "capra", "geit"}, []string{"0.21", "-0.42", "0.63", "-0.84", "1.02"}
	values, helper := "float", "get_multiplier"
	switch c {
	case tasks.Array:
		s.head += "\nimport numpy as np"
	case tasks.String:
		s.head = strings.TrimSpace(stropsText)
		names, constants = hundreds(), []string{"'0'", "'1'", "'2'", "'3'", "'4'"}
		values, helper = "str", "get_key"
	}
	if numbered {
		names = hundreds()
	}
	for _, name := range names {
		s.external = append(s.external, externalText(name, numbered))
	}
	for _, constant := range constants {
		s.fixed = append(s.fixed, constantText("default", constant, values, numbered, "0.024"))
		s.slows = append(s.slows, constantText("slow", constant, values, numbered, "0.017"))
	}
	for _, body := range helperBodies(c) {
		s.helpers = append(s.helpers, helperText(helper, body, c, numbered))
	}
	return s
}

func hundreds() []string { return []string{"100", "200", "300", "400", "500"} }

// externalText brings a name beside the value, or numbered ones alone.
func externalText(name string, numbered bool) string {
	if numbered {
		return fmt.Sprintf("def external(k: int) -> tuple:\n    return tuple('%s' + str(j) for j in range(k))", name)
	}
	return fmt.Sprintf("def external(x):\n    return (x, '%s')", name)
}

func constantText(name, constant, values string, numbered bool, step string) string {
	if !numbered {
		return fmt.Sprintf("def %s() -> %s:\n    return %s", name, values, constant)
	}
	return fmt.Sprintf("def %s(i: int=0) -> %s:\n    return %s", name, values, withIndex(constant, values, step))
}

// withIndex makes a value depend on its number.
func withIndex(value, values, step string) string {
	if values == "str" {
		return value + " + str(i)"
	}
	return value + " + " + step + " * i"
}

// helperBodies are the alternatives of the helper: lines before its value, and
// the value.
func helperBodies(c tasks.CodeType) [][]string {
	switch c {
	case tasks.Array:
		return [][]string{{"1.0 if np.sum(x) > 0 else -1.0"}, {"0.5"}, {"float(np.std(x))"},
			{"min(float(np.min(x)), 0.21)"}, {"float(np.mean(x)) + 0.01"}}
	case tasks.String:
		var bodies [][]string
		for _, start := range []string{"97", "94", "91"} {
			bodies = append(bodies, []string{
				"digits = [str((ord(c) - " + start + ") % 10) for c in x.lower() if 'a' <= c <= 'z']",
				"''.join(digits) or '0'"})
		}
		return bodies
	}
	return [][]string{{"1.0 if x > 0 else -1.0"}, {"0.5"}, {"x"}, {"min(x, 0.21)"}, {"x + 0.01"}}
}

func helperText(name string, body []string, c tasks.CodeType, numbered bool) string {
	types := map[tasks.CodeType]string{tasks.Math: "float", tasks.String: "str", tasks.Array: "np.ndarray"}
	values := "float"
	if c == tasks.String {
		values = "str"
	}
	parameters, value := "x: "+types[c], body[len(body)-1]
	if numbered {
		parameters += ", i: int=0"
		value = withIndex("("+value+")", values, "0.031")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "def %s(%s) -> %s:\n", name, parameters, values)
	for _, line := range body[:len(body)-1] {
		b.WriteString("    " + line + "\n")
	}
	b.WriteString("    return " + value)
	return b.String()
}
