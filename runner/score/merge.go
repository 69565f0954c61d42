package score

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
)

// classesOp is the operation that calls compute of classes.
const classesOp = "classes"

// The names that merged programs are about.
const (
	parentClass  = "Calculate"
	computeName  = "compute"
	helperPrefix = "custom_compute_"
)

var childClasses = []string{"CalculateA", "CalculateB"}

// minDifferent is on how many inputs the two classes of a task must differ.
const minDifferent = 10

// operatorSlack is how many times as many operators as the longer of the two
// versions a helper may have, for forms that are not multiplied out.
const operatorSlack = 2

// expectClasses expects something of the classes of a program.
func (s *Scorer) expectClasses(ctx context.Context, t *tasks.Task, e *expectation) error {
	m := t.Check.Merge
	if m == nil || len(m.Differences) == 0 {
		return defect(t, "its check has no differences")
	}
	e.rules = newMergeRules(m, e.own[0])
	e.job = classesJob(m, s.limits.Failures)
	job := e.job
	answer, err := s.runReference(ctx, e, &job)
	if err != nil {
		return err
	}
	e.answers = answer.Trials
	different := 0
	for _, a := range e.answers {
		if problem := unusable(&job, a); problem != "" {
			return defect(t, "its reference: %s", problem)
		}
		if a.Outcomes[0] != a.Outcomes[1] {
			different++
		}
	}
	if different < minDifferent {
		return defect(t, "its classes differ on %d of %d inputs only", different, len(e.answers))
	}
	e.index()
	return s.confirm(ctx, t, e)
}

// classesJob calls both classes with each vector.
func classesJob(m *tasks.MergeCheck, failures int) runJob {
	job := runJob{Op: classesOp, Failures: failures}
	var params []param
	for i := range m.Params {
		params = append(params, param{Key: strconv.Itoa(i)})
	}
	for _, name := range childClasses {
		job.Calls = append(job.Calls, testCall{Name: name, Params: params})
	}
	for _, vector := range m.Vectors {
		t := trial{Values: map[string]string{}}
		for i, v := range vector {
			t.Values[strconv.Itoa(i)] = fmt.Sprintf("i%x;", v)
		}
		job.Trials = append(job.Trials, t)
	}
	return job
}

// mergeRules ask for the template method pattern in its least form: what the
// statement allows is listed, and all else is a problem.
type mergeRules struct {
	differences int
	operators   int // that a helper may have
	imports     map[imported]bool
	guards      []*statement
}

func newMergeRules(m *tasks.MergeCheck, starter *module) *mergeRules {
	r := &mergeRules{differences: len(m.Differences)}
	for _, d := range m.Differences {
		r.operators = max(r.operators, operatorSlack*d.Operators)
	}
	r.imports, r.guards, _ = mergeParts(starter)
	return r
}

// mergeParts sorts the statements of a module; guards holds all that are
// neither imports, classes nor texts.
func mergeParts(m *module) (names map[imported]bool, guards []*statement, classes []node) {
	names = map[imported]bool{}
	for _, s := range m.Statements {
		n := s.node()
		bound := imports(n)
		switch {
		case bound != nil:
			for _, i := range bound {
				names[i] = true
			}
		case n.class() == "ClassDef":
			classes = append(classes, n)
		case !isText(n):
			guards = append(guards, s)
		}
	}
	return names, guards, classes
}

// judge implements rules.
func (r *mergeRules) judge(c *module) []results.Check {
	names, guards, classes := mergeParts(c)
	var problems []string
	for name := range names {
		if !r.imports[name] {
			problems = append(problems, "new "+name.String())
		}
	}
	slices.Sort(problems)
	problems = append(problems, guardProblems(c, r.guards, guards)...)
	byName, more := classesByName(classes)
	problems = append(problems, more...)
	if slices.ContainsFunc(classes, func(c node) bool { return hasAnnotation(c) }) {
		problems = append(problems, "a class has an annotation that is no type")
	}
	if parent := byName[parentClass]; parent != nil {
		problems = append(problems, (&parentReader{rules: r}).read(parent)...)
	}
	size := mergeSize{}
	for _, name := range childClasses {
		if child := byName[name]; child != nil {
			problems = append(problems, r.child(child, &size)...)
		}
	}
	structure := check("structure", problems...)
	if structure.Pass {
		structure.Detail = size.String()
	}
	return []results.Check{structure}
}

// mergeSize counts what is left in the children.
type mergeSize struct{ lines, operators int }

func (s mergeSize) String() string {
	return fmt.Sprintf("%d lines with %d operators in the children", s.lines, s.operators)
}

// classesByName asks for the three classes, once each.
func classesByName(classes []node) (map[string]node, []string) {
	var problems []string
	byName := map[string]node{}
	wanted := append([]string{parentClass}, childClasses...)
	for _, c := range classes {
		name := c.text("name")
		switch {
		case !slices.Contains(wanted, name):
			problems = append(problems, fmt.Sprintf("class %s was added", shorten(name, 40)))
		case byName[name] != nil:
			problems = append(problems, fmt.Sprintf("class %s is defined more than once", name))
		default:
			byName[name] = c
		}
		if len(c.list("decorator_list"))+len(c.list("keywords"))+len(c.list("type_params")) > 0 {
			problems = append(problems, fmt.Sprintf("class %s is not a plain class", shorten(name, 40)))
		}
	}
	for _, name := range wanted {
		if byName[name] == nil {
			problems = append(problems, fmt.Sprintf("class %s is missing", name))
		}
	}
	return byName, problems
}

