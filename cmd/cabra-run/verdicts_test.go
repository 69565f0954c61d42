package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cabra-run/results"
	"cabra-run/runner/score"
	"cabra-run/tasks"
)

// judgeTrial gives a trial of a run a verdict, as a scorer would:
// judge RUN TASK SCORER solved|failed REASON. The reason is a Go string without
// its quotes.
func judgeTrial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: judge RUN TASK SCORER solved|failed REASON")
	}
	reason, err := strconv.Unquote(`"` + args[4] + `"`)
	ts.Check(err)
	store, err := results.Open(ts.MkAbs("runs/"+args[0]), results.ReadWrite)
	ts.Check(err)
	v := results.Verdict{Scorer: args[2], Version: args[2] + "/1", Solved: args[3] == results.Solved, Reason: reason}
	if name, detail, named := strings.Cut(reason, ": "); named {
		v.Checks = []results.Check{{Name: name, Pass: v.Solved, Detail: detail}}
	}
	for t, err := range store.Results(context.Background()) {
		ts.Check(err)
		if string(t.TaskID) == args[1] {
			ts.Check(store.ReplaceVerdict(context.Background(), t.Key, 1, v))
		}
	}
	ts.Check(store.Close())
}

// makeOldRun makes a run as they were made before there were two verdicts, with
// one trial that is solved.
func makeOldRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oldrun RUN")
	}
	ts.Check(oldRun(ts.MkAbs("runs/" + args[0])))
}

func oldRun(dir string) (err error) {
	ctx := context.Background()
	store, err := results.Create(dir, results.Lock{Run: "old", Agent: results.Agent{Name: "copilot"}, Model: "m",
		Scorer: results.Scorer{Version: "strict/2", Verdicts: []string{"strict"}}, Retry: results.DefaultRetry()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	t := results.Trial{TaskID: "traversal/add-return/math/n005/01", Agent: "copilot", Model: "m", Repetition: 1,
		Cell: tasks.Cell{Axis: tasks.Traversal, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}}
	t.Key = results.TrialKey(t)
	if err := store.Plan(ctx, []results.Trial{t}); err != nil {
		return err
	}
	a, err := store.StartAttempt(ctx, t.Key)
	if err != nil {
		return err
	}
	a.Outcome, a.Ended = results.Answered, a.Started.Add(time.Second)
	if err := saveFiles(ctx, store, a, tasks.Files{tasks.SolutionFile: "x = 1\n"}); err != nil {
		return err
	}
	if err := store.Collected(ctx, a); err != nil {
		return err
	}
	return store.SetVerdict(ctx, t.Key, 1, results.Verdict{Scorer: "strict", Version: "strict/2", Solved: true})
}

// What is wrong under the official verdict alone is told by family and counts
// as an error only where that is asked for; what is wrong under the strict one
// always does.
func TestValidationVerdicts(t *testing.T) {
	wrong := score.ValidateReport{Tasks: 6, Official: []score.Violation{
		{Task: "merge/n005/01", Part: "starter", Reason: "is solved"},
		{Task: "merge/n010/02", Part: "starter", Reason: "is solved"},
		{Task: "traversal/add-return/math/n005/01", Part: "reference", Reason: "behavioral: fail: f_1(\x1b[2J)"},
	}}
	strict := wrong
	strict.Violations = []score.Violation{{Task: "merge/n005/01", Part: "reference", Reason: "behaviour: x"}}
	defective := score.ValidateReport{Tasks: 2, Violations: []score.Violation{{Task: "a/b/c", Part: "task", Reason: "bad"}}}
	for _, c := range []struct {
		name    string
		rep     score.ValidateReport
		require string
		code    int
		prints  []string
	}{
		{"all right", score.ValidateReport{Tasks: 3}, "both", exitOK, []string{
			"3 tasks in 0s, 0 defective\n",
			"strict/2    3 of 3 references score 1, 3 of 3 starters score 0\n",
			"official/2  3 of 3 references score 1, 3 of 3 starters score 0\n"}},
		{"official wrong", wrong, "strict", exitOK, []string{
			"official verdict cannot be right here: merge: starter of 2 tasks: solved, as none of the checks that decide " +
				"tells it from a solution (first: merge/n005/01)\n",
			"official verdict cannot be right here: traversal/add-return/math: reference of 1 tasks: behavioral: fail: f_1(?[2J)",
			"strict/2    6 of 6 references score 1, 6 of 6 starters score 0\n",
			"official/2  5 of 6 references score 1, 4 of 6 starters score 0\n"}},
		{"official wrong and required", wrong, "both", exitError, nil},
		{"strict wrong", strict, "strict", exitError, []string{"strict verdict is wrong: merge/n005/01: reference: behaviour: x\n",
			"strict/2    5 of 6 references score 1, 6 of 6 starters score 0\n"}},
		{"defective", defective, "strict", exitError, []string{"defective task: a/b/c: bad\n", "2 tasks in 0s, 1 defective\n",
			"official/2  1 of 2 references score 1, 1 of 2 starters score 0\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := newValidation(c.rep).conclude(&app{stdout: &out}, c.require)
			var code silent
			if errors.As(err, &code); int(code) != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, text := range c.prints {
				if !strings.Contains(out.String(), text) {
					t.Errorf("no %q in\n%s", text, out.String())
				}
			}
		})
	}
}

// halfScorer can give the strict verdict alone.
type halfScorer struct{}

func (halfScorer) ScoreBy(_ context.Context, _ *tasks.Task, _ tasks.Files, names ...string) ([]results.Verdict, error) {
	if strings.Join(names, " ") != "strict official" {
		return nil, errors.New("both are scored again")
	}
	v := results.Verdict{Scorer: "strict", Version: "strict/2", Solved: false, Reason: "structure: x"}
	return []results.Verdict{v}, errors.New("no scorer box")
}

// Scoring again keeps what could be given when the rest could not.
func TestScoreKeepsWhatItGets(t *testing.T) {
	dir := t.TempDir() + "/old"
	if err := oldRun(dir); err != nil {
		t.Fatal(err)
	}
	store, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	todo, err := storedCode(t.Context(), store)
	if err != nil || len(todo) != 1 {
		t.Fatalf("%d to score, %v", len(todo), err)
	}
	task := oneTask(t, "traversal/add-return/math/n005/01")
	var out strings.Builder
	r := &rescoring{app: &app{stdout: &out}, store: store, scorer: halfScorer{}}
	s := todo[task.ID][0]
	s.digest = task.Digest() + "+x"
	if err := r.one(t.Context(), &task, s); err == nil || !strings.Contains(err.Error(), "no scorer box") {
		t.Errorf("got %v", err)
	}
	for tr, err := range store.Results(t.Context()) {
		if err != nil || len(tr.Verdicts) != 1 || tr.Word != results.Failed || tr.Verdict.Version != "strict/2" {
			t.Errorf("%s, %+v, %v", tr.Word, tr.Verdicts, err)
		}
	}
	if out.String() != string(task.ID)+": strict: now failed: structure: x\n" || r.done != 0 || r.changed != 1 {
		t.Errorf("%q, %d done, %d changed", out.String(), r.done, r.changed)
	}
}
