package official

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// taskRecord is a task on call graphs.
type taskRecord struct {
	Name     string `json:"name"`
	DagID    string `json:"dag_id"`
	Prompt   string `json:"prompt"`
	Starter  string `json:"starter_code"`
	Solution string `json:"solution_code"`
	Metadata any    `json:"metadata"`
}

// ruleMetadata is what the instructions axis adds.
type ruleMetadata struct {
	NumValues      int         `json:"num_values"`
	NumRules       int         `json:"num_constraint_rules"`
	Rules          []valueRule `json:"constraint_rules"`
	NumConstraints int         `json:"num_constraints"`
}

// valueRule is the rules of one value, in the order of their sampling.
type valueRule struct {
	Var   string       `json:"var"`
	Mult  string       `json:"mult"`
	Rules []ruleRecord `json:"rules"`
}

type ruleRecord struct {
	CheckKey     string     `json:"check_key"`
	TemplateKey  string     `json:"template_key"`
	CheckDesc    string     `json:"check_desc"`
	TemplateDesc string     `json:"template_desc"`
	Values       ruleValues `json:"values"`
}

// ruleValues has numbers and texts where a rule needs them, else "".
type ruleValues struct {
	Rand   raw    `json:"rand"`
	Rand2  raw    `json:"rand2"`
	Prefix string `json:"prefix"`
	Suffix string `json:"suffix"`
	NewVar string `json:"new_var"`
}

// commentMetadata marks the tasks whose edits go with a comment.
type commentMetadata struct {
	NumValues int    `json:"num_values"`
	EditOnly  bool   `json:"edit_only"`
	Comment   string `json:"edit_only_comment"`
}

func recordOf(t *tasks.Task, k Key) taskRecord {
	r := taskRecord{Name: k.name(), DagID: k.DagID, Prompt: t.Statement,
		Starter: t.Starter[tasks.SolutionFile], Solution: t.Reference[tasks.SolutionFile], Metadata: struct{}{}}
	switch t.Cell.Axis {
	case tasks.Instructions:
		r.Metadata = ruleMetadataOf(t)
	case tasks.CommentCopy:
		r.Metadata = commentMetadata{t.Check.Values, true, t.Check.Comment}
	}
	return r
}

const (
	everyFunction     = "all_functions"
	everyFunctionText = "in every eligible function,"
	commentKind       = "add_comment"
)

func ruleMetadataOf(t *tasks.Task) ruleMetadata {
	stem := valueStem(t.Cell.Refactoring, t.Cell.Code)
	m := ruleMetadata{NumValues: t.Check.Values, NumRules: len(t.Check.Rules), NumConstraints: t.Cell.Size}
	for i := range t.Check.Values {
		name := stem + strconv.Itoa(i+1)
		value := valueRule{Var: name, Mult: name, Rules: []ruleRecord{}}
		for _, r := range t.Check.Rules {
			if r.Value == i+1 {
				value.Rules = append(value.Rules, ruleRecordOf(r))
			}
		}
		m.Rules = append(m.Rules, value)
	}
	return m
}

// valueStem is the name of the values that a refactoring passes around, without
// their number.
func valueStem(r tasks.Refactoring, c tasks.CodeType) string {
	switch {
	case r == tasks.AddReturn:
		return "key"
	case r == tasks.CacheFunction:
		return "slow"
	case c == tasks.String:
		return "prefix"
	}
	return "mult"
}

func ruleRecordOf(r tasks.Rule) ruleRecord {
	return ruleRecord{CheckKey: everyFunction, TemplateKey: r.Kind, CheckDesc: everyFunctionText,
		TemplateDesc: r.Sentence,
		Values: ruleValues{Rand: literalJSON(r.Rand), Rand2: literalJSON(r.Rand2), Prefix: r.Prefix,
			Suffix: r.Suffix, NewVar: r.NewVar}}
}

// literalJSON is a number as it is, and anything else as a text.
func literalJSON(literal string) raw {
	if _, err := strconv.ParseFloat(literal, 64); err == nil && json.Valid([]byte(literal)) {
		return raw(literal)
	}
	text, _ := json.Marshal(literal) // of a string, which cannot fail
	return text
}

// literalOf is the other way round: false for what is neither.
func literalOf(value raw) (literal string, ok bool) {
	if json.Unmarshal(value, &literal) == nil {
		return literal, true
	}
	var n json.Number
	if json.Unmarshal(value, &n) == nil && n != "" {
		return n.String(), true
	}
	return "", len(value) == 0
}

// mergeRecord is a task of merge. The published files lack the metadata, which
// says what nothing else in the record does.
type mergeRecord struct {
	Input         string        `json:"input"`
	InputSpaced   string        `json:"input_with_space"`
	Prompt        string        `json:"prompt"`
	Solution      string        `json:"solution"`
	Transforms    []string      `json:"allowed_transformations"`
	Perturbations []string      `json:"allowed_perturbations"`
	Metadata      mergeMetadata `json:"metadata"`
}

type mergeMetadata struct {
	Index       int                     `json:"index"` // in the file, from 0
	Seed        int64                   `json:"seed"`
	Lines       int                     `json:"num_lines"`
	Params      int                     `json:"num_params"`
	Differences []tasks.MergeDifference `json:"differences"`
}

func mergeRecordOf(t *tasks.Task, index int) mergeRecord {
	m := t.Check.Merge
	transforms := slices.Clone(m.Transforms)
	if transforms == nil {
		transforms = []string{}
	}
	starter := t.Starter[tasks.SolutionFile]
	return mergeRecord{Input: starter, InputSpaced: withBlankLines(starter, m.Groups), Prompt: t.Statement,
		Solution: t.Reference[tasks.SolutionFile], Transforms: transforms, Perturbations: mergePerturbations(),
		Metadata: mergeMetadata{Index: index, Seed: m.Seed, Lines: t.Cell.Size, Params: m.Params, Differences: m.Differences}}
}

// withBlankLines sets the groups of lines of both methods apart.
func withBlankLines(starter string, groups [2][]int) string {
	lines := strings.SplitAfter(starter, "\n")
	blank := make([]bool, len(lines))
	class := 0
	for i, line := range lines {
		if class == len(groups) || !strings.HasPrefix(line, computeHead) || strings.Contains(line, "*args") {
			continue
		}
		at := i
		blank[at] = true
		for _, n := range groups[class] {
			at = min(at+n, len(lines)-1)
			blank[at] = true
		}
		class++
	}
	var out strings.Builder
	for i, line := range lines {
		out.WriteString(line)
		if blank[i] {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// computeHead begins the method that does a class's work.
const computeHead = "    def compute(self, "
