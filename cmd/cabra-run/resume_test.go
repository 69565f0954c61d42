package main

import (
	"testing"

	"cabra-run/runner"
)

// A definition may speak of endpoints in its own words.
func TestLockedEndpoint(t *testing.T) {
	for description, want := range map[string]string{
		"own endpoint https://api.example.com/v1":                     "https://api.example.com/v1",
		"OpenAI-compatible endpoint http://127.0.0.1:8000/v1":         "http://127.0.0.1:8000/v1",
		"an endpoint of the lab (https://models.lab.example/v1)":      "",
		"own endpoint of the lab (https://models.lab.example/v1)":     "",
		"OpenAI (https://api.openai.com/v1)":                          "",
		"GitHub's models with a user's login":                         "",
		"scripted policy, no model":                                   "",
		"OpenAI-compatible endpoint of the lab (http://192.0.2.1/v1)": "",
	} {
		if got := lockedEndpoint(description); got != want {
			t.Errorf("%q: %q, want %q", description, got, want)
		}
	}
}

// Whoever has interrupted three times does not wait for the search for keys.
func TestUntilAbort(t *testing.T) {
	stop := runner.NewStopper()
	ctx, cancel := untilAbort(t.Context(), stop)
	defer cancel()
	stop.Raise(runner.Halt, "twice")
	if ctx.Err() != nil {
		t.Error("ended by the second")
	}
	stop.Raise(runner.Abort, "three times")
	<-ctx.Done()
}
