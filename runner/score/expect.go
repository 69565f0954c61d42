package score

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cabra-run/tasks"
)

// TaskDefect says that a task cannot be used to score anybody: its reference
// fails, takes too long or does not agree with itself, or it is not in the
// form that this package understands. It is nobody's fault but the task's.
type TaskDefect struct {
	Task   tasks.ID
	Reason string
}

func (d *TaskDefect) Error() string { return fmt.Sprintf("task %s is defective: %s", d.Task, d.Reason) }

func defect(t *tasks.Task, format string, args ...any) error {
	return &TaskDefect{Task: t.ID, Reason: fmt.Sprintf(format, args...)}
}

const (
	drawRounds    = 25     // how often inputs are drawn anew
	confirmTrials = 10     // inputs of the second execution
	maxPlainCalls = 10_000 // evaluations of a call that remembers nothing
)

// expectation is all that a task asks of a candidate.
type expectation struct {
	task    *tasks.Task
	rules   rules
	known   officialAnswers
	own     []*module // the task's programs: starter and reference
	lines   *module   // which have to be inserted, if there are any
	layout  bool      // comments count
	library bool      // calls of library functions count
	job     runJob    // without a source
	answers []trialAnswer
	plain   []string
	again   int          // place of the function that the plain calls call
	compare []comparison // by place
	bytes   int          // about how much of the memory it takes
}

// expect runs a task's reference and keeps its outputs.
func (s *Scorer) expect(ctx context.Context, t *tasks.Task) (*expectation, error) {
	e := &expectation{task: t, layout: t.Check.Values > 0}
	sources := []string{t.Reference[tasks.SolutionFile], t.Starter[tasks.SolutionFile]}
	if t.Check.Values > 0 {
		sources = append(sources, plainLines(t))
	}
	parsed, err := s.parseOwn(ctx, t, sources...)
	if err != nil {
		return nil, err
	}
	e.own = []*module{parsed[1], parsed[0]}
	e.own[1].share(e.own[0])
	if len(parsed) > 2 {
		e.lines = parsed[2]
	}
	switch t.Check.Kind {
	case tasks.CallGraphCheck, tasks.RenameKind:
		return e, s.expectCalls(ctx, t, e)
	case tasks.MergeKind:
		return e, s.expectClasses(ctx, t, e)
	}
	return nil, defect(t, "check %q is not known", t.Check.Kind)
}

// expectCalls expects something of the functions of a program.
func (s *Scorer) expectCalls(ctx context.Context, t *tasks.Task, e *expectation) error {
	r := newRuleset(t, e.own[0], e.own[1])
	if names := r.unlisted(t); len(names) > 0 {
		return defect(t, "its check does not list %s as edited", shorten(strings.Join(names, ", "), 200))
	}
	calls, keys, err := testCalls(t, r)
	if err != nil {
		return err
	}
	if r.lines, err = e.readLines(); err != nil {
		return err
	}
	e.rules, e.library = r, true
	if t.Check.Kind == tasks.RenameKind {
		e.rules, e.library = &renameRules{ruleset: r, renames: t.Check.Renames}, false
	}
	indexed := t.Check.Values > 0
	e.job = runJob{Op: "run", Code: string(t.Cell.Code), Indexed: indexed, Calls: calls, Failures: s.limits.Failures}
	in := inputs{digest: t.Digest(), code: t.Cell.Code, keys: keys, indexed: indexed}
	if err := s.drawTrials(ctx, t, e, in); err != nil {
		return err
	}
	e.index()
	e.planPlain(r)
	return s.confirm(ctx, t, e)
}

// readLines reads which lines have to be inserted; nil where none are.
func (e *expectation) readLines() (*lineRules, error) {
	if e.lines == nil {
		return nil, nil
	}
	t := e.task
	l := newLineRules(t, e.own[1], e.lines)
	if len(l.values) != t.Check.Values || len(l.statements) != len(l.texts) {
		return nil, defect(t, "its reference does not have the values and lines of its check")
	}
	return l, nil
}

// parseOwn parses texts of the task itself, which must be right.
func (s *Scorer) parseOwn(ctx context.Context, t *tasks.Task, sources ...string) ([]*module, error) {
	parsed, err := s.parse(ctx, parseJob{Layout: t.Check.Values > 0, Programs: 2}, sources...)
	wrong := slices.ContainsFunc(parsed, func(m *module) bool { return m.Problem != "" })
	if errors.Is(err, errLost) || err == nil && wrong {
		return nil, defect(t, "its own program does not compile")
	}
	return parsed, err
}

