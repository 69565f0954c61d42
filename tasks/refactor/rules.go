package refactor

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// Rule is one instruction about one generated value.
type Rule = tasks.Rule

// generatedValues is the number of values that are passed around where they are
// numbered, whatever the number of rules.
const generatedValues = statementValues

// phrasings is the number of paraphrases of each kind.
const phrasings = 5

// triesPerRule bounds the sampling: that many times the number of values.
const triesPerRule = 60

// ruleSampler draws rules that do not repeat each other.
type ruleSampler struct {
	stream   *callgraph.Stream
	stem     string // values are named stem1, stem2, …
	bank     []ruleKind
	used     []map[string]bool // what was Rand before, per value
	lines    []map[string]bool // per value
	assigned []bool            // the value has a temporary variable
}

// sampleRules draws count rules for the values of a sample's tasks. Neither the
// refactoring nor the count decides about a rule: fewer rules are the first ones
// of more, and banks of the same kind yield the same ones.
func sampleRules(seed int64, sampleID, stem string, bank []ruleKind, count int) ([]Rule, error) {
	digest := sha256.Sum256([]byte(sampleID))
	s := ruleSampler{
		stream:   callgraph.NewTextStream(fmt.Sprintf("%d:rules:all-functions:%x", seed, digest)),
		stem:     stem,
		bank:     bank,
		assigned: make([]bool, generatedValues),
	}
	for range generatedValues {
		s.used, s.lines = append(s.used, map[string]bool{}), append(s.lines, map[string]bool{})
	}
	rules := make([]Rule, 0, count)
	for range count * generatedValues * triesPerRule {
		if len(rules) == count {
			break
		}
		if r, ok := s.next(); ok {
			rules = append(rules, r)
		}
	}
	if len(rules) < count {
		return nil, fmt.Errorf("%d values have room for %d different rules only, not for %d",
			generatedValues, len(rules), count)
	}
	return rules, nil
}

// next draws one rule, or finds on the way that it cannot be used.
func (s *ruleSampler) next() (Rule, bool) {
	value := s.stream.Below(generatedValues)
	kind := callgraph.Choice(s.stream, s.bank)
	if kind.category == temporaries && s.assigned[value] {
		return Rule{}, false
	}
	r := Rule{Value: value + 1, Var: s.stem + strconv.Itoa(value+1), Kind: kind.word}
	r.NewVar = strings.Replace(callgraph.Choice(s.stream, newVarPatterns()), "%", r.Var, 1)
	if !s.drawContents(&r, kind) {
		return Rule{}, false
	}
	r.Phrasing = s.stream.Below(phrasings)
	r.Line = kind.line(r)
	if s.lines[value][r.Line] {
		return Rule{}, false // the sentences of equal lines may differ, those of others always do
	}
	s.stream.Below(1) // where it applies, of which there is one choice
	s.lines[value][r.Line] = true
	s.assigned[value] = s.assigned[value] || kind.category == temporaries
	if r.Rand != "" {
		s.used[value][r.Rand] = true
	}
	r.Sentence = sentence(r)
	return r, true
}

// drawContents draws what is put into the line. A value never gets the same
// Rand twice, not even in rules of different kinds.
func (s *ruleSampler) drawContents(r *Rule, kind ruleKind) bool {
	switch {
	case kind.prefixed:
		r.Prefix = callgraph.Choice(s.stream, printPrefixes())
		return true
	case kind.suffixed:
		r.Suffix = callgraph.Choice(s.stream, printSuffixes())
		return true
	}
	used := s.used[r.Value-1]
	left := slices.DeleteFunc(slices.Clone(kind.rands), func(rand string) bool { return used[rand] })
	if len(left) == 0 {
		return false
	}
	r.Rand = callgraph.Choice(s.stream, left)
	if kind.second {
		others := slices.DeleteFunc(slices.Clone(kind.rands), func(rand string) bool { return rand == r.Rand })
		r.Rand2 = callgraph.Choice(s.stream, others)
	}
	return true
}
