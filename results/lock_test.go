package results_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cabra-run/results"
)

func TestLockIsWrittenOnceAndReadBack(t *testing.T) {
	s := newStore(t, nil)
	want := testLock()
	want.Schema, want.Settings = 3, testLock().SettingsDigest()
	data, err := os.ReadFile(filepath.Join(s.Dir(), "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var onDisk results.Lock
	if err := json.Unmarshal(data, &onDisk); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for name, got := range map[string]results.Lock{"run.json": onDisk, "reopened": reopen(t, s.Dir()).Lock()} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%+v, want\n%+v", name, got, want)
		}
	}
	if !strings.Contains(string(data), `"grid": "axis=search; size=5..10; code=math & string"`) {
		t.Errorf("grid is escaped:\n%s", data)
	}
}

func TestDiff(t *testing.T) {
	cases := []struct {
		field  string // "" when no difference counts
		change func(*results.Lock)
	}{
		{"", func(*results.Lock) {}},
		{"", func(l *results.Lock) { l.Jobs, l.Retry.Attempts, l.Host.CPUs, l.Host.Kernel = 64, 1, 9, "7" }},
		{"", func(l *results.Lock) { l.Images[0].ID, l.Images[0].Tag = "sha256:99", "u" }},
		{"", func(l *results.Lock) { l.Images[0].Packages = []string{"bash 5", "git 2"} }},
		{"seed", func(l *results.Lock) { l.Tasks.Seed = 43 }},
		{"prices", func(l *results.Lock) { l.Provider.Prices = "unknown" }},
		{"statements", func(l *results.Lock) { l.Tasks.Statements = "sha256:cc" }},
		{"agent version", func(l *results.Lock) { l.Agent.Version = "1.0.82" }},
		{"agent's wire format", func(l *results.Lock) { l.Agent.Wire = "responses" }},
		{"reasoning effort", func(l *results.Lock) { l.Agent.Effort = "high" }},
		{"instructions of the workspace", func(l *results.Lock) { l.Agent.Instructions = true }},
		{"agent's definition", func(l *results.Lock) { l.Agent.Definition = "name = 'x'" }},
		{"", func(l *results.Lock) { l.Agent.File = "/elsewhere/x.toml" }},
		{"limit of processes", func(l *results.Lock) { l.Limits.Pids = 100 }},
		{"time-out", func(l *results.Lock) { l.TimeoutSeconds = 1800 }},
		{"network", func(l *results.Lock) { l.Network = "bridge" }},
		{"recipe of image copilot", func(l *results.Lock) { l.Images[0].Recipe = "sha256:33" }},
		{"packages of image copilot", func(l *results.Lock) { l.Images[0].Packages = []string{"git 3", "bash 5"} }},
		{"verdict strict", func(l *results.Lock) { l.Scorer.Version = "s2" }},
		{"", func(l *results.Lock) { // the same, as it is written since there are two
			l.Scorer = results.Scorer{Verdicts: []string{"strict"}, Versions: map[string]string{"strict": "s1"}}
		}},
		{"verdict official", func(l *results.Lock) {
			l.Scorer = results.Scorer{Verdicts: []string{"strict", "official"},
				Versions: map[string]string{"strict": "s1", "official": "o1"}}
		}},
	}
	for _, c := range cases {
		now := testLock()
		now.Images = []results.Image{now.Images[0]}
		c.change(&now)
		diffs := testLock().Diff(now)
		switch {
		case c.field == "" && len(diffs) == 0:
		case len(diffs) == 1 && diffs[0].Field == c.field && diffs[0].Was != diffs[0].Now:
		default:
			t.Errorf("%q: %v", c.field, diffs)
		}
	}
}

