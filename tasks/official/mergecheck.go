package official

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// classesOf splits a program into the lines of its classes.
func classesOf(source string) map[string][]string {
	classes := map[string][]string{}
	name := ""
	for line := range strings.SplitSeq(source, "\n") {
		if m := classLine.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if line != "" && line[0] != ' ' {
			name = ""
		}
		if name != "" {
			classes[name] = append(classes[name], line)
		}
	}
	return classes
}

var (
	classLine  = regexp.MustCompile(`^class (\w+)\b`)
	methodLine = regexp.MustCompile(`^    def (\w+)\(self(?:, ([^*()]*))?\):$`)
	helperCall = regexp.MustCompile(`^(\w+) = self\.custom_compute_(\d+)\(([^()]*)\)$`)
)

// bodyOf returns the lines of a method without their indentation, and its
// parameters.
func bodyOf(class []string, method string) (params, body []string) {
	open := false
	for _, line := range class {
		if m := methodLine.FindStringSubmatch(line); m != nil {
			if open = m[1] == method; open {
				params, body = splitNames(m[2]), nil
			}
			continue
		}
		inner, inside := strings.CutPrefix(line, "        ")
		if !inside && line != "" {
			open = false
		}
		if open {
			body = append(body, inner)
		}
	}
	return params, body
}

func splitNames(list string) []string {
	names := []string{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Bounds on what is derived of a merge task.
const (
	maxParams      = 26
	maxDifferences = 100
	strictVectors  = 50
)

// checkOfMerge finds out what a merge task is about. The kinds of differences
// are not in official files, nor is the seed.
func checkOfMerge(k Key, spaced, reference string, transforms []string) (tasks.Check, error) {
	m := &tasks.MergeCheck{Seed: mergeSeed, Transforms: transforms}
	starters, classes := classesOf(spaced), classesOf(reference)
	params, common := bodyOf(classes["Calculate"], "compute")
	if m.Params = len(params); m.Params < 1 || m.Params > maxParams {
		return tasks.Check{}, fmt.Errorf("the solution computes with %d parameters", m.Params)
	}
	for i, name := range []string{"CalculateA", "CalculateB"} {
		_, body := bodyOf(starters[name], "compute")
		m.Groups[i] = groupsOf(body)
	}
	for _, line := range common {
		call := helperCall.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		d := tasks.MergeDifference{Target: call[1], Arguments: splitNames(call[3])}
		d.A = returned(classes["CalculateA"], "custom_compute_"+call[2])
		d.B = returned(classes["CalculateB"], "custom_compute_"+call[2])
		d.Operators = max(operatorsIn(d.A), operatorsIn(d.B))
		m.Differences = append(m.Differences, d)
		if call[2] != fmt.Sprint(len(m.Differences)) || d.A == "" || d.B == "" || len(m.Differences) > maxDifferences {
			return tasks.Check{}, fmt.Errorf("the solution's difference %s cannot be read", call[2])
		}
	}
	groups := 2*len(m.Differences) + 1
	if len(m.Differences) == 0 || len(m.Groups[0]) != groups || len(m.Groups[1]) != groups {
		return tasks.Check{}, errors.New("starter and solution do not have the same differences")
	}
	m.Vectors = vectorsOf(k, m.Params)
	return tasks.Check{Kind: tasks.MergeKind, Merge: m}, nil
}

// groupsOf counts the lines between blank ones, without the return line.
func groupsOf(body []string) []int {
	var groups []int
	lines := 0
	for _, line := range append(slices.Clone(body), "") {
		switch {
		case line != "" && !strings.HasPrefix(line, "return "):
			lines++
		case lines > 0:
			groups, lines = append(groups, lines), 0
		}
	}
	return groups
}

// returned is the expression of a method that does nothing but return it.
func returned(class []string, method string) string {
	_, body := bodyOf(class, method)
	body = slices.DeleteFunc(body, func(line string) bool { return line == "" })
	if len(body) != 1 {
		return ""
	}
	expression, _ := strings.CutPrefix(body[0], "return ")
	return expression
}

func operatorsIn(expression string) (n int) {
	for _, operator := range []string{"+", "-", "*"} {
		n += strings.Count(expression, operator)
	}
	return n
}

// vectorsOf draws arguments for the strict verdict: 1, 2, 3, … first, then as
// many small ones, then larger ones.
func vectorsOf(k Key, params int) [][]int {
	stream := callgraph.NewTextStream("strict:" + CurrentRun(k.Run) + ":" + k.DagID)
	vectors := make([][]int, strictVectors)
	for i := range vectors {
		limit := 5
		if i >= strictVectors/2 {
			limit = 99
		}
		for p := range params {
			if i == 0 {
				vectors[i] = append(vectors[i], p+1)
				continue
			}
			vectors[i] = append(vectors[i], stream.Between(-limit, limit))
		}
	}
	return vectors
}
