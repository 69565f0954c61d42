package official

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// counts are notices as a map.
func counts(list []Notice) map[string]int {
	m := map[string]int{}
	for _, n := range list {
		m[n.Name] += n.Count
	}
	return m
}

func TestReadResponses(t *testing.T) {
	type short struct {
		id, output, err string
		line            int
		running         bool
	}
	tests := []struct {
		name, text string
		want       []short
		odd        map[string]int
	}{
		{"empty", "", nil, nil},
		{"blank lines", "\n  \n", nil, nil},
		{"answer", `{"name":"n","dag_id":"a","output":"x","metadata":{}}` + "\n", []short{{id: "a", output: "x", line: 1}}, nil},
		{"partial last line", `{"name":"n","dag_id":"a","output":"x"}` + "\n" + `{"name":"n","dag_id":"b","outp`,
			[]short{{id: "a", output: "x", line: 1}}, map[string]int{PartialLine: 1}},
		{"last line without line end", `{"name":"n","dag_id":"a","output":"x"}`, []short{{id: "a", output: "x", line: 1}}, nil},
		{"glued lines", `{"name":"n","dag_id":"a","ou{"name":"n","dag_id":"b","output":"x"}` + "\n" + `{"name":"n","dag_id":"c","output":"y"}` + "\n",
			[]short{{id: "c", output: "y", line: 2}}, map[string]int{BadLine: 1}},
		{"not objects", "[1]\n7\nnull\n\"x\"\n", nil, map[string]int{BadLine: 3, BadRecord: 1}},
		{"without keys", `{"name":"n","output":"x"}` + "\n" + `{"dag_id":7,"name":"n"}` + "\n", nil, map[string]int{BadRecord: 2}},
		{"the last wins", `{"name":"n","dag_id":"a","output":"1"}` + "\n" + `{"name":"n","dag_id":"b","output":"2"}` + "\n" + `{"name":"n","dag_id":"a","output":"3"}` + "\n",
			[]short{{id: "a", output: "3", line: 3}, {id: "b", output: "2", line: 2}}, map[string]int{RepeatedName: 1}},
		{"error", `{"name":"n","dag_id":"a","output":null,"error":"no\n credit","metadata":{"time_seconds":3}}` + "\n",
			[]short{{id: "a", err: "no credit", line: 1}}, nil},
		{"error that is no text", `{"name":"n","dag_id":"a","output":null,"error":{"code":7}}` + "\n",
			[]short{{id: "a", err: "map[code:7]", line: 1}}, nil},
		{"running alone", `{"name":"n","dag_id":"a","output":null,"status":"running","metadata":{}}` + "\n", []short{{id: "a", line: 1, running: true}}, nil},
		{"running and then done", `{"name":"n","dag_id":"a","output":null,"status":"running"}` + "\n" + `{"name":"n","dag_id":"a","output":"x","status":"completed"}` + "\n",
			[]short{{id: "a", output: "x", line: 2}}, nil},
		{"output that is no text", `{"name":"n","dag_id":"a","output":[1]}` + "\n", []short{{id: "a", line: 1}}, nil},
		{"control characters", "{\"name\":\"n\",\"dag_id\":\"a\",\"output\":\"x\",\"error\":\"\\u001b[31m\"}\r\n", []short{{id: "a", output: "x", err: "?[31m", line: 1}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, odd, err := ReadResponses(strings.NewReader(tt.text), "f")
			if err != nil {
				t.Fatal(err)
			}
			var got []short
			for _, r := range list {
				got = append(got, short{r.DagID, r.Output, r.Error, r.Line, r.Running})
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("records %+v, want %+v", got, tt.want)
			}
			if c := counts(odd); len(c) != len(tt.odd) || len(c) > 0 && !reflect.DeepEqual(c, tt.odd) {
				t.Errorf("notices %v, want %v", c, tt.odd)
			}
		})
	}
}

