package trace

import (
	"strings"
	"testing"
	"time"
)

func unixTime(s int64) time.Time { return time.Unix(s, 0) }

// readLines reads a text as the session file of a format.
func readLines(t *testing.T, format string, lines ...string) *Trace {
	t.Helper()
	name := map[string]string{"claude": claudeDir + "x.jsonl", "codex": codexFile, "pi": piFile, "gemini": geminiFile,
		"mini": miniFile, "copilot": copilotDir + "events.jsonl"}[format]
	dir := t.TempDir()
	writeFile(t, dir+"/"+name, []byte(strings.Join(lines, "\n")+"\n"))
	return mustRead(t, format, openRoot(t, dir), Hint{})
}

// What a changed CLI may write gives a problem that names the version that is
// known.
func TestFormatChanges(t *testing.T) {
	tests := []struct {
		name, format string
		lines        []string
		want         string
	}{
		{"copilot version", "copilot", []string{`{"type":"session.start","data":{"copilotVersion":"2.0.0"}}`},
			`the session was written by version "2.0.0"; the format that is known is that of copilot 1.0.7x to 1.0.81`},
		{"copilot words", "copilot", []string{`{"kind":"session.start"}`}, "nothing in the session file is understood; "},
		{"copilot tool name", "copilot", []string{`{"type":"tool.execution_start","data":{"toolCallId":"c","tool":"bash"}}`}, "without toolName"},
		{"claude version", "claude", []string{`{"type":"user","version":"3.0.1","message":{"content":"hi"}}`},
			`the session was written by version "3.0.1"; the format that is known is that of claude 2.1.197 to 2.1.332`},
		{"claude no version", "claude", []string{`{"type":"user","message":{"content":"hi"}}`}, "a line of the session without version"},
		{"claude message id", "claude", []string{`{"type":"assistant","version":"2.1.5","message":{"content":[]}}`}, "an assistant message without id"},
		{"claude content", "claude", []string{`{"type":"assistant","version":"2.1.5","message":{"id":"m","content":{}}}`}, "whose content is no list"},
		{"claude tool name", "claude", []string{`{"type":"assistant","version":"2.1.5","message":{"id":"m","content":[{"type":"tool_use","tool":"Bash"}]}}`},
			"a tool_use without id and name"},
		{"codex version", "codex", []string{`{"type":"session_meta","payload":{"id":"x","cli_version":"0.200.0"}}`},
			`the session was written by version "0.200.0"; the format that is known is that of codex 0.171.0`},
		{"codex call", "codex", []string{`{"type":"response_item","payload":{"type":"function_call","id":"c","name":"x"}}`}, "function_call without call_id and name"},
		{"codex usage", "codex", []string{`{"type":"token_usage_record","payload":{"tokens":{}}}`}, "token_usage_record without usage"},
		{"pi session", "pi", []string{`{"type":"session","version":4}`}, "session version 4; the format that is known is that of pi 0.73.1 (session version 3)"},
		{"pi stop", "pi", []string{`{"type":"message","message":{"role":"assistant","content":[]}}`}, "an assistant message without stopReason"},
		{"gemini type", "gemini", []string{`{"id":"a","role":"model"}`}, "a message without type"},
		{"gemini call", "gemini", []string{`{"id":"a","type":"gemini","toolCalls":[{"tool":"x"}]}`}, "a toolCall without id and name"},
		{"mini version", "mini", []string{`{"info":{"mini_version":"3.0.0"},"messages":[{"role":"system"}]}`},
			`the session was written by version "3.0.0"; the format that is known is that of mini 2.4.6 (mini-swe-agent-1.1)`},
		{"mini format", "mini", []string{`{"info":{"mini_version":"2.9.0"},"trajectory_format":"mini-swe-agent-2"}`}, `the trajectory has the format "mini-swe-agent-2"`},
		{"mini role", "mini", []string{`{"info":{"mini_version":"2.9.0"},"messages":[{"kind":"system"}]}`}, "a message without role"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := readLines(t, tt.format, tt.lines...)
			if got := tr.FormatChanged(); !strings.Contains(got, tt.want) || !strings.Contains(got, "the format that is known is that of "+tt.format) {
				t.Errorf("format changed: %q, want %q; problems %v", got, tt.want, tr.Problems)
			}
			if tr.Completed {
				t.Error("completed")
			}
		})
	}
}

