package runner_test

import (
	"context"
	"io"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/fake"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

// bareRig is a rig whose agent is a model without tools, which the scripted
// upstream plays.
func bareRig(t *testing.T, name, wire, behaviour string) *rig {
	t.Helper()
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	ag, err := agent.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	up, err := gateway.NewScripted(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	r.sweep.Pairings[0].Agent, r.sweep.Pairings[0].Ask, r.sweep.Pairings[0].Image = ag, runner.Ask{Wire: wire}, ""
	r.sweep.Pairings[0].Model = runner.Model{Name: "scripted", Agent: "scripted-1", Wire: "scripted-1", Upstream: up}
	return r
}

// A model without tools goes the way of every trial, without a box.
func TestBareSweep(t *testing.T) {
	for _, tt := range []struct {
		agent, wire, behaviour, word string
		requests                     int
	}{
		{"llm", "chat", "solve", results.Solved, 1}, {"llm", "responses", "solve", results.Solved, 1},
		{"llm", "messages", "unparseable@3", results.Solved, 4},
		{"llm:diff", "chat", "solve", results.Solved, 1}, {"llm:diff", "messages", "solve", results.Solved, 1},
		{"llm:diff", "responses", "wrong", results.Failed, 1}, {"llm", "chat", "wrong", results.Failed, 1},
		{"llm:diff", "chat", "untouched", results.Failed, 1},
		{"llm", "chat", "unparseable", string(results.NoOutput), 10}, {"llm", "chat", "error:500", string(results.ProviderError), 1},
		{"llm", "messages", "error:401", string(results.ProviderError), 1}, {"llm", "responses", "cut", string(results.ProviderError), 10},
	} {
		t.Run(tt.agent+" "+tt.wire+" "+tt.behaviour, func(t *testing.T) {
			r := bareRig(t, tt.agent, tt.wire, tt.behaviour)
			r.sweep.Settings.BreakAfter = 100
			if sum := r.run(t); sum.Done != 10 {
				t.Errorf("summary %+v", sum)
			}
			wantWords(t, r, map[string]int{tt.word: 10})
			if n := r.host.Calls(fake.OpCreate); n != 0 {
				t.Errorf("%d boxes were made", n)
			}
			for tr, err := range r.store.Results(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				checkBareAttempt(t, r, tr, tt.requests)
			}
		})
	}
}

func checkBareAttempt(t *testing.T, r *rig, tr results.TrialResult, requests int) {
	t.Helper()
	a := tr.Attempts[len(tr.Attempts)-1]
	if a.Requests != requests || a.TraceState != "complete" {
		t.Errorf("%s: %d requests, trace %s, %s", tr.TaskID, a.Requests, a.TraceState, a.Reason)
	}
	root, err := r.store.OpenAttempt(a.Attempt)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	want := []string{"trace/conversation.jsonl", results.RecordingFile, results.StdoutFile, results.StderrFile}
	if a.Outcome == results.Answered {
		want = append(want, path.Join(results.FilesDir, tasks.SolutionFile), results.PatchFile)
	}
	for _, name := range want {
		if _, err := root.Stat(name); err != nil {
			t.Errorf("%s (%s): %v", tr.TaskID, a.Outcome, err)
		}
	}
	said, _ := root.ReadFile(results.StdoutFile)
	if a.Outcome == results.Answered && !strings.Contains(string(said), "</solution>") {
		t.Errorf("stdout %.200q", said)
	}
	if a.Outcome == results.NoOutput && !strings.Contains(a.Reason, "no readable answer in 10 tries; the last one: there is no <solution>") {
		t.Errorf("reason %q", a.Reason)
	}
}

// A model whose answers are empty was heard all the same: it has no output.
func TestBareEmptyAnswers(t *testing.T) {
	r := bareRig(t, "llm", "chat", "solve")
	r.sweep.Pairings[0].Model.Upstream = emptyAnswers{}
	r.run(t)
	wantWords(t, r, map[string]int{string(results.NoOutput): 10})
}

type emptyAnswers struct{}

func (emptyAnswers) Name() string { return "empty" }

func (emptyAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	const stream = `data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(stream)), ContentLength: -1, Request: r}, nil
}

// A model that never answers meets the attempt's limits.
func TestBareLimits(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*runner.Settings)
		want results.Outcome
	}{
		{"timeout", func(s *runner.Settings) { s.Timeout, s.MaxWait = time.Millisecond, 0 }, results.Timeout},
		{"stall", func(s *runner.Settings) { s.Stall = time.Millisecond }, results.Stalled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bareRig(t, "llm", "chat", "silence")
			tt.set(&r.sweep.Settings)
			r.sweep.Settings.Jobs = 10
			r.run(t)
			wantWords(t, r, map[string]int{string(tt.want): 10})
		})
	}
}

// Halting ends the conversations in order; their trace and their usage stay.
func TestBareHalt(t *testing.T) {
	r := bareRig(t, "llm", "chat", "idle")
	r.sweep.Settings.Jobs = 10
	observe := r.sweep.Observer
	r.sweep.Observer = func(e runner.Event) {
		observe(e)
		if e.Kind == runner.AttemptStarted {
			r.sweep.Stop.Raise(runner.Halt, "a test")
		}
	}
	if sum := r.run(t); sum.Done != 0 || sum.Stopped != "a test" {
		t.Errorf("summary %+v", sum)
	}
	for tr, err := range r.store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tr.Attempts {
			if a.Outcome != results.Cancelled || !a.HasArtefacts {
				t.Errorf("%s: %+v", tr.TaskID, a.Attempt)
			}
		}
	}
}
