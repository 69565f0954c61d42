package score

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"cabra-run/results"
	"cabra-run/tasks"
	"cabra-run/tasks/mt"
)

// officialSeed is the seed of all inputs of the published scorer.
const officialSeed = 42

// maxOfficialFailures is after how many trials it stops that did not pass.
const maxOfficialFailures = 5

// officialCall is one function that is tested, with the parameters and types
// that the reference gives it.
type officialCall struct {
	Name   string
	Params []string
	types  []string
}

// MarshalJSON writes [name, [parameter, …]].
func (c officialCall) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.Name, c.Params}) }

// officialTrial is one environment, and the inputs of each call in it.
type officialTrial struct {
	Stubs  [4]int     `json:"stubs"`
	Values [][]string `json:"values"`
}

// officialJob runs calls in the way of the published scorer.
type officialJob struct {
	Op      string          `json:"op"` // "official"
	Program []byte          `json:"program"`
	Code    string          `json:"code"`
	Indexed bool            `json:"indexed"`
	Memoize bool            `json:"memoize"`
	Names   []string        `json:"names"` // of the functions that are kept
	Calls   []officialCall  `json:"calls"`
	Trials  []officialTrial `json:"trials"`
}

// officialAnswer holds the outcomes by trial and call: by name and, where that
// failed, by position.
type officialAnswer struct {
	Error    string
	Trials   [][][]string
	Complete bool
}