func TestGeminiLog(t *testing.T) {
	const head = `{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00Z","kind":"main"}`
	msg := func(id, text string) string {
		return `{"id":"` + id + `","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"` + text + `","tokens":{"input":10,"output":1}}`
	}
	user := `{"id":"u","timestamp":"2026-01-01T00:00:01Z","type":"user","content":[{"text":"go"}]}`
	tests := []struct {
		name  string
		lines []string
		turns int
		texts string
		want  Finish
	}{
		{"the last line of an id holds", []string{head, user, msg("a", "one"), msg("b", "two"), msg("a", "three")}, 2, "three|two", FinishCompleted},
		{"a rewind takes the end away, not what was done", []string{head, user, msg("a", "one"), msg("b", "two"), `{"$rewindTo":"a"}`}, 2, "one|two", FinishMidAir},
		{"a rewind to nowhere", []string{head, msg("a", "one"), `{"$rewindTo":"x"}`}, 1, "one", FinishMidAir},
		{"on after a rewind", []string{head, user, msg("a", "one"), `{"$rewindTo":"a"}`, msg("c", "two")}, 2, "one|two", FinishCompleted},
		{"a patch replaces", []string{head, user, msg("a", "one"), `{"$set":{"messages":[` + user + `]}}`}, 1, "one", FinishMidAir},
		{"a patch brings", []string{head, `{"$set":{"messages":[` + user + "," + msg("a", "one") + `]}}`}, 1, "one", FinishCompleted},
		{"a patch of something else", []string{head, msg("a", "one"), `{"$set":{"lastUpdated":"x"}}`}, 1, "one", FinishCompleted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := readLines(t, "gemini", tt.lines...)
			var texts []string
			for _, p := range tr.Texts {
				texts = append(texts, p.Text)
			}
			if tr.Turns != tt.turns || strings.Join(texts, "|") != tt.texts || tr.Finished != tt.want || len(tr.Problems) != 0 {
				t.Errorf("%d turns, %q, finished %q, problems %v", tr.Turns, texts, tr.Finished, tr.Problems)
			}
		})
	}
}

// A tool that runs when the agent is killed stands on the standard output alone.
func TestGeminiKilledInTool(t *testing.T) {
	root := home(t, one(geminiFile, "gemini/session-killed-in-tool.jsonl"))
	file := t.TempDir() + "/stdout"
	writeFile(t, file, []byte(`{"type":"init","session_id":"2d0044bf-caf8-4429-95e5-d1424b118e7f","model":"gemini-2.5-pro"}
{"type":"tool_use","timestamp":"2026-11-29T19:39:57.800Z","tool_name":"run_shell_command","tool_id":"c","parameters":{"command":"sleep 300"}}
`))
	tr := mustRead(t, "gemini", root, Hint{Stdout: file})
	if len(tr.Calls) != 1 || tr.Calls[0].Done || tr.Calls[0].Tool != "run_shell_command" || tr.Finished != FinishMidAir {
		t.Errorf("%+v", tr)
	}
}

// An answer that broke off leaves its calls in pi's file; nobody made them.
func TestPiCallsOfFailedAnswers(t *testing.T) {
	tr := readLines(t, "pi",
		`{"type":"session","version":3,"id":"s"}`,
		`{"type":"message","message":{"role":"assistant","stopReason":"error","errorMessage":"terminated","usage":{"input":0},"content":[{"type":"text","text":"Edit 1."},{"type":"toolCall","id":"c","name":"edit","arguments":{}}]}}`)
	if len(tr.Calls) != 0 || tr.Turns != 0 || tr.Finished != FinishError {
		t.Errorf("%d calls, %d turns, %q", len(tr.Calls), tr.Turns, tr.Finished)
	}
}

// It stops itself when it sees itself in a loop, and calls that a success.
func TestGeminiStoppedByItself(t *testing.T) {
	root := home(t, one(geminiFile, "gemini/session-tools.jsonl"))
	file := t.TempDir() + "/stdout"
	writeFile(t, file, []byte(`{"type":"init","session_id":"2d0044bf-caf8-4429-95e5-d1424b118e7f","model":"gemini-2.5-pro"}
{"type":"error","timestamp":"2026-11-30T08:13:25.568Z","severity":"warning","message":"Loop detected, stopping execution"}
{"type":"result","timestamp":"2026-11-30T08:13:25.582Z","status":"success","stats":{"tool_calls":6}}
`))
	tr := mustRead(t, "gemini", root, Hint{Stdout: file})
	if tr.Finished != FinishGaveUp || tr.Completed || tr.Error != nil || tr.Shutdown != "Loop detected, stopping execution" {
		t.Errorf("%q, completed %v, %+v, %q", tr.Finished, tr.Completed, tr.Error, tr.Shutdown)
	}
}

