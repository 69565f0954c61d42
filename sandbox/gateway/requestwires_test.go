package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestRequestsOfWires(t *testing.T) {
	cases := []struct {
		call            modelCall
		name, in, want  string
		stream          bool
		output, choices int64
	}{
		{call: modelCall{wire: WireResponses}, name: "plain", in: `{"model":"x","input":"hi","stream":true,"stream_options":{"a":1}}`,
			want: `{"model":"m","input":"hi","stream":true,"stream_options":{"a":1}}`, stream: true, choices: 1},
		{call: modelCall{wire: WireResponses}, name: "tools that run in the box",
			in: `{"tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"local_shell"},` +
				`{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}],"background":false,"max_output_tokens":5}`,
			want: `{"model":"m","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"local_shell"},` +
				`{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}],"background":false,"max_output_tokens":5}`,
			output: 5, choices: 1},
		{call: modelCall{wire: WireResponses}, name: "tools among the items",
			in:   `{"input":[{"type":"additional_tools","tools":[{"type":"custom","name":"exec"}]},{"role":"user","content":"x"}]}`,
			want: `{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"custom","name":"exec"}]},{"role":"user","content":"x"}]}`, choices: 1},
		{call: modelCall{wire: WireMessages}, name: "plain", in: `{"model":"x","max_tokens":32000,"stream":true,"system":[]}`,
			want: `{"model":"m","max_tokens":32000,"stream":true,"system":[]}`, stream: true, output: 32000, choices: 1},
		{call: modelCall{wire: WireMessages}, name: "tools", choices: 1,
			in:   `{"tools":[{"name":"Bash","input_schema":{}},{"type":"custom","name":"c"},{"type":"bash_20250124","name":"bash"}]}`,
			want: `{"model":"m","tools":[{"name":"Bash","input_schema":{}},{"type":"custom","name":"c"},{"type":"bash_20250124","name":"bash"}]}`},
		{call: modelCall{wire: WireGemini, stream: true}, name: "model in the body", in: `{"model":"models/x","contents":[]}`,
			want: `{"contents":[]}`, stream: true, choices: 1},
		{call: modelCall{wire: WireGemini}, name: "nothing", in: `{}`, want: `{}`, choices: 1},
		{call: modelCall{wire: WireGemini}, name: "bounds", choices: 3, output: 77,
			in:   `{"generationConfig":{"maxOutputTokens":77,"candidateCount":3},"tools":[{"functionDeclarations":[]}]}`,
			want: `{"generationConfig":{"maxOutputTokens":77,"candidateCount":3},"tools":[{"functionDeclarations":[]}]}`},
		{call: modelCall{wire: WireGemini}, name: "snakes", choices: 1, output: 77,
			in:   `{"generation_config":{"max_output_tokens":77},"tools":[{"function_declarations":[]}]}`,
			want: `{"generation_config":{"max_output_tokens":77},"tools":[{"function_declarations":[]}]}`},
		{call: modelCall{wire: WireChat}, name: "bounds", in: `{"max_tokens":3,"max_completion_tokens":9,"n":2,"service_tier":"flex"}`,
			want: `{"model":"m","max_tokens":3,"max_completion_tokens":9,"n":2,"service_tier":"flex"}`, output: 9, choices: 2},
		{call: modelCall{wire: WireChat}, name: "another wire's bound", in: `{"max_output_tokens":1}`,
			want: `{"model":"m","max_output_tokens":1}`, choices: 1},
		{call: modelCall{wire: WireResponses}, name: "another wire's bound", in: `{"max_tokens":1,"max_output_tokens":7}`,
			want: `{"model":"m","max_tokens":1,"max_output_tokens":7}`, output: 7, choices: 1},
		{call: modelCall{wire: WireMessages}, name: "another wire's bound", in: `{"max_completion_tokens":1}`,
			want: `{"model":"m","max_completion_tokens":1}`, choices: 1},
		{call: modelCall{wire: WireChat}, name: "bounds that are none", in: `{"max_tokens":-3,"n":"2"}`,
			want: `{"model":"m","max_tokens":-3,"n":"2"}`, choices: 1},
	}
	for _, c := range cases {
		t.Run(string(c.call.wire)+" "+c.name, func(t *testing.T) {
			req, err := newRequest(c.call, []byte(c.in), "m")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(req.reader())
			if err != nil || string(got) != c.want || int64(len(got)) != req.size {
				t.Errorf("got %s (size %d), %v; want %s", got, req.size, err, c.want)
			}
			if req.stream != c.stream || req.maxOutput != c.output || req.choices != c.choices {
				t.Errorf("stream %v, output %d, choices %d", req.stream, req.maxOutput, req.choices)
			}
		})
	}
}

