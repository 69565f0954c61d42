package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
)

// told is a pairing as a lock has it, without a build of its agent.
func told(name, version, model, provider, prices string) results.Pairing {
	return results.Pairing{Agent: results.Agent{Name: name, Version: version, Wire: "chat"}, Model: model,
		Provider: results.Provider{Description: provider, Prices: prices}}
}

// What was asked for may differ, what was not may not: another agent on the same
// model at another provider or price, and another effort of the same agent, are
// no rerun of the same.
func TestOnlyWhatWasAskedForMayDiffer(t *testing.T) {
	was := []results.Pairing{told("a", "1", "m", "own endpoint http://one/v1", "$1")}
	for name, tt := range map[string]struct {
		now  results.Pairing
		want string // field that differs, "" for none
	}{
		"another agent":                  {told("b", "1", "m", "own endpoint http://one/v1", "$1"), ""},
		"another model":                  {told("a", "1", "n", "somebody else", "$2"), ""},
		"both":                           {told("b", "2", "n", "somebody else", "$2"), ""},
		"another agent, provider":        {told("b", "1", "m", "somebody else", "$1"), "provider"},
		"another agent, prices":          {told("b", "1", "m", "own endpoint http://one/v1", "$2"), "prices"},
		"another model, effort":          {results.Pairing{Agent: results.Agent{Name: "a", Version: "1", Wire: "chat", Effort: "high"}, Model: "n"}, "reasoning effort"},
		"the same, elsewhere":            {told("a", "1", "m", "somebody else", "$1"), "provider"},
		"the same agent, other version":  {told("a", "2", "m", "own endpoint http://one/v1", "$1"), ""},
		"another model, another wire":    {results.Pairing{Agent: results.Agent{Name: "a", Version: "1", Wire: "messages"}, Model: "n"}, ""},
		"another model, its definition":  {results.Pairing{Agent: results.Agent{Name: "a", Version: "1", Wire: "chat", Definition: "x"}, Model: "n"}, "agent's definition"},
		"the same agent, model and wire": {told("a", "1", "m", "own endpoint http://one/v1", "$1"), ""},
	} {
		var old, now results.Lock
		setPairings(&old, was)
		setPairings(&now, []results.Pairing{tt.now})
		var errs bytes.Buffer
		r := &rerunning{app: &app{stderr: &errs}, o: &rerunOptions{agents: []string{"x"}}, lock: now, origin: &results.Origin{}}
		err := r.checkSame(old)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), "\n  "+tt.want+": ") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// A new pairing is tried again as its kind is.
