package results_test

import (
	"errors"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/tasks"
)

func TestFilterNormalForm(t *testing.T) {
	for text, want := range map[string]string{
		"":      "",
		" ; ; ": "",
		"axis = search , traversal,search ;size=5..50": "axis=traversal,search; size=5..50",
		"size=10,5":                            "size=5,10",
		"size>=50":                             "size=50..200",
		"size<=10":                             "size=5,10",
		"refactoring=dead-code":                "task=dead-code",
		"instance=7,1..3,4":                    "instance=1..4,7",
		"instance=3..5,1..9":                   "instance=1..9",
		"attempts>=2":                          "attempts>=2",
		"attempts<=1":                          "attempts=0..1",
		"attempts=0":                           "attempts=0",
		"repetition<=3":                        "repetition=1..3",
		"outcome=timeout,failed,failed":        "outcome=failed,timeout",
		"unchanged=no;solved=yes":              "solved=yes; unchanged=no",
		"model=b/*, a:1:x;agent=claude@2.?":    "agent=claude@2.?; model=a:1:x,b/*",
		"id=merge/*; variant=hint;code=string": "code=string; variant=hint; id=merge/*",
	} {
		f, err := results.ParseFilter(text)
		if err != nil || f.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, f, err, want)
		}
	}
}

func TestFilterErrorsSayWhatExists(t *testing.T) {
	const words = "(there is: solved, failed, answered, no_output, agent_error, timeout, stalled, limit, " +
		"provider_error, infra_error, cancelled, pending)"
	for text, want := range map[string]string{
		"axis=serach": `unknown axis "serach": did you mean search? (there is: traversal, search, runtime, instructions, ` +
			`combined, merge, comment-copy, rename)`,
		"size=7":             `unknown size "7" (there is: 5, 10, 25, 50, 100, 200)`,
		"size>=60":           `unknown size "60" (there is: 5, 10, 25, 50, 100, 200)`,
		"size>=5..10":        `unknown size "10..200"`,
		"outcome=time-out":   `unknown outcome "time-out": did you mean timeout? ` + words,
		"outcome=":           `no outcome given ` + words,
		"solved=maybe":       `unknown solved "maybe" (there is: yes, no)`,
		"solved=yes,no":      `cannot use solved "yes,no" (yes or no)`,
		"instances=5":        `unknown key "instances": did you mean instance? (there is: axis, size, code, task, variant, instance, id,`,
		"instance=0..4":      `cannot use instance "0..4" (numbers from 1, or ranges like 3..7)`,
		"instance=4..2":      `cannot use instance "4..2"`,
		"attempts>=x":        `cannot use attempts "x" (numbers from 0, or ranges like 3..7)`,
		"attempts>2":         `cannot use condition "attempts>2" (there is =, >= and <=)`,
		"axis>=search":       `cannot use condition "axis>=search" (only numbers take >= and <=)`,
		"search":             `cannot use condition "search" (a condition is key=values)`,
		"size=5; size=10":    `cannot use condition "size=10" (give each key once)`,
		"agent=claude,":      `no agent given (a name, or a pattern like gpt-*)`,
		"=5":                 `no key given (there is: axis,`,
		"repetition=1000000": `cannot use repetition "1000000"`,
	} {
		_, err := results.ParseFilter(text)
		var grid *tasks.GridError
		if !errors.As(err, &grid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{strings.Repeat("x", 1<<20+1), "axis=" + strings.Repeat("é", 9999),
		"instance=" + strings.Repeat("9", 9999)} {
		if _, err := results.ParseFilter(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("error for %d bytes of text: %v", len(text), err)
		}
	}
}

// filtered is a trial that was solved in its second attempt.
func filtered() results.TrialResult {
	cell := tasks.Cell{Axis: tasks.Search, Size: 50, Refactoring: tasks.AddReturn, Code: tasks.Math}
	t := results.TrialResult{Word: results.Solved, Attempts: []results.AttemptResult{
		{Attempt: results.Attempt{Number: 1, Outcome: results.NoOutput, Unchanged: true}},
		{Attempt: results.Attempt{Number: 2, Outcome: results.Answered}}}}
	t.Trial = results.Trial{TaskID: tasks.CellID(cell, 7), Cell: cell, Instance: 7, Agent: "claude", Version: "2.1.0",
		Model: "anthropic/opus", Repetition: 2}
	t.Verdict = &results.AttemptVerdict{Attempt: 2, Verdict: results.Verdict{Solved: true}}
	return t
}

func TestFilterMatch(t *testing.T) {
	trial := filtered()
	failed := filtered()
	failed.Word, failed.Verdict, failed.Attempts = string(results.Timeout), nil, failed.Attempts[:1]
	failed.Attempts[0].Outcome = results.Timeout
	for _, c := range []struct {
		text          string
		first, second bool
	}{
		{"", true, true},
		{"axis=search,traversal", true, true}, {"axis=runtime", false, false},
		{"size=25..100", true, true}, {"size>=100", false, false}, {"size<=50", true, true},
		{"code=math", true, true}, {"code=string", false, false},
		{"task=add-return", true, true}, {"variant=hint", false, false},
		{"instance=7", true, true}, {"instance=1..6,8", false, false}, {"instance>=8", false, false},
		{"id=search/add-return/*", true, true}, {"id=*/07", true, true}, {"id=search/add-return/math/n050/0?", true, true},
		{"id=search", false, false}, {"id=*0?7*", false, false},
		{"agent=claude", true, true}, {"agent=claude@2.1.*", true, true}, {"agent=claude@1.*,codex", false, false},
		{"agent=clau", false, false}, {"model=*opus", true, true}, {"model=opus", false, false},
		{"repetition=1", false, false}, {"repetition=2..3", true, true},
		{"attempts>=2", true, false}, {"attempts=1", false, true}, {"attempts<=1", false, true},
		{"outcome=solved", true, false}, {"outcome=failed,timeout", false, true},
		{"solved=yes", true, false}, {"solved=no", false, true},
		{"unchanged=yes", false, true}, {"unchanged=no", true, false},
		{"axis=search; solved=yes; attempts>=2", true, false}, {"axis=search; solved=yes; attempts>=3", false, false},
	} {
		f, err := results.ParseFilter(c.text)
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		if got := f.Match(trial); got != c.first {
			t.Errorf("%q matches the solved trial: %v", c.text, got)
		}
		if got := f.Match(failed); got != c.second {
			t.Errorf("%q matches the timed-out trial: %v", c.text, got)
		}
	}
}

func TestFilterOfResults(t *testing.T) {
	for text, want := range map[string]bool{"": false, "axis=search; repetition=1; agent=x": false, "solved=no": true,
		"attempts>=0": true, "outcome=failed": true, "unchanged=no": true} {
		f, err := results.ParseFilter(text)
		if err != nil || f.OfResults() != want {
			t.Errorf("%q: %v, %v", text, f.OfResults(), err)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"axis=search; size=5..50,200; attempts>=2", "id=*a?b*; model=x:y", "solved=no;;unchanged=yes",
		"instance=1..4,9..12,5", "\x00>=", "size<=5", "agent=\xff", ";=;", "size>=5..5"} {
		f.Add(s)
	}
	trial := filtered()
	f.Fuzz(func(t *testing.T, text string) {
		x, err := results.ParseFilter(text)
		if err != nil {
			var grid *tasks.GridError
			if !errors.As(err, &grid) || len(err.Error()) > 1000 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := results.ParseFilter(x.String())
		if err != nil || again.String() != x.String() {
			t.Fatalf("%q is %q and then %q, %v", text, x, again, err)
		}
		if x.Match(trial) != again.Match(trial) {
			t.Fatalf("%q and its normal form %q differ on a trial", text, x)
		}
	})
}
