package gateway

import (
	"reflect"
	"strings"
	"testing"
)

// Pieces of answers in the shapes that providers send.
const (
	responsesCall = "event: response.output_item.done\n" + `data: {"type":"response.output_item.done","item":{"type":` +
		`"function_call","call_id":"c0","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}` + "\n\n"
	responsesEnd = "event: response.completed\n" + `data: {"type":"response.completed","response":{"id":"r0","status":"completed",` +
		responsesUsage + `}}` + "\n\n"
	responsesUsage = `"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":200},` +
		`"output_tokens":50,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":1050}`

	messagesStart = "event: message_start\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message",` +
		`"role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1000,` +
		`"cache_creation_input_tokens":30,"cache_read_input_tokens":200,"output_tokens":1}}}` + "\n\n" +
		"event: ping\n" + `data: {"type":"ping"}` + "\n\n"
	messagesTool = "event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":` +
		`{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}` + "\n\n" +
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":` +
		`{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}}` + "\n\n"
	messagesThink = "event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":` +
		`{"type":"thinking","thinking":"","signature":""}}` + "\n\n" +
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":` +
		`{"type":"thinking_delta","thinking":"hm"}}` + "\n\n"
	messagesDelta = "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use",` +
		`"stop_sequence":null},"usage":{"output_tokens":50}}` + "\n\n"
	messagesStop = "event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
	messagesEnd  = messagesTool + messagesDelta + messagesStop

	geminiThought = `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true}]},"index":0}],` +
		`"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":3,"totalTokenCount":1003},"modelVersion":"g"}` + "\r\n\r\n"
	geminiEnd = `data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"run_shell_command",` +
		`"args":{"command":"ls"}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0}],"usageMetadata":` +
		geminiUsage + `,"modelVersion":"g","responseId":"x"}` + "\r\n\r\n"
	geminiUsage = `{"promptTokenCount":1000,"candidatesTokenCount":50,"thoughtsTokenCount":17,` +
		`"cachedContentTokenCount":200,"totalTokenCount":1067}`
)

func TestMeterOfWires(t *testing.T) {
	claude := Usage{Input: n64(1230), Cached: n64(200), CacheWrite: n64(30), Output: n64(50)}
	gemini := Usage{Input: n64(1000), Cached: n64(200), Output: n64(67), Reasoning: n64(17)}
	data := func(s string) string { return "data: " + s + "\n\n" }
	cases := []struct {
		wire              Wire
		name              string
		json              bool
		in                string
		complete, content bool
		usage             Usage
		failure           string
	}{
		{wire: WireResponses, name: "stream", in: responsesCall + responsesEnd, complete: true, content: true, usage: fullUsage},
		{wire: WireResponses, name: "items only at the end", complete: true, content: true, usage: fullUsage,
			in: data(`{"type":"response.completed","response":{"output":[{"type":"message","role":"assistant","content":` +
				`[{"type":"output_text","text":"hi"}]}],` + responsesUsage + `}}`)},
		{wire: WireResponses, name: "delta", in: data(`{"type":"response.output_text.delta","delta":"h"}`), content: true},
		{wire: WireResponses, name: "empty delta", in: data(`{"type":"response.output_text.delta","delta":""}`)},
		{wire: WireResponses, name: "thoughts only", complete: true, usage: fullUsage,
			in: data(`{"type":"response.reasoning_summary_text.delta","delta":"hm"}`) +
				data(`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"hm"}]}}`) + responsesEnd},
		{wire: WireResponses, name: "free text", in: data(`{"type":"response.output_item.done","item":{"type":"custom_tool_call",`+
			`"call_id":"c","name":"exec","input":"text(1)"}}`) + responsesEnd, complete: true, content: true, usage: fullUsage},
		{wire: WireResponses, name: "ended early", in: responsesCall, content: true},
		{wire: WireResponses, name: "the end mark of another wire", in: responsesCall + data("[DONE]"), content: true},
		{wire: WireResponses, name: "incomplete", complete: true, content: true, usage: fullUsage, in: responsesCall +
			data(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},`+
				responsesUsage+`}}`)},
		{wire: WireResponses, name: "failed", usage: fullUsage, failure: "overloaded", in: data(`{"type":"response.failed","response":` +
			`{"status":"failed","error":{"code":"server_error","message":"overloaded"},` + responsesUsage + `}}`)},
		{wire: WireResponses, name: "failed without words", failure: "the response failed",
			in: data(`{"type":"response.failed","response":{"status":"failed","error":null}}`)},
		{wire: WireResponses, name: "error event", failure: "slow down",
			in: data(`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`)},
		{wire: WireResponses, name: "error event of another form", failure: "no",
			in: data(`{"type":"error","error":{"type":"x","message":"no"}}`)},
		{wire: WireResponses, name: "whole", json: true, complete: true, content: true, usage: fullUsage,
			in: `{"id":"r","status":"completed","error":null,"output":[{"type":"function_call","name":"f"}],` + responsesUsage + `}`},
		{wire: WireResponses, name: "whole, failed", json: true, in: `{"status":"failed","error":{"message":"no"}}`, failure: "no"},

		{wire: WireMessages, name: "stream", in: messagesStart + messagesEnd, complete: true, content: true, usage: claude},
		{wire: WireMessages, name: "without the stop event", in: messagesStart + messagesTool + messagesDelta,
			complete: true, content: true, usage: claude},
		{wire: WireMessages, name: "cut in a block", in: messagesStart + messagesTool, content: true,
			usage: Usage{Input: n64(1230), Cached: n64(200), CacheWrite: n64(30)}},
		{wire: WireMessages, name: "thoughts only", in: messagesStart + messagesThink + messagesDelta + messagesStop,
			complete: true, usage: claude},
		{wire: WireMessages, name: "text", in: messagesStart + data(`{"type":"content_block_delta","index":0,"delta":`+
			`{"type":"text_delta","text":"hi"}}`) + messagesDelta + messagesStop, complete: true, content: true, usage: claude},
		{wire: WireMessages, name: "figures only at the end", complete: true, content: true, usage: claude,
			in: data(`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`) + messagesTool +
				data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1000,`+
					`"cache_creation_input_tokens":30,"cache_read_input_tokens":200,"output_tokens":50}}`)},
		{wire: WireMessages, name: "figures at both ends", complete: true, content: true, usage: claude,
			in: messagesStart + messagesTool + data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+
				`{"input_tokens":1000,"cache_creation_input_tokens":30,"cache_read_input_tokens":200,"output_tokens":50}}`)},
		{wire: WireMessages, name: "no cache told", complete: true, usage: Usage{Input: n64(7), Output: n64(2)},
			in: data(`{"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}`) +
				data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`)},
		{wire: WireMessages, name: "error event", failure: "Overloaded", usage: Usage{Input: n64(1230), Cached: n64(200), CacheWrite: n64(30)},
			in: messagesStart + "event: error\n" + data(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)},
		{wire: WireMessages, name: "whole", json: true, complete: true, content: true, usage: claude,
			in: `{"type":"message","content":[{"type":"tool_use","name":"Bash","input":{}}],"stop_reason":"tool_use","usage":` +
				`{"input_tokens":1000,"cache_creation_input_tokens":30,"cache_read_input_tokens":200,"output_tokens":50}}`},
		{wire: WireMessages, name: "whole, empty", json: true, complete: true,
			in: `{"type":"message","content":[{"type":"text","text":""}]}`},

		{wire: WireGemini, name: "stream", in: geminiThought + geminiEnd, complete: true, content: true, usage: gemini},
		{wire: WireGemini, name: "cut behind a thought", in: geminiThought, usage: Usage{Input: n64(1000)}},
		{wire: WireGemini, name: "zeros are left out", complete: true, content: true,
			usage: Usage{Input: n64(9), Cached: n64(0), Output: n64(2), Reasoning: n64(0)},
			in: data(`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":` +
				`{"promptTokenCount":9,"candidatesTokenCount":2,"totalTokenCount":11}}`)},
		{wire: WireGemini, name: "tools' input", complete: true,
			usage: Usage{Input: n64(15), Cached: n64(0), Output: n64(0), Reasoning: n64(0)},
			in:    data(`{"candidates":[{"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":9,"toolUsePromptTokenCount":6}}`)},
		{wire: WireGemini, name: "blocked", failure: "the prompt was blocked: SAFETY",
			usage: Usage{Input: n64(9), Cached: n64(0), Output: n64(0), Reasoning: n64(0)},
			in:    data(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}`)},
		{wire: WireGemini, name: "error within", failure: "overloaded",
			in: data(`{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`)},
		{wire: WireGemini, name: "whole", json: true, complete: true, content: true, usage: gemini,
			in: `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":` + geminiUsage + `}`},
		{wire: WireGemini, name: "stream as a list", json: true, complete: true, content: true, usage: gemini,
			in: "[" + strings.TrimSpace(geminiThought[6:]) + ",\r\n" + strings.TrimSpace(geminiEnd[6:]) + "]"},
		{wire: WireGemini, name: "list, cut", json: true, in: "[" + geminiThought[6:]},
	}
	for _, c := range cases {
		t.Run(string(c.wire)+" "+c.name, func(t *testing.T) {
			m := newMeter(modelCall{wire: c.wire}, !c.json)
			for _, piece := range pieces(c.in, 7) {
				_, _ = m.Write([]byte(piece))
			}
			if got := m.end(); got != c.complete {
				t.Errorf("complete = %v", got)
			}
			if m.content != c.content || m.failure != c.failure || !reflect.DeepEqual(m.usage, c.usage) {
				t.Errorf("content %v, failure %q, usage %s", m.content, m.failure, told(m.usage))
			}
		})
	}
}

