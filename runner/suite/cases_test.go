package suite

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

// testCase is something that befalls an agent, and what has to come of it.
type testCase struct {
	name         string
	behaviour    string // of the scripted upstream
	model        string // name that the CLI is told, "" for a plain one
	wire         string // that the agent is told to speak, "" for what it prefers
	instructions bool
	change       func(*order)
	check        func(*testing.T, *trial)

	outcome  results.Outcome
	word     string         // the trial's
	finished []trace.Finish // any of them; empty for no matter which
	status   int            // that the model fails with: decides the exit code
	cutOff   bool           // the agent is ended from outside
	partial  bool           // an answer is cut
	mute     bool           // the model says nothing at all
}

// noStatus stands for a failure without a status; the CLI whose exit code is
// the status has 1 then.
const noStatus = 1

var (
	wellDone = []trace.Finish{trace.FinishCompleted}
	brokenUp = []trace.Finish{trace.FinishAborted, trace.FinishMidAir, trace.FinishError}
)

// mark is what instruction files of the workspace say.
const mark = "the mark of these instructions"

func cases() []testCase {
	list := []testCase{
		{name: "solve", behaviour: "solve", outcome: results.Answered, word: results.Solved, finished: wellDone},
		{name: "wrong", behaviour: "wrong", outcome: results.Answered, word: results.Failed, finished: wellDone},
		{name: "untouched", behaviour: "untouched", outcome: results.Answered, word: results.Failed, finished: wellDone,
			check: func(t *testing.T, x *trial) {
				if !x.did.Unchanged {
					t.Error("not flagged as unchanged")
				}
			}},
		{name: "cut", behaviour: "cut@2", outcome: results.ProviderError, word: string(results.ProviderError),
			status: noStatus, partial: true},
		{name: "silence", behaviour: "silence@2", outcome: results.Stalled, word: string(results.Stalled),
			finished: brokenUp, cutOff: true, partial: true,
			change: func(o *order) { o.settings.Stall = 15 * time.Second }},
		{name: "endless", behaviour: "endless", outcome: results.Timeout, word: string(results.Timeout),
			finished: brokenUp, cutOff: true, change: after(20 * time.Second)},
		{name: "slow tool", behaviour: "slowtool", outcome: results.Timeout, word: string(results.Timeout),
			finished: brokenUp, cutOff: true, change: after(20 * time.Second)},
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusUnauthorized} {
		list = append(list, failing(status, 0), failing(status, 2))
	}
	for _, p := range prompts() {
		list = append(list, prompted(p[0], p[1]))
	}
	return append(list, oddModel(), instructed(false), instructed(true))
}

// otherWires are the work in every wire of the gateway that an agent speaks
// beside the one that it prefers.
func otherWires(a agent.Agent) []testCase {
	var list []testCase
	for _, wire := range a.Traits().Wires[1:] {
		if !slices.Contains(gateway.Wires(), gateway.Wire(wire)) {
			continue // by a vendor's login
		}
		list = append(list, testCase{name: "solve over " + wire, behaviour: "solve", wire: wire,
			outcome: results.Answered, word: results.Solved, finished: wellDone})
	}
	return list
}

// failing is a model that fails for good after some turns.
func failing(status, turns int) testCase {
	c := testCase{name: fmt.Sprintf("error %d", status), behaviour: fmt.Sprintf("error:%d", status),
		outcome: results.ProviderError, word: string(results.ProviderError), status: status, mute: turns == 0,
		finished: []trace.Finish{trace.FinishError}}
	if turns > 0 {
		c.name += " later"
		c.behaviour += fmt.Sprintf("@%d", turns)
	}
	return c
}

// prompts are some that could be taken for something else than a prompt, each
// behind its name.
func prompts() [][2]string {
	return [][2]string{
		{"prompt like an option", "--help -p \"double\" 'single' `x` $(touch x) ${HOME} %s {model} @x /exit"},
		{"prompt of many lines", "\n\nünïcödé 日本 \u202e \U0001f410\r\n\ttab \\n \x7f\n"},
		{"prompt of 200 KB", strings.Repeat("lorem \"ipsum\" ", 200<<10/14)},
	}
}

// prompted puts a text before the task's own statement.
func prompted(what, prompt string) testCase {
	return testCase{name: what, behaviour: "solve", outcome: results.Answered, word: results.Solved, finished: wellDone,
		change: func(o *order) { o.task.Statement = prompt + "\n\n" + o.task.Statement },
		check: func(t *testing.T, x *trial) {
			if !x.up.heard(strings.TrimSpace(prompt)) {
				t.Error("the prompt did not reach the model as it is")
			}
		}}
}

// oddModel has a name with what shells, paths and lists take for their own.
func oddModel() testCase {
	return testCase{name: "odd model name", behaviour: "solve", model: "vend or/näme:v1 $(touch x) 'q'",
		outcome: results.Answered, word: results.Solved, finished: wellDone}
}

// instructed is a workspace with instruction files of every CLI.
func instructed(obeyed bool) testCase {
	c := testCase{name: "instructions ignored", behaviour: "solve", instructions: obeyed,
		outcome: results.Answered, word: results.Solved, finished: wellDone,
		change: func(o *order) {
			o.task.Starter, o.task.Reference = maps.Clone(o.task.Starter), maps.Clone(o.task.Reference)
			for _, files := range []tasks.Files{o.task.Starter, o.task.Reference} {
				for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} {
					files[name] = mark + ": " + name + "\n"
				}
			}
		}}
	if obeyed {
		c.name = "instructions read"
	}
	c.check = func(t *testing.T, x *trial) {
		if !obeyed && x.up.heard(mark) {
			t.Error("instructions of the workspace reached the model")
		}
		for _, name := range x.profile.reads {
			if obeyed && !x.up.heard(mark+": "+name) {
				t.Errorf("%s did not reach the model", name)
			}
		}
	}
	return c
}

// after is a limit on the time of an attempt.
func after(d time.Duration) func(*order) { return func(o *order) { o.settings.Timeout = d } }
