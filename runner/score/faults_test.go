package score

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// faultyEngine is an engine of which some boxes fail: plan says how, for the
// n-th box (from 1) of a role.
type faultyEngine struct {
	sandbox.Engine
	plan map[role]map[int]string

	mu    sync.Mutex
	count map[role]int
	sent  map[role]*bytes.Buffer // everything that boxes of a role were given
}

func newFaultyEngine(t *testing.T, plan map[role]map[int]string) *faultyEngine {
	t.Helper()
	engine, _ := testEngine(t)
	return &faultyEngine{Engine: engine, plan: plan, count: map[role]int{}, sent: map[role]*bytes.Buffer{
		roleReference: {}, roleCandidate: {}, roleParser: {},
	}}
}

func (e *faultyEngine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	r := role(strings.TrimPrefix(spec.Labels.Trial, "scorer-"))
	e.mu.Lock()
	e.count[r]++
	how := e.plan[r][e.count[r]]
	e.mu.Unlock()
	if how == "no box" {
		return nil, &sandbox.Fault{Op: "creating box", Kind: sandbox.FaultUnreachable, Err: errors.New("as planned")}
	}
	box, err := e.Engine.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &faultyBox{Box: box, engine: e, role: r, how: how}, nil
}

func (e *faultyEngine) boxes(r role) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count[r]
}

// faultyBox works until it is given its first job.
type faultyBox struct {
	sandbox.Box
	engine *faultyEngine
	role   role
	how    string
	frames int
}

func (b *faultyBox) Stdio() io.ReadWriteCloser { return &faultyStdio{b.Box.Stdio(), b} }

func (b *faultyBox) Wait(ctx context.Context) (sandbox.Exit, error) {
	if b.how == "gone" {
		return sandbox.Exit{}, &sandbox.Fault{Op: "waiting", Kind: sandbox.FaultGone, Err: errors.New("as planned")}
	}
	return b.Box.Wait(ctx)
}

type faultyStdio struct {
	io.ReadWriteCloser
	box *faultyBox
}

func (s *faultyStdio) Write(p []byte) (int, error) {
	b := s.box
	b.engine.mu.Lock()
	b.engine.sent[b.role].Write(p)
	b.engine.mu.Unlock()
	b.frames++
	if b.frames == 2 { // the first is the set-up
		switch b.how {
		case "dies", "gone":
			b.Kill(context.Background())
		case "silent":
			return len(p), nil
		}
	}
	return s.ReadWriteCloser.Write(p)
}

func scoreTiny(t *testing.T, e *faultyEngine, limits Limits) (Verdict, error) {
	t.Helper()
	_, image := testEngine(t)
	s := scorerWith(t, Options{Engine: e, Image: image, Workers: 1, Limits: limits})
	task := tinyTask()
	return s.Score(context.Background(), task, solution(task.Reference[tasks.SolutionFile]+"\n# a candidate"))
}

func TestLostWorkers(t *testing.T) {
	for _, row := range []struct {
		name   string
		plan   map[int]string // of the candidates' boxes
		solved bool
		reason string
		boxes  int
	}{
		{"one dies", map[int]string{1: "dies"}, true, "", 2},
		{"two die", map[int]string{1: "dies", 2: "dies"}, false, "behaviour: killed the executor (exit code", 2},
		{"one is not made", map[int]string{1: "no box"}, true, "", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := newFaultyEngine(t, map[role]map[int]string{roleCandidate: row.plan})
			v, err := scoreTiny(t, e, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if v.Solved != row.solved || !strings.HasPrefix(v.Reason, row.reason) {
				t.Errorf("solved %v, reason %q", v.Solved, v.Reason)
			}
			if n := e.boxes(roleCandidate); n != row.boxes {
				t.Errorf("%d boxes, want %d", n, row.boxes)
			}
		})
	}
}

func TestSilentWorkersAreLost(t *testing.T) {
	e := newFaultyEngine(t, map[role]map[int]string{roleParser: {1: "silent", 2: "silent"}})
	_, image := testEngine(t)
	spec := boxSpec(Options{Image: image, Limits: DefaultLimits()}, roleParser)
	for name, row := range map[string]struct {
		total  float64 // the job's, to which the grace is added
		caller time.Duration
		want   error
	}{
		"the job's time is over":    {0.1 - jobGrace.Seconds(), time.Minute, errLost},
		"the caller's time is over": {60, 100 * time.Millisecond, context.DeadlineExceeded},
	} {
		w, err := startWorker(context.Background(), e, spec, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), row.caller)
		defer cancel()
		job := jobHeader{Job: "1", Limits: wireLimits{Total: row.total}}
		if _, err := w.do(ctx, job, nil); !errors.Is(err, row.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.discard(); err != nil {
			t.Error(err)
		}
	}
}