func TestGeminiExitCode(t *testing.T) {
	tests := []struct {
		text string
		want int // -99 for none
	}{
		{"<untrusted_context>\nOutput: a\nProcess Group PGID: 31\n</untrusted_context>", 0},
		{"<untrusted_context>\nOutput: a\nExit Code: 3\nProcess Group PGID: 35\n</untrusted_context>", 3},
		{"<untrusted_context>\nOutput: a\nExit Code: 9\nb\nExit Code: 3\nProcess Group PGID: 35\n</untrusted_context>", 3},
		{"<untrusted_context>\nOutput: a\nSignal: 9\nProcess Group PGID: 35\n</untrusted_context>", -99},
		{"Command moved to background", -99},
	}
	for _, tt := range tests {
		got := geminiExitCode(tt.text)
		if got == nil && tt.want != -99 || got != nil && *got != tt.want {
			t.Errorf("%q: %v", tt.text, got)
		}
	}
}

// Claude's sub-agents write files of their own, and may reuse ids of calls.
func TestClaudeSubagents(t *testing.T) {
	const common = `"sessionId":"s","version":"2.1.332","timestamp":"2026-01-01T00:00:0`
	main := `{"type":"assistant",` + common + `0Z","message":{"id":"m1","model":"x","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"Agent","input":{}}],"usage":{"input_tokens":1,"output_tokens":1}}}
{"type":"user",` + common + `3Z","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}
{"type":"assistant",` + common + `4Z","message":{"id":"m3","model":"x","stop_reason":"end_turn","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":4,"output_tokens":1}}}
`
	sub := `{"type":"assistant","isSidechain":true,` + common + `1Z","message":{"id":"m2","model":"y","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":2,"output_tokens":1}}}
{"type":"user","isSidechain":true,` + common + `2Z","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"Exit code 2","is_error":true}]}}
`
	for _, at := range []string{"s/subagents/agent-a7.jsonl", "agent-a7.jsonl"} {
		dir := t.TempDir()
		writeFile(t, dir+"/"+claudeDir+"s.jsonl", []byte(main))
		writeFile(t, dir+"/"+claudeDir+at, []byte(sub))
		tr := mustRead(t, "claude", openRoot(t, dir), Hint{SessionID: "s"})
		if tr.Turns != 3 || len(tr.Calls) != 2 || len(tr.Usage) != 3 || !tr.Completed || tr.Model != "x" || len(tr.Problems) != 0 {
			t.Fatalf("%s: %+v", at, tr)
		}
		if c := tr.Calls[1]; c.AgentID != "a7" || c.Tool != "Bash" || *c.ExitCode != 2 || c.Duration != time.Second {
			t.Errorf("%s: %+v", at, c)
		}
		if c := tr.Calls[0]; c.AgentID != "" || !c.Success || c.Result != "ok" || c.Duration != 3*time.Second {
			t.Errorf("%s: %+v", at, c)
		}
	}
}

