package score

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// behaviour is what running a candidate showed.
type behaviour struct {
	problem string // "" when all outputs agree
	calls   string // "" when the library calls agree, as far as looked at
	note    string // what a reader of a passed check should know
}

// firstTrials is how many inputs a candidate gets first. Most wrong ones show
// it there and are not run on the others.
const firstTrials = 4

// run executes a candidate on all inputs, the first few by themselves, and
// compares.
func (s *Scorer) run(ctx context.Context, e *expectation, program []byte) (behaviour, error) {
	r := running{s: s, e: e, program: program}
	for !r.over() {
		if err := r.next(ctx); err != nil {
			return behaviour{}, err
		}
	}
	problem, complete := e.outputs(r.answers)
	if r.problem == "" {
		r.problem = problem
	}
	if r.problem == "" && !complete {
		r.problem = fmt.Sprintf("only %d of %d inputs were answered", len(r.answers), len(e.job.Trials))
	}
	found := behaviour{problem: r.problem, calls: e.libraryCalls(r.answers), note: e.howCompared() + r.note}
	if found.problem == "" && r.note == "" && e.job.Plain != nil {
		found.problem = e.state(r.plain)
	}
	return found, nil
}

// running is a candidate on its way through the inputs. A reached limit ends
// one trial; a new process goes on with the next.
type running struct {
	s       *Scorer
	e       *expectation
	program []byte
	answers []trialAnswer
	plain   []string
	broken  int    // processes that did not come to their end
	waited  bool   // a call has taken too long once
	ended   bool   // nothing is run any more
	problem string // the first that was met
	note    string
}

func (r *running) over() bool {
	if r.ended || len(r.answers) >= len(r.e.job.Trials) || r.broken >= r.s.limits.Failures {
		return true
	}
	if len(r.answers) == 0 {
		return false
	}
	problem, _ := r.e.outputs(r.answers)
	return problem != "" && r.broken == 0
}

// next runs the next inputs in one process.
func (r *running) next(ctx context.Context) error {
	job := r.e.job
	job.Program = r.program
	job.Trials = job.Trials[len(r.answers):]
	if len(r.answers) == 0 {
		job.Trials, job.Plain = job.Trials[:min(firstTrials, len(job.Trials))], nil
	}
	reply, err := r.s.ask(ctx, roleCandidate, &job, r.s.limits.wire())
	if errors.Is(err, errLost) {
		r.stop("killed the executor (" + lostText(err) + ")")
		return nil
	}
	if err != nil {
		return err
	}
	answer, err := readRun(&job, reply.body)
	switch {
	case err != nil:
		r.stop(err.Error())
	case answer.Error != "":
		r.stop("cannot be loaded: " + shorten(answer.Error, 200))
	default:
		r.take(&job, reply.replyHeader, answer)
	}
	return nil
}

func (r *running) stop(problem string) {
	r.ended = true
	if r.problem == "" {
		r.problem = problem
	}
}

// take keeps what a process answered and, when it did not come to its end,
// puts that down to the trial it was in.
func (r *running) take(job *runJob, header replyHeader, answer runAnswer) {
	r.answers = append(r.answers, answer.Trials...)
	r.plain = answer.Plain
	if answer.Complete {
		// It stops by itself after too many failures.
		r.ended = len(answer.Trials) < len(job.Trials)
		return
	}
	why := endText(header, r.s.limits) + " " + job.whereText(header.At)
	if len(answer.Trials) == len(job.Trials) { // in what comes behind the trials
		// Calls that remember nothing may take long; nothing else is excused.
		late := header.End == "cpu" || header.End == "wall" || header.End == "total"
		if r.note = "; state between calls not checked: " + why; job.Plain == nil || !late {
			r.stop(why)
		}
		return
	}
	if header.End == "wall" && !r.waited {
		r.waited = true // once it may have been the machine
		return
	}
	r.broken++
	if r.problem == "" {
		r.problem = why
	}
	r.answers = append(r.answers, trialAnswer{Definition: "!" + why})
	r.ended = header.End == "total" || header.End == "answer"
}

// howCompared says what a passed check stands for.
func (e *expectation) howCompared() string {
	if e.job.Op == classesOp {
		return fmt.Sprintf("%d classes agree on %d inputs, in type and value", len(e.job.Calls), len(e.job.Trials))
	}
	return fmt.Sprintf("%d functions agree on %d inputs, floats within %g of their size or %g",
		len(e.job.Calls), len(e.job.Trials), relTolerance, absTolerance)
}

// outputs compares the outputs of all functions on the inputs answered so far.
// complete is false when some are missing.
func (e *expectation) outputs(answers []trialAnswer) (problem string, complete bool) {
	first, firstTrial, differ := -1, 0, 0
	for place := range e.job.Calls {
		for t := range answers {
			if e.differs(answers[t], t, place) {
				differ++
				if first < 0 {
					first, firstTrial = place, t
				}
				break
			}
		}
	}
	switch {
	case first < 0:
		return "", len(answers) == len(e.job.Trials) && e.answered(answers)
	case answers[firstTrial].Definition != "":
		return "executing the file fails with " + shorten(answers[firstTrial].Definition[1:], 200), false
	}
	return e.differenceText(answers[firstTrial], firstTrial, first, differ), false
}

// answered reports whether every function has an outcome in every trial.
func (e *expectation) answered(answers []trialAnswer) bool {
	return !slices.ContainsFunc(answers, func(a trialAnswer) bool { return len(a.Outcomes) != len(e.job.Calls) })
}