// drawTrials draws inputs until the reference gives finite outputs for all.
func (s *Scorer) drawTrials(ctx context.Context, t *tasks.Task, e *expectation, in inputs) error {
	e.job.Trials = make([]trial, Trials)
	e.answers = make([]trialAnswer, Trials)
	pending := make([]int, Trials)
	for i := range pending {
		pending[i] = i
	}
	why := ""
	for attempt := 0; len(pending) > 0; attempt++ {
		if attempt == drawRounds {
			return defect(t, "no usable input in %d draws: %s", drawRounds, why)
		}
		job := e.job
		job.Failures = len(job.Calls)*Trials + 1
		job.Trials = nil
		for _, i := range pending {
			e.job.Trials[i] = in.draw(i, attempt)
			job.Trials = append(job.Trials, e.job.Trials[i])
		}
		answer, err := s.runReference(ctx, e, &job)
		if err != nil {
			return err
		}
		var again []int
		for k, i := range pending {
			e.answers[i] = answer.Trials[k]
			if problem := unusable(&job, answer.Trials[k]); problem != "" {
				why, again = problem, append(again, i)
			}
		}
		pending = again
	}
	return nil
}

// unusable says why outputs of the reference cannot be expected of anybody.
func unusable(job *runJob, a trialAnswer) string {
	if a.Definition != "" {
		return "its definition fails with " + a.Definition[1:]
	}
	for place, outcome := range a.Outcomes {
		text, ok := strings.CutPrefix(outcome, "=")
		if !ok {
			return fmt.Sprintf("%s gives %s", job.Calls[place].Name, outcomeText(outcome))
		}
		v, err := parseValue(text)
		if err != nil || !v.finite() {
			return fmt.Sprintf("%s gives %s", job.Calls[place].Name, outcomeText(outcome))
		}
	}
	return ""
}

// runReference runs a job with the task's reference, which must come to its end.
func (s *Scorer) runReference(ctx context.Context, e *expectation, job *runJob) (runAnswer, error) {
	t := e.task
	job.Program = e.own[1].Program
	reply, err := s.ask(ctx, roleReference, job, s.limits.wire())
	if err == nil && reply.End == "wall" { // once it may have been the machine
		reply, err = s.ask(ctx, roleReference, job, s.limits.wire())
	}
	if errors.Is(err, errLost) {
		return runAnswer{}, defect(t, "its reference: %v", err)
	}
	if err != nil {
		return runAnswer{}, err
	}
	answer, err := readRun(job, reply.body)
	switch {
	case err != nil:
		return answer, defect(t, "its reference: %v", err)
	case !answer.Complete || len(answer.Trials) != len(job.Trials):
		why := endText(reply.replyHeader, s.limits) + " " + job.whereText(reply.At)
		return answer, defect(t, "its reference: %s", why)
	}
	return answer, nil
}

// confirm runs the reference once more: it has to agree with itself, also
// where nothing is remembered between its calls.
func (s *Scorer) confirm(ctx context.Context, t *tasks.Task, e *expectation) error {
	job := e.job
	job.Trials = job.Trials[:confirmTrials]
	job.Failures = len(job.Calls)*Trials + 1
	again, err := s.runReference(ctx, e, &job)
	if err != nil {
		return err
	}
	problem, _ := e.outputs(again.Trials)
	if problem == "" {
		problem = e.libraryCalls(again.Trials)
	}
	if problem != "" {
		return defect(t, "generation error: two executions of its reference disagree: %s", problem)
	}
	if e.plain = again.Plain; e.job.Plain != nil && !e.stateless() {
		return defect(t, "its reference keeps state between calls of %s", e.job.Plain.Call)
	}
	return nil
}

// stateless compares the reference's calls that remembered nothing: the first
// and the third had the same input. They are not compared with the other
// outputs, for numpy may round differently where an array is a view.
func (e *expectation) stateless() bool {
	if len(e.plain) != len(e.job.Plain.Values) {
		return false
	}
	for _, outcome := range e.plain {
		if !strings.HasPrefix(outcome, "=") {
			return false
		}
	}
	return e.plain[0] == e.plain[2] || e.compare[e.again].outcomes(e.plain[0], e.plain[2])
}

// index prepares what comparing needs.
func (e *expectation) index() {
	for place := range e.job.Calls {
		var outcomes []string
		for _, a := range e.answers {
			outcomes = append(outcomes, a.Outcomes[place])
			e.bytes += len(a.Outcomes[place]) + 32
		}
		e.compare = append(e.compare, newComparison(outcomes))
	}
	for _, m := range e.own {
		for _, s := range m.Statements {
			e.bytes += 12 * len(s.Tree) // the text, and the tree made of it
		}
	}
}

// planPlain asks for calls on the first input, the second, and the first
// again: of main, or where that would take too many evaluations, of the
// function that comes closest.
func (e *expectation) planPlain(r *ruleset) {
	counted := evaluations(r)
	for place, call := range e.job.Calls {
		n, most := counted[call.Name], counted[e.job.Calls[e.again].Name]
		if n <= maxPlainCalls && (n >= most || most > maxPlainCalls) {
			e.again = place
		}
	}
	call := e.job.Calls[e.again]
	first, second := e.job.Trials[0], e.job.Trials[1]
	e.job.Plain = &plainJob{
		Stubs: first.Stubs, Call: call.Name, Params: pairs(call.Params),
		Values: []map[string]string{first.Values, second.Values, first.Values},
	}
}
