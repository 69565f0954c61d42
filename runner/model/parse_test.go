package model

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

var one = tasks.Files{"solution.py": "def f():\n    return 1\n"}

var two = tasks.Files{"a.py": "A = 1\n", "lib/b.py": "B = 1\n"}

const done = "def f():\n    return 2\n"

func TestParseFiles(t *testing.T) {
	tests := []struct {
		name   string
		code   tasks.Files
		answer string
		want   tasks.Files
		fail   string // part of the reason
	}{
		{"plain", one, "<thought>\nhm\n</thought>\n<solution>\n# === solution.py ===\ndef f():\n    return 2\n</solution>\n",
			tasks.Files{"solution.py": done}, ""},
		{"without a thought", one, "<solution># === solution.py ===\ndef f():\n    return 2</solution>", tasks.Files{"solution.py": done}, ""},
		{"words around", one, "Here:\n<solution>\nThe file:\n# === solution.py ===\ndef f():\n    return 2\n</solution>\nDone.",
			tasks.Files{"solution.py": done}, ""},
		{"other line ends", one, "<solution>\r\n# === solution.py ===\r\ndef f():\r\n    return 2\r\n</solution>", tasks.Files{"solution.py": done}, ""},

		{"ruler of a comment", one, "<solution>\n# === solution.py ===\n# =======\ndef f():\n    return 2\n</solution>",
			tasks.Files{"solution.py": "# =======\n" + done}, ""},
		{"long ruler", one, "<solution>\n# === solution.py ===\n# ==================\ndef f():\n    return 2\n</solution>",
			tasks.Files{"solution.py": "# ==================\n" + done}, ""},
		{"banners of a comment", one, "<solution>\n# === solution.py ===\n# ===== Helpers =====\n# === More ===\ndef f():\n    # === inside ===\n    return 2\n</solution>",
			tasks.Files{"solution.py": "# ===== Helpers =====\n# === More ===\ndef f():\n    # === inside ===\n    return 2\n"}, ""},
		{"ruler split over lines", one, "<solution>\n# === solution.py ===\n#\n=== x ===\n</solution>", tasks.Files{"solution.py": "#\n=== x ===\n"}, ""},
		{"line that the code had", tasks.Files{"a.py": "# === b.py ===\nx = 1\n"}, "<solution>\n# === a.py ===\n# === b.py ===\nx = 2\n</solution>",
			tasks.Files{"a.py": "# === b.py ===\nx = 2\n"}, ""},

		{"no opening tag", one, "# === solution.py ===\ndef f():\n    return 2\n</solution>", nil, "no <solution>"},
		{"no tag", one, "# === solution.py ===\ndef f():\n    return 2\n", nil, "no <solution>"},
		{"nothing", one, "", nil, "no <solution>"},
		{"no end", one, "<solution>\n# === solution.py ===\ndef f():\n", nil, "has no end"},
		{"a second block without end", one, "<solution>\n# === solution.py ===\nx\n</solution>\nBetter:\n<solution>\n# === solution.py ===\n", nil, "has no end"},

		{"tags in the thought", one, "<thought>I write <solution> and </solution> later.\n<solution>\n# === solution.py ===\nno\n</solution></thought>\n<solution>\n# === solution.py ===\ndef f():\n    return 2\n</solution>",
			tasks.Files{"solution.py": done}, ""},
		{"closing tag in the thought", one, "<thought>ends with </solution></thought><solution>\n# === solution.py ===\ndef f():\n    return 2\n</solution>",
			tasks.Files{"solution.py": done}, ""},
		{"only in the thought", one, "<thought><solution>\n# === solution.py ===\nx\n</solution></thought>", nil, "no <solution>"},
		{"the last of two", one, "<thought></thought><solution>\n# === solution.py ===\nx\n</solution>\nNo:\n<solution>\n# === solution.py ===\ndef f():\n    return 2\n</solution>",
			tasks.Files{"solution.py": done}, ""},
		{"the thought's tag in a file", one, "<thought></thought>\n<solution>\n# === solution.py ===\nx = '</thought>'\n</solution>",
			tasks.Files{"solution.py": "x = '</thought>'\n"}, ""},
		{"two closing tags", one, "<solution>\n# === solution.py ===\nx = '</solution>'\n</solution>", nil, "several"},

		{"decorated by quotes", one, "<solution>\n# === `solution.py` ===\nx\n</solution>", nil, "names no file"},
		{"decorated by a word", one, "<solution>\n# === solution.py (modified) ===\nx\n</solution>", nil, "names no file"},
		{"more equal signs", one, "<solution>\n# ==== solution.py ====\nx\n</solution>", nil, "names no file"},
		{"another file besides", one, "<solution>\n# === solution.py ===\nx\n# === helpers.py ===\ny\n</solution>", nil, "names no file"},
		{"a folder that is not there", one, "<solution>\n# === src/solution.py ===\nx\n</solution>", nil, "names no file"},
		{"no file", one, "<solution>\ndef f():\n    return 2\n</solution>", nil, "no file"},
		{"twice", one, "<solution>\n# === solution.py ===\nx\n# === solution.py ===\ny\n</solution>", nil, "twice"},
		{"one of two", two, "<solution>\n# === a.py ===\nx\n</solution>", nil, `"lib/b.py" is missing`},

		{"two files", two, "<solution>\n# === a.py ===\nA = 2\n\n# === lib/b.py ===\nB = 2\n</solution>",
			tasks.Files{"a.py": "A = 2\n", "lib/b.py": "B = 2\n"}, ""},
		{"a fence in each file", two, "<solution>\n# === a.py ===\n```python\nA = 2\n```\n\n# === lib/b.py ===\n```\nB = 2\n```\n</solution>",
			tasks.Files{"a.py": "A = 2\n", "lib/b.py": "B = 2\n"}, ""},
		{"a fence around each file", two, "<solution>\n```python\n# === a.py ===\nA = 2\n```\n\n```python\n# === lib/b.py ===\nB = 2\n```\n</solution>",
			tasks.Files{"a.py": "A = 2\n", "lib/b.py": "B = 2\n"}, ""},
		{"bare fences around each file", two, "<solution>\n```\n# === a.py ===\nA = 2\n```\n```\n# === lib/b.py ===\nB = 2\n```\n</solution>",
			tasks.Files{"a.py": "A = 2\n", "lib/b.py": "B = 2\n"}, ""},
		{"a fence around all", two, "<solution>\n```python\n# === a.py ===\nA = 2\n# === lib/b.py ===\nB = 2\n```\n</solution>",
			tasks.Files{"a.py": "A = 2\n", "lib/b.py": "B = 2\n"}, ""},
		{"words and a fence around all", two, "<solution>\nBoth:\n\n```python\n# === a.py ===\nA = 2\n# === lib/b.py ===\nB = 2\n```\n\n</solution>",
			tasks.Files{"a.py": "A = 2\n", "lib/b.py": "B = 2\n"}, ""},
		{"a fence that belongs to the file", one, "<solution>\n# === solution.py ===\n\"\"\"\n```\nx\n```\n\"\"\"\n</solution>",
			tasks.Files{"solution.py": "\"\"\"\n```\nx\n```\n\"\"\"\n"}, ""},
		{"empty lines of the file", tasks.Files{"a.py": "\n\nx = 1\n\n"}, "<solution>\n# === a.py ===\nx = 2\n</solution>", tasks.Files{"a.py": "\n\nx = 2\n\n"}, ""},
		{"no newline at the end", tasks.Files{"a.py": "x = 1"}, "<solution>\n# === a.py ===\nx = 2\n</solution>", tasks.Files{"a.py": "x = 2"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, WholeFiles, tt.answer, tt.code, tt.want, tt.fail) })
	}
}