func TestResponseMetadata(t *testing.T) {
	const text = `{"name":"n","dag_id":"a","output":"x","metadata":{"time_seconds":12.5,"n_input_tokens":1000,"n_output_tokens":-1}}` + "\n" +
		`{"name":"n","dag_id":"b","output":"x","metadata":{"time_seconds":"soon","n_input_tokens":1.5}}` + "\n" +
		`{"name":"n","dag_id":"c","output":"x","metadata":[]}` + "\n" +
		`{"name":"n","dag_id":"d","output":"x","metadata":{"time_seconds":-4}}` + "\n"
	list, odd, err := ReadResponses(strings.NewReader(text), "f")
	if err != nil || len(odd) > 0 || len(list) != 4 {
		t.Fatalf("%d records, %v %v", len(list), odd, err)
	}
	first := list[0]
	if first.Seconds != 12.5 || first.InputTokens == nil || *first.InputTokens != 1000 || first.OutputTokens != nil {
		t.Errorf("metadata %+v", first)
	}
	for _, r := range list[1:] {
		if r.Seconds != 0 || r.InputTokens != nil {
			t.Errorf("metadata %+v", r)
		}
	}
}

func TestLineNumbersOfNotices(t *testing.T) {
	_, odd, err := ReadResponses(strings.NewReader("\n{\n\n{"), "f.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := []Notice{
		{BadLine, 1, noticeTexts()[BadLine], []string{"f.jsonl: line 2"}},
		{PartialLine, 1, noticeTexts()[PartialLine], []string{"f.jsonl: line 4"}},
	}
	if !reflect.DeepEqual(odd, want) {
		t.Errorf("notices %+v, want %+v", odd, want)
	}
}

func TestSplitOutput(t *testing.T) {
	one := []string{tasks.SolutionFile}
	tests := []struct {
		name, output string
		names        []string
		want         tasks.Files
		banners      int
	}{
		{"as it is written", "\n# === solution.py ===\nx = 1\n", one, tasks.Files{"solution.py": "x = 1"}, 0},
		{"text before the header", "hello\n# === solution.py ===\nx\n", one, tasks.Files{"solution.py": "x"}, 0},
		{"no header", "x = 1", one, tasks.Files{}, 0},
		{"empty", "", one, tasks.Files{}, 0},
		{"rulers", "\n# === solution.py ===\na\n# =======\nb\n  # ===== Helpers =====\nc\n# === helpers ===\nd", one,
			tasks.Files{"solution.py": "a\n# =======\nb\n  # ===== Helpers =====\nc\n# === helpers ===\nd"}, 3},
		{"not rulers", "\n# === solution.py ===\n# ======\n# === x === y\n#\n=== z ===", one,
			tasks.Files{"solution.py": "# ======\n# === x === y\n#\n=== z ==="}, 0},
		{"its own header again", "\n# === solution.py ===\n# === solution.py ===\nx", one,
			tasks.Files{"solution.py": "# === solution.py ===\nx"}, 1},
		{"another file's name", "\n# === solution.py (modified) ===\nx", one, tasks.Files{}, 0},
		{"two files", "\n# === a.py ===\n1\n\n# === b.py ===\n2", []string{"a.py", "b.py"}, tasks.Files{"a.py": "1", "b.py": "2"}, 0},
		{"line ends of Windows", "\r\n# === solution.py ===\r\nx\r\n", one, tasks.Files{"solution.py": "x\r"}, 0},
	}
	for _, tt := range tests {
		got, banners := SplitOutput(tt.output, tt.names)
		if !reflect.DeepEqual(got, tt.want) || banners != tt.banners {
			t.Errorf("%s: %q, %d banners; want %q, %d", tt.name, got, banners, tt.want, tt.banners)
		}
	}
}