func readOfficial(job *officialJob, body []byte) (officialAnswer, error) {
	var a officialAnswer
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		switch {
		case len(line) == 0:
			continue
		case a.Complete:
			return a, errGarbled
		case string(line) == ".":
			a.Complete = true
			continue
		}
		var l struct {
			Error    string     `json:"error"`
			Outcomes [][]string `json:"v"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return a, fmt.Errorf("%w: %v", errGarbled, err)
		}
		if l.Error != "" {
			a.Error = l.Error
			continue
		}
		if len(l.Outcomes) != len(job.Calls) || len(a.Trials) == len(job.Trials) {
			return a, fmt.Errorf("%w: outcomes do not match the calls", errGarbled)
		}
		a.Trials = append(a.Trials, l.Outcomes)
	}
	return a, nil
}

// officialAnswers keeps what the reference gave for the orders of functions
// that were asked for: inputs are drawn in the candidate's order.
type officialAnswers struct {
	mu      sync.Mutex
	byOrder map[string]officialAnswer
}

const maxOrders = 4

func (k *officialAnswers) get(order string) (officialAnswer, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, ok := k.byOrder[order]
	return a, ok
}

func (k *officialAnswers) put(order string, a officialAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byOrder == nil || len(k.byOrder) >= maxOrders {
		k.byOrder = map[string]officialAnswer{}
	}
	k.byOrder[order] = a
}

// officialBehaviour runs the functions that the candidate shares with the
// reference, in the candidate's order, and no others.
func (s *Scorer) officialBehaviour(ctx context.Context, e *expectation, sub *submission) (results.Check, error) {
	job, err := s.officialJobFor(e, sub.module)
	if err != nil {
		return results.Check{}, err
	}
	expected, err := s.officialExpected(ctx, e, job)
	if err != nil {
		return results.Check{}, err
	}
	if sub.module.Unkept != "" {
		return errored(kindBehavioral, "%s", shorten(sub.module.Unkept, 200)), nil
	}
	job.Program = sub.module.Kept
	reply, err := s.ask(ctx, roleCandidate, &job, s.limits.wire())
	if errors.Is(err, errLost) {
		return errored(kindBehavioral, "killed the executor (%s)", lostText(err)), nil
	}
	if err != nil {
		return results.Check{}, err
	}
	actual, err := readOfficial(&job, reply.body)
	switch {
	case err != nil:
		return errored(kindBehavioral, "%v", err), nil
	case actual.Error != "":
		return errored(kindBehavioral, "%s", shorten(actual.Error, 200)), nil
	case !actual.Complete || len(actual.Trials) != len(job.Trials):
		return errored(kindBehavioral, "%s", endText(reply.replyHeader, s.limits)), nil
	}
	return officialTally(&job, expected, actual), nil
}

func (s *Scorer) officialJobFor(e *expectation, candidate *module) (officialJob, error) {
	t, reference := e.task, e.own[1].functions()
	indexed := t.Check.Values > 0
	job := officialJob{Op: "official", Code: string(t.Cell.Code), Indexed: indexed, Memoize: !indexed}
	for name := range reference {
		if name != "main" {
			job.Names = append(job.Names, name)
		}
	}
	for _, st := range candidate.Statements {
		if st.Def == "" || st.Def == "main" || reference[st.Def] == nil {
			continue
		}
		types, err := parameterTypes(t, reference[st.Def])
		if err != nil {
			return job, err
		}
		params, _ := parameters(reference[st.Def].node())
		call := officialCall{Name: st.Def, types: types, Params: []string{}}
		for _, p := range params {
			call.Params = append(call.Params, p.Name)
		}
		job.Calls = append(job.Calls, call)
	}
	if job.Calls == nil {
		job.Calls = []officialCall{}
	}
	job.Trials = drawOfficial(t.Cell.Code, job.Calls, s.rounds)
	return job, nil
}

// drawOfficial draws all inputs as the published scorer does.
func drawOfficial(code tasks.CodeType, calls []officialCall, rounds int) []officialTrial {
	stream := mt.NewStream(officialSeed)
	var trials []officialTrial
	for range rounds {
		t := officialTrial{Stubs: officialStubs(stream, code), Values: [][]string{}}
		for _, call := range calls {
			values := []string{}
			for _, typ := range call.types {
				values = append(values, drawOfficialValue(stream, typ))
			}
			t.Values = append(t.Values, values)
		}
		trials = append(trials, t)
	}
	return trials
}

// officialStubs draws one of all combinations of library functions, the first
// of which changes last.
func officialStubs(stream *mt.Stream, code tasks.CodeType) [4]int {
	helpers := 5
	if code == tasks.String {
		helpers = 3
	}
	block := stream.Below(5 * 5 * helpers * 5)
	return [4]int{block / (25 * helpers), block / (5 * helpers) % 5, block / 5 % helpers, block % 5}
}

func drawOfficialValue(stream *mt.Stream, typ string) string {
	switch typ {
	case "bool":
		return string("TF"[stream.Below(2)])
	case "int":
		return fmt.Sprintf("i%x;", stream.Between(1, 5))
	case "float":
		return floatTag(stream.Uniform(-1, 1))
	case "str":
		digits := make([]byte, stream.Between(1, 10))
		for i := range digits {
			digits[i] = byte('0' + stream.Below(10))
		}
		return textTag(string(digits))
	}
	elements := make([]float64, stream.Between(1, 5))
	for i := range elements {
		elements[i] = stream.Uniform(-1, 1)
	}
	return arrayTag(elements)
}

// officialExpected runs the reference on the same inputs.
func (s *Scorer) officialExpected(ctx context.Context, e *expectation, job officialJob) (officialAnswer, error) {
	names := make([]string, len(job.Calls))
	for i, call := range job.Calls {
		names[i] = call.Name
	}
	order := strings.Join(names, ",")
	if a, ok := e.known.get(order); ok {
		return a, nil
	}
	job.Program = e.own[1].Kept
	reply, err := s.ask(ctx, roleReference, &job, s.limits.wire())
	if errors.Is(err, errLost) {
		return officialAnswer{}, defect(e.task, "its reference: %v", err)
	}
	if err != nil {
		return officialAnswer{}, err
	}
	a, err := readOfficial(&job, reply.body)
	if err != nil || a.Error != "" || len(a.Trials) != len(job.Trials) {
		return a, defect(e.task, "its reference cannot be run in the official way: %s", shorten(a.Error, 200))
	}
	e.known.put(order, a)
	return a, nil
}

// officialTally compares trial by trial until too many did not pass.
func officialTally(job *officialJob, expected, actual officialAnswer) results.Check {
	passes, fails, errs := 0, 0, 0
	first := ""
	note := func(t, place int, what string) {
		if first == "" {
			first = fmt.Sprintf("trial %d of %s: %s", t+1, job.Calls[place].Name, what)
		}
	}
	for t := range job.Trials {
		for place := range job.Calls {
			if fails+errs >= maxOfficialFailures {
				break
			}
			equal, problem := officialOutcome(expected.Trials[t][place], actual.Trials[t][place])
			switch {
			case problem != "":
				errs++
				note(t, place, problem)
			case equal:
				passes++
			default:
				fails++
				got := actual.Trials[t][place]
				note(t, place, "expected "+outcomeText(expected.Trials[t][place][0])+", got "+outcomeText(got[len(got)-1]))
			}
		}
	}
	switch {
	case fails == 0 && errs == 0:
		c := passed(kindBehavioral)
		c.Detail = fmt.Sprintf("%d trials", passes)
		return c
	case passes == 0 && errs > 0:
		return errored(kindBehavioral, "%s (%d trials passed)", first, passes)
	}
	return failed(kindBehavioral, "%s (%d trials passed)", first, passes)
}

// officialOutcome compares one trial; problem says why there is nothing to compare.
func officialOutcome(expected, actual []string) (equal bool, problem string) {
	if len(expected) == 0 || len(actual) == 0 || !strings.HasPrefix(expected[0], "=") {
		return false, "the reference raises"
	}
	got := actual[len(actual)-1]
	if !strings.HasPrefix(got, "=") {
		if strings.HasPrefix(got, "?an array") || !strings.HasPrefix(got, "?") {
			return false, outcomeText(got)
		}
		return false, "" // an object that is not plain equals nothing
	}
	e, err := parseValue(expected[0][1:])
	a, errA := parseValue(got[1:])
	if err != nil || errA != nil {
		return false, "an unreadable value"
	}
	equal, ok := officialEqual(e, a)
	if !ok {
		return false, "the values cannot be compared"
	}
	return equal, ""
}
