package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// heard is an answer as an agent takes it out of a stream.
type heard struct {
	text, thought, name, argument string
	free                          bool
	done                          bool
	usage                         Usage
}

// agentTalk is an agent's side of a wire: how it asks, given the turns so far,
// and what it hears.
type agentTalk struct {
	path string
	// body is a request with tools as given and the turns so far.
	body func(tools string, turns []heard) string
	hear func(t testing.TB, stream string) heard
}

// dataLines are the data of a stream's events.
func dataLines(stream string) []string {
	var out []string
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			out = append(out, data)
		}
	}
	return out
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func into(t testing.TB, data string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

func talks() map[Wire]agentTalk {
	return map[Wire]agentTalk{
		WireChat:      {"/v1/chat/completions", chatBody, hearChat},
		WireResponses: {"/v1/responses", responsesBody, hearResponses},
		WireMessages:  {"/v1/messages?beta=true", messagesBody, hearMessages},
		WireGemini:    {"/v1beta/models/any:streamGenerateContent?alt=sse", geminiBody, hearGemini},
	}
}

func chatBody(tools string, turns []heard) string {
	messages := []string{`{"role":"system","content":"s"}`, `{"role":"user","content":"do it"}`}
	for _, h := range turns {
		messages = append(messages, `{"role":"assistant","content":`+mustJSON(h.text)+`}`,
			`{"role":"tool","tool_call_id":"x","content":"ok"}`)
	}
	return `{"stream":true,"tools":[` + tools + `],"messages":[` + strings.Join(messages, ",") + `]}`
}

func hearChat(t testing.TB, stream string) heard {
	var h heard
	for _, data := range dataLines(stream) {
		var c wireCompletion
		into(t, data, &c)
		for _, ch := range c.Choices {
			if ch.Delta.Content != nil {
				h.text += *ch.Delta.Content
			}
			h.thought += ch.Delta.Reasoning
			h.done = h.done || ch.FinishReason != nil
			for _, call := range ch.Delta.ToolCalls {
				if call.Custom != nil {
					h.free, h.name, h.argument = true, h.name+call.Custom.Name, h.argument+call.Custom.Input
				} else {
					h.name, h.argument = h.name+call.Function.Name, h.argument+call.Function.Arguments
				}
			}
		}
		if u := c.Usage; u != nil {
			h.usage = Usage{Input: n64(int64(u.Prompt)), Cached: n64(int64(u.PromptDetails.Cached)),
				Output: n64(int64(u.Completion)), Reasoning: n64(int64(u.CompletionDetails.Reasoning))}
		}
	}
	return h
}

// responsesBody has the turns as Codex sends them: thought, text and call are
// items of their own.
func responsesBody(tools string, turns []heard) string {
	items := []string{`{"type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}`}
	if strings.HasPrefix(tools, "additional:") {
		items = append([]string{`{"type":"additional_tools","role":"developer","tools":[` + tools[len("additional:"):] + `]}`}, items...)
		tools = ""
	}
	for _, h := range turns {
		items = append(items, `{"type":"reasoning","summary":[]}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`,
			`{"type":"function_call","call_id":"x","name":`+mustJSON(h.name)+`,"arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"x","output":"ok"}`)
	}
	body := `{"stream":true,"store":false,"input":[` + strings.Join(items, ",") + `]`
	if tools != "" {
		body += `,"tools":[` + tools + `]`
	}
	return body + `}`
}

func hearResponses(t testing.TB, stream string) heard {
	var h heard
	var fromDeltas string
	for i, data := range dataLines(stream) {
		var e struct {
			Type     string
			Sequence int `json:"sequence_number"`
			Delta    string
			Item     struct{ Type, Name, Arguments, Input string }
			Response struct {
				Output []struct {
					Type    string
					Content []struct{ Text string }
					Summary []struct{ Text string }
				}
				Usage *struct {
					Input   int64 `json:"input_tokens"`
					Output  int64 `json:"output_tokens"`
					Details struct {
						Cached int64 `json:"cached_tokens"`
					} `json:"input_tokens_details"`
					Thought struct {
						Reasoning int64 `json:"reasoning_tokens"`
					} `json:"output_tokens_details"`
				}
			}
		}
		into(t, data, &e)
		if e.Sequence != i {
			t.Errorf("event %d has the number %d", i, e.Sequence)
		}
		switch e.Type {
		case "response.output_text.delta", "response.function_call_arguments.delta",
			"response.custom_tool_call_input.delta", "response.reasoning_summary_text.delta":
			fromDeltas += e.Delta
		case "response.output_item.done":
			if strings.HasSuffix(e.Item.Type, "tool_call") || e.Item.Type == "function_call" {
				h.name, h.free = e.Item.Name, e.Item.Type == "custom_tool_call"
				h.argument = e.Item.Arguments + e.Item.Input
			}
		case "response.completed":
			h.done = true
			for _, item := range e.Response.Output {
				for _, c := range item.Content {
					h.text += c.Text
				}
				for _, s := range item.Summary {
					h.thought += s.Text
				}
			}
			u := e.Response.Usage
			h.usage = Usage{Input: &u.Input, Cached: &u.Details.Cached, Output: &u.Output, Reasoning: &u.Thought.Reasoning}
		}
	}
	if h.done && fromDeltas != h.thought+h.text+h.argument {
		t.Errorf("deltas say %q, items %+v", fromDeltas, h)
	}
	return h
}

func messagesBody(tools string, turns []heard) string {
	messages := []string{`{"role":"system","content":"also this"}`, `{"role":"user","content":"do it"}`}
	for range turns {
		messages = append(messages, `{"role":"assistant","content":[{"type":"text","text":"x"}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}`)
	}
	return `{"stream":true,"max_tokens":100,"thinking":{"type":"adaptive"},"tools":[` + tools + `],"messages":[` +
		strings.Join(messages, ",") + `]}`
}

func hearMessages(t testing.TB, stream string) heard {
	var h heard
	var input, read, write int64
	for _, data := range dataLines(stream) {
		var e struct {
			Type    string
			Block   struct{ Type, Name string } `json:"content_block"`
			Message struct {
				Usage struct {
					Input int64 `json:"input_tokens"`
					Read  int64 `json:"cache_read_input_tokens"`
					Write int64 `json:"cache_creation_input_tokens"`
				}
			}
			Delta struct {
				Text, Thinking string
				Part           string `json:"partial_json"`
				Stop           string `json:"stop_reason"`
			}
			Usage struct {
				Output int64 `json:"output_tokens"`
			}
		}
		into(t, data, &e)
		h.text, h.thought, h.argument = h.text+e.Delta.Text, h.thought+e.Delta.Thinking, h.argument+e.Delta.Part
		h.name += e.Block.Name
		switch e.Type {
		case "message_start":
			input, read, write = e.Message.Usage.Input, e.Message.Usage.Read, e.Message.Usage.Write
		case "message_delta":
			if (e.Delta.Stop == "tool_use") != (h.name != "") {
				t.Errorf("stopped by %q", e.Delta.Stop)
			}
			h.usage = Usage{Input: n64(input + read + write), Cached: &read, CacheWrite: &write, Output: &e.Usage.Output}
		case "message_stop":
			h.done = true
		}
	}
	return h
}

func geminiBody(tools string, turns []heard) string {
	contents := []string{`{"role":"user","parts":[{"text":"do it"}]}`}
	for range turns {
		contents = append(contents, `{"role":"model","parts":[{"text":"x"}]}`,
			`{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"ok"}}}]}`)
	}
	return `{"tools":[{"functionDeclarations":[` + tools + `]}],"contents":[` + strings.Join(contents, ",") + `]}`
}

func hearGemini(t testing.TB, stream string) heard {
	var h heard
	for _, data := range dataLines(stream) {
		h.hearGemini(t, data)
	}
	return h
}

func (h *heard) hearGemini(t testing.TB, data string) {
	var e struct {
		Candidates []struct {
			Finish  string `json:"finishReason"`
			Content struct {
				Parts []struct {
					Text    string
					Thought bool
					Call    struct {
						Name string
						Args json.RawMessage
					} `json:"functionCall"`
				}
			}
		}
		Usage struct {
			Prompt     int64 `json:"promptTokenCount"`
			Cached     int64 `json:"cachedContentTokenCount"`
			Candidates int64 `json:"candidatesTokenCount"`
			Thoughts   int64 `json:"thoughtsTokenCount"`
		} `json:"usageMetadata"`
	}
	into(t, data, &e)
	for _, p := range e.Candidates[0].Content.Parts {
		if p.Thought {
			h.thought += p.Text
		} else {
			h.text += p.Text
		}
		h.name, h.argument = h.name+p.Call.Name, h.argument+string(p.Call.Args)
	}
	u := e.Usage
	h.usage = Usage{Input: &u.Prompt, Cached: &u.Cached, Output: n64(u.Candidates + u.Thoughts), Reasoning: &u.Thoughts}
	h.done = e.Candidates[0].Finish == "STOP"
}

// cli is an agent with the tools that its real one offers, as far as they
// matter here.
type cli struct {
	name  string
	wire  Wire
	tools string
	// first and edits are the tools that are called first and for edits; "" is
	// its shell.
	first, edits string
	last         string // the last call, or a text
	turns        int    // of solve
}

func tool(w Wire, name string, parameters ...string) string {
	properties := map[string]any{}
	for _, p := range parameters {
		properties[p] = map[string]string{"type": "string"}
	}
	schema := mustJSON(map[string]any{"type": "object", "properties": properties})
	switch w {
	case WireResponses:
		return fmt.Sprintf(`{"type":"function","name":%q,"parameters":%s}`, name, schema)
	case WireMessages:
		return fmt.Sprintf(`{"name":%q,"description":"d","input_schema":%s}`, name, schema)
	case WireGemini:
		return fmt.Sprintf(`{"name":%q,"parametersJsonSchema":%s}`, name, schema)
	}
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":%s}}`, name, schema)
}

func clis() []cli {
	freePatch := `{"type":"custom","name":"apply_patch","format":{"type":"grammar"}}`
	openCode := func(w Wire) string {
		return tool(w, "bash", "command", "timeout", "workdir") + "," + tool(w, "read", "filePath", "offset") + "," +
			tool(w, "edit", "filePath", "oldString", "newString", "replaceAll")
	}
	pi := tool(WireChat, "read", "path") + "," + tool(WireChat, "bash", "command", "timeout") + "," +
		tool(WireChat, "edit", "path", "edits")
	copilot := tool(WireResponses, "bash", "command", "description") + "," +
		tool(WireResponses, "edit", "path", "old_str", "new_str") + "," + tool(WireResponses, "task_complete", "summary")
	return []cli{
		{"copilot", WireResponses, copilot, "bash", "edit", "task_complete", 9},
		{"copilot gpt", WireChat, bashTool + "," + doneTool + `,{"type":"custom","custom":{"name":"apply_patch"}}`,
			"bash", "apply_patch", "task_complete", 9},
		{"claude", WireMessages, tool(WireMessages, "Bash", "command", "description") + "," +
			tool(WireMessages, "Read", "file_path") + "," +
			tool(WireMessages, "Edit", "file_path", "old_string", "new_string", "replace_all"), "Read", "Edit", "says", 9},
		{"codex", WireResponses, tool(WireResponses, "exec_command", "cmd", "yield_time_ms") + "," +
			tool(WireResponses, "write_stdin", "session_id"), "exec_command", "", "says", 5},
		{"codex gpt-5.5", WireResponses, tool(WireResponses, "exec_command", "cmd") + "," + freePatch +
			`,{"type":"namespace","name":"multi_agent_v1","tools":[` + tool(WireResponses, "spawn_agent", "task") + `]}`,
			"exec_command", "apply_patch", "says", 9},
		{"codex code mode", WireResponses, `additional:{"type":"namespace","name":"functions","tools":[` +
			`{"type":"custom","name":"exec"},` + tool(WireResponses, "wait", "cell_id") + `]}`, "exec_command", "", "says", 5},
		{"opencode chat", WireChat, openCode(WireChat), "read", "edit", "says", 9},
		{"opencode responses", WireResponses, openCode(WireResponses), "read", "edit", "says", 9},
		{"opencode messages", WireMessages, openCode(WireMessages), "read", "edit", "says", 9},
		{"pi", WireChat, pi, "read", "edit", "says", 9},
		{"gemini", WireGemini, tool(WireGemini, "run_shell_command", "command", "description", "dir_path") + "," +
			tool(WireGemini, "read_file", "file_path", "start_line") + "," +
			tool(WireGemini, "replace", "file_path", "instruction", "old_string", "new_string", "allow_multiple"),
			"read_file", "replace", "says", 9},
		{"mini", WireChat, tool(WireChat, "bash", "command"), "bash", "", "says", 5},
	}
}

// work is the folder of an agent that does as it is told.
type work struct {
	t    testing.TB
	file string
}

var written = regexp.MustCompile(`open\('solution.py','(wb|ab)'\).write\(base64.b64decode\('([^']*)'\)`)

// obey carries out a call.
func (w *work) obey(h heard) {
	if h.free {
		w.patch(h.argument)
		return
	}
	var args map[string]any
	into(w.t, h.argument, &args)
	text := func(names ...string) string {
		for _, n := range names {
			if s, ok := args[n].(string); ok {
				return s
			}
		}
		return ""
	}
	if list, ok := args["edits"].([]any); ok {
		one := list[0].(map[string]any)
		w.replace(one["oldText"].(string), one["newText"].(string))
	}
	if old := text("old_str", "old_string", "oldString"); old != "" {
		if text("path", "file_path", "filePath") != "/workspace/solution.py" {
			w.t.Errorf("edit of %v", args)
		}
		w.replace(old, text("new_str", "new_string", "newString"))
	}
	if m := written.FindStringSubmatch(text("command", "cmd")); m != nil {
		part, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			w.t.Fatal(err)
		}
		if m[1] == "wb" {
			w.file = ""
		}
		w.file += string(part)
	}
}

func (w *work) replace(old, text string) {
	if strings.Count(w.file, old) != 1 {
		w.t.Fatalf("%q stands %d times", old, strings.Count(w.file, old))
	}
	w.file = strings.Replace(w.file, old, text, 1)
}

// patch applies a patch with one hunk, strictly.
func (w *work) patch(text string) {
	body, ok := strings.CutPrefix(text, "*** Begin Patch\n*** Update File: solution.py\n@@\n")
	body, end := strings.CutSuffix(body, "*** End Patch\n")
	if !ok || !end {
		w.t.Fatalf("patch %q", text)
	}
	var old, now string
	for line := range strings.Lines(body) {
		switch line[0] {
		case '-':
			old += line[1:]
		case '+':
			now += line[1:]
		default:
			w.t.Fatalf("line %q", line)
		}
	}
	w.replace(old, now)
}
