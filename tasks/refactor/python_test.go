package refactor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
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

	// Of programs with branches:
	Steps int             `json:"steps,omitempty"`
	Live  map[string]bool `json:"live,omitempty"`

	// Of programs with numbered values:
	Sample   string   `json:"sample"`
	Count    int      `json:"count"`
	Rules    []Rule   `json:"rules"`
	Inserted []string `json:"inserted"`
	Comment  string   `json:"comment"`
	Prefixes []string `json:"prefixes"`
	Suffixes []string `json:"suffixes"`
}

func formOf(r tasks.Refactoring, s *callgraph.Sample) *callgraph.Form {
	if e, ok := editOf(r); ok {
		return e.form(s)
	}
	return &s.Dead
}

// pythonTasks returns all refactorings and code types of an axis and size on a
// sample.
func pythonTasks(t *testing.T, seed int64, a tasks.Axis, size int, s *callgraph.Sample) (list []pythonTask) {
	t.Helper()
	draws := newDrawCache(seed)
	for _, cell := range grid(1, []tasks.Axis{a}, size).Cells {
		b := &base{language: languageOf(cell.Code), seed: seed, draws: draws}
		p, err := b.generateCell(cell, s)
		if err != nil {
			t.Fatal(err)
		}
		task := pythonTask{ID: fmt.Sprintf("seed %d, sample %s, %v", seed, s.ID, cell), Seed: seed,
			Refactoring: cell.Refactoring, Code: cell.Code,
			Edited: p.check.Edited, Starter: p.starter, Reference: p.reference, Live: p.check.Live,
			Sample: s.ID, Count: size, Rules: p.check.Rules, Inserted: p.check.Inserted, Comment: p.check.Comment,
			Prefixes: printPrefixes(), Suffixes: printSuffixes()}
		if p.check.Branches {
			task.Steps = size
		}
		g := formOf(cell.Refactoring, s).Combined
		for v := range g.Len() {
			task.Graph = append(task.Graph, [2]any{g.Name(v), append([]string{}, names(g, g.Out(v))...)})
		}
		list = append(list, task)
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
		for _, s := range drawSamples(t, DefaultSeed, sizes[0], sizes[1], 1) {
			list = append(list, pythonTasks(t, DefaultSeed, tasks.Traversal, sizes[1], s)...)
		}
	}
	checkWithPython(t, list)
}

// Branches, rules and comments on one sample for each size, with
// CABRA_TEST_ALL=1 on all official ones.
func TestSmallSamplesWithPython(t *testing.T) {
	t.Parallel()
	all := os.Getenv("CABRA_TEST_ALL") == "1"
	var list []pythonTask
	for i, s := range drawSamples(t, DefaultSeed, smallNodes, smallNodes, tasks.InstancesPerCell) {
		for j, size := range tasks.Sizes() {
			if !all && i != j {
				continue
			}
			for _, a := range []tasks.Axis{tasks.Runtime, tasks.Instructions, tasks.CommentCopy} {
				list = append(list, pythonTasks(t, DefaultSeed, a, size, s)...)
			}
		}
	}
	checkWithPython(t, list)
}

// Small samples of other seeds, where corner cases are frequent.
func TestOtherSeedsWithPython(t *testing.T) {
	t.Parallel()
	var list []pythonTask
	for seed := range int64(10) {
		init, edit := int(1+seed), int(4+seed*5%11)
		samples := drawSamples(t, seed, init, edit, 2)
		for _, s := range samples {
			list = append(list, pythonTasks(t, seed, tasks.Traversal, edit, s)...)
		}
		list = append(list, pythonTasks(t, seed, tasks.Runtime, int(seed)+1, samples[0])...)
		list = append(list, pythonTasks(t, seed, tasks.Instructions, 1+10*int(seed), samples[1])...)
	}
	checkWithPython(t, list)
}

func drawSamples(t *testing.T, seed int64, init, edit, count int) (list []*callgraph.Sample) {
	t.Helper()
	sampler, err := callgraph.NewSampler(seed, init, edit)
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		s, err := sampler.Next()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}
