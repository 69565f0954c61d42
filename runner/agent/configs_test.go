package agent

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestConfigurationsParse: whatever the model is called, the files that these
// agents get are JSON (which is YAML too), and name the model, the effort and the
// address of the wire.
func TestConfigurationsParse(t *testing.T) {
	const model = `we"ird\/mo del:free`
	for name, wires := range map[string]map[string]string{
		"opencode": {"chat": "http://b/t/v1", "responses": "http://b/t/v1", "messages": "http://b/t/v1"},
		"pi":       {"chat": "http://b/t/v1", "responses": "http://b/t/v1", "messages": "http://b/t", "gemini": "http://b/t"},
		"mini":     {"chat": "http://b/t/v1", "responses": "http://b/t/v1", "messages": "http://b/t"},
		"gemini":   {"gemini": "http://b/t"},
	} {
		a, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for wire, address := range wires {
			for _, instructions := range []bool{false, true} {
				l, err := a.Launch(Job{
					Model: model, Prompt: "-p {model}", SessionID: "5f0c7a58-6ad6-4c52-b0b4-6f1c2ac9a9c1", Workspace: "/workspace",
					Home: "/home/agent", Root: "http://b/t", BaseURL: "http://b/t/v1", Wire: wire, Effort: "high", Instructions: instructions,
				})
				if err != nil {
					t.Fatalf("%s, %s: %v", name, wire, err)
				}
				checkConfigurations(t, name+", "+wire, l, model, address)
			}
		}
	}
}

func checkConfigurations(t *testing.T, what string, l Launch, model, address string) {
	t.Helper()
	told := strings.Join(slices.Concat(l.Args, l.Env), "\n")
	for name, text := range l.Files {
		if !slices.Contains([]string{".json", ".yaml"}, path.Ext(name)) {
			continue
		}
		var parsed any
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			t.Errorf("%s: %s: %v in %s", what, name, err, text)
		}
		for _, s := range texts(parsed) {
			told += "\n" + s
		}
	}
	for _, want := range []string{model, "high", address} {
		if !strings.Contains(told, want) {
			t.Errorf("%s: %q is told nowhere", what, want)
		}
	}
	if l.Stdin != "-p {model}" {
		t.Errorf("%s: the prompt arrives as %q", what, l.Stdin)
	}
}

// texts are the strings in a JSON value, names of fields too.
func texts(v any) []string {
	var list []string
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, e := range v {
			list = append(list, texts(e)...)
		}
	case map[string]any:
		for k, e := range v {
			list = append(append(list, k), texts(e)...)
		}
	}
	return list
}
