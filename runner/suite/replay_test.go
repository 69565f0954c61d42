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
	"cabra-run/tasks"
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
			if !all && (!p.quick || i > 0) {
				continue
			}
			task := taskOf(t, id)
			t.Run(strings.TrimSuffix(filepath.Base(p.word), ".toml")+" "+strings.SplitN(id, "/", 2)[0], func(t *testing.T) {
				t.Parallel()
				r.places <- struct{}{}
				defer func() { <-r.places }()
				replayOne(t, r, p.word, task)
			})
		}
	}
}

func replayOne(t *testing.T, r *rig, word string, task tasks.Task) {
	ag, err := agent.Find(word)
	if err != nil {
		t.Fatal(err)
	}
	image := ""
	if ag.Traits().Bare == "" {
		image = imagestest.Ensure(t, ag.Recipe()).ID
	}
	x := &trial{rig: r, c: testCase{behaviour: "solve"}, agent: &tapped{Agent: ag}, image: image}
	o := x.order(t)
	o.task = task
	first := r.run(t, o)
	was := first.attempt(t)
	store, err := results.Open(first.dir, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o.replay, o.agent = runner.ReplayFrom(store), &tapped{Agent: ag}
	o.model.Upstream = gone{t}
	var spoke []results.Exchange
	o.between = func(s *results.Store, out outcome) {
		did := out.attempt(t)
		if spoke, err = s.Exchanges(context.Background(), did.TrialKey, did.Number); err != nil {
			t.Fatal(err)
		}
	}
	second := r.run(t, o)
	did := second.attempt(t)
	got := second.replay(t)
	t.Logf("%d requests of %d, %d recorded ones unused, %d drifts; %s: %s",
		did.Requests, was.Requests, got.Unused, len(got.Drifts), did.Outcome, did.Reason)
	for _, d := range got.Drifts {
		t.Logf("drift in request %d, item %d, %s, in %d requests:\n%s", d.Request, d.Item, d.Kind, d.Requests, d.Diff)
	}
	if d := got.Divergence; d != nil {
		t.Errorf("diverged at request %d: %s\n%s", d.Request, d.Reason, d.Diff)
	}
	if was.Outcome != results.Answered || did.Outcome != results.Answered || second.trials[0].Word != first.trials[0].Word ||
		first.trials[0].Word != results.Solved || got.SameCode == nil || !*got.SameCode {
		t.Errorf("%s (%s), then %s (%s); code the same: %v", was.Outcome, was.Reason, did.Outcome, did.Reason, got.SameCode)
	}
	if got.Unused != 0 || did.Requests != was.Requests || did.Answers != was.Answers || len(second.notices) > 0 {
		t.Errorf("%d requests and %d answers, then %d and %d; %d unused; %q",
			was.Requests, was.Answers, did.Requests, did.Answers, got.Unused, second.notices)
	}
	if len(got.Drifts)+got.MoreDrifts > 0 {
		t.Error("texts differed between two equal runs")
	}
	if a, b := x.agent.jobs[0].SessionID, o.agent.jobs[0].SessionID; a != b {
		t.Errorf("session %s, then %s", a, b)
	}
	for _, e := range spoke {
		if e.Usage.CostUSD == nil || *e.Usage.CostUSD != 0 {
			t.Errorf("request %d cost %v", e.Seq, e.Usage.CostUSD)
		}
	}
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

var _ gateway.Upstream = gone{}
