package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The test program is its own child when a store is read.
func TestMain(m *testing.M) {
	if ChildMain(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

// home makes a home folder out of files of testdata, unpacked where packed.
func home(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for to, from := range files {
		writeFile(t, filepath.Join(dir, to), testFile(t, from))
	}
	return openRoot(t, dir)
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func testFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

func mustRead(t *testing.T, format string, root *os.Root, hint Hint) *Trace {
	t.Helper()
	tr, err := Read(format, root, hint)
	if err != nil {
		t.Fatal(err)
	}
	if tr == nil {
		t.Fatal("no session found")
	}
	return tr
}

// figures is what was read off the real files by hand.
type figures struct {
	version, model string
	turns, calls   int
	finished       Finish
	errType        string
	status         int
	requests       int
	tokens         Tokens
	lines          int
}

type golden struct {
	name, format string
	files        map[string]string
	stdout       string // below testdata
	session      string
	want         figures
}

const (
	claudeDir   = ".claude/projects/-workspace/"
	codexFile   = ".codex/sessions/2026/11/29/rollout-2026-11-29T19-15-30-01a228bb.jsonl"
	piFile      = ".pi/agent/sessions/--workspace--/2026-11-29T19-15-33_01a228bb.jsonl"
	geminiFile  = ".gemini/tmp/workspace/chats/session-2026-11-29T19-15-ee528c72.jsonl"
	opencodeDB  = ".local/share/opencode/opencode.db"
	miniFile    = ".mini/run.traj.json"
	copilotDir  = ".copilot/session-state/7f0e8a34-52b1-4f6e-9d0c-3b1a6c5d9e01/"
	copilotDB   = ".copilot/session-store.db"
	copilotUUID = "7f0e8a34-52b1-4f6e-9d0c-3b1a6c5d9e01"
)

func one(to, from string) map[string]string { return map[string]string{to: from} }

func store(name string) map[string]string {
	return map[string]string{opencodeDB: "opencode/" + name + ".db.gz", opencodeDB + "-wal": "opencode/" + name + ".db-wal.gz"}
}

// The rich script asks 6 times with 1000+100n tokens of input, 200+10n cached,
// 30+n written to the cache and 50+n out, n = 0..5: 7500, 1350, 195 and 315.
func goldens() []golden {
	claudeID := "d4740f59-2b2c-4d37-b207-4eb11f125d86"
	return []golden{
		{"claude-tools", "claude", one(claudeDir+claudeID+".jsonl", "claude/session-tools-bare.jsonl"),
			"claude/stdout-tools-bare.jsonl", claudeID,
			figures{"2.1.332", "claude-sonnet-4-5", 6, 5, FinishCompleted, "", 0, 6, Tokens{9045, 1350, 195, 315, 0}, 34}},
		{"claude-tools-no-stdout", "claude", one(claudeDir+claudeID+".jsonl", "claude/session-tools-bare.jsonl"), "", claudeID,
			figures{"2.1.332", "claude-sonnet-4-5", 6, 5, FinishCompleted, "", 0, 6, Tokens{9045, 1350, 195, 315, 0}, 34}},
		{"claude-2.1.197", "claude", one(claudeDir+"x.jsonl", "claude/session-tools-v2.1.197.jsonl"), "", "",
			figures{"2.1.197", "claude-sonnet-4-5", 6, 5, FinishCompleted, "", 0, 6, Tokens{9045, 1350, 195, 315, 0}, 21}},
		{"claude-default", "claude", one(claudeDir+"x.jsonl", "claude/session-tools-default-trimmed.jsonl"), "", "",
			figures{"2.1.332", "claude-sonnet-4-5", 6, 5, FinishCompleted, "", 0, 6, Tokens{9045, 1350, 195, 315, 0}, 52}},
		{"claude-parallel", "claude", one(claudeDir+"x.jsonl", "claude/session-parallel-tools-bare.jsonl"), "claude/stdout-parallel-tools-bare.jsonl", "",
			figures{"2.1.332", "claude-opus-4-8", 2, 2, FinishCompleted, "", 0, 2, Tokens{2571, 410, 61, 101, 0}, 18}},
		{"claude-http500", "claude", one(claudeDir+"x.jsonl", "claude/session-http500-bare.jsonl"), "claude/stdout-http500-bare.jsonl", "",
			figures{"2.1.332", "", 0, 0, FinishError, "api_error", 500, 0, Tokens{}, 14}},
		{"claude-sigterm", "claude", one(claudeDir+"x.jsonl", "claude/session-sigterm-in-tool-bare.jsonl"), "claude/stdout-sigterm-in-tool-bare.jsonl", "",
			figures{"2.1.332", "claude-sonnet-4-5", 1, 1, FinishMidAir, "", 0, 1, Tokens{1230, 200, 30, 50, 0}, 14}},
		{"codex-ok", "codex", one(codexFile, "codex/ok.rollout.jsonl"), "", "",
			figures{"0.171.0", "scripted-1", 2, 1, FinishCompleted, "", 0, 2, Tokens{2100, 400, 0, 100, 7}, 23}},
		{"codex-many-tools", "codex", one(codexFile, "codex/many-tools-gpt-5.5.rollout.jsonl"), "", "",
			figures{"0.171.0", "gpt-5.5", 5, 9, FinishCompleted, "", 0, 5, Tokens{6000, 1000, 0, 250, 7}, 52}},
		{"codex-code-mode", "codex", one(codexFile, "codex/code-mode-gpt-5.6-sol.rollout.jsonl"), "", "",
			figures{"0.171.0", "gpt-5.6-sol", 2, 3, FinishCompleted, "", 0, 2, Tokens{2100, 400, 0, 100, 7}, 28}},
		{"codex-http500", "codex", one(codexFile, "codex/model-error-500.rollout.jsonl"), "", "",
			figures{"0.171.0", "scripted-1", 1, 1, FinishError, "internal_server_error", 0, 1, Tokens{1000, 200, 0, 50, 0}, 17}},
		{"pi-tools", "pi", one(piFile, "pi/session-tools.jsonl"), "", "",
			figures{"", "m1", 6, 5, FinishCompleted, "", 0, 6, Tokens{7500, 1350, 0, 315, 0}, 15}},
		{"pi-anthropic", "pi", one(piFile, "pi/session-tools-anthropic-api.jsonl"), "", "",
			figures{"", "m1", 6, 5, FinishCompleted, "", 0, 6, Tokens{9045, 1350, 195, 315, 0}, 15}},
		{"pi-http500", "pi", one(piFile, "pi/session-http500.jsonl"), "", "",
			figures{"", "m1", 0, 0, FinishError, "error", 500, 0, Tokens{}, 8}},
		{"pi-killed", "pi", one(piFile, "pi/session-killed-in-tool.jsonl"), "", "",
			figures{"", "m1", 1, 1, FinishMidAir, "", 0, 1, Tokens{1000, 200, 0, 50, 0}, 5}},
		// 17+n of thoughts are told beside the 50+n of the output: 315 + 117.
		{"gemini-tools", "gemini", one(geminiFile, "gemini/session-tools.jsonl"), "gemini/stdout-tools.jsonl", "",
			figures{"", "gemini-2.5-pro", 6, 5, FinishCompleted, "", 0, 6, Tokens{7500, 1350, 0, 432, 117}, 31}},
		{"gemini-http500", "gemini", one(geminiFile, "gemini/session-http500.jsonl"), "gemini/stdout-http500.jsonl", "",
			figures{"", "gemini-2.5-pro", 0, 0, FinishError, "unknown", 500, 0, Tokens{}, 5}},
		{"gemini-killed", "gemini", one(geminiFile, "gemini/session-killed-in-tool.jsonl"), "", "",
			figures{"", "gemini-2.5-pro", 1, 0, FinishMidAir, "", 0, 1, Tokens{1000, 200, 0, 67, 17}, 6}},
		// 17+n of reasoning are told apart from the 33 of the output.
		{"opencode-tools", "opencode", one(opencodeDB, "opencode/tools.db.gz"), "opencode/tools.stdout.jsonl", "",
			figures{"1.18.33", "m1", 6, 5, FinishCompleted, "", 0, 6, Tokens{7500, 1350, 0, 315, 117}, 31}},
		{"opencode-ok-wal", "opencode", store("ok"), "opencode/ok.stdout.jsonl", "",
			figures{"1.18.33", "m1", 2, 1, FinishCompleted, "", 0, 2, Tokens{2100, 410, 0, 101, 35}, 14}},
		{"opencode-http401", "opencode", store("http401"), "opencode/http401.stdout.jsonl", "",
			figures{"1.18.33", "m1", 0, 0, FinishError, "APIError", 401, 0, Tokens{}, 4}},
		{"opencode-killed", "opencode", store("killed-in-tool"), "opencode/killed-in-tool.stdout.jsonl", "",
			figures{"1.18.33", "m1", 1, 1, FinishMidAir, "", 0, 0, Tokens{}, 6}},
		// 1000+100n in, 200+10n cached, 50+n out, 7 of it reasoning; n = 0..4.
		{"mini-submitted", "mini", one(miniFile, "mini/submitted.traj.json"), "", "",
			figures{"2.4.6", "scripted-1", 5, 6, FinishCompleted, "", 0, 5, Tokens{6000, 1100, 0, 260, 35}, 13}},
		{"mini-http500", "mini", one(miniFile, "mini/http500.traj.json"), "", "",
			figures{"2.4.6", "openai/scripted-1", 0, 0, FinishError, "InternalServerError", 500, 0, Tokens{}, 3}},
		{"mini-killed", "mini", one(miniFile, "mini/killed-in-tool.traj.json"), "", "",
			figures{"2.4.6", "scripted-1", 1, 1, FinishMidAir, "", 0, 1, Tokens{1000, 200, 0, 50, 7}, 4}},
		// 7 calls: after the 6 of the script one more continuation asks with n = 5.
		{"copilot-store", "copilot", map[string]string{copilotDir + "events.jsonl": "copilot/store/events.jsonl",
			copilotDB: "copilot/store/session-store.db.gz", copilotDB + "-wal": "copilot/store/session-store.db-wal.gz"}, "", copilotUUID,
			figures{"1.0.81", "scripted-1", 7, 5, FinishGaveUp, "", 0, 7, Tokens{9000, 1600, 0, 370, 139}, 37}},
	}
}

func TestGolden(t *testing.T) {
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			hint := Hint{SessionID: g.session}
			if g.stdout != "" {
				hint.Stdout = filepath.Join("testdata", g.stdout)
			}
			tr := mustRead(t, g.format, home(t, g.files), hint)
			checkFigures(t, tr, g)
			checkGolden(t, tr, g.name)
		})
	}
}

