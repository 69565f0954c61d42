package suite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/images/imagestest"
	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
)

// gone is a provider that is not there any more.
type gone struct{ t *testing.T }

func (gone) Name() string { return "scripted" }

func (g gone) RoundTrip(r *http.Request) (*http.Response, error) {
	g.t.Errorf("the provider was asked for %s", r.URL)
	return nil, errors.New("there is no provider")
}

// onAxes is a task of each axis.
func onAxes() []string {
	return []string{"traversal/add-parameter/math/n005/01", "search/dont-repeat/math/n005/01",
		"runtime/cache-function/math/n005/01", "instructions/add-return/math/n005/01"}
}

// Each agent's real CLI works on a task of every axis, and again with nothing
// but the recording to answer it: the same code, no request without an answer.
func TestReplay(t *testing.T) {
	r := newRig(t)
	_, all := rounds(t)
	for _, p := range append(profiles(), profile{word: "llm"}, profile{word: "llm:diff"}) {
		for i, id := range onAxes() {
			if all || p.quick && i == 0 {
				replayed{rig: r, word: p.word, task: id, behaviour: "solve", outcome: results.Answered}.start(t)
			}
		}
	}
}

// What went wrong goes wrong again, in the same way and after as many requests.
func TestReplayOfTrouble(t *testing.T) {
	r := newRig(t)
	_, all := rounds(t)
	for _, p := range profiles() {
		for behaviour, outcome := range map[string]results.Outcome{"wrong": results.Answered, "untouched": results.Answered,
			"error:429@2": results.ProviderError, "error:500@2": results.ProviderError, "error:401": results.ProviderError,
			"cut@2": results.ProviderError} {
			if all || p.quick && behaviour == "error:429@2" {
				replayed{rig: r, word: p.word, task: onAxes()[0], behaviour: behaviour, outcome: outcome}.start(t)
			}
		}
	}
}

// replayed is an attempt that is made and then replayed.
type replayed struct {
	rig             *rig
	word            string // the agent
	task, behaviour string
	outcome         results.Outcome
}

func (x replayed) start(t *testing.T) {
	t.Helper()
	axis, _, _ := strings.Cut(x.task, "/")
	t.Run(strings.Join([]string{strings.TrimSuffix(filepath.Base(x.word), ".toml"), axis, x.behaviour}, " "), func(t *testing.T) {
		t.Parallel()
		x.rig.places <- struct{}{}
		defer func() { <-x.rig.places }()
		x.play(t)
	})
}

func (x replayed) play(t *testing.T) {
	ag, err := agent.Find(x.word)
	if err != nil {
		t.Fatal(err)
	}
	image := ""
	if ag.Traits().Bare == "" {
		image = imagestest.Ensure(t, ag.Recipe()).ID
	}
	made := &trial{rig: x.rig, c: testCase{behaviour: x.behaviour}, agent: &tapped{Agent: ag}, image: image}
	o := made.order(t)
	o.task = taskOf(t, x.task)
	first := x.rig.run(t, o)
	store, err := results.Open(first.dir, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o.replay, o.agent = runner.ReplayFrom(store), &tapped{Agent: ag}
	o.model.Upstream = gone{t}
	o.between = func(s *results.Store, out outcome) { wantFree(t, s, out.attempt(t)) }
	second := x.rig.run(t, o)
	if a, b := made.agent.jobs[0].SessionID, o.agent.jobs[0].SessionID; a != b {
		t.Errorf("session %s, then %s", a, b)
	}
	x.check(t, first, second)
}

// wantFree looks at what the requests of a replay cost.
func wantFree(t *testing.T, s *results.Store, did results.AttemptResult) {
	t.Helper()
	spoke, err := s.Exchanges(context.Background(), did.TrialKey, did.Number)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range spoke {
		if e.Usage.CostUSD != nil && *e.Usage.CostUSD != 0 || e.WorstTokens != 0 {
			t.Errorf("request %d cost %v", e.Seq, e.Usage.CostUSD)
		}
	}
}

// check holds the two attempts against each other.
func (x replayed) check(t *testing.T, first, second outcome) {
	was, did, got := first.attempt(t), second.attempt(t), second.replay(t)
	t.Logf("%d requests of %d, %d recorded ones unused, %d drifts; %s: %s",
		did.Requests, was.Requests, got.Unused, len(got.Drifts), did.Outcome, did.Reason)
	if d := got.Divergence; d != nil {
		t.Errorf("diverged at request %d: %s\n%s", d.Request, d.Reason, d.Diff)
	}
	if was.Outcome != x.outcome || did.Outcome != x.outcome || second.trials[0].Word != first.trials[0].Word ||
		(first.trials[0].Word == results.Solved) != (x.behaviour == "solve") {
		t.Errorf("%s (%s), then %s (%s)", was.Outcome, was.Reason, did.Outcome, did.Reason)
	}
	if got.SameCode == nil || !*got.SameCode || len(second.notices) > 0 {
		t.Errorf("code the same: %v; %q", got.SameCode, second.notices)
	}
	if got.Unused != 0 || did.Requests != was.Requests || did.Answers != was.Answers {
		t.Errorf("%d requests and %d answers, then %d and %d; %d unused",
			was.Requests, was.Answers, did.Requests, did.Answers, got.Unused)
	}
	for _, d := range got.Drifts {
		t.Logf("drift in request %d, item %d, %s, in %d requests:\n%s", d.Request, d.Item, d.Kind, d.Requests, d.Diff)
		if !x.explained(d) {
			t.Error("texts differed between two equal runs")
		}
	}
}

// explained holds for what differs between two runs of a CLI by its own doing:
// Gemini CLI lists the skills that it comes with in the order in which their
// files happened to be read.
func (x replayed) explained(d gateway.ReplayDrift) bool {
	return x.word == "gemini" && (d.Kind == gateway.TextSystem && strings.Contains(d.Diff, "<skill>") ||
		d.Kind == gateway.TextTool && strings.Contains(d.Diff, "activate_skill"))
}

// replay is what came of the only attempt's replay.
func (o outcome) replay(t *testing.T) runner.ReplayResult {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, o.attempt(t).Path, runner.ReplayFile))
	var r runner.ReplayResult
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
