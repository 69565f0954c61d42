package agent

import (
	"testing"

	"cabra-run/results/trace"
)

func TestSuccess(t *testing.T) {
	code := func(n int) *int { return &n }
	done := &trace.Trace{Completed: true}
	cut := &trace.Trace{}
	gaveUp := &trace.Trace{Finished: trace.FinishGaveUp}
	broken := &trace.Trace{Completed: true, Error: &trace.Error{Type: "api", Message: "500"}}
	lenient, exit, strict := Success{}, Success{Exit: true}, Success{Completed: true, Exit: true}
	tests := []struct {
		name     string
		s        Success
		t        *trace.Trace
		exit     *int
		finished bool
		failure  string
	}{
		{"completed", strict, done, code(0), true, ""},
		{"completed, and then killed", strict, done, code(137), true, ""},
		{"cut off with a good exit code", strict, cut, code(0), false, "the session breaks off before its end (exit code 0)"},
		{"cut off by a signal", strict, cut, code(143), false, "the session breaks off before its end (exit code 143)"},
		{"gave up in order", strict, gaveUp, code(0), false, ""},
		{"gave up with a bad exit code", strict, gaveUp, code(1), false, "the agent failed (exit code 1)"},
		{"error with a good exit code", strict, broken, code(0), false, "the session ended in an error (api): 500"},
		{"lost trace, good exit code", strict, nil, code(0), false, ""},
		{"lost trace, bad exit code", strict, nil, code(1), false, "the agent failed (exit code 1)"},
		{"lost trace, unknown exit code", strict, nil, nil, false, ""},
		{"without traces", exit, nil, code(0), true, ""},
		{"without traces, failed", exit, nil, code(2), false, "the agent failed (exit code 2)"},
		{"gave up is an answer", lenient, cut, code(1), false, ""},
		{"lenient, completed", lenient, done, code(1), true, ""},
		{"lenient, error", lenient, broken, code(0), false, "the session ended in an error (api): 500"},
		{"lenient, no trace", lenient, nil, code(0), false, ""},
	}
	for _, tt := range tests {
		if got := tt.s.Finished(tt.t, tt.exit); got != tt.finished {
			t.Errorf("%s: finished %v", tt.name, got)
		}
		if got := tt.s.Failure(tt.t, tt.exit); got != tt.failure {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.failure)
		}
	}
}