func checkFigures(t *testing.T, tr *Trace, g golden) {
	t.Helper()
	got := figures{version: tr.Version, model: tr.Model, turns: tr.Turns, calls: len(tr.Calls), finished: tr.Finished,
		requests: len(tr.Usage), lines: tr.Lines}
	if tr.Error != nil {
		got.errType, got.status = tr.Error.Type, tr.Error.Status
	}
	if tr.Tokens != nil {
		got.tokens = *tr.Tokens
	}
	if got != g.want {
		t.Errorf("got  %+v\nwant %+v", got, g.want)
	}
	if tr.Agent != g.format || tr.Completed != (g.want.finished == FinishCompleted) {
		t.Errorf("agent %q, completed %v", tr.Agent, tr.Completed)
	}
	if len(tr.Problems) != 0 {
		t.Errorf("problems %+v", tr.Problems)
	}
}

func checkGolden(t *testing.T, tr *Trace, name string) {
	t.Helper()
	got, err := json.MarshalIndent(struct {
		*Trace
		Texts []TextPart `json:"texts"`
	}{tr, tr.Texts}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "golden", name+".json")
	if *update {
		writeFile(t, file, append(got, '\n'))
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(got, '\n'), want) {
		t.Errorf("the normal form is not that of %s; run the test with -update and read the difference", file)
	}
}