func TestEngineFaultsAreErrors(t *testing.T) {
	for name, plan := range map[string]map[role]map[int]string{
		"no boxes for candidates": {roleCandidate: {1: "no box", 2: "no box"}},
		"no boxes for parsing":    {roleParser: {1: "no box", 2: "no box"}},
		"no boxes for references": {roleReference: {1: "no box", 2: "no box"}},
		"boxes vanish":            {roleCandidate: {1: "gone", 2: "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := scoreTiny(t, newFaultyEngine(t, plan), Limits{})
			var fault *sandbox.Fault
			if !errors.As(err, &fault) {
				t.Errorf("verdict %+v, error %v", v, err)
			}
		})
	}
}

func TestCancelledScoring(t *testing.T) {
	s := newScorer(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Score(ctx, tinyTask(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if v, err := s.Score(context.Background(), tinyTask(), nil); err != nil || v.Solved {
		t.Errorf("afterwards: %+v, %v", v, err)
	}
}

// A candidate's box gets no line of the reference and none of its outputs.
func TestCandidateBoxesSeeNoReference(t *testing.T) {
	e := newFaultyEngine(t, nil)
	_, image := testEngine(t)
	s := scorerWith(t, Options{Engine: e, Image: image, Workers: 1})
	task := tinyTask()
	if v, err := s.Score(context.Background(), task, task.Starter); err != nil || v.Solved {
		t.Fatalf("%+v, %v", v, err)
	}
	got := e.sent[roleCandidate].String()
	for _, secret := range secretsOf(t, s, task) {
		if strings.Contains(got, secret) {
			t.Errorf("a candidate's box was given %q", secret)
		}
	}
	known, err := s.cache.get(context.Background(), task.Digest(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.sent[roleReference].String(), base64Of(string(known.own[1].Program))) {
		t.Error("the test does not see what boxes are given")
	}
}

// secretsOf returns the texts of the reference and all its outputs.
func secretsOf(t *testing.T, s *Scorer, task *tasks.Task) []string {
	t.Helper()
	e, err := s.cache.get(context.Background(), task.Digest(), nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{
		"mult * abs", base64Of(task.Reference[tasks.SolutionFile]),
		base64Of(string(e.own[1].Program)), base64Of(string(e.own[1].Kept)),
	}
	for _, a := range e.answers {
		for _, outcome := range a.Outcomes {
			secrets = append(secrets, strings.TrimPrefix(outcome, "="))
		}
	}
	return secrets
}

func TestTaskDefects(t *testing.T) {
	right := tinyTask().Reference[tasks.SolutionFile]
	replace := func(old, new string) string { return strings.Replace(right, old, new, 1) }
	for _, row := range []struct{ name, reference, reason string }{
		{"does not compile", right + "\n(", "does not compile"},
		{"raises", replace("return mult * abs(val)", "raise ValueError('no')"), "no usable input in 25 draws: g gives ValueError: no"},
		{"is not finite", replace("return mult * abs(val)", "return float('nan')"), "g gives NaN"},
		{"never ends", replace("return mult * abs(val)", "while True: pass"), "took more than"},
		{"fails to define", replace("import math\n", "import math, nothing\n"), "ModuleNotFoundError"},
		{"is random", replace("return mult * abs(val)", "import random; return random.random()"), "two executions of its reference disagree"},
		{"keeps state", replace("return mult * abs(val)", "g.n = getattr(g, 'n', 0) + 1; return mult * g.n"), "keeps state between calls of main"},
		{"has other types", replace("def h(val: float)", "def h(val: complex)"), `function h has a parameter of the type "complex"`},
		{"has other parameters", replace("def h(val: float)", "def h(*val)"), "parameters that are not plain"},
		{"leaves", replace("return mult * abs(val)", "import os; os._exit(3)"), "left the process with exit code 3 in function g"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := scorerWith(t, Options{Workers: 1, Limits: hostileLimits})
			task := tinyTask()
			task.Reference = solution(row.reference)
			task.Check.Edited = []string{"f", "g", "h"}
			_, err := s.Score(context.Background(), task, task.Starter)
			var broken *TaskDefect
			if !errors.As(err, &broken) || broken.Task != task.ID || !strings.Contains(broken.Reason, row.reason) {
				t.Errorf("error %v, want a defect with %q", err, row.reason)
			}
		})
	}
}

// One unusable input is drawn again; the task is still sound.
func TestUnusableInputsAreDrawnAgain(t *testing.T) {
	s := newScorer(t, 1)
	task := tinyTask()
	for _, files := range []tasks.Files{task.Reference, task.Starter} {
		files[tasks.SolutionFile] = strings.Replace(files[tasks.SolutionFile], "math.cos(val)", "math.sqrt(1.0 - val)", 1)
	}
	v, err := s.Score(context.Background(), task, task.Reference)
	if err != nil || !v.Solved {
		t.Fatalf("%+v, %v", v, err)
	}
	e, err := s.cache.get(context.Background(), task.Digest(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, trial := range e.job.Trials {
		if v, err := parseValue(trial.Values["float0"]); err != nil || v.Float > 1 {
			t.Errorf("input %d is %v, %v", n, v, err)
		}
	}
}
