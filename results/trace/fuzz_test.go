package trace

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// addFiles adds real files to the seeds.
func addFiles(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds %s: %v", pattern, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// checkSane finishes a trace and holds it against what has to be true of any.
func checkSane(t *testing.T, b *builder) {
	t.Helper()
	b.finish()
	tr := b.Trace
	if len(tr.Calls) > MaxCalls || len(tr.Problems) > maxProblems || len(tr.Usage) > MaxCalls || tr.Turns < 0 {
		t.Fatalf("bounds broken: %d calls, %d problems, %d usages", len(tr.Calls), len(tr.Problems), len(tr.Usage))
	}
	if tr.Finished == FinishCompleted && (!tr.Completed || tr.Error != nil) || tr.Finished == FinishError && tr.Error == nil {
		t.Fatalf("finished %q, completed %v, error %v", tr.Finished, tr.Completed, tr.Error)
	}
	for _, c := range tr.Calls {
		if c.Duration < 0 || len(c.Result) > MaxResult || len(c.Arguments) > MaxResult {
			t.Fatalf("call %+v", c)
		}
	}
	for _, u := range tr.Usage {
		for _, f := range usageFields {
			if v := f.of(&u.Usage); v != nil && *v < 0 {
				t.Fatalf("usage %+v", u)
			}
		}
	}
	if _, err := json.Marshal(tr); err != nil {
		t.Fatalf("the trace is no JSON: %v", err)
	}
}

func FuzzClaude(f *testing.F) {
	addFiles(f, "claude/session-*.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&claudeFormat)
		p := &claudeReader{builder: b, messages: map[string]int{}}
		b.eachLine(bytes.NewReader(data), p.line)
		p.conclude()
		checkSane(t, b)
	})
}

func FuzzClaudeStdout(f *testing.F) {
	addFiles(f, "claude/stdout-*.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&claudeFormat)
		claudeStdout(b, bytes.NewReader(data))
		checkSane(t, b)
	})
}

func FuzzCodex(f *testing.F) {
	addFiles(f, "codex/*.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&codexFormat)
		b.eachLine(bytes.NewReader(data), (&codexReader{builder: b}).line)
		checkSane(t, b)
	})
}

func FuzzPi(f *testing.F) {
	addFiles(f, "pi/*.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&piFormat)
		b.eachLine(bytes.NewReader(data), piReader{b}.line)
		checkSane(t, b)
	})
}

func FuzzGemini(f *testing.F) {
	addFiles(f, "gemini/session-*.jsonl")
	f.Add([]byte(`{"id":"a","type":"gemini","content":"x"}` + "\n" + `{"$rewindTo":"a"}` + "\n" + `{"$set":{"messages":[{"id":"b","type":"gemini"}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&geminiFormat)
		p := newGeminiReader(b)
		b.eachLine(bytes.NewReader(data), p.line)
		p.conclude()
		geminiStdout(b, bytes.NewReader(data))
		checkSane(t, b)
	})
}

func FuzzGeminiStdout(f *testing.F) {
	addFiles(f, "gemini/stdout-*.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&geminiFormat)
		geminiStdout(b, bytes.NewReader(data))
		checkSane(t, b)
	})
}

func FuzzMini(f *testing.F) {
	addFiles(f, "mini/*.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&miniFormat)
		b.readMini(bytes.NewReader(data))
		checkSane(t, b)
	})
}

// FuzzOpencodeRows takes what a child, or one that was taken over, may write.
func FuzzOpencodeRows(f *testing.F) {
	f.Add([]byte(`{"kind":"session","row":{"id":"s","version":"1.18.33","time_created":1796022167631}}
{"kind":"message","row":{"id":"m","session_id":"s","data":"{\"role\":\"assistant\",\"finish\":\"stop\",\"tokens\":{\"input\":8,\"output\":3}}"}}
{"kind":"part","row":{"id":"p","message_id":"m","data":"{\"type\":\"tool\",\"tool\":\"bash\",\"callID\":\"c\",\"state\":{\"status\":\"completed\",\"metadata\":{\"exit\":3}}}"}}
{"kind":"!problem","text":"x"}
{"kind":"!end"}
`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&opencodeFormat)
		s := opencodeStore{parts: map[string][]opencodeRow{}}
		b.storeLines(bytes.NewReader(data), s.row)
		b.opencode(&s)
		opencodeStdout(b, bytes.NewReader(data))
		checkSane(t, b)
	})
}
