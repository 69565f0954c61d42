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

// run executes a candidate on all inputs and compares. A reached limit ends
// one trial; a new process goes on with the next.
func (s *Scorer) run(ctx context.Context, e *expectation, source string) (behaviour, error) {
	answers := make([]trialAnswer, 0, Trials)
	var plain []string
	var broken, note string
	for failures := 0; len(answers) < Trials && failures < s.limits.Failures; {
		job := e.job
		job.Source = []byte(source)
		job.Trials = e.job.Trials[len(answers):]
		header, body, err := s.pools[roleCandidate].run(ctx, &job, s.limits.wire())
		if errors.Is(err, errLost) {
			return behaviour{problem: "killed the executor (" + lostText(err) + ")"}, nil
		}
		if err != nil {
			return behaviour{}, err
		}
		answer, err := readRun(&job, body)
		if err != nil {
			return behaviour{problem: err.Error()}, nil
		}
		if answer.Error != "" {
			return behaviour{problem: "does not compile: " + shorten(answer.Error, 200)}, nil
		}
		answers = append(answers, answer.Trials...)
		plain = answer.Plain
		if answer.Complete {
			break
		}
		why := endText(header, s.limits) + " " + job.whereText(header.At)
		if len(answers) == Trials { // in the calls that remember nothing
			note = "state between calls not checked: " + why
			break
		}
		if broken == "" {
			broken = why
		}
		failures++
		answers = append(answers, trialAnswer{Definition: "!" + why})
		if header.End == "total" || header.End == "answer" {
			break
		}
	}
	if broken != "" {
		return behaviour{problem: broken}, nil
	}
	found := behaviour{problem: e.outputs(answers), calls: e.libraryCalls(answers), note: note}
	if found.problem == "" && note == "" {
		found.problem, found.note = e.state(plain)
	}
	return found, nil
}

// outputs compares the outputs of all functions on all inputs.
func (e *expectation) outputs(answers []trialAnswer) string {
	if len(answers) > 0 && answers[0].Definition != "" {
		return "executing the file fails with " + shorten(answers[0].Definition[1:], 200)
	}
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
	case first >= 0:
		return e.differenceText(answers[firstTrial], firstTrial, first, differ)
	case len(answers) < Trials:
		return fmt.Sprintf("only %d of %d inputs were answered", len(answers), Trials)
	}
	return ""
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
	got := outcomeText(a.Definition)
	if a.Definition == "" {
		got = outcomeText(a.Outcomes[place])
	}
	text := fmt.Sprintf("%s: expected %s, got %s", e.callText(t, call), outcomeText(e.answers[t].Outcomes[place]), got)
	if differ > 1 {
		text += fmt.Sprintf(" (and %d more functions differ)", differ-1)
	}
	return text
}

// callText writes a test call as Python would.
func (e *expectation) callText(t int, call testCall) string {
	args := make([]string, len(call.Params))
	for i, p := range call.Params {
		args[i] = p.Name + "=" + outcomeText("="+e.job.Trials[t].Values[p.Key])
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
func (e *expectation) state(plain []string) (problem, note string) {
	switch {
	case e.job.Plain == nil:
		return "", "state between calls not checked: too many evaluations"
	case len(plain) != len(e.plain):
		return "main could not be called repeatedly: " + outcomeText(strings.Join(plain, "")), ""
	}
	main := e.mainPlace()
	for i, expected := range e.plain {
		if expected == plain[i] || e.compare[main].outcomes(expected, plain[i]) {
			continue
		}
		return fmt.Sprintf("call %d of main in one process: expected %s, got %s",
			i+1, outcomeText(expected), outcomeText(plain[i])), ""
	}
	return "", ""
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
		return fmt.Sprintf("%s: called %s%s once more than needed", e.placeText(t, g.Place), shorten(g.Stub, 40), argsText(g.Args))
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
