package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestFormats(t *testing.T) {
	want := []string{"copilot", "claude", "codex", "opencode", "pi", "gemini", "mini", "llm"}
	if got := Formats(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	root := home(t, nil)
	for _, f := range want {
		if tr, err := Read(f, root, Hint{SessionID: "x", Stdout: filepath.Join(t.TempDir(), "none")}); tr != nil || err != nil {
			t.Errorf("%s of an empty home: %v, %v", f, tr, err)
		}
	}
	if _, err := Read("word", root, Hint{}); err == nil || !strings.Contains(err.Error(), `unknown trace format "word"; there is: copilot, claude`) {
		t.Errorf("error %v", err)
	}
}

// piSessionFile is a session of one answer.
func piSessionFile(id, start, text string) []byte {
	return fmt.Appendf(nil, `{"type":"session","version":3,"id":%q,"timestamp":%q}
{"type":"message","id":"a","timestamp":%[2]q,"message":{"role":"assistant","content":[{"type":"text","text":%[3]q}],"model":"m","stopReason":"stop"}}
`, id, start, text)
}

func TestChoice(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		".pi/a.jsonl":             piSessionFile("id-a", "2026-01-01T00:00:00Z", "old"),
		".pi/b.jsonl":             piSessionFile("id-b", "2026-01-03T00:00:00Z", "new"),
		".pi/c.jsonl":             piSessionFile("id-c", "2026-01-02T00:00:00Z", "middle"),
		".pi/note.txt":            []byte("no session"),
		".pi/empty.jsonl":         nil,
		".pi/deep/er/notes.jsonl": []byte("{}\n"),
	} {
		writeFile(t, filepath.Join(dir, name), data)
	}
	old := []string{filepath.Join(dir, ".pi/empty.jsonl"), filepath.Join(dir, ".pi/deep/er/notes.jsonl")}
	for _, name := range old { // files that do not tell their time go by that of the file
		if err := os.Chtimes(name, unixTime(1), unixTime(1)); err != nil {
			t.Fatal(err)
		}
	}
	root := openRoot(t, dir)
	for _, tt := range []struct{ id, want string }{
		{"", "new"}, {"id-a", "old"}, {"c.jsonl", "middle"}, {"unheard of", "new"},
	} {
		tr := mustRead(t, "pi", root, Hint{SessionID: tt.id})
		if tr.Texts[0].Text != tt.want {
			t.Errorf("id %q: read %q", tt.id, tr.Texts[0].Text)
		}
		others := 0
		for _, p := range tr.Problems {
			if strings.HasPrefix(p.Text, "another session file, not read: ") {
				others++
			}
		}
		if others != 4 || len(tr.Problems) != 4 {
			t.Errorf("id %q: problems %v", tt.id, tr.Problems)
		}
	}
}

// Where the CLI was told the id, a session of another one is a problem.
func TestChoiceNamed(t *testing.T) {
	root := home(t, one(claudeDir+"x.jsonl", "claude/session-tools-v2.1.197.jsonl"))
	tr := mustRead(t, "claude", root, Hint{SessionID: "0b8d1c3e-0000-4000-8000-000000000001"})
	if tr.Turns != 6 || len(tr.Problems) != 1 || !strings.Contains(tr.Problems[0].Text, "another one is read") {
		t.Errorf("%d turns, problems %v", tr.Turns, tr.Problems)
	}
}

// Links and pipes are no session files, whatever their names.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.jsonl")
	writeFile(t, secret, piSessionFile("s", "2026-01-01T00:00:00Z", "secret"))
	pi := filepath.Join(dir, ".pi")
	writeFile(t, filepath.Join(pi, "folder.jsonl", "x"), nil)
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(pi, "link.jsonl")),
		os.Symlink(".", filepath.Join(pi, "loop")),
		syscall.Mkfifo(filepath.Join(pi, "pipe.jsonl"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if tr, err := Read("pi", openRoot(t, dir), Hint{}); tr != nil || err != nil {
		t.Errorf("%+v, %v", tr, err)
	}
	writeFile(t, filepath.Join(dir, opencodeDB), testFile(t, "opencode/ok.db.gz"))
	if err := syscall.Mkfifo(filepath.Join(dir, opencodeDB+"-wal"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := mustRead(t, "opencode", openRoot(t, dir), Hint{})
	if len(tr.Problems) == 0 || !strings.Contains(tr.Problems[0].Text, "no regular file") {
		t.Errorf("problems %v", tr.Problems)
	}
}

// A session that left no file may still have told its end.
func TestStdoutAlone(t *testing.T) {
	root := home(t, nil)
	tr := mustRead(t, "claude", root, Hint{Stdout: "testdata/claude/stdout-http500-bare.jsonl"})
	if tr.Finished != FinishError || tr.Error.Status != 500 || len(tr.Problems) != 1 {
		t.Errorf("%+v", tr)
	}
	tr = mustRead(t, "gemini", root, Hint{Stdout: "testdata/gemini/stdout-http500.jsonl"})
	if tr.Finished != FinishError || tr.Error.Status != 500 || tr.SessionID != "a819d33e-b91c-4188-9fbd-489a186221d4" {
		t.Errorf("%+v", tr)
	}
}

// The files of a session that was killed and of one that was not may be the
// same: the standard output decides, if it holds events at all.
func TestStdoutDecides(t *testing.T) {
	id := "d4740f59-2b2c-4d37-b207-4eb11f125d86"
	root := home(t, one(claudeDir+id+".jsonl", "claude/session-tools-bare.jsonl"))
	whole := string(testFile(t, "claude/stdout-tools-bare.jsonl"))
	lines := strings.SplitAfter(strings.TrimSpace(whole), "\n")
	killed := strings.Join(lines[:len(lines)-1], "")
	result := lines[len(lines)-1]
	tests := []struct {
		name, stdout string
		want         Finish
		errType      string
	}{
		{"the result", whole, FinishCompleted, ""},
		{"no result", killed, FinishMidAir, ""},
		{"no events", "All done.\n", FinishCompleted, ""},
		{"another session's result", killed + strings.ReplaceAll(result, id, "x"), FinishMidAir, ""},
		{"an error", killed + strings.Replace(strings.Replace(result, `"is_error":false`, `"is_error":true`, 1),
			`"subtype":"success"`, `"subtype":"error_max_turns"`, 1), FinishError, "error_max_turns"},
		{"interrupted", killed + `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":"` +
			id + `"}`, FinishAborted, ""},
		{"a result without its word", killed + strings.Replace(result, `"is_error":false,`, "", 1), FinishError, "completed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "stdout")
			writeFile(t, file, []byte(tt.stdout))
			tr := mustRead(t, "claude", root, Hint{SessionID: id, Stdout: file})
			if tr.Finished != tt.want || (tr.Error == nil) != (tt.errType == "") || tr.Error != nil && tr.Error.Type != tt.errType {
				t.Errorf("finished %q, error %+v", tr.Finished, tr.Error)
			}
		})
	}
}
