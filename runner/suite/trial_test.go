package suite

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
)

// trial is one case with one agent.
type trial struct {
	rig     *rig
	profile profile
	c       testCase
	agent   *tapped
	image   string

	patience int
	up       *witness
	out      outcome
	did      results.AttemptResult
	spoke    []results.Exchange
}

// begun is how often a model has answered when an agent is at work.
const begun = 2

// play runs the case and checks everything that holds in each. A limit that
// struck before the agent was at work is made longer: how fast a machine is
// must decide nothing.
func (x *trial) play(t *testing.T) {
	for x.patience = 1; ; x.patience *= 3 {
		x.run(t)
		if !x.c.cutOff || x.up.sums().answers >= begun || x.patience > 20 {
			break
		}
		x.agent = &tapped{Agent: x.agent.Agent}
	}
	x.checkEnd(t)
	x.checkTrace(t)
	x.checkUsage(t)
	if x.c.check != nil {
		x.c.check(t, x)
	}
	wantNowhere(t, x.out.dir, hostKey)
	if t.Failed() {
		x.logOutput(t)
	}
}

// logOutput shows the last of what the agent printed.
func (x *trial) logOutput(t *testing.T) {
	for _, name := range []string{results.StdoutFile, results.StderrFile} {
		text, err := os.ReadFile(filepath.Join(x.out.dir, x.did.Path, name))
		t.Logf("%s (%v): …%s", name, err, text[max(0, len(text)-3000):])
	}
}

func (x *trial) run(t *testing.T) {
	o := x.order(t)
	if x.c.change != nil {
		x.c.change(&o)
	}
	if x.c.cutOff {
		o.settings.Timeout *= time.Duration(x.patience)
		o.settings.Stall *= time.Duration(x.patience)
	}
	o.between = func(s *results.Store, out outcome) {
		x.did = out.attempt(t)
		var err error
		if x.spoke, err = s.Exchanges(context.Background(), x.did.TrialKey, x.did.Number); err != nil {
			t.Fatal(err)
		}
	}
	x.out = x.rig.run(t, o)
	t.Logf("%s: %s; exit %s, %d requests, %d answers",
		x.did.Outcome, x.did.Reason, code(x.did.ExitCode), x.did.Requests, x.did.Answers)
}

// order is the sweep of one trial with the scripted upstream.
func (x *trial) order(t *testing.T) order {
	scripted, err := gateway.NewScripted(x.c.behaviour)
	if err != nil {
		t.Fatal(err)
	}
	x.up = &witness{Scripted: scripted}
	name, wire, wires := x.c.model, x.c.wire, wordsOf(gateway.Wires())
	if name == "" {
		name = "scripted-1"
	}
	if wire == "" {
		if wire, err = agent.PickWire(x.agent, wires); err != nil {
			t.Fatal(err)
		}
	}
	return order{agent: x.agent, image: x.image, task: x.rig.task, settings: settings(),
		model:   runner.Model{Name: "scripted:" + x.c.behaviour, Agent: name, Wire: name, Upstream: x.up, Wires: wires},
		ask:     runner.Ask{Wire: wire, Instructions: x.c.instructions},
		gateway: gateway.New(gateway.Options{}),
	}
}

func wordsOf(wires []gateway.Wire) []string {
	var list []string
	for _, w := range wires {
		list = append(list, string(w))
	}
	return list
}

func code(c *int) string {
	if c == nil {
		return "unknown"
	}
	return strconv.Itoa(*c)
}

