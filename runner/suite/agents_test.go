package suite

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
)

// TortureEnv asks for all agents; its value is the number of rounds.
const TortureEnv = "CABRA_TEST_TORTURE"

// profile is what is known of an agent's program from outside, by the notes on
// real runs of each.
type profile struct {
	word     string // as on the command line
	quick    bool   // one of those that every run of the tests goes through
	done     int    // exit code at the end of the work
	signal   int    // after its ending signal while it works
	failed   func(status int) int
	reads    []string // instruction files of the workspace, when it is let
	untraced bool
}

func always(code int) func(int) int { return func(int) int { return code } }

// profiles lists the seven CLIs and the worked example of an agent of one's own.
func profiles() []profile {
	return []profile{
		{word: "copilot", signal: 0, failed: always(1), reads: []string{"AGENTS.md"}},
		{word: "claude", quick: true, signal: 143, failed: always(1), reads: []string{"CLAUDE.md"}},
		{word: "codex", quick: true, signal: 1, failed: always(1), reads: []string{"AGENTS.md"}},
		{word: "opencode", signal: 143, failed: always(1), reads: []string{"AGENTS.md"}},
		{word: "pi", signal: 143, failed: always(0), reads: []string{"AGENTS.md"}},
		{word: "gemini", signal: 0, failed: func(status int) int { return status % 256 }, reads: []string{"GEMINI.md"}},
		{word: "mini", signal: 130, failed: always(1)},
		{word: filepath.Join("..", "..", "cmd", "cabra-run", "testdata", "agents", "tiny.toml"),
			signal: 143, failed: always(1), untraced: true},
	}
}

// rounds is how often each case is gone through, and whether with all agents.
func rounds(t *testing.T) (n int, all bool) {
	text := os.Getenv(TortureEnv)
	if text == "" {
		return 1, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of rounds", TortureEnv, text)
	}
	return n, true
}

// Each agent's real CLI goes through the same cases.
func TestAgents(t *testing.T) {
	r := newRig(t)
	n, all := rounds(t)
	for _, p := range profiles() {
		t.Run(strings.TrimSuffix(filepath.Base(p.word), ".toml"), func(t *testing.T) {
			if !all && !p.quick {
				t.Skipf("only with %s=1, as make torture sets it", TortureEnv)
			}
			ag, err := agent.Find(p.word)
			if err != nil {
				t.Fatal(err)
			}
			image := imagestest.Ensure(t, ag.Recipe()).ID
			for range n {
				for _, c := range slices.Concat(cases(), otherWires(ag)) {
					passed.expect(ag.Name(), c.name)
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						r.places <- struct{}{}
						defer func() { <-r.places }()
						t.Cleanup(func() { passed.done(ag.Name(), c.name, !t.Failed()) })
						(&trial{rig: r, profile: p, c: c, agent: &tapped{Agent: ag}, image: image}).play(t)
					})
				}
			}
		})
	}
}

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
	scripted, err := gateway.NewScripted(x.c.behaviour)
	if err != nil {
		t.Fatal(err)
	}
	x.up = &witness{Scripted: scripted}
	name := x.c.model
	if name == "" {
		name = "scripted-1"
	}
	wires := wordsOf(gateway.Wires())
	wire := x.c.wire
	if wire == "" {
		if wire, err = agent.PickWire(x.agent, wires); err != nil {
			t.Fatal(err)
		}
	}
	o := order{agent: x.agent, image: x.image, task: x.rig.task, settings: settings(),
		model:   runner.Model{Name: "scripted:" + x.c.behaviour, Agent: name, Wire: name, Upstream: x.up, Wires: wires},
		ask:     runner.Ask{Wire: wire, Instructions: x.c.instructions},
		gateway: gateway.New(gateway.Options{}),
		between: func(s *results.Store) {
			var err error
			if x.spoke, err = s.Exchanges(context.Background(), x.did.TrialKey, 1); err != nil {
				t.Fatal(err)
			}
		}}
	if x.c.change != nil {
		x.c.change(&o)
	}
	o.settings.Stall *= time.Duration(x.patience)
	if x.c.cutOff {
		o.settings.Timeout *= time.Duration(x.patience)
	}
	keep := o.between
	o.between = func(s *results.Store) {
		for tr, err := range s.Results(context.Background()) {
			if err != nil || len(tr.Attempts) != 1 {
				t.Fatalf("%d attempts, %v", len(tr.Attempts), err)
			}
			x.did = tr.Attempts[0]
			x.did.TrialKey = tr.Key
		}
		keep(s)
	}
	x.out = x.rig.run(t, o)
	t.Logf("%s: %s; exit %s, %d requests, %d answers", x.did.Outcome, x.did.Reason, code(x.did.ExitCode), x.did.Requests, x.did.Answers)
	for _, n := range x.out.notices {
		t.Logf("notice: %s", n)
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
	t.Logf("trace: %s, %d turns, %d calls; told %d answers, %d calls", tr.Finished, tr.Turns, len(tr.Calls), told.answers, told.calls)
	if len(tr.Problems) > 0 {
		t.Errorf("problems with the trace: %+v", tr.Problems)
	}
	if len(x.c.finished) > 0 && !slices.Contains(x.c.finished, tr.Finished) {
		t.Errorf("the trace ends as %q, want one of %q (%+v)", tr.Finished, x.c.finished, tr.Error)
	}
	// A cut-off agent may not have written down the last answer.
	slack := 0
	if x.c.cutOff || x.c.partial {
		slack = 1
	}
	if tr.Turns < told.answers-slack || tr.Turns > told.answers+slack {
		t.Errorf("%d turns in the trace, the model answered %d times", tr.Turns, told.answers)
	}
	if n := len(tr.Calls); n < told.calls-slack || n > told.calls+slack {
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
	have.calls = told.calls // the store does not count them
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

// after is a limit on the time of an attempt.
func after(d time.Duration) func(*order) { return func(o *order) { o.settings.Timeout = d } }

var (
	wellDone = []trace.Finish{trace.FinishCompleted}
	brokenUp = []trace.Finish{trace.FinishAborted, trace.FinishMidAir, trace.FinishError}
)
