package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "cabra-run/"

// mayImport is the table of packages and the direction of imports. A package
// may import what its line lists and packages below itself; test helpers
// (…test) may be imported by tests only and are not in the table.
var mayImport = map[string][]string{
	"tasks":            {},
	"tasks/mt":         {},
	"tasks/callgraph":  {"tasks", "tasks/mt", "tasks/program"},
	"tasks/program":    {},
	"tasks/refactor":   {"tasks", "tasks/callgraph", "tasks/mt", "tasks/program"},
	"tasks/merge":      {"tasks", "tasks/mt", "tasks/program"},
	"tasks/controls":   {"tasks", "tasks/mt", "tasks/program"},
	"tasks/official":   {"tasks", "tasks/callgraph"},
	"sandbox":          {},
	"sandbox/docker":   {"sandbox"},
	"sandbox/fake":     {"sandbox"},
	"sandbox/relay":    {},
	"sandbox/gateway":  {"sandbox"},
	"images":           {"sandbox", "sandbox/docker"}, // for finding the engine in one way
	"runner":           nil,                           // all of ours but cmd
	"runner/admission": {"sandbox"},
	"runner/control":   {"sandbox"},
	"runner/agent":     {"tasks", "sandbox", "results/trace"},
	"runner/model":     {"tasks", "sandbox/gateway"},
	"runner/score":     {"tasks", "tasks/mt", "sandbox", "results"},
	"results":          {"tasks"},
	"results/trace":    {"results"},
	"results/analysis": {},
	"results/report":   {"results", "results/analysis", "tasks"},
	"cmd/cabra-run":    nil, // all
}

// external are modules that only some packages may use.
var external = map[string][]string{
	"github.com/docker/docker": {"sandbox/docker", "images"},
	"github.com/rs/zerolog":    {"cmd/cabra-run", "runner"},

	"github.com/openai/openai-go/v3":         {"runner/model"},
	"github.com/anthropics/anthropic-sdk-go": {"runner/model"},
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
}

// owner returns the line of the table that a package belongs to: its own or
// that of the nearest package above it.
func owner(pkg string) string {
	for p := pkg; p != "."; {
		if _, ok := mayImport[p]; ok {
			return p
		}
		i := strings.LastIndex(p, "/")
		if i < 0 {
			return ""
		}
		p = p[:i]
	}
	return ""
}

func TestImportDirections(t *testing.T) {
	for _, l := range goList(t, "cabra-run/...") {
		pkg := strings.TrimPrefix(l.ImportPath, module)
		if isTestHelper(pkg) {
			continue
		}
		line := owner(pkg)
		if line == "" {
			t.Errorf("package %s has no line in the table", pkg)
			continue
		}
		for _, imp := range l.Imports {
			checkImport(t, pkg, line, imp)
		}
	}
}

func checkImport(t *testing.T, pkg, line, imp string) {
	t.Helper()
	for mod, users := range external {
		if (imp == mod || strings.HasPrefix(imp, mod+"/")) && !slices.Contains(users, line) {
			t.Errorf("%s imports %s, which belongs to %v", pkg, imp, users)
		}
	}
	other, ours := strings.CutPrefix(imp, module)
	if !ours {
		return
	}
	if isTestHelper(other) {
		t.Errorf("%s imports the test helper %s", pkg, other)
		return
	}
	allowed := mayImport[line]
	to := owner(other)
	if to == line || allowed == nil && to != "cmd/cabra-run" {
		return
	}
	if !slices.Contains(allowed, to) {
		t.Errorf("%s imports %s; its line allows %v", pkg, other, allowed)
	}
}

func isTestHelper(pkg string) bool {
	for _, part := range strings.Split(pkg, "/") {
		if strings.HasSuffix(part, "test") {
			return true
		}
	}
	return false
}

// The relay lies in every box: it must not be able to tell a reference.
func TestRelayKnowsNothing(t *testing.T) {
	for _, l := range goList(t, "cabra-run/sandbox/relay/cabra-relay") {
		for _, dep := range l.Deps {
			if other, ours := strings.CutPrefix(dep, module); ours && owner(other) != "sandbox/relay" {
				t.Errorf("the relay depends on %s", other)
			}
		}
	}
}
