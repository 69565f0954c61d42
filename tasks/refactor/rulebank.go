package refactor

import (
	"slices"
	"strconv"

	"cabra-run/tasks"
)

// category is the place of a rule's line among those of the other rules in the
// same function.
type category int

const (
	comments category = iota
	assertions
	prints
	temporaries
)

// ruleKind is one of the kinds of rules that a bank has.
type ruleKind struct {
	word     string
	category category
	rands    []string // what Rand is drawn from, if the line needs it
	second   bool     // the line needs Rand2, another one of rands
	prefixed bool     // the line needs Prefix
	suffixed bool     // the line needs Suffix
	line     func(r Rule) string
}

// ruleBank returns the kinds of rules for values of the refactoring and code
// type: for numbers or for strings of digits. Order and contents are part of
// what a seed stands for.
func ruleBank(r tasks.Refactoring, code tasks.CodeType) []ruleKind {
	if r == tasks.AddReturn || code == tasks.String {
		return textBank()
	}
	return numberBank()
}

func numberBank() []ruleKind {
	var tenths []string
	for i := 1; i <= 10; i++ {
		tenths = append(tenths, strconv.FormatFloat(float64(i)/10, 'f', 1, 64))
	}
	kind := func(word, operator string) ruleKind {
		return ruleKind{word: word, category: temporaries, rands: tenths,
			line: func(r Rule) string { return r.NewVar + " = " + r.Var + operator + r.Rand }}
	}
	return append([]ruleKind{
		kind("add_number", " + "),
		kind("subtract_number", " - "),
		kind("multiply_number", " * "),
		kind("divide_number", " / "),
	}, commonKinds(
		[]string{"-40", "-30", "-20", "-10", "10", "20", "30", "40"},
		[]string{"50", "75", "100", "125", "150", "175", "200"},
		[]string{"-50", "-75", "-100", "-125", "-150", "-175", "-200"})...)
}

func textBank() []ruleKind {
	digits := quoted("0123456789")
	kind := func(word string, second bool, value func(r Rule) string) ruleKind {
		return ruleKind{word: word, category: temporaries, rands: digits, second: second,
			line: func(r Rule) string { return r.NewVar + " = " + value(r) }}
	}
	return append([]ruleKind{
		kind("add_character_prefix", false, func(r Rule) string { return r.Rand + " + " + r.Var }),
		kind("add_character_suffix", false, func(r Rule) string { return r.Var + " + " + r.Rand }),
		kind("replace_character", true, func(r Rule) string {
			return r.Var + ".replace(" + r.Rand + ", " + r.Rand2 + ")"
		}),
		kind("sandwich", true, func(r Rule) string { return r.Rand + " + " + r.Var + " + " + r.Rand2 }),
	}, commonKinds(quoted("ABCDEFG"), quoted(":;<=>?@"), quoted("!#$%&+,"))...)
}

// commonKinds are the kinds that both banks have; values stay between the
// bounds and are none of different.
func commonKinds(different, upper, lower []string) []ruleKind {
	assertion := func(word, operator string, rands []string) ruleKind {
		return ruleKind{word: word, category: assertions, rands: rands,
			line: func(r Rule) string { return "assert " + r.Var + operator + r.Rand }}
	}
	return []ruleKind{
		assertion("assert_not", " != ", different),
		assertion("assert_upper_bound", " < ", upper),
		assertion("assert_lower_bound", " > ", lower),
		{word: "print_prefix", category: prints, prefixed: true,
			line: func(r Rule) string { return "print(f'" + r.Prefix + "{" + r.Var + "}')" }},
		{word: "print_suffix", category: prints, suffixed: true,
			line: func(r Rule) string { return "print(f'{" + r.Var + "}" + r.Suffix + "')" }},
		{word: "add_comment", category: comments, rands: commentLabels(),
			line: func(r Rule) string { return "# " + r.Rand + ": " + r.Var }},
	}
}

// quoted returns every character as a string literal.
func quoted(characters string) []string {
	var literals []string
	for _, c := range characters {
		literals = append(literals, "'"+string(c)+"'")
	}
	return literals
}

func commentLabels() []string {
	return []string{"TODO", "NOTE", "checkpoint", "trace", "debug", "handoff", "pass-through", "preserve",
		"review", "guard", "computed", "forwarded", "state", "local", "marker", "verify"}
}

// printPrefixes and printSuffixes are our own: the published texts are not
// known. Only their numbers are, which decide about everything that is drawn
// later.
func printPrefixes() []string {
	return []string{"Value: ", "value: ", "Current: ", "result: ", "INFO: ", "step: ", "mult = ", "x = ", "got = ",
		"-> ", "=> ", "[log] ", "[step] ", "[mult] ", ">> ", "seeing ", "now ", "received "}
}

func printSuffixes() []string {
	return []string{" (value)", " (seen)", " (checked)", " [ok]", " [end]", " ...", " | done", " | mult", " #value",
		" #seen", " //end", " ;", " <-", " <=", " !!", " is set"}
}

// newVarPatterns name temporary variables; % stands for the value's name.
func newVarPatterns() []string {
	return []string{"%_temp", "temp_%", "%_copy", "copy_%", "%_snapshot", "snapshot_%", "%_stash", "stored_%",
		"%_current", "current_%", "%_local", "local_%", "%_checkpoint", "checkpoint_%", "%_dupe", "dupe_%"}
}

// insertedLines returns the lines of the rules in the order in which they stand
// in a function: by category, then by value, then as they were drawn.
func insertedLines(rules []Rule, bank []ruleKind) []string {
	categoryOf := map[string]category{}
	for _, k := range bank {
		categoryOf[k.word] = k.category
	}
	ordered := slices.Clone(rules)
	slices.SortStableFunc(ordered, func(a, b Rule) int {
		if c := int(categoryOf[a.Kind]) - int(categoryOf[b.Kind]); c != 0 {
			return c
		}
		return a.Value - b.Value
	})
	lines := make([]string, len(ordered))
	for i, r := range ordered {
		lines[i] = r.Line
	}
	return lines
}