// methods returns the plain methods of a class, and what else it holds.
func methods(class node) (found []node, problems []string) {
	seen := map[string]bool{}
	for _, n := range class.nodes("body") {
		switch {
		case n.class() == "FunctionDef":
			name := n.text("name")
			if seen[name] {
				problems = append(problems, fmt.Sprintf("defines %s again", shorten(name, 40)))
			}
			seen[name] = true
			found = append(found, n)
		case !isFiller(n):
			problems = append(problems, "holds a "+n.class())
		}
	}
	return found, problems
}

// isFiller reports whether a statement is a text, pass or "...".
func isFiller(n node) bool {
	value := n.child("value")
	return n.class() == "Pass" || isText(n) ||
		n.class() == "Expr" && value.class() == "Constant" && strings.HasPrefix(value.text("value"), "ellipsis")
}

// child checks one of the two subclasses.
func (r *mergeRules) child(class node, size *mergeSize) []string {
	var problems []string
	say := func(format string, args ...any) {
		problems = append(problems, "class "+class.text("name")+": "+fmt.Sprintf(format, args...))
	}
	bases := class.nodes("bases")
	if len(bases) != 1 || bases[0].text("id") != parentClass {
		say("is not a subclass of %s alone", parentClass)
	}
	found, more := methods(class)
	for _, problem := range more {
		say("%s", problem)
	}
	wanted := r.helperNames()
	for _, method := range found {
		name := method.text("name")
		i := slices.Index(wanted, name)
		if i < 0 {
			say("has the method %s", shorten(name, 40))
			continue
		}
		wanted = slices.Delete(wanted, i, i+1)
		for _, problem := range r.helper(method, size) {
			say("%s %s", name, problem)
		}
	}
	if len(wanted) > 0 {
		say("lacks %s", strings.Join(wanted, ", "))
	}
	return problems
}

func (r *mergeRules) helperNames() []string {
	var names []string
	for i := range r.differences {
		names = append(names, helperPrefix+strconv.Itoa(i+1))
	}
	return names
}

// helper checks a helper method of a subclass: one expression.
func (r *mergeRules) helper(method node, size *mergeSize) []string {
	names, problem := methodNames(method)
	if len(method.list("decorator_list")) > 0 && !isStatic(method) {
		problem = "has a decorator"
	}
	if problem != "" {
		return []string{problem}
	}
	value := helperValue(method)
	if value == nil {
		return []string{"is not a single return of an expression"}
	}
	if !isStatic(method) {
		delete(names, selfOf(method))
	}
	x := expressions{names: names}
	x.check(value)
	operators := countOperators(value)
	size.lines++
	size.operators += operators
	if operators > r.operators {
		x.problems = append(x.problems, fmt.Sprintf("has %d operators, more than %d", operators, r.operators))
	}
	return x.problems
}

// helperValue returns what a helper returns: directly, or by way of a variable.
func helperValue(method node) node {
	body := slices.DeleteFunc(method.nodes("body"), isFiller)
	if len(body) == 0 || len(body) > 2 || body[len(body)-1].class() != "Return" {
		return nil
	}
	value := body[len(body)-1].child("value")
	if len(body) == 1 {
		return value
	}
	targets := body[0].nodes("targets")
	if body[0].class() != "Assign" || len(targets) != 1 || targets[0].class() != "Name" {
		return nil
	}
	if value.class() != "Name" || value.text("id") != targets[0].text("id") {
		return nil
	}
	return body[0].child("value")
}

// methodNames returns the parameters of a plain method.
func methodNames(method node) (map[string]bool, string) {
	params, ok := parameters(positional(method))
	if !ok || len(params) == 0 {
		return nil, "has parameters that are not plain ones"
	}
	names := map[string]bool{}
	for _, p := range params {
		if p.Default != nil {
			return nil, "has a parameter with a default"
		}
		names[p.Name] = true
	}
	return names, ""
}

// isStatic reports whether a method is a plain static one. In a subclass the
// name cannot mean anything else: nothing else is defined there or beside it.
func isStatic(method node) bool {
	decorators := method.nodes("decorator_list")
	return len(decorators) == 1 && decorators[0].class() == "Name" && decorators[0].text("id") == "staticmethod"
}

func selfOf(method node) string {
	params, _ := parameters(positional(method))
	return params[0].Name
}

// positional returns a method with its positional-only parameters and *args
// among the plain ones: arguments are passed by position, and the starter
// declares compute with *args. Without subscripts nothing else comes of them.
func positional(method node) node {
	args := maps.Clone(method.child("args"))
	if args == nil {
		return method
	}
	params := slices.Concat(args.list("posonlyargs"), args.list("args"))
	if rest := args.child("vararg"); rest != nil {
		params = append(params, rest)
	}
	args["args"] = params
	delete(args, "posonlyargs")
	delete(args, "vararg")
	out := maps.Clone(method)
	out["args"] = args
	return out
}

func countOperators(v any) int {
	count := 0
	walk(v, func(n node) {
		if c := n.class(); c == "BinOp" || c == "UnaryOp" {
			count++
		}
	})
	return count
}