// fuzzMeter checks that the result does not depend on how the bytes come, and
// that no figure is negative or output counted before the end is known.
func fuzzMeter(f *testing.F, w Wire) {
	f.Fuzz(func(t *testing.T, in []byte, step int, stream bool) {
		if step < 1 {
			return
		}
		whole, split := newMeter(modelCall{wire: w}, stream), newMeter(modelCall{wire: w}, stream)
		_, _ = whole.Write(in)
		for rest := in; len(rest) > 0; {
			n := min(step, len(rest))
			_, _ = split.Write(rest[:n])
			rest = rest[n:]
		}
		if whole.end() != split.end() || whole.content != split.content || whole.failure != split.failure ||
			!reflect.DeepEqual(whole.usage, split.usage) {
			t.Fatalf("%+v and %+v differ", whole, split)
		}
		for _, n := range []*int64{whole.usage.Input, whole.usage.Cached, whole.usage.CacheWrite,
			whole.usage.Output, whole.usage.Reasoning} {
			if value(n) < 0 || value(n) > 4*maxTokens {
				t.Fatalf("a figure of %d", *n)
			}
		}
		if len(whole.buf) > maxMeterJSON {
			t.Fatalf("bounds are exceeded")
		}
	})
}

func FuzzMeterResponses(f *testing.F) {
	f.Add([]byte(responsesCall+responsesEnd), 5, true)
	f.Add([]byte(`{"output":[{"type":"message","content":[{"text":"x"}]}],`+responsesUsage+`}`), 3, false)
	f.Add([]byte(`data: {"type":"error","message":"m"}`), 1, true)
	fuzzMeter(f, WireResponses)
}

func FuzzMeterMessages(f *testing.F) {
	f.Add([]byte(messagesStart+messagesThink+messagesEnd), 5, true)
	f.Add([]byte(`{"content":[{"type":"text","text":"x"}],"usage":{"input_tokens":1,"cache_read_input_tokens":2}}`), 3, false)
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"m\"}}\n\n"), 1, true)
	fuzzMeter(f, WireMessages)
}

func FuzzMeterGemini(f *testing.F) {
	f.Add([]byte(geminiThought+geminiEnd), 5, true)
	f.Add([]byte(`[{"candidates":[{"finishReason":"STOP"}],"usageMetadata":`+geminiUsage+`}]`), 3, false)
	f.Add([]byte(`{"promptFeedback":{"blockReason":"OTHER"}}`), 1, false)
	fuzzMeter(f, WireGemini)
}