// What the agent is told is part of a trial's identity; how it asks is not, and
// an agent that is told nothing has the digest that it always had.
func TestSettingsDigestCoversWhatTheAgentIsTold(t *testing.T) {
	plain := testLock()
	seen := map[string]bool{plain.SettingsDigest(): true}
	for _, change := range []func(*results.Agent){
		func(a *results.Agent) { a.Effort = "high" },
		func(a *results.Agent) { a.Instructions = true },
		func(a *results.Agent) { a.Definition = "name = 'x'" },
	} {
		l := testLock()
		change(&l.Agent)
		if d := l.SettingsDigest(); seen[d] {
			t.Errorf("%+v has a digest that another one has", l.Agent)
		} else {
			seen[d] = true
		}
	}
	l := testLock()
	l.Agent.Wire, l.Agent.File = "responses", "/x.toml"
	if l.SettingsDigest() != plain.SettingsDigest() {
		t.Error("the wire format or the definition's place changes the digest")
	}
}

func TestTrialKeyCoversIdentityOnly(t *testing.T) {
	base := testTrials(1)[0]
	same := base
	same.Key, same.Seq, same.SampleID, same.Instance = "", 17, "other", 9
	if results.TrialKey(same) != base.Key {
		t.Error("what is no identity changes the key")
	}
	for name, change := range map[string]func(*results.Trial){
		"task":       func(x *results.Trial) { x.TaskID = "a/b" },
		"digest":     func(x *results.Trial) { x.TaskDigest = "d" },
		"agent":      func(x *results.Trial) { x.Agent = "codex" },
		"version":    func(x *results.Trial) { x.Version = "2" },
		"model":      func(x *results.Trial) { x.Model = "m" },
		"repetition": func(x *results.Trial) { x.Repetition = 2 },
		"settings":   func(x *results.Trial) { x.Settings = "s" },
		"border":     func(x *results.Trial) { x.Agent, x.Version = x.Agent+"1", x.Version[1:] },
	} {
		changed := base
		change(&changed)
		if results.TrialKey(changed) == base.Key {
			t.Errorf("changing the %s leaves the key", name)
		}
	}
}

func TestPlan(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(3)
	s := newStore(t, trials)
	if err := s.Plan(ctx, trials); err != nil {
		t.Fatalf("planning again: %v", err)
	}
	if got, err := s.Trials(ctx); err != nil || !reflect.DeepEqual(got, trials) {
		t.Fatalf("plan is %+v, %v", got, err)
	}
	changed, fresh := trials[0], testTrials(4)[3]
	changed.TaskDigest = "sha256:other"
	changed.Key = results.TrialKey(changed)
	var state *results.StateError
	if err := s.Plan(ctx, []results.Trial{fresh, changed}); !errors.As(err, &state) {
		t.Errorf("a changed task was planned again: %v", err)
	}
	if got, _ := s.Trials(ctx); len(got) != 3 {
		t.Errorf("a refused plan left %d trials", len(got))
	}
	forged := fresh
	forged.Key = trials[0].Key
	bad := fresh
	bad.TaskID, bad.Key = "../../etc", ""
	for _, x := range []results.Trial{forged, bad} {
		if err := s.Plan(ctx, []results.Trial{x}); !errors.As(err, &state) {
			t.Errorf("planned %+v: %v", x, err)
		}
	}
}

// Runs with several agents or models keep their attempts apart.
func TestFoldersOfSeveralModels(t *testing.T) {
	trials := testTrials(1)
	for _, model := range []string{"openai/gpt-5", "openai-gpt-5", "../x"} {
		x := trials[0]
		x.Model, x.Seq = model, len(trials)
		x.Key = results.TrialKey(x)
		trials = append(trials, x)
	}
	s := newStore(t, trials)
	seen := map[string]bool{}
	for _, x := range trials {
		a := start(t, s, x.Key)
		if seen[a.Path] || !strings.HasPrefix(a.Path, "trials/search/add-return/math/n005/01/1/copilot@1.0.81+") ||
			strings.Count(a.Path, "/") != 8 {
			t.Errorf("model %q has its attempt at %q", x.Model, a.Path)
		}
		seen[a.Path] = true
		collect(t, s, ended(a, results.Answered))
	}
}

func TestDrift(t *testing.T) {
	s := newStore(t, nil)
	want := results.Difference{Field: "agent version", Was: "1", Now: "2"}
	if err := s.RecordDrift(context.Background(), []results.Difference{want}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Drifts(context.Background())
	if err != nil || len(got) != 1 || got[0].Difference != want || got[0].At.IsZero() {
		t.Errorf("drift %+v, %v", got, err)
	}
}
