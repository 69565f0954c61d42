package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/tasks"
	"cabra-run/tasks/official"
	"cabra-run/tasks/refactor"
)

// importGrid has four tasks in one official file.
const importGrid = "axis=traversal; size=5; code=math; task=add-parameter; instances=4"

// answer is what a response file says about a task.
type answer func(k official.Key, t *tasks.Task) string

func responseLine(k official.Key, fields string) string {
	return fmt.Sprintf(`{"name": "%s_%s_%s", "dag_id": %q, %s}`+"\n", k.Set, k.Type, k.DagID, k.DagID, fields)
}

// code answers with what the official harness makes of a file.
func code(text string) answer {
	return func(k official.Key, _ *tasks.Task) string {
		output, _ := json.Marshal("\n# === solution.py ===\n" + text)
		return responseLine(k, fmt.Sprintf(`"output": %s, "metadata": {"time_seconds": 2}`, output))
	}
}

func reference(k official.Key, t *tasks.Task) string {
	return code(t.Reference[tasks.SolutionFile]+"\n\n# ======== end ========\n")(k, t)
}

func starter(k official.Key, t *tasks.Task) string { return code(t.Starter[tasks.SolutionFile])(k, t) }

func fields(text string) answer {
	return func(k official.Key, _ *tasks.Task) string { return responseLine(k, text) }
}

