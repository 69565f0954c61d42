package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
)

func TestChatRequest(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"plain", `{"model":"agent","messages":[]}`, `{"model":"m","messages":[]}`},
		{"no model", `{"messages":[]}`, `{"model":"m","messages":[]}`},
		{"stream", `{"stream":true,"model":"x"}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"stream options kept", `{"stream_options":{"a":1},"stream":true}`,
			`{"model":"m","stream":true,"stream_options":{"a":1,"include_usage":true}}`},
		{"usage switched off", `{"stream_options":{"include_usage":false},"stream":true}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"stream options null", `{"stream_options":null,"stream":true}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"no stream, no options", `{"stream_options":{"include_usage":true},"stream":false}`, `{"model":"m","stream":false}`},
		{"spaces", " {\n \"a\" : [1, {\"b\":\"}\\\"\"}] , \"c\":-1.5e3 }\n", `{"model":"m","a" : [1, {"b":"}\""}],"c":-1.5e3}`},
		{"escaped name", `{"\u006dodel":"x"}`, `{"model":"m"}`},
		{"empty", `{}`, `{"model":"m"}`},
		{"tools", `{"tools":[{"type":"function"},{"type":"custom"}]}`, `{"model":"m","tools":[{"type":"function"},{"type":"custom"}]}`},
		{"no tools", `{"tools":null}`, `{"model":"m","tools":null}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req, err := newRequest(modelCall{wire: WireChat}, []byte(c.in), "m")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // as often as it is tried
				got, err := io.ReadAll(req.reader())
				if err != nil || string(got) != c.want || int64(len(got)) != req.size {
					t.Fatalf("got %s (size %d), %v; want %s", got, req.size, err, c.want)
				}
			}
		})
	}
}

func TestChatRequestRefused(t *testing.T) {
	many := `{"k":1`
	for i := range maxMembers {
		many += fmt.Sprintf(`,"k%d":1`, i)
	}
	for name, in := range map[string]string{
		"nothing":      "",
		"no JSON":      "{",
		"an array":     "[]",
		"a number":     " 7",
		"twice":        `{"model":"a","model":"b"}`,
		"case":         `{"model":"a","MODEL":"b"}`,
		"escape":       `{"model":"a","mod\u0065l":"b"}`,
		"stream text":  `{"stream":"yes"}`,
		"options text": `{"stream":true,"stream_options":"x"}`,
		"many members": many + "}",
		"other case":   `{"Model":"b"}`,
		"zero byte":    `{"model\u0000":"b"}`,
		"no name":      `{"":"b"}`,
		"not a letter": `{"mod\u00e9l":"b"}`,
		"fallback":     `{"models":["a","b"]}`,
		"address":      `{"API_base":"http://192.0.2.1/"}`,
		"web plug-in":  `{"plugins":[{"id":"web"}]}`,
		"web search":   `{"tools":[{"type":"function","function":{}},{"type":"web_search"}]}`,
		"hidden type":  `{"tools":[{"type":"function","\u0074ype":"web_search"}]}`,
		"tools number": `{"tools":7}`,
		"tool number":  `{"tools":[7]}`,
	} {
		if _, err := newRequest(modelCall{wire: WireChat}, []byte(in), "m"); !errors.Is(err, errBadBody) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

func FuzzChatRequest(f *testing.F) {
	for _, s := range []string{
		`{"model":"a","messages":[{"role":"user","content":"x"}],"stream":true}`,
		`{"a":"\\\"","b":{"c":[[]]}, "d" :null}`, `{}`, `{"stream":true,"stream_options":{}}`, " {\"\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		req, err := newRequest(modelCall{wire: WireChat}, in, "the model")
		if err != nil {
			return
		}
		sent, _ := io.ReadAll(req.reader())
		var before, after map[string]any
		if err := json.Unmarshal(sent, &after); err != nil {
			t.Fatalf("%q became %q: %v", in, sent, err)
		}
		if err := json.Unmarshal(in, &before); err != nil {
			t.Fatalf("%q was taken: %v", in, err)
		}
		if after["model"] != "the model" {
			t.Fatalf("%q became %q", in, sent)
		}
		for _, m := range []map[string]any{before, after} {
			delete(m, "model")
			delete(m, "stream_options")
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", in, sent)
		}
	})
}
