package main

import (
	"os"
	"strings"
	"testing"
)

// The worked example of an own agent is shown word for word as it is tested.
func TestReadmeShowsTheTestedAgent(t *testing.T) {
	page, err := os.ReadFile("../../runner/agent/README.md")
	if err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile("testdata/agents/tiny.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```toml\n"+string(agent)+"```\n") {
		t.Error("runner/agent/README.md does not show testdata/agents/tiny.toml as it is")
	}
}
