package runner

import (
	"errors"
	"testing"

	"cabra-run/results"
	"cabra-run/results/trace"
	"cabra-run/runner/agent"
)

func intPtr(n int) *int { return &n }

// The order of precedence is the one of the design, section 7.
func TestJudge(t *testing.T) {
	done := &trace.Trace{Completed: true}
	unfinished := &trace.Trace{}
	broken := &trace.Trace{Error: &trace.Error{Type: "query", Message: "boom"}}
	strict := agent.Success{Completed: true, Exit: true}
	failure := &providerFailure{Status: 500, Message: "overloaded"}
	tests := []struct {
		name      string
		e         evidence
		want      results.Outcome
		limit     string
		unchanged bool
	}{
		{"answered", evidence{Answers: 2, Trace: done, HasSolution: true, ExitCode: intPtr(0)}, results.Answered, "", false},
		{"answered, exit code does not matter", evidence{Answers: 2, Trace: done, HasSolution: true, ExitCode: intPtr(1)}, results.Answered, "", false},
		{"gave up without completing is an answer", evidence{Answers: 7, Trace: unfinished, HasSolution: true}, results.Answered, "", false},
		{"a lost trace does not void paid work", evidence{Answers: 2, HasSolution: true}, results.Answered, "", false},
		{"asks no model", evidence{NoModel: true, Success: strict, HasSolution: true, Unchanged: true, ExitCode: intPtr(0)}, results.Answered, "", true},
		{"asks no model and failed", evidence{NoModel: true, Success: strict, HasSolution: true, ExitCode: intPtr(1)}, results.AgentError, "", false},
		{"breaks off, where a finished trace is needed", evidence{Answers: 2, Success: strict, Trace: unfinished, HasSolution: true, ExitCode: intPtr(0)}, results.AgentError, "", false},
		{"bad exit code after the finished work", evidence{Answers: 2, Success: strict, Trace: done, HasSolution: true, ExitCode: intPtr(143)}, results.Answered, "", false},
		{"a limit beside the finished work of an agent without traces", evidence{Answers: 2, Success: agent.Success{Exit: true}, LimitHit: LimitMemory, HasSolution: true, ExitCode: intPtr(0)}, results.Answered, "", false},
		{"unchanged", evidence{Answers: 2, Trace: done, HasSolution: true, Unchanged: true}, results.Answered, "", true},
		{"exit 0 without any answer", evidence{Trace: unfinished, HasSolution: true, Unchanged: true, ExitCode: intPtr(0)}, results.AgentError, "", true},
		{"own error at the end", evidence{Answers: 1, Trace: broken, HasSolution: true}, results.AgentError, "", false},
		{"solution removed", evidence{Answers: 3, Trace: done}, results.NoOutput, "", false},
		{"provider failed", evidence{Failure: failure, Trace: broken, HasSolution: true, Unchanged: true}, results.ProviderError, "", false},
		{"provider failed before the time-out", evidence{Ended: endedTimeout, Failure: failure, HasSolution: true}, results.ProviderError, "", false},
		{"a request beside the finished work failed", evidence{Failure: failure, Answers: 4, Trace: done, HasSolution: true}, results.Answered, "", false},
		{"time-out", evidence{Ended: endedTimeout, Detail: "slow", Answers: 9, Trace: unfinished, HasSolution: true}, results.Timeout, "", false},
		{"stall", evidence{Ended: endedStalled, Detail: "quiet", HasSolution: true, Unchanged: true}, results.Stalled, "", true},
		{"disk", evidence{Ended: endedLimit, LimitHit: LimitDisk, Answers: 2}, results.Limit, LimitDisk, false},
		{"memory ended the agent", evidence{LimitHit: LimitMemory, Answers: 2, HasSolution: true, ExitCode: intPtr(137)}, results.Limit, LimitMemory, false},
		{"memory ended only a command", evidence{LimitHit: LimitMemory, Answers: 5, Trace: done, HasSolution: true}, results.Answered, "", false},
		{"engine fault before all of the agent's", evidence{Fault: errors.New("gone"), Failure: failure, LimitHit: LimitMemory}, results.InfraError, "", false},
		{"cancelled before everything", evidence{Ended: endedCancelled, Fault: errors.New("gone"), Answers: 3, HasSolution: true}, results.Cancelled, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := judge(tt.e)
			if got.Outcome != tt.want || got.LimitHit != tt.limit || got.Unchanged != tt.unchanged {
				t.Errorf("got %+v, want %s limit %q unchanged %v", got, tt.want, tt.limit, tt.unchanged)
			}
			if got.Outcome != results.Answered && got.Reason == "" {
				t.Error("no reason given")
			}
		})
	}
}
