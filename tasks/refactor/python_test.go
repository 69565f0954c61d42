package refactor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// pythonTask is what testdata/python/check.py reads.
type pythonTask struct {
	ID          string            `json:"id"`
	Seed        int64             `json:"seed"`
	Refactoring tasks.Refactoring `json:"refactoring"`
	Code        tasks.CodeType    `json:"code"`
	Graph       [][2]any          `json:"graph"` // name and callees in graph order
	Edited      []string          `json:"edited"`
	Starter     string            `json:"starter"`
	Reference   string            `json:"reference"`
}

func formOf(r tasks.Refactoring, s *callgraph.Sample) *callgraph.Form {
	if e, ok := editOf(r); ok {
		return e.form(s)
	}
	return &s.Dead
}

// pythonTasks returns all refactorings and code types of a sample.
func pythonTasks(seed int64, name string, s *callgraph.Sample) (list []pythonTask) {
	draws := newOperatorCache(seed)
	for _, code := range tasks.CodeTypes() {
		b := &base{language: languageOf(code), seed: seed, draws: draws}
		for _, r := range tasks.Refactorings() {
			p := b.generate(r, s)
			task := pythonTask{ID: fmt.Sprintf("%s %s %s", name, r, code), Seed: seed, Refactoring: r, Code: code,
				Edited: p.check.Edited, Starter: p.starter, Reference: p.reference}
			g := formOf(r, s).Combined
			for v := range g.Len() {
				task.Graph = append(task.Graph, [2]any{g.Name(v), append([]string{}, names(g, g.Out(v))...)})
			}
			list = append(list, task)
		}
	}
	return list
}

// checkWithPython compares tasks with an independent writer, compiles and runs
// them, and compares starter and reference by what they compute.
func checkWithPython(t *testing.T, list []pythonTask) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on PATH to check programs with")
	}
	var input, stderr bytes.Buffer
	encoder := json.NewEncoder(&input)
	for _, task := range list {
		if err := encoder.Encode(task); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "check.py")
	cmd.Dir, cmd.Stdin, cmd.Stderr = "testdata/python", &input, &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("check.py: %v\n%s", err, stderr.String())
	}
	if got, want := string(output), fmt.Sprintf("checked %d\n", len(list)); got != want {
		problems := strings.Split(got, "\n")
		t.Errorf("want %q, got\n%s", want, strings.Join(problems[:min(len(problems), 20)], "\n"))
	}
}

// Samples of all published sizes.
func TestPublishedSizesWithPython(t *testing.T) {
	t.Parallel()
	var list []pythonTask
	for _, sizes := range [][2]int{{25, 5}, {25, 10}, {25, 25}, {25, 50}, {25, 100}, {25, 200},
		{5, 25}, {10, 25}, {50, 25}, {100, 25}, {200, 25}} {
		list = append(list, sampleTasks(t, DefaultSeed, sizes[0], sizes[1], 1)...)
	}
	checkWithPython(t, list)
}

// Small samples of other seeds, where corner cases are frequent.
func TestOtherSeedsWithPython(t *testing.T) {
	t.Parallel()
	var list []pythonTask
	for seed := range int64(10) {
		init, edit := int(1+seed), int(4+seed*5%11)
		list = append(list, sampleTasks(t, seed, init, edit, 2)...)
	}
	checkWithPython(t, list)
}

func sampleTasks(t *testing.T, seed int64, init, edit, count int) (list []pythonTask) {
	t.Helper()
	sampler, err := callgraph.NewSampler(seed, init, edit)
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		s, err := sampler.Next()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pythonTasks(seed, fmt.Sprintf("seed %d, %d/%d, sample %d", seed, init, edit, i+1), s)...)
	}
	return list
}
