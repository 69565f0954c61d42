package trace

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

const llmHeadLine = `{"type":"session","at":"2026-01-02T03:04:05Z","format":1,"session_id":"s-1","agent":"llm","agent_version":"1","wire":"chat","model":"m","effort":"medium","form":"files"}
{"type":"request","at":"2026-01-02T03:04:06Z","try":1,"prompt":"p"}
`

func TestLLM(t *testing.T) {
	const (
		bad    = `{"type":"answer","at":"2026-01-02T03:04:10Z","try":1,"text":"no","reasoning":"r","model":"m-1","finish":"stop","usage":{"input":100,"cached":10,"cache_write":null,"output":20,"reasoning":5},"parse_error":"there is no <solution>"}` + "\n"
		good   = `{"type":"answer","at":"2026-01-02T03:04:20Z","try":2,"text":"yes","finish":"stop","usage":{"input":100,"cached":90,"cache_write":null,"output":30,"reasoning":7}}` + "\n"
		broken = `{"type":"failure","at":"2026-01-02T03:04:15Z","try":2,"text":"ye","error":"unexpected EOF"}` + "\n"
	)
	for _, tt := range []struct {
		name, lines string
		finished    Finish
		turns       int
		failure     string
	}{
		{"solved", bad + good + `{"type":"end","end":"solved","tries":2}`, FinishCompleted, 2, ""},
		{"solved after a broken answer", broken + good + `{"type":"end","end":"solved","tries":2}`, FinishCompleted, 1, ""},
		{"unparseable", bad + `{"type":"end","end":"unparseable","tries":1,"error":"x"}`, FinishGaveUp, 1, ""},
		{"failed", bad + broken + `{"type":"end","end":"failed","tries":2,"error":"x"}`, FinishError, 1, "unexpected EOF"},
		{"stopped", bad + broken + `{"type":"end","end":"stopped","tries":2,"error":"context canceled"}`, FinishAborted, 1, ""},
		{"killed", bad, FinishMidAir, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "conversation.jsonl"), []byte(llmHeadLine+strings.TrimRight(tt.lines, "\n")+"\n"))
			tr, err := Read("llm", openRoot(t, dir), Hint{SessionID: "s-1"})
			if err != nil || tr == nil || len(tr.Problems) > 0 {
				t.Fatalf("%+v, %v", tr, err)
			}
			if tr.Finished != tt.finished || tr.Turns != tt.turns || tr.SessionID != "s-1" || tr.Version != "1" || tr.Model != "m" {
				t.Errorf("%+v", tr)
			}
			if failure := tr.Error; (failure != nil) != (tt.failure != "") || failure != nil && failure.Message != tt.failure {
				t.Errorf("error %+v", failure)
			}
			if tt.name == "solved" && (tr.Tokens.Input != 200 || tr.Tokens.Cached != 100 || tr.Tokens.Output != 50 || tr.Tokens.Reasoning != 12) {
				t.Errorf("tokens %+v", tr.Tokens)
			}
		})
	}
}

func FuzzLLM(f *testing.F) {
	f.Add([]byte(llmHeadLine + `{"type":"answer","usage":{"input":-1}}` + "\n" + `{"type":"end","end":"solved"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(&llmFormat)
		b.eachLine(bytes.NewReader(data), llmReader{b}.line)
		checkSane(t, b)
	})
}
