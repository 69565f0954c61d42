package results_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/tasks"
)

// begin is the moment at which every test's run begins.
var begin = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// testLock is a lock with a value in every field that Diff looks at.
func testLock() results.Lock {
	return results.Lock{
		Run: "r", Created: begin, Program: "0.1.0",
		Tasks: results.TaskSet{Grid: "axis=search; size=5..10; code=math & string", Seed: 42, Scheme: "official",
			Count: 3, Digest: "sha256:aa", Statements: "sha256:bb", Prompts: "own"},
		Agent: results.Agent{Name: "copilot", Version: "1.0.81"}, Model: "scripted:solve",
		Provider: results.Provider{Description: "scripted", Scripted: true}, Repetitions: 1,
		Images: []results.Image{{Name: "copilot", ID: "sha256:11", Tag: "t", Recipe: "sha256:22", Base: "b",
			How: "pull", Packages: []string{"git 2", "bash 5"}}},
		Network: "none", Limits: results.Limits{MemoryBytes: 2 << 30, Pids: 256, CPUs: 2},
		TimeoutSeconds: 600, StallSeconds: 120, Retry: results.DefaultRetry(),
		Scorer: results.Scorer{Version: "s1", Verdicts: []string{"strict"}},
		Jobs:   2, Host: results.Host{OS: "linux", Arch: "amd64", CPUs: 2}, Engine: results.Engine{Name: "docker"},
	}
}

// testTrials returns n trials of one cell.
func testTrials(n int) []results.Trial {
	var trials []results.Trial
	cell := tasks.Cell{Axis: tasks.Search, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	for i := range n {
		t := results.Trial{TaskID: tasks.CellID(cell, i+1), TaskDigest: fmt.Sprintf("sha256:%d", i), Cell: cell,
			Instance: i + 1, SampleID: fmt.Sprintf("s%d", i), Agent: "copilot", Version: "1.0.81",
			Model: "scripted:solve", Repetition: 1, Settings: "sha256:cc", Seq: i}
		t.Key = results.TrialKey(t)
		trials = append(trials, t)
	}
	return trials
}

func newStore(t *testing.T, trials []results.Trial) *results.Store {
	t.Helper()
	s, err := results.Create(filepath.Join(t.TempDir(), "r"), testLock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Plan(context.Background(), trials); err != nil {
		t.Fatal(err)
	}
	return s
}

func reopen(t *testing.T, dir string) *results.Store {
	t.Helper()
	s, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func start(t *testing.T, s *results.Store, key string) results.Attempt {
	t.Helper()
	a, err := s.StartAttempt(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ended gives an attempt the end that an answered one has.
func ended(a results.Attempt, o results.Outcome) results.Attempt {
	a.Ended, a.Outcome, a.WallSeconds = a.Started.Add(90*time.Second), o, 90
	a.Reason, a.TraceState, a.Requests, a.Answers = "because", "complete", 2, 1
	return a
}

// commit writes one file of code and moves the artefacts into place.
func commit(t *testing.T, s *results.Store, a results.Attempt) {
	t.Helper()
	art, err := s.BeginArtefacts(a.TrialKey, a.Number)
	if err != nil {
		t.Fatal(err)
	}
	if err := art.Root().Mkdir(results.FilesDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := art.Root().WriteFile(results.FilesDir+"/solution.py", []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := art.Commit(context.Background(), a); err != nil {
		t.Fatal(err)
	}
}

// collect takes an attempt through commit and row.
func collect(t *testing.T, s *results.Store, a results.Attempt) {
	t.Helper()
	if a.Outcome.HasCode() {
		commit(t, s, a)
	}
	if err := s.Collected(context.Background(), a); err != nil {
		t.Fatal(err)
	}
}

// all reads every result.
func all(t *testing.T, s *results.Store) []results.TrialResult {
	t.Helper()
	var list []results.TrialResult
	for r, err := range s.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}
