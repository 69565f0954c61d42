package score

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// errGarbled marks an answer that the program of a child would not give: the
// candidate wrote into it.
var errGarbled = errors.New("the answer is garbled")

// runJob asks for a program's functions to be run on inputs.
type runJob struct {
	Op       string     `json:"op"`      // "run"
	Program  []byte     `json:"program"` // as a parser made it
	Code     string     `json:"code"`
	Indexed  bool       `json:"indexed"` // library functions take the number of a value
	Calls    []testCall `json:"calls"`
	Trials   []trial    `json:"trials"`
	Failures int        `json:"failures"` // stop after so many
	Plain    *plainJob  `json:"plain"`
}

// testCall is one function that is called in every trial.
type testCall struct {
	Name   string
	Params []param
}

// param is a parameter and the key of its value in trial.Values.
type param struct{ Name, Key string }

// MarshalJSON writes [name, [[parameter, key], …]].
func (c testCall) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.Name, pairs(c.Params)})
}

func pairs(params []param) [][2]string {
	out := make([][2]string, len(params))
	for i, p := range params {
		out[i] = [2]string{p.Name, p.Key}
	}
	return out
}

// trial is one set of inputs, shared by all functions of a program.
type trial struct {
	// Stubs are the variants of external, default, the helper and slow.
	Stubs [4]int `json:"stubs"`
	// Values are tagged texts by key.
	Values map[string]string `json:"values"`
}

// plainJob is a few calls of one function in one environment, without
// remembering anything in between.
type plainJob struct {
	Stubs  [4]int              `json:"stubs"`
	Call   string              `json:"call"`
	Params [][2]string         `json:"params"`
	Values []map[string]string `json:"values"`
}

// parseJob asks for the syntax trees of source texts.
type parseJob struct {
	Op      string   `json:"op"` // "parse"
	Sources [][]byte `json:"sources"`
	// Of the first so many sources the code is made, too. Names are the
	// functions of the task; without them it is those of the first source.
	Programs int      `json:"programs"`
	Names    []string `json:"names"`
	Layout   bool     `json:"layout"` // comments and lines as well
}

// note is one call of a library function that a test call led to.
type note struct {
	Place int // of the test call, -1 while the program was defined
	Stub  string
	Args  string // as an outcome
}

// UnmarshalJSON reads [place, stub, arguments].
func (n *note) UnmarshalJSON(data []byte) error {
	fields := []any{&n.Place, &n.Stub, &n.Args}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) != 3 {
		return errGarbled
	}
	return nil
}

// trialAnswer is what came out of one trial. An outcome is a tagged value
// behind "=", an exception behind "!", the type of a value that is not plain
// behind "?", or "-" for a function that is not there.
type trialAnswer struct {
	Trial      int      `json:"t"`
	Definition string   `json:"d"` // "" or the exception
	Outcomes   []string `json:"v"`
	Notes      []note   `json:"c"`
}

// runAnswer is the answer to a runJob as far as it came.
type runAnswer struct {
	Error    string // the program cannot be loaded
	Trials   []trialAnswer
	Plain    []string
	Complete bool // the child came to its end
}

// answerLine is any line of a run's answer.
type answerLine struct {
	trialAnswer
	Trial *int     `json:"t"`
	Error string   `json:"error"`
	Plain []string `json:"p"`
}

// readRun reads an answer to job. Everything in it comes from a process that
// ran the candidate's code.
func readRun(job *runJob, body []byte) (runAnswer, error) {
	var a runAnswer
	for _, line := range bytes.Split(body, []byte("\n")) {
		if a.Complete && len(line) > 0 {
			return a, errGarbled
		}
		if len(line) == 1 && line[0] == '.' {
			a.Complete = true
			continue
		}
		if len(line) == 0 {
			continue
		}
		var l answerLine
		if err := json.Unmarshal(line, &l); err != nil {
			return a, fmt.Errorf("%w: %v", errGarbled, err)
		}
		if err := a.add(job, l); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *runAnswer) add(job *runJob, l answerLine) error {
	switch {
	case l.Error != "":
		a.Error = l.Error
	case l.Plain != nil:
		a.Plain = l.Plain
	case l.Trial == nil || *l.Trial != len(a.Trials) || len(a.Trials) >= len(job.Trials):
		return fmt.Errorf("%w: trials are not in order", errGarbled)
	case len(l.Outcomes) > len(job.Calls):
		return fmt.Errorf("%w: too many outcomes", errGarbled)
	default:
		l.trialAnswer.Trial = *l.Trial
		a.Trials = append(a.Trials, l.trialAnswer)
	}
	return nil
}
