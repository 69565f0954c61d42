package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"cabra-run/images/imagestest"
	"cabra-run/results"
)

// tinyAgent is the worked example of an agent of one's own.
const tinyAgent = "testdata/agents/tiny.toml"

// One task of each axis, through the real CLIs in the full sandbox.
func TestRealAgentsSolve(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"copilot", "claude", "codex", tinyAgent, "llm", "llm:diff", "reference", "nop"} {
		t.Run(name, func(t *testing.T) {
			want, scripted := results.Solved, name != "reference" && name != "nop"
			if name == "nop" {
				want = results.Failed
			}
			if !strings.HasSuffix(name, ".toml") && !strings.HasPrefix(name, "llm") && scripted {
				imagestest.Ensure(t, name)
			}
			_, errOut, code := p.cabra(t, "--agent", name, "--model", "scripted:solve", "--run", filepath.Base(name),
				"--grid", "axis=traversal,search,runtime,instructions; size=5; instances=1; code=math; task=add-parameter,add-return")
			if code != exitOK {
				t.Fatalf("code %d\n%s", code, errOut)
			}
			rows := p.rows(t, filepath.Base(name))
			if len(rows) < 4 {
				t.Fatalf("%d rows", len(rows))
			}
			for _, r := range rows {
				asked := r.Input != nil && *r.Input > 0
				if r.Outcome != want || r.Attempts != 1 || asked != scripted {
					t.Errorf("%s: %s after %d attempts: %s (asked a model: %v)", r.TaskID, r.Outcome, r.Attempts, r.Reason, asked)
				}
			}
		})
	}
	t.Cleanup(func() { p.wantNothingLeft(t) })
}

// Prompts that could be taken for something else reach the model as they are:
// an option, quotes, placeholders, a long one.
func TestRealOddPrompts(t *testing.T) {
	p := newPlace(t)
	prompts := map[string]string{
		"odd":  "--help \"double\" 'single' `x` $(touch x) {model} ünïcödé 日本",
		"long": "Background: " + strings.Repeat("lorem \"ipsum\" ", 200<<10/14),
	}
	for what, prompt := range prompts {
		dir := filepath.Join(t.TempDir(), what)
		if out, errOut, code := p.cabra(t, "tasks", "write", dir, "--grid", "traversal/add-parameter/math/n005/01"); code != 0 {
			t.Fatalf("%s\n%s", out, errOut)
		}
		file := filepath.Join(dir, "prompts/add-parameter.math.md")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(prompt+"\n\n"+string(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"copilot", "claude", "codex", tinyAgent} {
			t.Run(what+" "+name, func(t *testing.T) {
				run := what + "-" + filepath.Base(name)
				_, errOut, code := p.cabra(t, "--agent", name, "--model", "scripted:solve", "--run", run,
					"--grid", "traversal/add-parameter/math/n005/01", "--prompts", filepath.Join(dir, "prompts"))
				if code != exitOK {
					t.Fatalf("code %d\n%s", code, errOut)
				}
				if rows := p.rows(t, run); rows[0].Outcome != results.Solved || rows[0].Attempts != 1 {
					t.Errorf("%+v", rows[0])
				}
				if !p.asked(t, run, prompt) {
					t.Error("the model was not asked with the prompt")
				}
			})
		}
	}
}

// Files for agents in the workspace do not change a run unless it is asked for.
// Each CLI is started behind a shell that writes them first.
func TestRealInstructionsOfTheWorkspace(t *testing.T) {
	p := newPlace(t)
	const mark = "the mark of these instructions"
	for _, name := range []string{"copilot", "claude", "codex"} {
		text, err := os.ReadFile("../../runner/agent/agents/" + name + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), `"`+name+`"`, `"`+name+`-behind-shell"`, 1)
		changed = strings.Replace(changed, "command = [", `command = ["/bin/sh", "-c", "for f in AGENTS.md CLAUDE.md GEMINI.md; do `+
			`echo `+mark+` > $f; done; exec \"$@\"", "sh",`, 1)
		file := filepath.Join(t.TempDir(), "shell.toml")
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, obeyed := range []bool{false, true} {
			run := fmt.Sprintf("%s-%v", name, obeyed)
			t.Run(run, func(t *testing.T) {
				_, errOut, code := p.cabra(t, "--agent", file, "--model", "scripted:solve", "--run", run,
					"--grid", "traversal/add-parameter/math/n005/01", fmt.Sprintf("--workspace-instructions=%v", obeyed))
				if code != exitOK {
					t.Fatalf("code %d\n%s", code, errOut)
				}
				if p.asked(t, run, mark) != obeyed {
					t.Errorf("the instructions reached the model: %v, want %v", !obeyed, obeyed)
				}
			})
		}
	}
}

// Model names of any printable kind reach the CLI and the gateway as they are.
func TestRealOddModelNames(t *testing.T) {
	p := newPlace(t)
	const odd = "vend or/näme:v1 $(touch x) 'q'"
	for _, name := range []string{"copilot", "claude", "codex"} {
		text, err := os.ReadFile("../../runner/agent/agents/" + name + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		// The scripted model has a name of its own, so this one stands in the definition.
		changed := strings.Replace(string(text), `"`+name+`"`, `"`+name+`-odd"`, 1)
		changed = strings.NewReplacer("{model:json}", `"`+odd+`"`, "{model}", odd).Replace(changed)
		file := filepath.Join(t.TempDir(), "odd.toml")
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			_, errOut, code := p.cabra(t, "--agent", file, "--model", "scripted:solve", "--run", name+"-odd",
				"--grid", "traversal/add-parameter/math/n005/01")
			if code != exitOK {
				t.Fatalf("code %d\n%s", code, errOut)
			}
			if rows := p.rows(t, name+"-odd"); rows[0].Outcome != results.Solved || rows[0].Attempts != 1 {
				t.Errorf("%+v", rows[0])
			}
		})
	}
}

// asked reports whether a text was among what the model was asked.
func (p place) asked(t *testing.T, run, text string) bool {
	t.Helper()
	for line := range strings.Lines(p.recording(t, run)) {
		var exchange any
		if err := json.Unmarshal([]byte(line), &exchange); err != nil {
			t.Fatalf("recorded line %.200q: %v", line, err)
		}
		if holds(exchange, text) {
			return true
		}
	}
	return false
}

// holds looks for a text in the texts of a JSON value, and in those that are
// JSON themselves.
func holds(value any, text string) bool {
	switch v := value.(type) {
	case string:
		var inner any
		return strings.Contains(v, text) || strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil && holds(inner, text)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, text) })
	case map[string]any:
		for _, e := range v {
			if holds(e, text) {
				return true
			}
		}
	}
	return false
}

// recording is what went over the wire in the only attempt of a run.
func (p place) recording(t *testing.T, run string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.runs, run, "trials/*/*/*/*/*/*/*", results.RecordingFile))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	text, err := dec.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(fmt.Errorf("reading %s: %w", files[0], err))
	}
	return string(text)
}
