package main

import (
	"fmt"
	"os"
	"path/filepath"
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
