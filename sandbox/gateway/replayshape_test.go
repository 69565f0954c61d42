package gateway

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

func shapeOf(t testing.TB, path, body string) *shape {
	t.Helper()
	at, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := readShape(at, modelOf(at, []byte(body)), []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return s
}

const geminiStream = "/models/m:streamGenerateContent?alt=sse"

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		want             []string
		texts            []string // of the conversation
	}{
		{"chat", "/chat/completions", `{"model":"m","stream":true,"temperature":0.5,
			"tools":[{"type":"function","function":{"name":"b"}},{"type":"custom","custom":{"name":"a"}}],
			"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"},{"type":"image_url","image_url":{}}]},
			{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"q7","type":"function","function":{"name":"b","arguments":"{\"x\":1}"}},
			{"id":"q8","type":"custom","custom":{"name":"a","input":"free"}}]},
			{"role":"tool","tool_call_id":"q8","content":"eight"},{"role":"tool","tool_call_id":"q7","content":[{"type":"text","text":"seven"}]}]}`,
			[]string{"POST /chat/completions, wire chat, model m, stream true", "tool offered: a", "tool offered: b",
				"system: text", "user: text", "user: image_url", "assistant: reasoning", "assistant: call b #1", "assistant: call a #2",
				"tool: result #2: text", "tool: result #1: text"},
			[]string{"s", "u", `{"type":"image_url","image_url":{}}`, "hm", `{"x":1}`, "free", "eight", "seven"}},
		{"responses", "/responses", `{"model":"m","instructions":"i","input":[
			{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"ns","tools":[{"type":"custom","name":"exec"}]}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"u"}]},
			{"type":"reasoning","summary":[],"encrypted_content":"zz"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},
			{"type":"function_call","call_id":"c1","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"out"},
			{"type":"custom_tool_call","call_id":"c2","name":"exec","input":"free"},
			{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"x"},{"type":"input_text","text":"y"}]}]}`,
			[]string{"POST /responses, wire responses, model m, stream false", "tool offered: exec", "system: text",
				"user: text", "item: reasoning", "assistant: text", "item: call shell #1", "item: result #1",
				"item: call exec #2", "item: result #2"},
			[]string{"i", "u", `{"type":"reasoning","summary":[],"encrypted_content":"zz"}`, "a", "{}", "out", "free", "xy"}},
		{"responses of a text", "/responses", `{"model":"m","input":"hello"}`,
			[]string{"POST /responses, wire responses, model m, stream false", "user: text"}, []string{"hello"}},
		{"messages", "/messages?beta=true", `{"model":"m","stream":true,"max_tokens":9,"tools":[{"name":"Bash","input_schema":{}}],
			"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"x"},
			{"type":"text","text":"a"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"bad"}]},{"type":"text","text":"go on"}]}]}`,
			[]string{"POST /messages?beta=true, wire messages, model m, stream true", "tool offered: Bash", "system: text", "user: text",
				"assistant: thinking", "assistant: text", "assistant: call Bash #1", "user: result #1", "user: text"},
			[]string{"s", "u", `{"type":"thinking","thinking":"t","signature":"x"}`, "a", `{"command":"ls"}`, "[error] bad", "go on"}},
		{"counting", "/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"u"}]}`,
			[]string{"POST /messages/count_tokens, wire messages, model m, stream false", "user: text"}, []string{"u"}},
		{"gemini", geminiStream, `{"systemInstruction":{"role":"user","parts":[{"text":"s"}]},
			"tools":[{"functionDeclarations":[{"name":"write"},{"name":"read"}]}],"generationConfig":{"temperature":1},
			"contents":[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"text":"t","thought":true},{"text":"a"},
			{"functionCall":{"id":"f-1","name":"read","args":{"p":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"f-1","name":"read","response":{"output":"ok"}}},
			{"inlineData":{"mimeType":"image/png","data":""}}]}]}`,
			[]string{"POST /models/…:streamGenerateContent?alt=sse, wire gemini, model m, stream true", "tool offered: read", "tool offered: write",
				"system: text", "user: text", "model: thinking", "model: text", "model: call read #1", "user: result #1 of read", "user: inlineData"},
			[]string{"s", "u", "t", "a", `{"p":1}`, `{"output":"ok"}`, `{"inlineData":{"mimeType":"image/png","data":""}}`}},
		{"gemini counting", "/models/m:countTokens", `{"generateContentRequest":{"model":"models/m","contents":[{"role":"user","parts":[{"text":"u"}]}]}}`,
			[]string{"POST /models/…:countTokens, wire gemini, model m, stream false", "user: text"}, []string{"u"}},
		{"no conversation", "/chat/completions", `{"model":["x"],"messages":7,"tools":{}}`,
			[]string{"POST /chat/completions, wire chat, model , stream false"}, nil},
	} {
		s := shapeOf(t, c.path, c.body)
		if got := s.lines(); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		var texts []string
		for _, item := range s.items {
			if item.kind != TextTool && item.kind != TextSettings {
				texts = append(texts, item.text)
			}
		}
		if !slices.Equal(texts, c.texts) {
			t.Errorf("%s: texts %q, want %q", c.name, texts, c.texts)
		}
	}
}

