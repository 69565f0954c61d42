package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/fake"
)

func builtIn(t *testing.T, name string) agent.Agent {
	t.Helper()
	a, err := agent.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The two agents that ask no model: every outcome is an answer, the reference
// solves everything and the other one nothing.
func TestAgentsWithoutModel(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"reference": {results.Solved: 10}, "nop": {results.Failed: 10},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, filepath.Join(t.TempDir(), "run"))
			r.sweep.Pairings[0].Agent = builtIn(t, name)
			sum := r.run(t)
			if sum.WithoutOutcome != 0 || sum.Paused != "" || r.model.calls != 0 {
				t.Errorf("summary %+v, %d model calls", sum, r.model.calls)
			}
			wantWords(t, r, want)
			for tr, err := range r.store.Results(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				if a := tr.Final(); a.Outcome != results.Answered || a.Unchanged != (name == "nop") || a.Answers != 0 {
					t.Errorf("%s: %+v", tr.TaskID, a)
				}
			}
		})
	}
}

// prepared is a toy whose launch is changed.
type prepared struct {
	toy
	files map[string]string
	err   error
}

func (p prepared) Launch(j agent.Job) (agent.Launch, error) {
	l, err := p.toy.Launch(j)
	l.Files = p.files
	return l, errors.Join(err, p.err)
}

// Files that an agent wants are in its home before it starts.
func TestFilesOfTheAgent(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Pairings[0].Agent = prepared{files: map[string]string{"settings.json": "{}", "prompt.txt": strings.Repeat("p", 200<<10)}}
	r.world.before = func(box *fake.Box) {
		for name, size := range map[string]int{"settings.json": 2, "prompt.txt": 200 << 10} {
			if text, err := os.ReadFile(filepath.Join(box.Home(), name)); err != nil || len(text) != size {
				t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
		}
	}
	r.run(t)
	wantWords(t, r, map[string]int{results.Solved: 5, results.Failed: 5})
}

// What an agent cannot be told pauses the sweep at the first attempt: nothing
// was asked, and nothing is charged to the agent.
func TestAgentThatCannotBeStarted(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs = 1
	r.sweep.Pairings[0].Agent = prepared{err: errors.New("an argument of 200000 bytes")}
	sum := r.run(t)
	if !strings.Contains(sum.Paused, "starting the agent: bad spec: an argument of 200000 bytes") || sum.Pending != 10 || r.model.calls != 0 {
		t.Errorf("summary %+v, %d model calls", sum, r.model.calls)
	}
}

// Files that cannot be written are a failure of the box, not of the agent.
func TestFilesThatDoNotFit(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "run"))
	r.sweep.Settings.Jobs = 1
	r.sweep.Pairings[0].Agent = prepared{files: map[string]string{"no/such/folder": "x"}}
	sum := r.run(t)
	if !strings.Contains(sum.Paused, "writing files of the agent into /home/agent: exit code 1") || r.model.calls != 0 {
		t.Errorf("summary %+v, %d model calls", sum, r.model.calls)
	}
}
