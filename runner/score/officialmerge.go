package score

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
	"cabra-run/tasks/mt"
)

// officialVectors are the inputs of a merge task: 1, 2, 3, … and random ones.
func officialVectors(t *tasks.Task, count int) [][]int {
	stream := mt.NewStream(officialSeed + int64(t.Instance-1))
	var vectors [][]int
	for i := range count {
		v := make([]int, t.Check.Merge.Params)
		for k := range v {
			if v[k] = k + 1; i > 0 {
				v[k] = stream.Between(-5, 5)
			}
		}
		vectors = append(vectors, v)
	}
	return vectors
}

// officialClasses compares what both classes compute; anything that is raised
// is an error of the whole.
func (s *Scorer) officialClasses(ctx context.Context, e *expectation, sub *submission) (results.Check, error) {
	m := *e.task.Check.Merge
	m.Vectors = officialVectors(e.task, s.vectors)
	job := classesJob(&m, len(childClasses)*s.vectors+1)
	expected, err := s.officialMergeExpected(ctx, e, job)
	if err != nil {
		return results.Check{}, err
	}
	job.Program = sub.module.Program
	reply, err := s.ask(ctx, roleCandidate, &job, s.limits.wire())
	if errors.Is(err, errLost) {
		return errored(kindBehavioral, "killed the executor (%s)", lostText(err)), nil
	}
	if err != nil {
		return results.Check{}, err
	}
	actual, err := readRun(&job, reply.body)
	switch {
	case err != nil:
		return errored(kindBehavioral, "%v", err), nil
	case actual.Error != "":
		return errored(kindBehavioral, "%s", shorten(actual.Error, 200)), nil
	case !actual.Complete || len(actual.Trials) != len(job.Trials):
		return errored(kindBehavioral, "%s", endText(reply.replyHeader, s.limits)), nil
	}
	return tallyClasses(&job, expected, actual), nil
}

func (s *Scorer) officialMergeExpected(ctx context.Context, e *expectation, job runJob) ([][]string, error) {
	if a, ok := e.known.get(""); ok {
		return a.Trials[0], nil
	}
	answer, err := s.runReference(ctx, e, &job)
	if err != nil {
		return nil, err
	}
	var outcomes [][]string
	for _, a := range answer.Trials {
		if problem := unusable(&job, a); problem != "" {
			return nil, defect(e.task, "its reference: %s", problem)
		}
		outcomes = append(outcomes, a.Outcomes)
	}
	e.known.put("", officialAnswer{Trials: [][][]string{outcomes}})
	return outcomes, nil
}

func tallyClasses(job *runJob, expected [][]string, actual runAnswer) results.Check {
	failures, first := 0, ""
	for t, a := range actual.Trials {
		if a.Definition != "" {
			return errored(kindBehavioral, "%s", shorten(a.Definition[1:], 200))
		}
		for place, got := range a.Outcomes {
			if got == "-" || strings.HasPrefix(got, "!") {
				return errored(kindBehavioral, "%s: %s", job.Calls[place].Name, outcomeText(got))
			}
			if failures < maxOfficialFailures && !equalResults(expected[t][place], got) {
				failures++
				if first == "" {
					first = fmt.Sprintf("%s on input %d: expected %s, got %s", job.Calls[place].Name, t+1,
						outcomeText(expected[t][place]), outcomeText(got))
				}
			}
		}
	}
	if failures > 0 {
		return failed(kindBehavioral, "%s", first)
	}
	return passed(kindBehavioral)
}

// equalResults is equality of Python's numbers, whatever their types.
func equalResults(expected, actual string) bool {
	if expected == actual {
		return true
	}
	e, err := parseValue(strings.TrimPrefix(expected, "="))
	a, errA := parseValue(strings.TrimPrefix(actual, "="))
	if err != nil || errA != nil || e.Kind != 'i' {
		return false
	}
	switch a.Kind {
	case 'i':
		return e.Int.Cmp(a.Int) == 0
	case 'b':
		x, _ := a.anyNumber()
		return e.Int.IsInt64() && float64(e.Int.Int64()) == x
	case 'f':
		if !finiteFloat(a.Float) {
			return false
		}
		whole, accuracy := new(big.Float).SetFloat64(a.Float).Int(nil)
		return accuracy == big.Exact && whole.Cmp(e.Int) == 0
	}
	return false
}

var numberedHelper = regexp.MustCompile(`^custom_compute_(\d+)$`)

// helperNumber returns the number in a helper's name, leading zeros or not.
func helperNumber(name string) (int, bool) {
	match := numberedHelper.FindStringSubmatch(name)
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(match[1])
	return n, err == nil
}

// differenceBlocks looks at the helpers of the classes, and at little else.
func differenceBlocks(differences int, c *module) results.Check {
	classes := map[string]node{}
	for _, s := range c.Statements {
		if n := s.raw(); n.class() == "ClassDef" {
			classes[n.text("name")] = n
		}
	}
	var want []int
	for i := range differences {
		want = append(want, i+1)
	}
	problems := parentBlocks(classes[parentClass], want)
	for _, name := range append([]string{parentClass}, childClasses...) {
		if classes[name] == nil {
			return errored(kindDifferences, "class %s is missing", name)
		}
	}
	for _, name := range childClasses {
		for _, problem := range childBlocks(classes[name], want) {
			problems = append(problems, name+" "+problem)
		}
	}
	return unless(kindDifferences, problems)
}

// parentBlocks wants each helper called once, anywhere in compute.
func parentBlocks(class node, want []int) []string {
	var compute node
	for _, n := range class.nodes("body") {
		if n.class() == "FunctionDef" && n.text("name") == computeName {
			compute = n
		}
	}
	if compute == nil {
		return []string{parentClass + " has no compute"}
	}
	var calls []int
	walk(compute["body"], func(n node) {
		f := n.child("func")
		number, ok := helperNumber(f.text("attr"))
		if ok && n.class() == "Call" && f.class() == "Attribute" && f.child("value").text("id") == "self" {
			calls = append(calls, number)
		}
	})
	slices.Sort(calls)
	if !slices.Equal(calls, want) {
		return []string{fmt.Sprintf("compute calls the helpers %v, not %v", calls, want)}
	}
	return nil
}

// childBlocks wants one statement in each helper of a child.
func childBlocks(class node, want []int) []string {
	var problems []string
	inherits := slices.ContainsFunc(class.nodes("bases"), func(b node) bool {
		return b.text("id") == parentClass || b.text("attr") == parentClass
	})
	if !inherits {
		problems = append(problems, "is no subclass of "+parentClass)
	}
	lines := map[int]int{}
	for _, n := range class.nodes("body") {
		if n.class() != "FunctionDef" {
			continue
		}
		if n.text("name") == computeName {
			problems = append(problems, "has a compute")
		}
		if number, ok := helperNumber(n.text("name")); ok {
			lines[number] = statementCount(n)
		}
	}
	for _, number := range want {
		if count, ok := lines[number]; !ok {
			problems = append(problems, fmt.Sprintf("lacks helper %d", number))
		} else if count != 1 {
			problems = append(problems, fmt.Sprintf("has helper %d of %d lines", number, count))
		}
		delete(lines, number)
	}
	for number := range lines {
		problems = append(problems, fmt.Sprintf("has helper %d", number))
	}
	return problems
}

// statementCount counts the statements of a body without a text in front, pass
// and "...".
func statementCount(method node) int {
	count := 0
	for i, n := range method.nodes("body") {
		if i == 0 && isText(n) || n.class() == "Pass" || !isText(n) && isFiller(n) {
			continue
		}
		count++
	}
	return count
}