// Two requests fit by what they are made of, whatever they say.
func TestFitting(t *testing.T) {
	const base = `{"model":"m","tools":[{"name":"a"},{"name":"b"}],"messages":[{"role":"user","content":"u"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"a","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"r"}]}]}`
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	for name, c := range map[string]struct {
		path, body string
		fits       bool
	}{
		"other texts":            {"/messages", change(`"u"`, `"v"`, `"r"`, `"another result"`, `"input":{}`, `"input":{"k":1}`), true},
		"other ids":              {"/messages", change(`"x"`, `"y"`), true},
		"tools in another order": {"/messages", change(`{"name":"a"},{"name":"b"}`, `{"name":"b"},{"name":"a"}`), true},
		"other settings":         {"/messages", change(`"model":"m"`, `"model":"m","max_tokens":7`), true},
		"a text as a part":       {"/messages", change(`"content":"u"`, `"content":[{"type":"text","text":"u"}]`), true},
		"another model":          {"/messages", change(`"model":"m"`, `"model":"n"`), false},
		"as a stream":            {"/messages", change(`"model":"m"`, `"model":"m","stream":true`), false},
		"another address":        {"/messages/count_tokens", base, false},
		"another wire":           {"/chat/completions", base, false},
		"one tool more":          {"/messages", change(`{"name":"b"}`, `{"name":"b"},{"name":"c"}`), false},
		"another tool called":    {"/messages", change(`"id":"x","name":"a"`, `"id":"x","name":"b"`), false},
		"result of another call": {"/messages", change(`"tool_use_id":"x"`, `"tool_use_id":"y"`), false},
		"another role":           {"/messages", change(`{"role":"user","content":"u"}`, `{"role":"system","content":"u"}`), false},
		"a text more":            {"/messages", change(`"content":"u"`, `"content":[{"type":"text","text":"u"},{"type":"text","text":"v"}]`), false},
		"a picture for a text":   {"/messages", change(`"content":"u"`, `"content":[{"type":"image"}]`), false},
		"a message less":         {"/messages", base[:strings.LastIndex(base, `,{"role"`)] + "]}", false},
	} {
		a, b := shapeOf(t, "/messages", base), shapeOf(t, c.path, c.body)
		if fits := a.key() == b.key(); fits != c.fits {
			t.Errorf("%s: fits %v\n%s", name, fits, strings.Join(b.lines(), "\n"))
		}
	}
}

// Members of settings and tools are compared in no order.
func TestSettingsInAnyOrder(t *testing.T) {
	a := shapeOf(t, "/responses", `{"model":"m","input":"x","store":false,"metadata":{"a":1,"b":{"c":2,"d":"<>"}},"tools":[{"type":"function","name":"f"}]}`)
	b := shapeOf(t, "/responses", `{"metadata":{"b":{"d":"<>","c":2},"a":1},"store":false,"tools":[{"name":"f","type":"function"}],"input":"x","model":"m"}`)
	if !slices.Equal(a.items, b.items) {
		t.Errorf("%+v\n%+v", a.items, b.items)
	}
}

func TestShapeRefuses(t *testing.T) {
	many := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":""},`, maxShapeItems) + `{}]}`
	for name, c := range map[string][2]string{
		"no wire":   {"/embeddings", `{}`},
		"no object": {"/messages", `[]`},
		"no JSON":   {"/messages", `{"messages":`},
		"too much":  {"/messages", many},
	} {
		at, _ := url.Parse(c[0])
		if _, err := readShape(at, "m", []byte(c[1])); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Whatever is asked has a structure or an error, and fits itself; texts that
// differ in nothing but a call's id make no difference.
func FuzzShape(f *testing.F) {
	for w, talk := range talks() {
		path := strings.TrimPrefix(strings.TrimPrefix(talk.path, "/v1beta"), "/v1")
		f.Add(path, talk.body(tool(w, "bash", "command"), make([]heard, 2)))
	}
	f.Add("/responses", `{"input":[{"type":"x_call","call_id":"x"},{"tools":[{"tools":[{"function":{}}]}]},[],7,null,"t"]}`)
	f.Add("/chat/completions", `{"messages":[{"role":"\n","content":{"parts":[["x"]]},"tool_calls":[[1]],"tool_call_id":{}}],"tools":[1,[2],{"function":"x"}]}`)
	f.Add("/messages", `{"messages":[{"role":"user","content":`+strings.Repeat(`{"parts":`, 200)+`1`+strings.Repeat(`}`, 200)+`}]}`)
	f.Add(geminiStream, `{"contents":[{"parts":[{"functionCall":[]},{"functionResponse":"x"}]}],"generateContentRequest":{"generateContentRequest":{}}}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		at, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		s, err := readShape(at, "m", []byte(body))
		if err != nil {
			return
		}
		again, err := readShape(at, "m", []byte(body))
		if err != nil || !slices.Equal(s.items, again.items) || s.key() != again.key() {
			t.Fatalf("%+v, then %+v", s, again)
		}
		for _, line := range s.lines() {
			if strings.ContainsAny(line, "\n\r") || len(line) > 1000 {
				t.Fatalf("line %q", line)
			}
		}
		ids := 0
		for _, item := range s.items {
			if item.kind == TextTool {
				ids++
			}
		}
		if ids != len(s.tools) {
			t.Fatalf("%d definitions of %d tools", ids, len(s.tools))
		}
	})
}
