package gateway

import (
	"reflect"
	"strings"
	"testing"
)

func n64(n int64) *int64 { return &n }

const usageChunk = `data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,` +
	`"prompt_tokens_details":{"cached_tokens":200},"completion_tokens_details":{"reasoning_tokens":7}}}` + "\n\n"

var fullUsage = Usage{Input: n64(1000), Cached: n64(200), Output: n64(50), Reasoning: n64(7)}

func TestMeter(t *testing.T) {
	const text = `data: {"choices":[{"delta":{"content":"hi"}}]}` + "\n\n"
	const stop = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	const call = `data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c0","type":` +
		`"function","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n"
	const done = "data: [DONE]\n\n"
	cases := []struct {
		name              string
		json              bool
		in                string
		complete, content bool
		usage             Usage
		failure           string
	}{
		{name: "stream", in: text + stop + usageChunk + done, complete: true, content: true, usage: fullUsage},
		{name: "the least that works", in: call + done, complete: true, content: true},
		{name: "without end mark", in: call, complete: true, content: true},
		{name: "without line end", in: strings.TrimRight(text+stop+usageChunk, "\n"), complete: true, content: true, usage: fullUsage},
		{name: "CRLF and comments", in: strings.ReplaceAll(": ping\n\n"+text+stop+usageChunk+done, "\n", "\r\n"),
			complete: true, content: true, usage: fullUsage},
		{name: "no space after data", in: strings.ReplaceAll(text+stop+usageChunk, "data: ", "data:"),
			complete: true, content: true, usage: fullUsage},
		{name: "ended early", in: text + usageChunk, content: true, usage: fullUsage},
		{name: "nothing said", in: stop + done, complete: true},
		{name: "empty"},
		{name: "last usage counts", in: `data: {"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n" + text + stop + usageChunk,
			complete: true, content: true, usage: fullUsage},
		{name: "error within", in: text + `data: {"error":{"message":"over\nloaded","code":502}}` + "\n\n" + done,
			content: true, failure: "over\nloaded"},
		{name: "strange numbers", in: stop + `data: {"usage":{"prompt_tokens":-1,"completion_tokens":1.5}}` + "\n", complete: true},
		{name: "numbers as floats", in: stop + `data: {"usage":{"prompt_tokens":12.0,"completion_tokens":3e1}}` + "\n",
			complete: true, usage: Usage{Input: n64(12), Output: n64(30)}},
		{name: "mistyped member", in: stop + `data: {"choices":7,"usage":{"prompt_tokens":12,"completion_tokens":3}}` + "\n",
			complete: true, usage: Usage{Input: n64(12), Output: n64(3)}},
		{name: "garbage", in: "\x00\xff\ndata: {\ndata: []\ndata: [DONE\n"},
		{name: "a line too long", in: "data: " + strings.Repeat("x", maxMeterLine) + "\n" + text + stop, complete: true, content: true},
		{name: "whole", json: true, in: `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],` + usageChunk[len(`data: {"choices":[],`):],
			complete: true, content: true, usage: fullUsage},
		{name: "whole, cut", json: true, in: `{"choices":[{"message":{"content":"hi"}`},
		{name: "whole, silent", json: true, in: `{"choices":[{"message":{"content":null}}]}`, complete: true},
		{name: "whole, parts", json: true, in: `{"choices":[{"message":{"content":[{"type":"text"}]}}]}`, complete: true, content: true},
		{name: "whole, error", json: true, in: `{"error":"no"}`, failure: "no"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newMeter(modelCall{wire: WireChat}, !c.json)
			for _, piece := range pieces(c.in, 7) {
				_, _ = m.Write([]byte(piece))
			}
			if got := m.end(); got != c.complete {
				t.Errorf("complete = %v", got)
			}
			if m.content != c.content || m.failure != c.failure || !reflect.DeepEqual(m.usage, c.usage) {
				t.Errorf("content %v, failure %q, usage %+v", m.content, m.failure, m.usage)
			}
		})
	}
}

// FuzzMeter checks that the result does not depend on how the bytes come.
func FuzzMeter(f *testing.F) {
	f.Add([]byte(usageChunk+"data: [DONE]\n\n"), 3, true)
	f.Add([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1}}`), 1, false)
	f.Add([]byte("data: {\"error\":{\"message\":\"m\"}}\r\n\r\n:\ndata:"), 2, true)
	f.Fuzz(func(t *testing.T, in []byte, step int, stream bool) {
		if step < 1 {
			return
		}
		whole, split := newMeter(modelCall{wire: WireChat}, stream), newMeter(modelCall{wire: WireChat}, stream)
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
		if len(whole.buf) > maxMeterJSON {
			t.Fatalf("bounds are exceeded")
		}
	})
}
