package merge

import (
	"fmt"
	"strconv"
	"strings"
)

// expression writes the sum of a line with the names of its variables.
func expression(l line, names []string) string {
	var b strings.Builder
	for i, t := range l.terms {
		switch {
		case i == 0 && t.negative:
			b.WriteString("-")
		case i > 0 && t.negative:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		}
		product := strings.Join(named(t.factors, names), " * ")
		switch {
		case t.coefficient == 1:
			b.WriteString(product)
		case len(t.factors) == 1:
			b.WriteString(strconv.Itoa(t.coefficient) + " * " + product)
		default:
			b.WriteString(strconv.Itoa(t.coefficient) + " * (" + product + ")")
		}
	}
	return b.String()
}

func named(variables []int, names []string) []string {
	list := make([]string, len(variables))
	for i, v := range variables {
		list[i] = names[v]
	}
	return list
}

// method is compute as it stands in a class.
type method struct {
	params []string
	body   []string
}

func (c *class) method(of *canonical) method {
	m := method{params: c.names[:of.params]}
	for _, l := range c.lines() {
		m.body = append(m.body, c.names[l.target]+" = "+expression(l, c.names))
	}
	m.body = append(m.body, "return "+strings.Join(named(of.leaves, c.names), " + "))
	return m
}

// commonMethod is compute of the reference's parent class, which calls a helper
// method for each difference.
func (c *canonical) commonMethod() method {
	names := canonicalNames(c.params, c.targets())
	m := method{params: names[:c.params]}
	add := func(l line, value string) { m.body = append(m.body, names[l.target]+" = "+value) }
	for k, block := range c.blocks {
		for _, l := range block {
			add(l, expression(l, names))
		}
		if k < len(c.differences) {
			d := c.differences[k]
			arguments := strings.Join(named(reads(d.versions[:]...), names), ", ")
			add(d.versions[0], fmt.Sprintf("self.%s(%s)", helperName(k), arguments))
		}
	}
	m.body = append(m.body, "return "+strings.Join(named(c.leaves, names), " + "))
	return m
}

// helperName is the name of the method for the k-th difference, from 0.
func helperName(k int) string { return fmt.Sprintf("custom_compute_%d", k+1) }

const (
	fileHead = "from abc import ABC, abstractmethod\n\n\n"
	inClass  = "    "
	inMethod = "        "
)

func methodText(name string, params []string, body ...string) string {
	var b strings.Builder
	b.WriteString(inClass + "def " + name + "(" + strings.Join(append([]string{"self"}, params...), ", ") + "):\n")
	for _, line := range body {
		b.WriteString(inMethod + line + "\n")
	}
	return b.String()
}

func abstractText(name string, params []string) string {
	return inClass + "@abstractmethod\n" + methodText(name, params, "...")
}

func classHead(name string) string { return "class Calculate" + name + "(Calculate):\n\n" }

// guardText runs both classes when the file is executed.
func guardText(params int) string {
	arguments := make([]string, params)
	for i := range arguments {
		arguments[i] = strconv.Itoa(i + 1)
	}
	tuple := strings.Join(arguments, ", ")
	if params == 1 {
		tuple += ","
	}
	return "\n\nif __name__ == '__main__':\n" +
		"    calculate_a = CalculateA()\n" +
		"    calculate_b = CalculateB()\n" +
		"    args = (" + tuple + ")\n" +
		"    print(f'Result A: {calculate_a.compute(*args)}')\n" +
		"    print(f'Result B: {calculate_b.compute(*args)}')\n"
}

// starterText is the file with both classes as they were rewritten.
func starterText(a, b method) string {
	return fileHead + "class Calculate(ABC):\n" +
		inClass + "\"\"\"A calculation with integers.\"\"\"\n\n" +
		abstractText("compute", []string{"*args"}) + "\n\n" +
		classHead("A") + methodText("compute", a.params, a.body...) + "\n" +
		classHead("B") + methodText("compute", b.params, b.body...) +
		guardText(len(a.params))
}

// referenceText is the file with the common lines in the parent class.
func referenceText(c *canonical) string {
	names := canonicalNames(c.params, c.targets())
	var b strings.Builder
	b.WriteString(fileHead + "class Calculate(ABC):\n" +
		inClass + "\"\"\"What both calculations have in common.\"\"\"\n\n")
	arguments := make([][]string, len(c.differences))
	for k, d := range c.differences {
		arguments[k] = named(reads(d.versions[:]...), names)
		b.WriteString(abstractText(helperName(k), arguments[k]) + "\n")
	}
	common := c.commonMethod()
	b.WriteString(methodText("compute", common.params, common.body...))
	for i, name := range []string{"A", "B"} {
		b.WriteString("\n\n" + strings.TrimSuffix(classHead(name), "\n"))
		for k, d := range c.differences {
			b.WriteString("\n" + methodText(helperName(k), arguments[k], "return "+expression(d.versions[i], names)))
		}
	}
	b.WriteString(guardText(c.params))
	return b.String()
}
