package agent

import (
	"strings"
	"testing"
)

func TestBareModels(t *testing.T) {
	for word, form := range map[string]string{"llm": BareFiles, "llm:diff": BareDiff, "llm:diff@1": BareDiff} {
		a, err := Find(word)
		if err != nil || a.Traits().Bare != form || !a.Traits().AsksModel() {
			t.Errorf("%s: %+v, %v", word, a, err)
		}
	}
	if _, err := Find("llm@2"); err == nil {
		t.Error("there is a second version")
	}
	if a, err := Restore("llm:diff", "1", "", ""); err != nil || a.Name() != "llm:diff" {
		t.Errorf("%v, %v", a, err)
	}
}

// The wire depends on what the model's provider serves, and on the model.
func TestWireOfBareModel(t *testing.T) {
	a, err := Find("llm")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ model, served, want string }{
		{"gpt-5.5", "responses,chat", "chat"}, {"gpt-5.3-codex", "responses,chat", "responses"},
		{"gpt-5.3-codex", "chat", "chat"}, {"openai/gpt-5.3-codex", "chat,responses,messages", "chat"},
		{"claude-opus-4-7", "messages,chat", "messages"}, {"anthropic/claude-opus-4.7", "chat,responses,messages", "chat"},
		{"gemini-3-flash", "gemini,chat", "chat"}, {"scripted-1", "chat,responses,messages,gemini", "chat"},
	} {
		if got, err := PickWireFor(a, tt.model, strings.Split(tt.served, ",")); got != tt.want || err != nil {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
	if _, err := PickWireFor(a, "gemini-3", []string{"gemini"}); err == nil {
		t.Error("gemini's own wire is taken")
	}
}