func TestRetryLike(t *testing.T) {
	usual := results.DefaultRetry()
	scripted := usual
	scripted.Provider = 0
	once := usual
	once.Attempts = 1
	for _, tt := range []struct {
		was      results.Retry
		agent    string
		free     bool // the old model was scripted
		now      string
		nowFree  bool
		attempts int
		provider int
	}{
		{scripted, "copilot", true, "copilot", false, 3, 5},
		{usual, "copilot", false, "copilot", true, 3, 0},
		{usual, "copilot", false, "llm", false, 1, 5},
		{once, "llm", false, "copilot", false, 3, 5},
		{results.Retry{Attempts: 7, Infra: 2, Provider: 9}, "copilot", false, "codex", false, 7, 9},
	} {
		old, err := agent.Find(tt.agent)
		if err != nil {
			t.Fatal(err)
		}
		ag, err := agent.Find(tt.now)
		if err != nil {
			t.Fatal(err)
		}
		lock := results.Lock{Agent: results.Agent{Name: old.Name(), Version: old.Version()}, Model: "m", Retry: tt.was,
			Provider: results.Provider{Scripted: tt.free}}
		got := retryLike(lock, ag, chosen{model: runner.Model{Name: "n"}, provider: results.Provider{Scripted: tt.nowFree}})
		if got.Attempts != tt.attempts || got.Provider != tt.provider {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// A rerun with another model asks its provider; with another agent the model is
// asked where it was.
func TestRerunAsksTheSameEndpoint(t *testing.T) {
	t.Setenv("CABRA_API_KEY", "none")
	var lock results.Lock
	setPairings(&lock, []results.Pairing{told("codex", "1", "m", ownEndpoint+"http://127.0.0.1:9/v1", "unknown")})
	o := &rerunOptions{agents: []string{"llm"}}
	list, err := o.pairs(lock)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].provider.Description != ownEndpoint+"http://127.0.0.1:9/v1" {
		t.Errorf("%+v", list)
	}
}

// The trials of a shard are told by their places, which go by the number of pairings.
func TestRerunOfAShard(t *testing.T) {
	shard := results.Lock{Shard: results.Shard{Index: 1, Count: 2}}
	if err := samePart(shard, make([]chosen, 1)); err != nil {
		t.Error(err)
	}
	if err := samePart(shard, make([]chosen, 2)); err == nil {
		t.Error("taken")
	}
	if err := samePart(results.Lock{}, make([]chosen, 2)); err != nil {
		t.Error(err)
	}
}

// A rerun keeps to the budgets of the old run, unless it is given others.
func TestRerunKeepsBudgets(t *testing.T) {
	lock := results.Lock{Budget: results.Budget{Run: "200", Trial: "1", Attempt: "50ktok"}}
	for _, tt := range []struct{ o, want budgetOptions }{
		{budgetOptions{}, budgetOptions{"200", "1", "50ktok"}},
		{budgetOptions{run: "none", trial: "2"}, budgetOptions{"none", "2", "50ktok"}},
	} {
		if got := (&rerunOptions{budgetOptions: tt.o}).budgets(lock); got != tt.want {
			t.Errorf("%+v: %+v", tt.o, got)
		}
	}
	if got := (&rerunOptions{replay: true}).budgets(lock); got != (budgetOptions{}) {
		t.Errorf("a replay has %+v", got)
	}
}

// A rerun that is continued has the trials that it was planned with, whatever
// the original says by now, and no other run takes the original's place.
func TestContinuedRerun(t *testing.T) {
	ctx := context.Background()
	old := filepath.Join(t.TempDir(), "old")
	if err := usedRun(old); err != nil {
		t.Fatal(err)
	}
	digest, err := lockDigest(old)
	if err != nil {
		t.Fatal(err)
	}
	original, err := results.Open(old, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := original.Trials(ctx)
	if err != nil || original.Close() != nil {
		t.Fatal(err)
	}
	other := trials[0]
	other.Repetition, other.Seq = 2, 1
	other.Key = results.TrialKey(other)
	lock := results.Lock{Run: "again", Model: "m", Scorer: results.Scorer{Verdicts: []string{"strict"}},
		Origin: &results.Origin{Run: "r", Dir: old, Lock: digest, Filter: "outcome=solved", Replay: true}}
	store, err := results.Create(filepath.Join(t.TempDir(), "again"), lock)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a := &app{stderr: &bytes.Buffer{}}
	selected := func() (first, second bool) {
		s := &runner.Sweep{}
		release, err := a.followOrigin(ctx, s, store)
		if err != nil {
			t.Fatal(err)
		}
		if err := release(); err != nil || s.Replay == nil {
			t.Errorf("%v, replay %v", err, s.Replay)
		}
		return s.Select(trials[0]), s.Select(other)
	}
	if first, second := selected(); !first || second {
		t.Errorf("before it was planned: %v %v", first, second)
	}
	if err := store.Plan(ctx, []results.Trial{other}); err != nil {
		t.Fatal(err)
	}
	if first, second := selected(); first || !second {
		t.Errorf("afterwards: %v %v, want what is planned", first, second)
	}
	text, err := os.ReadFile(filepath.Join(old, "run.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(old, "run.json"), append(text, ' '), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.followOrigin(ctx, &runner.Sweep{}, store); err == nil {
		t.Error("another run was taken for the original")
	}
}

// A trial that has used up its budget keeps what it has: another attempt could
// ask nothing, and its code would be lost.
func TestReopenWithinBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		o    resumeOptions
		cap  gateway.Caps
		hit  string
		want results.State
	}{
		"no budget":      {resumeOptions{}, gateway.Caps{}, "", results.StatePending},
		"room":           {resumeOptions{}, gateway.Caps{USD: 3}, "", results.StatePending},
		"used up":        {resumeOptions{}, gateway.Caps{USD: 2.75}, "", results.StateDone},
		"tokens used up": {resumeOptions{}, gateway.Caps{Tokens: 100}, "", results.StateDone},
		"stopped by it":  {resumeOptions{}, gateway.Caps{USD: 3}, runner.LimitBudget, results.StateDone},
		"a higher one":   {resumeOptions{budgetOptions: budgetOptions{trial: "3"}}, gateway.Caps{USD: 3}, runner.LimitBudget, results.StatePending},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			dir := filepath.Join(t.TempDir(), "r")
			if err := usedRun(dir); err != nil {
				t.Fatal(err)
			}
			store, err := results.Open(dir, results.ReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			trials, err := store.Trials(ctx)
			if err != nil {
				t.Fatal(err)
			}
			key := trials[0].Key
			if err := store.Reopen(ctx, []string{key}); err != nil {
				t.Fatal(err)
			}
			a, err := store.StartAttempt(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			a.Outcome, a.LimitHit, a.Ended, a.Unscored = results.Limit, tt.hit, a.Started, true
			if err := store.Collected(ctx, a); err != nil {
				t.Fatal(err)
			}
			tt.o.classes = []results.Outcome{results.Limit}
			if err := tt.o.reopen(ctx, &app{stderr: &bytes.Buffer{}}, store, tt.cap); err != nil {
				t.Fatal(err)
			}
			for r, err := range store.Results(ctx) {
				if err != nil || r.State != tt.want {
					t.Errorf("%s, %v; want %s", r.State, err, tt.want)
				}
			}
		})
	}
}
