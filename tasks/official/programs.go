package official

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// pyFunction is a function at the top level of a program.
type pyFunction struct{ name, text string }

var defLine = regexp.MustCompile(`^def (\w+)\(`)

// functionsOf splits a program by lines: a function lasts until the next line
// that is not indented.
func functionsOf(source string) []pyFunction {
	var list []pyFunction
	open, start, at := false, 0, 0
	finish := func() {
		if open {
			list[len(list)-1].text = strings.TrimSpace(source[start:at])
		}
		open = false
	}
	for line := range strings.Lines(source) {
		if m := defLine.FindStringSubmatch(line); m != nil {
			finish()
			list, open, start = append(list, pyFunction{name: m[1]}), true, at
		} else if strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '\t' {
			finish()
		}
		at += len(line)
	}
	finish()
	return list
}

// The functions that are no nodes of the call graph.
const (
	mainFunction  = "main"
	checkFunction = "check"
)

func isNode(name string) bool { return name != mainFunction && name != checkFunction }

// checkOfPrograms finds out what a reference does to a starter. order is the
// graph order of the functions, as far as it is known.
func checkOfPrograms(r tasks.Refactoring, starter, reference string, order []string) (tasks.Check, error) {
	check := tasks.Check{Kind: tasks.CallGraphCheck, Library: libraryOf(starter)}
	before, after := functionsOf(starter), map[string]string{}
	for _, f := range functionsOf(reference) {
		after[f.name] = f.text
	}
	for _, f := range before {
		text, kept := after[f.name]
		if isNode(f.name) && (!kept || r != tasks.DeadCode && text != f.text) {
			check.Edited = append(check.Edited, f.name)
		}
	}
	if len(check.Edited) == 0 {
		return tasks.Check{}, errors.New("the solution edits no function")
	}
	inOrder(check.Edited, order)
	var err error
	check.Live, err = liveBranches(before)
	check.Branches = len(check.Live) > 0
	return check, err
}

// inOrder sorts names as they stand in order; if it has others, it is of another
// program and tells nothing.
func inOrder(names, order []string) {
	place := map[string]int{}
	for i, name := range order {
		place[name] = i
	}
	for _, name := range names {
		if _, ok := place[name]; !ok {
			return
		}
	}
	slices.SortFunc(names, func(a, b string) int { return place[a] - place[b] })
}

var importLine = regexp.MustCompile(`(?m)^from mylibrary import ([\w, ]+)$`)