func TestListResponses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"responses/testing_runtime_n=1/math_function/add_parameter/code/openrouter/openai/gpt-5.jsonl",
		"responses/function_search_x/array_constraints/dead_code/copilot/gpt-5.5.jsonl",
		"responses/merge_codebases_n=5/copilot/claude-opus-4.7.jsonl",
		"responses/merge_codebases_n=5/copilot/claude-opus-4.7.meta.json",
		"responses/run/math_function/copilot/short.jsonl",
		"responses/run/other/model.jsonl",
		"tasks/run.jsonl",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "responses/merge_codebases_n=5/copilot/link.jsonl")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files, odd, err := ListResponses(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []ResponseFile
	for _, f := range files {
		f.Path = ""
		got = append(got, f)
	}
	want := []ResponseFile{
		{"", Key{Run: "function_search_x", Set: "array_constraints", Type: "dead_code"}, "copilot", "gpt-5.5"},
		{"", Key{Run: "merge_codebases_n=5"}, "copilot", "claude-opus-4.7"},
		{"", Key{Run: "runtime_resolution_n=1", Set: "math_function", Type: "add_parameter"}, "code", "openrouter/openai/gpt-5"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("files %+v, want %+v", got, want)
	}
	if c := counts(odd); c[ForeignFile] != 4 {
		t.Errorf("notices %v, want four foreign files", c)
	}
}

func TestOtherName(t *testing.T) {
	dir := t.TempDir()
	text := `{"name":"merge_codebases_n=5/00003","dag_id":"task_00003","output":"x"}` + "\n" +
		`{"name":"merge_codebases_n=5/00004","dag_id":"task_00005","output":"x"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "f.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	list, odd, err := ResponseFile{Path: "f.jsonl", Key: Key{Run: "merge_codebases_n=5"}}.Read(root)
	if err != nil || len(list) != 2 || counts(odd)[OtherName] != 1 {
		t.Errorf("%d records, %v %v", len(list), odd, err)
	}
}

// Whatever a file holds, every line is a record or noted, and nothing is both.
func FuzzReadResponses(f *testing.F) {
	f.Add(`{"name":"n","dag_id":"a","output":"\n# === solution.py ===\nx","metadata":{"time_seconds":1}}` + "\n")
	f.Add(`{"name":"n","dag_id":"a","output":null,"status":"running"}` + "\n" + `{"name":"n","dag_id":"a","ou`)
	f.Add("[]\n\x00\n{}\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, odd, err := ReadResponses(strings.NewReader(text), "f")
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.SplitSeq(text, "\n") {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		noted := 0
		for _, n := range odd {
			noted += n.Count
		}
		if len(list)+noted > lines {
			t.Errorf("%d records and %d notices of %d lines", len(list), noted, lines)
		}
		seen := map[string]bool{}
		for _, r := range list {
			if seen[r.DagID] {
				t.Errorf("two records of %q", r.DagID)
			}
			seen[r.DagID] = true
			if strings.ContainsAny(r.Error, "\n\r\x1b") || len(r.Error) > maxReason+len("…") {
				t.Errorf("bad error text %q", r.Error)
			}
		}
	})
}

// What the official harness serialises is read back, if no text has a header of
// a file in it.
func FuzzSplitOutput(f *testing.F) {
	f.Add("x = 1\n# ====== y ======\n", "pass")
	f.Fuzz(func(t *testing.T, a, b string) {
		for line := range strings.SplitSeq(a+"\n"+b, "\n") {
			if name, ok := headerOf(line); ok && (name == "a.py" || name == "b.py") {
				t.Skip("a header in a text")
			}
		}
		got, _ := SplitOutput("\n# === a.py ===\n"+a+"\n# === b.py ===\n"+b, []string{"a.py", "b.py"})
		want := tasks.Files{"a.py": strings.Trim(a, "\n"), "b.py": strings.Trim(b, "\n")}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestNoticeBounds(t *testing.T) {
	var n Notices
	for range 3 * maxPlaces {
		n.Add(BadLine, "there")
	}
	n.AddAll([]Notice{{Name: BadLine, Count: 2, Where: []string{"x", "y"}}, {Name: BadRecord, Count: 1, Where: []string{"z"}}})
	list := n.List()
	if len(list) != 2 || list[0].Count != 3*maxPlaces+2 || len(list[0].Where) != maxPlaces || list[1].Text == "" {
		t.Errorf("notices %+v", list)
	}
	if _, err := json.Marshal(list); err != nil {
		t.Error(err)
	}
}