// differs is about calls that were made; a program that failed often enough
// is not called any more.
func (e *expectation) differs(a trialAnswer, t, place int) bool {
	if a.Definition != "" {
		return true
	}
	if place >= len(a.Outcomes) {
		return false
	}
	expected, actual := e.answers[t].Outcomes[place], a.Outcomes[place]
	return expected != actual && !e.compare[place].outcomes(expected, actual)
}

func (e *expectation) differenceText(a trialAnswer, t, place, differ int) string {
	call := e.job.Calls[place]
	text := fmt.Sprintf("%s: expected %s, got %s", e.callText(t, call),
		outcomeText(e.answers[t].Outcomes[place]), outcomeText(a.Outcomes[place]))
	if differ > 1 {
		text += fmt.Sprintf(" (and %d more functions differ)", differ-1)
	}
	return text
}

// callText writes a test call as Python would.
func (e *expectation) callText(t int, call testCall) string {
	args := make([]string, len(call.Params))
	for i, p := range call.Params {
		args[i] = outcomeText("=" + e.job.Trials[t].Values[p.Key])
		if p.Name != "" {
			args[i] = p.Name + "=" + args[i]
		}
	}
	if e.job.Op == classesOp {
		return call.Name + "().compute(" + strings.Join(args, ", ") + ")"
	}
	return call.Name + "(" + strings.Join(args, ", ") + ")"
}

// outcomeText writes an outcome for people.
func outcomeText(outcome string) string {
	if outcome == "" || outcome == "-" {
		return "nothing, it is missing"
	}
	switch outcome[0] {
	case '=':
		v, err := parseValue(outcome[1:])
		if err != nil {
			return "an unreadable value"
		}
		return shorten(v.String(), 120)
	case '?':
		return "a value that is not plain data: " + shorten(outcome[1:], 80)
	}
	return shorten(outcome[1:], 160)
}

// state compares the calls that remembered nothing.
func (e *expectation) state(plain []string) string {
	name := e.job.Plain.Call
	if len(plain) != len(e.plain) {
		return fmt.Sprintf("%s could not be called repeatedly: %s", name, outcomeText(strings.Join(plain, "")))
	}
	for i, expected := range e.plain {
		if expected != plain[i] && !e.compare[e.again].outcomes(expected, plain[i]) {
			return fmt.Sprintf("call %d of %s in one process: expected %s, got %s",
				i+1, name, outcomeText(expected), outcomeText(plain[i]))
		}
	}
	return ""
}

// libraryCalls compares which library functions were called with what, by the
// test call that led to them.
func (e *expectation) libraryCalls(answers []trialAnswer) string {
	for t, a := range answers {
		if slices.Equal(a.Notes, e.answers[t].Notes) {
			continue
		}
		if problem := e.noteDifference(t, e.answers[t].Notes, a.Notes); problem != "" {
			return problem
		}
	}
	return ""
}

func (e *expectation) noteDifference(t int, want, got []note) string {
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g note) bool { return sameNote(w, g) })
		if i < 0 {
			return fmt.Sprintf("%s: did not call %s%s", e.placeText(t, w.Place), w.Stub, argsText(w.Args))
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		g := left[0]
		return fmt.Sprintf("%s: called %s%s once more than needed",
			e.placeText(t, g.Place), shorten(g.Stub, 40), argsText(g.Args))
	}
	return ""
}

func sameNote(want, got note) bool {
	if want.Place != got.Place || want.Stub != got.Stub {
		return false
	}
	return want.Args == got.Args || comparison{}.outcomes(want.Args, got.Args)
}

func (e *expectation) placeText(t, place int) string {
	if place < 0 || place >= len(e.job.Calls) {
		return "defining the functions"
	}
	return e.callText(t, e.job.Calls[place])
}

// argsText writes the noted arguments, a tuple of positional and named ones.
func argsText(args string) string {
	v, err := parseValue(strings.TrimPrefix(args, "="))
	if err != nil || len(v.Items) != 2 {
		return "(…)"
	}
	return "(" + shorten(listText(v.Items[0].Items), 80) + ")"
}

// whereText names the call that a child was in when it ended. The child may
// have lied about it; nothing is decided by it.
func (j *runJob) whereText(at uint64) string {
	if at < 2 {
		return "before the first input"
	}
	step := uint64(len(j.Calls) + 1)
	t, place := (at-2)/step, int((at-2)%step)-1
	switch {
	case t > uint64(len(j.Trials)):
		return "at an unknown place"
	case t == uint64(len(j.Trials)):
		return "in calls that remember nothing"
	case place < 0:
		return "while executing the file"
	}
	return "in function " + j.Calls[place].Name
}

// endText says how a child ended without coming to its end.
func endText(h replyHeader, l Limits) string {
	switch h.End {
	case "cpu":
		return fmt.Sprintf("took more than %v of CPU time", l.CPU)
	case "wall":
		return fmt.Sprintf("took more than %v", l.Wall)
	case "total":
		return fmt.Sprintf("took more than %v altogether", l.Total)
	case "answer":
		return fmt.Sprintf("answered more than %d bytes", l.AnswerBytes)
	}
	switch {
	case h.Status == nil:
		return "closed its answer and went on"
	case *h.Status < 0:
		return fmt.Sprintf("was ended by signal %d", -*h.Status)
	}
	return fmt.Sprintf("left the process with exit code %d", *h.Status)
}

func lostText(err error) string {
	return shorten(strings.TrimPrefix(err.Error(), errLost.Error()+": "), 120)
}