func libraryOf(source string) []string {
	names := []string{}
	for _, m := range importLine.FindAllStringSubmatch(source, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

var guardLine = regexp.MustCompile(
	`^def \w+\(.*\n    if check\((\d{1,4}), (\d{1,2}), (\d{1,2}), ([01]), num_steps=(\d{1,5})\):\n`)

// Bounds on what the guards of a program take: one of them, and all together.
const (
	maxSteps      = 10_000
	maxStepsOfAll = 200_000
)

// liveBranches says for each function which branch runs, if all of them are an
// if/else with a guard.
func liveBranches(functions []pyFunction) (map[string]bool, error) {
	live, total := map[string]bool{}, 0
	for _, f := range functions {
		if !isNode(f.name) {
			continue
		}
		m := guardLine.FindStringSubmatch(f.text)
		if m == nil {
			return nil, nil
		}
		var args [5]int
		for i := range args {
			args[i], _ = strconv.Atoi(m[i+1])
		}
		if total += args[4]; args[4] > maxSteps || total > maxStepsOfAll {
			return nil, fmt.Errorf("the guards take more than %d steps, or %d together", maxSteps, maxStepsOfAll)
		}
		live[f.name] = parityAfter(args[4], int64(args[0]), int64(args[1]), int64(args[2])) == args[3]
	}
	return live, nil
}

// parityAfter computes what the function check compares with its target.
// Values outgrow 64 bits.
func parityAfter(steps int, x, a, b int64) int {
	value, factor, term := big.NewInt(x), big.NewInt(a), big.NewInt(b)
	for range steps {
		if value.Bit(0) == 0 {
			value.Rsh(value, 1)
		} else {
			value.Mul(value, factor).Add(value, term)
		}
	}
	return int(value.Bit(0))
}

// readMetadata is the part of a record's metadata that a check needs.
type readMetadata struct {
	NumValues int         `json:"num_values"`
	Rules     []valueRule `json:"constraint_rules"`
	EditOnly  bool        `json:"edit_only"`
	Comment   string      `json:"edit_only_comment"`
}

// Bounds on the metadata of a task.
const (
	maxValues = 1000
	maxRules  = 10_000
)

// addMetadata adds what a record's metadata says, if it has any.
func addMetadata(check *tasks.Check, metadata raw) error {
	if len(metadata) == 0 {
		return nil
	}
	var m readMetadata
	if err := json.Unmarshal(metadata, &m); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return m.addTo(check)
}

// addTo adds what the metadata says to a check. The order in which rules of
// different values were sampled, and their phrasing, are not in official files.
func (m readMetadata) addTo(check *tasks.Check) error {
	if m.NumValues < 0 || m.NumValues > maxValues || len(m.Rules) > maxValues {
		return fmt.Errorf("%d values with rules for %d are too many", m.NumValues, len(m.Rules))
	}
	check.Values = m.NumValues
	for i, value := range m.Rules {
		for _, r := range value.Rules {
			rule, err := r.rule(i+1, value.Var)
			if err != nil {
				return err
			}
			check.Rules = append(check.Rules, rule)
		}
		if len(check.Rules) > maxRules {
			return fmt.Errorf("more than %d rules", maxRules)
		}
	}
	check.Inserted = insertedLines(check.Rules)
	if m.EditOnly {
		check.Comment = m.Comment
		check.Inserted = []string{m.Comment}
	}
	return nil
}

func (r ruleRecord) rule(value int, name string) (tasks.Rule, error) {
	rand, ok1 := literalOf(r.Values.Rand)
	rand2, ok2 := literalOf(r.Values.Rand2)
	rule := tasks.Rule{Value: value, Var: name, Kind: r.TemplateKey, Rand: rand, Rand2: rand2,
		Prefix: r.Values.Prefix, Suffix: r.Values.Suffix, NewVar: r.Values.NewVar, Sentence: r.TemplateDesc}
	_, line, ok := lineOf(rule)
	if !ok || !ok1 || !ok2 || r.CheckKey != everyFunction {
		return rule, fmt.Errorf("unknown rule %.40q for %.40q", r.TemplateKey, r.CheckKey)
	}
	rule.Line = line
	return rule, nil
}

// lineOf returns the line that a rule inserts and its place among those of
// other rules: comments, assertions, prints, assignments.
func lineOf(r tasks.Rule) (place int, line string, ok bool) {
	switch r.Kind {
	case commentKind:
		return 0, "# " + r.Rand + ": " + r.Var, true
	case "assert_not":
		return 1, "assert " + r.Var + " != " + r.Rand, true
	case "assert_upper_bound":
		return 1, "assert " + r.Var + " < " + r.Rand, true
	case "assert_lower_bound":
		return 1, "assert " + r.Var + " > " + r.Rand, true
	case "print_prefix":
		return 2, "print(f'" + r.Prefix + "{" + r.Var + "}')", true
	case "print_suffix":
		return 2, "print(f'{" + r.Var + "}" + r.Suffix + "')", true
	}
	formula, ok := map[string]string{
		"add_number":           r.Var + " + " + r.Rand,
		"subtract_number":      r.Var + " - " + r.Rand,
		"multiply_number":      r.Var + " * " + r.Rand,
		"divide_number":        r.Var + " / " + r.Rand,
		"add_character_prefix": r.Rand + " + " + r.Var,
		"add_character_suffix": r.Var + " + " + r.Rand,
		"replace_character":    r.Var + ".replace(" + r.Rand + ", " + r.Rand2 + ")",
		"sandwich":             r.Rand + " + " + r.Var + " + " + r.Rand2,
	}[r.Kind]
	return 3, r.NewVar + " = " + formula, ok
}

// insertedLines orders the lines of rules, which are sorted by value.
func insertedLines(rules []tasks.Rule) []string {
	var lines []string
	for place := range 4 {
		for _, r := range rules {
			if at, line, _ := lineOf(r); at == place {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