func TestRequestsOfWiresRefused(t *testing.T) {
	deep := strings.Repeat(`{"type":"namespace","tools":[`, 6) + strings.Repeat(`]}`, 6)
	for _, c := range []struct {
		wire     Wire
		name, in string
	}{
		{WireResponses, "web search", `{"tools":[{"type":"web_search"}]}`},
		{WireResponses, "remote server", `{"tools":[{"type":"mcp","server_url":"http://192.0.2.1/"}]}`},
		{WireResponses, "code at the provider", `{"tools":[{"type":"code_interpreter"}]}`},
		{WireResponses, "hosted shell", `{"tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`},
		{WireResponses, "hidden in a group", `{"tools":[{"type":"namespace","tools":[{"type":"web_search"}]}]}`},
		{WireResponses, "hidden in an item", `{"input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}]}`},
		{WireResponses, "hidden in a list of items", `{ "input" : [ 7 , {"tools":[{"type":"mcp"}]} ] }`},
		{WireResponses, "hidden by case", `{"input":[{"TOOLS":[{"type":"mcp"}]}]}`},
		{WireResponses, "too deep", `{"tools":[` + deep + `]}`},
		{WireResponses, "background", `{"background":true}`},
		{WireMessages, "a dearer place", `{"inference_geo":"us"}`},
		{WireResponses, "earlier answer", `{"previous_response_id":"resp_1"}`},
		{WireResponses, "background text", `{"Background":"true"}`},
		{WireResponses, "stored prompt", `{"prompt":{"id":"pmpt_1"}}`},
		{WireResponses, "conversation", `{"conversation":"conv_1"}`},
		{WireResponses, "dearer service", `{"service_tier":"priority"}`},
		{WireResponses, "other case", `{"Input":[]}`},
		{WireResponses, "stream text", `{"stream":"yes"}`},
		{WireMessages, "web search", `{"tools":[{"type":"web_search_20250305","name":"web_search"}]}`},
		{WireMessages, "web fetch", `{"tools":[{"type":"web_fetch_20250910"}]}`},
		{WireMessages, "code at the provider", `{"tools":[{"type":"code_execution_20250825"}]}`},
		{WireMessages, "a beginning is not enough", `{"tools":[{"type":"custom_web_search"}]}`},
		{WireMessages, "remote servers", `{"mcp_servers":[]}`},
		{WireMessages, "container", `{"container":"c"}`},
		{WireMessages, "dearer service", `{"speed":"fast"}`},
		{WireMessages, "other case", `{"Model":"x"}`},
		{WireGemini, "search", `{"tools":[{"googleSearch":{}}]}`},
		{WireGemini, "search in snakes", `{"tools":[{"google_search":{}}]}`},
		{WireGemini, "page fetch", `{"tools":[{"functionDeclarations":[]},{"urlContext":{}}]}`},
		{WireGemini, "code at the provider", `{"tools":[{"codeExecution":{}}]}`},
		{WireGemini, "two spellings", `{"generationConfig":{},"generation_config":{}}`},
		{WireGemini, "cache of others", `{"cachedContent":"cachedContents/x"}`},
		{WireGemini, "cache in snakes", `{"cached_content":"cachedContents/x"}`},
		{WireGemini, "nested search", `{"generateContentRequest":{"tools":[{"googleSearch":{}}]}}`},
		{WireGemini, "nested text", `{"generateContentRequest":"x"}`},
		{WireGemini, "an array", `[]`},
	} {
		if _, err := newRequest(modelCall{wire: c.wire}, []byte(c.in), "m"); !errors.Is(err, errBadBody) {
			t.Errorf("%s, %s: got %v, want a refusal", c.wire, c.name, err)
		}
	}
}

// What is sent differs from what came in the model alone, and has ours.
func FuzzRequest(f *testing.F) {
	for i, w := range Wires() {
		f.Add([]byte(`{"model":"a","input":[{"tools":[{"type":"custom"}]}],"tools":null,"stream":true}`), i)
		for _, talk := range []agentTalk{talks()[w]} {
			f.Add([]byte(talk.body(tool(w, "bash", "command"), make([]heard, 1))), i)
		}
	}
	f.Add([]byte(`{"generateContentRequest":{"model":"a"}}`), 3)
	f.Fuzz(func(t *testing.T, in []byte, wire int) {
		w := Wires()[uint(wire)%4]
		req, err := newRequest(modelCall{wire: w}, in, "ours")
		if err != nil {
			return
		}
		sent, _ := io.ReadAll(req.reader())
		var before, after map[string]any
		if json.Unmarshal(in, &before) != nil || json.Unmarshal(sent, &after) != nil || int64(len(sent)) != req.size {
			t.Fatalf("%q became %q", in, sent)
		}
		if w == WireGemini {
			if _, there := after["model"]; there {
				t.Fatalf("%q became %q", in, sent)
			}
			if nested, ok := after["generateContentRequest"].(map[string]any); ok && nested["model"] != "models/ours" {
				t.Fatalf("%q became %q", in, sent)
			}
		} else if after["model"] != "ours" {
			t.Fatalf("%q became %q", in, sent)
		}
		for _, m := range []map[string]any{before, after} {
			for _, own := range []string{"model", "stream_options", "generateContentRequest"} {
				delete(m, own)
			}
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", in, sent)
		}
	})
}