// writeResponses writes the answers to the tasks of importGrid, one each, and
// returns the folder. tail ends the file.
func writeResponses(t *testing.T, tail string, answers ...answer) string {
	t.Helper()
	grid, err := tasks.ParseGrid(importGrid)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source(grid, generation{seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var key official.Key
	i := 0
	for task, err := range src.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		key, _ = official.KeyOf(&task)
		if i < len(answers) {
			text.WriteString(answers[i](key, &task))
		}
		i++
	}
	dir := t.TempDir()
	file := filepath.Join(dir, key.Run, key.Set, key.Type, "copilot", "some-model.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text.String()+tail), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// imported runs the command without scoring and opens the run.
func imported(t *testing.T, wantCode int, responses string) (*results.Store, string) {
	t.Helper()
	runs := t.TempDir()
	var out, errOut strings.Builder
	code := run([]string{"import", "responses", responses, "--grid", importGrid, "--run", "r", "--no-score",
		"--runs", runs, "--state-dir", t.TempDir()}, &out, &errOut)
	if code != wantCode {
		t.Fatalf("exit code %d, want %d\n%s", code, wantCode, errOut.String())
	}
	store, err := results.Open(filepath.Join(runs, "r"), results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, errOut.String()
}

// Every record becomes what it is, and every oddity is counted where the run is.
func TestImportOddities(t *testing.T) {
	long := strings.Repeat("x", 2000)
	responses := writeResponses(t, `{"name": "cut o`, reference, starter,
		fields(`"output": null, "error": "`+long+`", "metadata": {"time_seconds": 3}`),
		fields(`"output": "\n# === main.py ===\nx = 1", "metadata": {}`))
	store, said := imported(t, exitOK, responses)
	var outcomes []results.Outcome
	for trial, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Agent != "official-copilot" || trial.Version != "unknown" || trial.Model != "some-model" || len(trial.Attempts) != 1 {
			t.Fatalf("trial %+v", trial)
		}
		a := trial.Attempts[0]
		outcomes = append(outcomes, a.Outcome)
		if len(a.Reason) > 600 {
			t.Errorf("reason of %d bytes", len(a.Reason))
		}
		if a.Unchanged != (trial.Instance == 2) {
			t.Errorf("instance %d: unchanged %v", trial.Instance, a.Unchanged)
		}
		if want := map[int]float64{1: 2, 2: 2, 3: 3, 4: 0}[trial.Instance]; a.WallSeconds != want {
			t.Errorf("instance %d: %g seconds, want %g", trial.Instance, a.WallSeconds, want)
		}
		if a.Usage.Unknown.Input != 1 || a.Usage.Input != nil {
			t.Errorf("usage %+v, want unknown", a.Usage)
		}
		state := results.StateDone
		if a.Outcome == results.Answered {
			state = results.StateUnscored
		}
		if trial.State != state {
			t.Errorf("instance %d: %s, want %s", trial.Instance, trial.State, state)
		}
	}
	if got, want := fmt.Sprint(outcomes), "[answered answered agent_error no_output]"; got != want {
		t.Errorf("outcomes %s, want %s", got, want)
	}
	var record importRecord
	text, err := os.ReadFile(filepath.Join(store.Dir(), importFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, n := range record.Notices {
		counted[n.Name] = n.Count
		if !strings.Contains(said, fmt.Sprintf("warning: %s (%d): ", n.Name, n.Count)) {
			t.Errorf("%s was not printed", n.Name)
		}
	}
	if next := "score it: cabra-run score " + store.Dir(); !strings.Contains(said, next) {
		t.Errorf("with --runs the next command is %q, got %q", next, said)
	}
	want := map[string]int{official.PartialLine: 1, official.BannerLine: 1, official.UnchangedAnswer: 1,
		official.ErrorRecord: 1, official.NoSolution: 1}
	if fmt.Sprint(counted) != fmt.Sprint(want) {
		t.Errorf("notices %v, want %v", counted, want)
	}
}

// What nobody answered stays pending, and is not left out of the run.
func TestImportPending(t *testing.T) {
	responses := writeResponses(t, "", fields(`"output": null, "status": "running"`),
		fields(`"output": "", "metadata": {}`))
	store, said := imported(t, exitIncomplete, responses)
	words := ""
	for trial, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		words += " " + trial.Word
	}
	if words != " pending no_output pending pending" {
		t.Errorf("words%s", words)
	}
	if !strings.Contains(said, "imported 1 answers of official-copilot some-model to 4 tasks: 1 no_output; 3 pending") {
		t.Errorf("said %s", said)
	}
}

// The scorer judges imported code like any other.
func TestRealImport(t *testing.T) {
	p := newPlace(t)
	responses := writeResponses(t, "", reference, starter, code("x = ("),
		fields(`"output": null, "error": "no credit"`))
	out, errOut, exit := p.cabra(t, "import", "responses", responses, "--grid", importGrid, "--run", "r", "--jobs", "2")
	if exit != exitOK {
		t.Fatalf("exit code %d\n%s", exit, errOut)
	}
	if !strings.Contains(out, "official-copilot unknown, model some-model") {
		t.Errorf("report\n%s", out)
	}
	words, official := "", ""
	for _, row := range p.rows(t, "r") {
		words += " " + row.Outcome
		if row.OfficialSolved == nil {
			official += " none"
		} else {
			official += " " + word(*row.OfficialSolved)
		}
	}
	if words != " solved failed failed agent_error" || official != " solved failed failed none" {
		t.Errorf("outcomes%s, official%s", words, official)
	}
	p.wantNothingLeft(t)
}

// A right answer in another shape, which only one of the verdicts accepts, is
// shown with the reason of each; scoring again changes nothing.
func TestRealVerdictsDiffer(t *testing.T) {
	p := newPlace(t)
	responses := writeResponses(t, "", reference, withState, reference, reference)
	out, errOut, exit := p.cabra(t, "import", "responses", responses, "--grid", importGrid, "--run", "r", "--jobs", "2")
	if exit != exitOK || !strings.Contains(out, "the verdicts differ on 1 trials") {
		t.Fatalf("exit code %d\n%s\n%s", exit, errOut, out)
	}
	out, errOut, exit = p.cabra(t, "report", "r", "--scorer", "both")
	if exit != exitOK || !strings.Contains(out, "\nofficial alone       1  structure 1\n") ||
		!strings.Contains(out, "\n  strict    failed  structure: ") || !strings.Contains(out, "\n  official  solved") {
		t.Errorf("exit code %d\n%s\n%s", exit, errOut, out)
	}
	if out, errOut, exit = p.cabra(t, "score", "r"); exit != exitOK || !strings.Contains(out, "scored 4 trials, 0 verdicts changed\n") {
		t.Errorf("exit code %d\n%s\n%s", exit, errOut, out)
	}
	p.wantNothingLeft(t)
}

// withState answers with the reference and a variable of its own, which the
// task does not ask for and the published scorer does not look at.
func withState(k official.Key, t *tasks.Task) string {
	return code(t.Reference[tasks.SolutionFile]+"\n\nextra = 1\n")(k, t)
}