func (x *trial) checkEnd(t *testing.T) {
	if x.did.Outcome != x.c.outcome {
		t.Errorf("outcome %s (%s), want %s", x.did.Outcome, x.did.Reason, x.c.outcome)
	}
	if word := x.out.trials[0].Word; word != x.c.word {
		t.Errorf("the trial is %s (%s), want %s", word, x.out.trials[0].Reason(), x.c.word)
	}
	want := x.profile.done
	switch {
	case x.c.status != 0:
		want = x.profile.failed(x.c.status)
	case x.c.cutOff:
		want = x.profile.signal
	}
	if x.did.ExitCode == nil || *x.did.ExitCode != want {
		t.Errorf("exit code %s, want %d", code(x.did.ExitCode), want)
	}
	if len(x.out.notices) > 0 {
		t.Errorf("notices %q", x.out.notices)
	}
	if x.out.summary.Paused != "" {
		t.Errorf("a failure that is meant paused the sweep: %s", x.out.summary.Paused)
	}
}

// checkTrace holds what was read of the session files against what was said.
func (x *trial) checkTrace(t *testing.T) {
	tr := x.out.trace(t, x.agent)
	switch {
	case x.profile.untraced:
		return
	case tr == nil && x.c.mute:
		return // some write nothing before the first answer
	case tr == nil:
		t.Error("no trace")
		return
	}
	told := x.up.sums()
	t.Logf("trace: %s, %d turns, %d calls; told %d answers, %d calls",
		tr.Finished, tr.Turns, len(tr.Calls), told.answers, told.calls)
	if len(tr.Problems) > 0 {
		t.Errorf("problems with the trace: %+v", tr.Problems)
	}
	if len(x.c.finished) > 0 && !slices.Contains(x.c.finished, tr.Finished) {
		t.Errorf("the trace ends as %q, want one of %q (%+v)", tr.Finished, x.c.finished, tr.Error)
	}
	// A cut-off agent may not have written down the last answer; one whose model
	// is cut may have written down what came of each.
	less, more := 0, 0
	if x.c.cutOff {
		less, more = 1, 1
	}
	if x.c.partial {
		more = x.did.Requests - told.answers
	}
	if turns := told.answers - told.aside; tr.Turns < turns-less || tr.Turns > turns+more {
		t.Errorf("%d turns in the trace, the model answered %d times", tr.Turns, turns)
	}
	if n := len(tr.Calls); n < told.calls-less || n > told.calls+more {
		t.Errorf("%d calls in the trace, the model made %d", n, told.calls)
	}
	if x.did.UsageNote != "" && !x.c.cutOff && !x.c.partial {
		t.Errorf("the agent counted other than the gateway: %s", x.did.UsageNote)
	}
}

// checkUsage holds what the store has of each request against what was told.
func (x *trial) checkUsage(t *testing.T) {
	told := x.up.sums()
	var have sums
	for _, e := range x.spoke {
		if !e.Complete {
			x.checkUnfinished(t, e)
			continue
		}
		have.answers++
		for _, f := range []struct {
			sum *int64
			v   *int64
		}{{&have.input, e.Usage.Input}, {&have.cached, e.Usage.Cached}, {&have.cacheWrite, e.Usage.CacheWrite},
			{&have.output, e.Usage.Output}, {&have.reasoning, e.Usage.Reasoning}} {
			if f.v != nil {
				*f.sum += *f.v
			}
		}
	}
	have.calls, have.aside = told.calls, told.aside // the store does not tell them
	if have != told {
		t.Errorf("the store has %+v, told was %+v", have, told)
	}
	if x.did.Answers != told.answers || x.did.Requests != len(x.spoke) {
		t.Errorf("%d requests and %d answers recorded, %d exchanges kept, %d answers told",
			x.did.Requests, x.did.Answers, len(x.spoke), told.answers)
	}
}

// checkUnfinished: what a cut answer used is unknown, a refusal cost nothing.
func (x *trial) checkUnfinished(t *testing.T, e results.Exchange) {
	switch refused := e.Status >= http.StatusBadRequest; {
	case refused && (e.Usage.Output == nil || *e.Usage.Output != 0):
		t.Errorf("request %d was refused with %d and has output %v", e.Seq, e.Status, e.Usage.Output)
	case !refused && e.Usage.Output != nil:
		t.Errorf("request %d was cut (%s) and has output %d", e.Seq, e.Error, *e.Usage.Output)
	}
}
