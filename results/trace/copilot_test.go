package trace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// readEvents reads an events.jsonl alone, without the store beside it.
func readEvents(r io.Reader) *Trace {
	b := newBuilder(&copilotFormat)
	b.eachLine(r, (&copilotReader{builder: b}).line)
	b.finish()
	return b.Trace
}

func readCopilotFile(t *testing.T, name string) *Trace {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "copilot", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readEvents(f)
}

// The values were read off the session files by hand.
func TestReadCopilotSessions(t *testing.T) {
	tests := []struct {
		file      string
		turns     int
		calls     int
		completed bool
		errType   string
		status    int
		tokens    Tokens
		lines     int
	}{
		{"autopilot-ok.events.jsonl", 2, 2, true, "", 0, Tokens{2100, 400, 0, 100, 7}, 16},
		{"many-tools.events.jsonl", 6, 16, true, "", 0, Tokens{7500, 1200, 0, 300, 7}, 60},
		{"model-error-500.events.jsonl", 1, 1, false, "query", 500, Tokens{1000, 200, 0, 50, 0}, 13},
		{"subagent.events.jsonl", 4, 3, true, "", 0, Tokens{4200, 800, 0, 200, 0}, 29},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			tr := readCopilotFile(t, tt.file)
			if tr.Turns != tt.turns || len(tr.Calls) != tt.calls || tr.Completed != tt.completed || tr.Lines != tt.lines {
				t.Errorf("turns %d calls %d completed %v lines %d, want %d %d %v %d",
					tr.Turns, len(tr.Calls), tr.Completed, tr.Lines, tt.turns, tt.calls, tt.completed, tt.lines)
			}
			if tr.Version != "1.0.81" || tr.Model != "scripted-1" || tr.Shutdown != "routine" {
				t.Errorf("version %q model %q shutdown %q", tr.Version, tr.Model, tr.Shutdown)
			}
			if tr.Tokens == nil || *tr.Tokens != tt.tokens {
				t.Errorf("tokens %+v, want %+v", tr.Tokens, tt.tokens)
			}
			if (tr.Error == nil) != (tt.errType == "") {
				t.Fatalf("error %+v, want type %q", tr.Error, tt.errType)
			}
			if tr.Error != nil && (tr.Error.Type != tt.errType || tr.Error.Status != tt.status) {
				t.Errorf("error %+v, want %s %d", tr.Error, tt.errType, tt.status)
			}
			if len(tr.Problems) != 0 {
				t.Errorf("problems %v", tr.Problems)
			}
		})
	}
}

func TestReadCopilotCalls(t *testing.T) {
	tr := readCopilotFile(t, "many-tools.events.jsonl")
	byID := map[string]Call{}
	for _, c := range tr.Calls {
		byID[c.ID] = c
	}
	failing := byID["call_2_0"]
	if failing.Tool != "bash" || !failing.Success || failing.ExitCode == nil || *failing.ExitCode != 3 {
		t.Errorf("a shell call that exits with 3 is a success for the CLI, not for its exit code: %+v", failing)
	}
	if c := byID["call_2_4"]; c.Success || !c.Done || c.Tool != "no_such_tool" {
		t.Errorf("unknown tool: %+v", c)
	}
	if c := byID["call_0_0"]; c.Tool != "view" || c.Duration <= 0 || !strings.Contains(c.Result, `return "foo"`) {
		t.Errorf("view: %+v", c)
	}
	sub := readCopilotFile(t, "subagent.events.jsonl")
	if a, b := sub.Calls[0], sub.Calls[1]; a.ID != b.ID || a.Tool != "task" || b.Tool != "bash" || !a.Done || !b.Done {
		t.Errorf("a sub-agent's call with the id of its parent's: %+v and %+v", a, b)
	}
}

// A sub-agent's own completion says nothing about the session.
func TestReadCopilotSubagentCompletion(t *testing.T) {
	src := strings.Join([]string{
		`{"type":"tool.execution_start","agentId":"a1","timestamp":"2026-01-01T00:00:00Z","data":{"toolCallId":"c","toolName":"task_complete"}}`,
		`{"type":"tool.execution_complete","agentId":"a1","timestamp":"2026-01-01T00:00:01Z","data":{"toolCallId":"c","success":true}}`,
		`{"type":"session.task_complete","timestamp":"2026-01-01T00:00:01Z","data":{"success":true}}`,
	}, "\n") + "\n"
	if tr := readEvents(strings.NewReader(src)); tr.Completed || len(tr.Calls) != 1 || tr.Calls[0].Duration != time.Second {
		t.Errorf("completed %v calls %+v", tr.Completed, tr.Calls)
	}
}

func TestReadCopilotHostile(t *testing.T) {
	long := `{"type":"x","data":"` + strings.Repeat("a", MaxLineBytes) + `"}`
	tests := []struct {
		name, src string
		problems  int
		check     func(*Trace) bool
	}{
		{"empty", "", 0, func(t *Trace) bool { return t.Lines == 0 }},
		{"not json", "hello\n", 2, func(t *Trace) bool { return t.Turns == 0 }},
		{"json but no object", "[1]\n7\nnull\n", 3, func(t *Trace) bool { return t.Turns == 0 }},
		{"data of another kind", `{"type":"assistant.message","data":[1]}` + "\n", 1, func(t *Trace) bool { return t.Turns == 0 }},
		{"cut last line", `{"type":"assistant.message","data":{}}` + "\n" + `{"type":"assist`, 2, func(t *Trace) bool { return t.Turns == 1 }},
		{"line too long", long + "\n" + `{"type":"assistant.message","data":{}}` + "\n", 1, func(t *Trace) bool { return t.Turns == 1 }},
		{"end without start", `{"type":"tool.execution_complete","data":{"toolCallId":"x"}}` + "\n", 1, func(t *Trace) bool { return len(t.Calls) == 0 }},
		{"error then answer", `{"type":"session.error","data":{"errorType":"query"}}` + "\n" + `{"type":"assistant.message","data":{}}` + "\n", 0,
			func(t *Trace) bool { return t.Error == nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := readEvents(strings.NewReader(tt.src))
			if len(tr.Problems) != tt.problems || !tt.check(tr) {
				t.Errorf("problems %v, trace %+v", tr.Problems, tr)
			}
		})
	}
}

func TestReadCopilotBounds(t *testing.T) {
	var b bytes.Buffer
	for i := 0; i < MaxCalls+10; i++ {
		fmt.Fprintf(&b, `{"type":"tool.execution_start","data":{"toolCallId":"c%d","toolName":"bash"}}`+"\n", i)
	}
	tr := readEvents(&b)
	if len(tr.Calls) != MaxCalls || len(tr.Problems) != 10 {
		t.Errorf("%d calls, %d problems", len(tr.Calls), len(tr.Problems))
	}
}

func FuzzCopilot(f *testing.F) {
	files, err := filepath.Glob("testdata/copilot/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal("no seed files", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr := readEvents(bytes.NewReader(b))
		if len(tr.Calls) > MaxCalls || len(tr.Problems) > maxProblems || tr.Turns < 0 {
			t.Fatalf("bounds broken: %d calls, %d problems", len(tr.Calls), len(tr.Problems))
		}
	})
}
