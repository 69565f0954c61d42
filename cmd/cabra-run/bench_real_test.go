package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cabra-run/images/imagestest"
	"cabra-run/runner/bench"
)

// The short form measures everything that the long one does; whether aims are
// met is for quiet machines.
func TestBenchMeasuresEverything(t *testing.T) {
	p := newPlace(t)
	imagestest.Ensure(t, "base")
	t.Setenv(programVar, "1") // the program that is measured is this one
	out, errOut, code := p.cabra(t, "bench", "--quick", "--json", "--dir", t.TempDir())
	if code != 0 {
		t.Fatalf("code %d\n%s", code, errOut)
	}
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	for part, names := range map[string][]string{
		"overhead": {"trial of an agent that does nothing, jobs 1", "bare container, same calls, jobs 2",
			"create, start, wait, remove, jobs 1", "trial ÷ same calls, jobs 1", "trial − same calls, jobs 2",
			"  start it, jobs 1", "  read the home, jobs 2", "engine calls per trial"},
		"start":  {"first attempt after the command"},
		"memory": {"orchestrator, 40 boxes: peak resident", "  heap alive then", "  goroutines then"},
		"store": {"trials per second, writers 1", "trials per second, writers 8",
			"bytes on disk per trial, copilot", "  recording of the model traffic per trial"},
		"big": {"resume: put in order and plan, 500 trials", "status, 500 trials", "report, the whole program, 500 trials"},
	} {
		for _, name := range names {
			i := slices.IndexFunc(r.Figures, func(f bench.Figure) bool { return f.Part == part && f.Name == name })
			switch {
			case i < 0:
				t.Errorf("no figure %q in part %s", name, part)
			case !plausible(r.Figures[i]):
				t.Errorf("implausible: %+v", r.Figures[i])
			}
		}
	}
	i := slices.IndexFunc(r.Figures, func(f bench.Figure) bool { return strings.Contains(f.Name, "goroutines left") })
	if i < 0 || r.Figures[i].Median != 0 || r.Figures[i].Met == nil || !*r.Figures[i].Met {
		t.Errorf("goroutines are left in the orchestrator, or were not counted: %+v", r.Figures)
	}
	p.wantNothingLeft(t)
}

// plausible asks for what is true on every machine. A trial can come out faster
// than its calls alone where others use the machine.
func plausible(f bench.Figure) bool {
	return f.N > 0 && (f.Median > 0 && f.P95 >= f.Median || strings.HasPrefix(f.Name, "trial − "))
}

func TestBenchRefusesUnknownParts(t *testing.T) {
	var o benchOptions
	o.only = []string{"overhead", "speed"}
	if err := o.check(); err == nil || !strings.Contains(err.Error(), `"speed"`) {
		t.Errorf("error %v, want one that names the part", err)
	}
}
