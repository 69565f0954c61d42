package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const barePrompt = "Answer so:\n<thought>\n</thought>\n<solution>\n</solution>\n<code repository>\n# === solution.py ===\nx\n</code repository>\n<problem statement>\np\n</problem statement>"

// The prompt of a model without tools is known by its parts, however JSON
// writes them; an agent that speaks of such parts has tools.
func TestFormOf(t *testing.T) {
	escaped, err := json.Marshal(barePrompt)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]form{
		barePrompt: wholeFiles, string(escaped): wholeFiles, barePrompt + "\n```diff\n": asDiff,
		"<solution>": "", strings.ReplaceAll(barePrompt, "<problem statement>", ""): "", "": "",
	} {
		if got := formOf([]byte(text)); got != want {
			t.Errorf("%.60q: %q, want %q", text, got, want)
		}
	}
}

func TestBareAnswers(t *testing.T) {
	script := Script{Starter: "def f():\n    return 1\n", Reference: "def f(a):\n    return a\n", Edited: []string{"f"}}
	for _, tt := range []struct {
		behaviour, extra string
		has              []string // part of each answer, in order
	}{
		{"solve", "", []string{"<solution>\n# === solution.py ===\ndef f(a):\n    return a\n</solution>"}},
		{"untouched", "", []string{"# === solution.py ===\ndef f():\n    return 1\n</solution>"}},
		{"solve", "```diff", []string{"--- solution.py\n+++ solution.py\n@@ ... @@\n-def f():\n-    return 1\n+def f(a):\n+    return a\n```\n</solution>"}},
		{"unparseable@2", "", []string{"once more", "once more", "</solution>", "</solution>"}},
		{"unparseable", "", []string{"once more", "once more", "once more"}},
		{"remove", "", []string{"need tools"}},
	} {
		s, err := NewScripted(tt.behaviour)
		if err != nil {
			t.Fatal(err)
		}
		up := s.For(script)
		for i, want := range tt.has {
			if got := bareAnswer(t, up, barePrompt+tt.extra); !strings.Contains(got, want) {
				t.Errorf("%s, answer %d: %q lacks %q", tt.behaviour, i+1, got, want)
			}
		}
	}
	if _, err := NewScripted("unparseable@0"); err == nil {
		t.Error("unparseable@0 is a behaviour")
	}
}

func bareAnswer(t *testing.T, up Upstream, prompt string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]string{"role": "user", "content": prompt}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := up.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc wireCompletion
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || len(doc.Choices) != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	return *doc.Choices[0].Message.Content
}
