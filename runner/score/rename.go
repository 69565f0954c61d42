package score

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
)

// renameRules ask for a function whose variables are renamed and that is
// otherwise what it was.
type renameRules struct {
	*ruleset
	renames []tasks.Renaming
}

// judge implements rules.
func (r *renameRules) judge(c *module) []results.Check {
	mine, want := c.functions()["main"], r.kept["main"]
	checks := r.ruleset.judge(c)
	if mine == nil || want == nil {
		return append(checks, check("renames", "there is no function main"))
	}
	return append(checks, check("renames", r.differences(mine, want)...))
}

// differences tells in which ways main is not the reference's.
func (r *renameRules) differences(mine, want *statement) []string {
	if mine.same(want) {
		return nil
	}
	got, expected := nameCounts(mine.node()), nameCounts(want.node())
	var problems, left []string
	done := 0
	for _, rename := range r.renames {
		switch {
		case got[rename.Old] > 0:
			left = append(left, rename.Old)
		case got[rename.New] == expected[rename.New]:
			done++
		}
	}
	if done < len(r.renames) {
		problems = append(problems, fmt.Sprintf("renamed %d of %d variables at all their places", done, len(r.renames)))
	}
	if len(left) > 0 {
		problems = append(problems, "still has "+shorten(strings.Join(left, ", "), 80))
	}
	if names := r.unknown(got, expected); len(names) > 0 {
		problems = append(problems, "has names that nobody asked for: "+shorten(strings.Join(names, ", "), 80))
	}
	return append(problems, firstDifference(mine.node(), want.node()))
}

// unknown returns the names that neither starter nor reference have.
func (r *renameRules) unknown(got, expected map[string]int) []string {
	var out []string
	for name := range got {
		old := slices.ContainsFunc(r.renames, func(x tasks.Renaming) bool { return x.Old == name })
		if expected[name] == 0 && !old {
			out = append(out, shorten(name, 40))
		}
	}
	slices.Sort(out)
	return out
}

func nameCounts(function node) map[string]int {
	counts := map[string]int{}
	walk(function["body"], func(n node) {
		if n.class() == "Name" {
			counts[n.text("id")]++
		}
	})
	return counts
}

func firstDifference(mine, want node) string {
	got, expected := mine.list("body"), want.list("body")
	for i := range min(len(got), len(expected)) {
		if !reflect.DeepEqual(got[i], expected[i]) {
			return fmt.Sprintf("statement %d differs", i+1)
		}
	}
	if len(got) != len(expected) {
		return fmt.Sprintf("has %d statements, not %d", len(got), len(expected))
	}
	return "differs beside its statements"
}