func check(t *testing.T, form Form, answer string, code, want tasks.Files, fail string) {
	t.Helper()
	got, err := Parse(form, answer, code)
	if fail != "" {
		if err == nil || !strings.Contains(err.Error(), fail) {
			t.Errorf("got %q, %v; want a failure with %q", got, err, fail)
		}
		return
	}
	if err != nil || !got.Equal(want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestParseTooLong(t *testing.T) {
	long := "<solution>\n# === solution.py ===\n" + strings.Repeat("x", maxFile+1) + "\n</solution>"
	check(t, WholeFiles, long, one, nil, "longer than 1 MiB")
	check(t, WholeFiles, strings.Repeat("x", maxAnswer+1), one, nil, "longer than 16 MiB")
	hunk := "@@\n-    return 1\n+" + strings.Repeat("x\n+", maxFile/2) + "\n"
	check(t, Diff, "<solution>\n--- solution.py\n+++ solution.py\n"+hunk+"</solution>", one, nil, "grows beyond 1 MiB")
	hunks := strings.Repeat("@@\n-def f():\n+def f():\n", maxHunks+1)
	check(t, Diff, "<solution>\n--- solution.py\n+++ solution.py\n"+hunks+"</solution>", one, nil, "more than 5000 hunks")
}

func TestParseDiff(t *testing.T) {
	code := tasks.Files{"solution.py": "import m\n\ndef f():\n    x = 1\n    return x\n\ndef g():\n    x = 2\n    return x\n"}
	const head = "<thought></thought>\n<solution>\n```diff\n--- solution.py\n+++ solution.py\n"
	const foot = "```\n</solution>"
	tests := []struct {
		name, answer string
		want         string
		fail         string
	}{
		{"one hunk", head + "@@ ... @@\n-    x = 1\n+    x = 7\n" + foot,
			"import m\n\ndef f():\n    x = 7\n    return x\n\ndef g():\n    x = 2\n    return x\n", ""},
		{"context", head + "@@ ... @@\n     x = 2\n-    return x\n+    return -x\n" + foot,
			"import m\n\ndef f():\n    x = 1\n    return x\n\ndef g():\n    x = 2\n    return -x\n", ""},
		{"numbers in the hunk's line, other order", head + "@@ -8,1 +8,1 @@ def g():\n-    x = 2\n+    x = 8\n@@ -4 +4 @@\n-    x = 1\n+    x = 7\n" + foot,
			"import m\n\ndef f():\n    x = 7\n    return x\n\ndef g():\n    x = 8\n    return x\n", ""},
		{"the only one behind the last hunk", head + "@@ ... @@\n-    x = 2\n+    x = 8\n@@ ... @@\n-    return x\n+    return 0\n" + foot,
			"import m\n\ndef f():\n    x = 1\n    return x\n\ndef g():\n    x = 8\n    return 0\n", ""},
		{"an empty line that lost its blank", head + "@@ ... @@\n import m\n\n-def f():\n+def h():\n\n" + foot,
			"import m\n\ndef h():\n    x = 1\n    return x\n\ndef g():\n    x = 2\n    return x\n", ""},
		{"lines added behind the last", head + "@@ ... @@\n     x = 2\n     return x\n+\n+y = 1\n" + foot,
			"import m\n\ndef f():\n    x = 1\n    return x\n\ndef g():\n    x = 2\n    return x\n\ny = 1\n", ""},
		{"a function removed", head + "@@ ... @@\n-def f():\n-    x = 1\n-    return x\n-\n" + foot,
			"import m\n\ndef g():\n    x = 2\n    return x\n", ""},
		{"names as git has them", "<solution>\n--- a/solution.py\n+++ b/solution.py\n@@ ... @@\n-import m\n+import n\n</solution>",
			"import n\n\ndef f():\n    x = 1\n    return x\n\ndef g():\n    x = 2\n    return x\n", ""},
		{"twice in the file", head + "@@ ... @@\n-    return x\n+    return 0\n" + foot, "", "more than once"},
		{"not in the file", head + "@@ ... @@\n-    return y\n+    return 0\n" + foot, "", "do not stand"},
		{"part of a line", head + "@@ ... @@\n-return x\n+return 0\n" + foot, "", "do not stand"},
		{"nothing but new lines", head + "@@ ... @@\n+import n\n" + foot, "", "place is unknown"},
		{"another file", "<solution>\n--- other.py\n+++ other.py\n@@ ... @@\n-a\n+b\n</solution>", "", "names no file"},
		{"decorated name", "<solution>\n--- `solution.py`\n+++ `solution.py`\n@@ ... @@\n-a\n+b\n</solution>", "", "names no file"},
		{"two names", "<solution>\n--- solution.py\n+++ other.py\n@@ ... @@\n-a\n+b\n</solution>", "", "names no file"},
		{"no name", "<solution>\n@@ ... @@\n-a\n+b\n</solution>", "", "before the name"},
		{"no hunk", head + foot, "", "no hunk"},
		{"no sign", head + "@@ ... @@\n-import m\nimport n\n" + foot, "", "begins with none"},
		{"lines before the hunk", head + "-import m\n+import n\n" + foot, "", "of no hunk"},
		{"no end", head + "@@ ... @@\n-import m\n", "", "has no end"},
		{"no opening tag", "--- solution.py\n+++ solution.py\n@@ ... @@\n-import m\n+import n\n</solution>", "", "no <solution>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, Diff, tt.answer, code, tasks.Files{"solution.py": tt.want}, tt.fail) })
	}
	// Into an empty file lines may come without a place, other files stay.
	check(t, Diff, "<solution>\n--- e.py\n+++ e.py\n@@ ... @@\n+x = 1\n</solution>",
		tasks.Files{"e.py": "", "f.py": "y\n\n"}, tasks.Files{"e.py": "x = 1\n", "f.py": "y\n\n"}, "")
	check(t, Diff, "<solution>\n--- f.py\n+++ f.py\n@@ ... @@\n-y\n</solution>",
		tasks.Files{"f.py": "x\ny"}, tasks.Files{"f.py": "x"}, "")
}

// Whatever a model says, it is either unreadable or gives all files of the
// codebase and no other.
func FuzzParse(f *testing.F) {
	f.Add("<thought></thought><solution>\n```\n# === a.py ===\nx\n```\n```\n# === lib/b.py ===\ny\n```\n</solution>", false)
	f.Add("<solution>\n--- a.py\n+++ a.py\n@@ ... @@\n-A = 1\n+A = 2\n\n@@\n A = 2\n</solution>", true)
	f.Fuzz(func(t *testing.T, answer string, diff bool) {
		form := WholeFiles
		if diff {
			form = Diff
		}
		got, err := Parse(form, answer, two)
		if err != nil {
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("more than a line: %v", err)
			}
			return
		}
		if !slices.Equal(slices.Sorted(maps.Keys(got)), two.Paths()) {
			t.Errorf("got %q", got)
		}
	})
}

// What the prompt shows of the code is read back as it was.
func TestPromptReadsBack(t *testing.T) {
	for _, code := range []tasks.Files{one, two, {"a.py": "\n\n# === x ===\n```\n{{problem}}\n```\nx\n\n"}} {
		p := Prompt(WholeFiles, code, "Solve {{code}} it.")
		_, rest, _ := strings.Cut(p, "<code repository>")
		shown, after, ok := strings.Cut(rest, "</code repository>")
		if !ok || !strings.Contains(after, "<problem statement>\nSolve {{code}} it.\n</problem statement>") {
			t.Fatalf("prompt: %s", p)
		}
		check(t, WholeFiles, "<solution>"+shown+"</solution>", code, code, "")
	}
}

func TestEffort(t *testing.T) {
	for _, tt := range []struct{ wire, model, wanted, want string }{
		{"chat", "gpt-5.3-codex", "", "medium"}, {"responses", "gpt-5.2-codex_2026-01-14", "", "medium"},
		{"chat", "openai/gpt-5", "", "medium"}, {"chat", "openai/gpt-oss-120b", "", "medium"},
		{"chat", "gpt-5.4-mini", "", "medium"}, {"chat", "openai/gpt-5.5", "", "medium"}, {"chat", "x-ai/grok-4.3", "", "medium"},
		{"chat", "o3-mini", "", "medium"}, {"chat", "o1-mini", "", ""}, {"chat", "gpt-5-chat-latest", "", ""},
		{"chat", "gpt-4.1", "", ""}, {"chat", "mistralai/mistral-large", "", ""}, {"chat", "x-ai/grok-4.1-fast", "", ""},
		{"chat", "deepseek/deepseek-v3.2", "", ""}, {"chat", "anthropic/claude-opus-4.7", "", ""}, {"chat", "scripted-1", "", ""},
		{"messages", "claude-opus-4-7", "", "medium"}, {"messages", "claude-opus-4-5-20251101", "", "medium"},
		{"messages", "claude-sonnet-4-5", "", ""}, {"messages", "claude-3-5-haiku", "", ""},
		{"chat", "gpt-4.1", "high", "high"}, {"chat", "gpt-5.5", "low", "low"}, {"gemini", "gpt-5", "", ""},
	} {
		if got := Effort(tt.wire, tt.model, tt.wanted); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}