func TestEnds(t *testing.T) {
	const claude = `{"type":"assistant","version":"2.1.5","message":{"id":"m","content":[],"stop_reason":"end_turn"}}`
	mini := func(status string) string {
		return `{"info":{"mini_version":"2.4.6","exit_status":"` + status + `"},"messages":[{"role":"system"}]}`
	}
	pi := func(stop string) string {
		return `{"type":"message","message":{"role":"assistant","content":[],"stopReason":"` + stop + `"}}`
	}
	codex := func(payload string) string { return `{"type":"event_msg","payload":` + payload + `}` }
	tests := []struct {
		name, format string
		lines        []string
		want         Finish
	}{
		{"claude stopped by itself", "claude", []string{claude}, FinishCompleted},
		{"claude error behind an answer", "claude", []string{claude,
			`{"type":"assistant","version":"2.1.5","isApiErrorMessage":true,"apiErrorStatus":401,"message":{"content":[{"type":"text","text":"no"}]}}`}, FinishError},
		{"claude answer behind an error", "claude", []string{
			`{"type":"assistant","version":"2.1.5","isApiErrorMessage":true,"message":{"content":[]}}`, claude}, FinishCompleted},
		{"claude interrupted", "claude", []string{claude,
			`{"type":"user","version":"2.1.5","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`}, FinishAborted},
		{"claude length", "claude", []string{strings.Replace(claude, "end_turn", "max_tokens", 1)}, FinishMidAir},
		{"codex done", "codex", []string{codex(`{"type":"task_complete"}`)}, FinishCompleted},
		{"codex error", "codex", []string{codex(`{"type":"task_complete","error":{"message":"m","codex_error_info":{"http_connection_failed":{"http_status_code":401}}}}`)}, FinishError},
		{"codex strange error", "codex", []string{codex(`{"type":"task_complete","error":7}`)}, FinishError},
		{"codex no error", "codex", []string{codex(`{"type":"task_complete","error":null}`)}, FinishCompleted},
		{"codex interrupted", "codex", []string{codex(`{"type":"turn_aborted","reason":"interrupted"}`)}, FinishAborted},
		{"codex another task", "codex", []string{codex(`{"type":"task_complete"}`), codex(`{"type":"task_started"}`)}, FinishMidAir},
		{"pi done", "pi", []string{pi("stop")}, FinishCompleted},
		{"pi length", "pi", []string{pi("length")}, FinishGaveUp},
		{"pi aborted", "pi", []string{pi("aborted")}, FinishAborted},
		{"pi error", "pi", []string{pi("error")}, FinishError},
		{"pi on after an error", "pi", []string{pi("error"), pi("stop")}, FinishCompleted},
		{"pi in a call", "pi", []string{pi("toolUse")}, FinishMidAir},
		{"mini limits", "mini", []string{mini("LimitsExceeded")}, FinishGaveUp},
		{"mini time", "mini", []string{mini("TimeExceeded")}, FinishGaveUp},
		{"mini submitted", "mini", []string{mini("Submitted")}, FinishCompleted},
		{"mini format errors", "mini", []string{mini("RepeatedFormatError")}, FinishError},
		{"mini interrupted", "mini", []string{mini("UserInterruption")}, FinishAborted},
		{"mini running", "mini", []string{mini("")}, FinishMidAir},
		{"copilot shut down", "copilot", []string{`{"type":"session.shutdown","data":{}}`, `{"type":"session.shutdown","data":{"shutdownType":"routine"}}`}, FinishGaveUp},
		{"copilot aborted", "copilot", []string{`{"type":"abort","data":{"reason":"user_initiated"}}`, `{"type":"session.shutdown","data":{"shutdownType":"routine"}}`}, FinishAborted},
		{"copilot killed", "copilot", []string{`{"type":"assistant.message","data":{}}`}, FinishMidAir},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tr := readLines(t, tt.format, tt.lines...); tr.Finished != tt.want {
				t.Errorf("finished %q, want %q; %+v", tr.Finished, tt.want, tr)
			}
		})
	}
	tr := readLines(t, "codex", codex(`{"type":"task_complete","error":{"message":"m","codex_error_info":{"http_connection_failed":{"http_status_code":401}}}}`))
	if tr.Error.Type != "http_connection_failed" || tr.Error.Status != 401 || tr.Error.Message != "m" {
		t.Errorf("%+v", tr.Error)
	}
}

// Half a trajectory is read as far as it goes.
func TestMiniCut(t *testing.T) {
	whole := string(testFile(t, "mini/submitted.traj.json"))
	tr := readLines(t, "mini", whole[:strings.Index(whole, "call_2_0")])
	if tr.Turns != 2 || len(tr.Calls) != 2 || len(tr.Problems) != 1 || tr.Version != "2.4.6" {
		t.Errorf("%d turns, %d calls, problems %v", tr.Turns, len(tr.Calls), tr.Problems)
	}
}

// Counts that are no counts are unknown, never zero.
func TestOddFigures(t *testing.T) {
	tr := readLines(t, "codex", `{"type":"token_usage_record","payload":{"usage":{"input_tokens":-1,"output_tokens":1e300,"cached_input_tokens":3}}}`,
		`{"type":"token_usage_record","payload":{"usage":{"input_tokens":5,"output_tokens":1.9}}}`)
	if len(tr.Usage) != 1 || *tr.Usage[0].Input != 5 || *tr.Usage[0].Output != 1 || tr.Usage[0].Cached != nil {
		t.Errorf("%+v", tr.Usage)
	}
}

// Many small blocks of one message must not cost more than their size.
func TestManyBlocks(t *testing.T) {
	line := `{"type":"assistant","version":"2.1.5","message":{"id":"m","content":[` + strings.Repeat(`{"type":"text","text":"x"},`, 200000)
	tr := readLines(t, "claude", line[:len(line)-1]+"]}}")
	if len(tr.Texts) != 1 || len(tr.Texts[0].Text) > MaxResult+1 {
		t.Errorf("%d texts of %d bytes", len(tr.Texts), len(tr.Texts[0].Text))
	}
}
