package gateway

import (
	"errors"
	"strings"
	"testing"
)

func TestSources(t *testing.T) {
	const data = `data:image/png;base64,iVBORw0KGgo=`
	for _, c := range []struct {
		wire    Wire
		in      string
		refused bool
	}{
		{WireChat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + data + `"}}]}]}`, false},
		{WireChat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://192.0.2.1/x"}}]}]}`, true},
		{WireChat, `{"messages":[{"content":[{"image_url":{"url":" H\u0054TP:\/\/192.0.2.1/x"}}]}]}`, true},
		{WireChat, `{"messages":[{"content":[{"type":"file","file":{"file_data":"https://192.0.2.1/x.pdf"}}]}]}`, true},
		{WireChat, `{"messages":[{"content":[{"type":"file","file":{"file_data":"JVBERi0xLjQK"}}]}]}`, false},
		{WireChat, `{"messages":[{"content":"see https://192.0.2.1/x"}]}`, false},
		{WireChat, `{"messages":[{"content":[{"image_url":"` + data + `"},{"Image_URL":"gs://bucket/x"}]}]}`, true},
		{WireResponses, `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"` + data + `"}]}]}`, false},
		{WireResponses, `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"http://192.0.2.1/x"}]}]}`, true},
		{WireResponses, `{"input":[{"type":"function_call_output","output":[{"type":"input_file","file_url":"http://192.0.2.1/x"}]}]}`, true},
		{WireResponses, `{"input":"http://192.0.2.1/x"}`, false},
		{WireMessages, `{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"aGk="}}]}]}`, false},
		{WireMessages, `{"messages":[{"content":[{"type":"document","source":{"type":"url","url":"http://192.0.2.1/x"}}]}]}`, true},
		{WireMessages, `{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"url":"http://192.0.2.1/"}}]}]}]}`, true},
		{WireMessages, `{"messages":[{"content":[{"type":"tool_use","name":"WebFetch","input":{"url":"http://192.0.2.1/"}}]}]}`, false},
		{WireGemini, `{"contents":[{"parts":[{"inlineData":{"data":"aGk="}}]}]}`, false},
		{WireGemini, `{"contents":[{"parts":[{"fileData":{"fileUri":"https://192.0.2.1/v"}}]}]}`, true},
		{WireGemini, `{"contents":[{"parts":[{"file_data":{"file_uri":"https://192.0.2.1/v"}}]}]}`, true},
		{WireGemini, `{"contents":[{"parts":[{"functionCall":{"args":{"url":"https://192.0.2.1/v"}}}]}]}`, false},
		{WireGemini, `{"generateContentRequest":{"contents":[{"parts":[{"fileData":{"fileUri":"https://192.0.2.1/v"}}]}]}}`, true},
		{WireChat, `{"messages":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, true},
	} {
		_, err := newRequest(modelCall{wire: c.wire}, []byte(c.in), "m")
		if errors.Is(err, errBadBody) != c.refused || err != nil && !c.refused {
			t.Errorf("%s: %v", c.in, err)
		}
	}
}

func TestIsLink(t *testing.T) {
	for in, want := range map[string]bool{
		`"http://x"`: true, `"\thttps://x"`: true, `"ht\ntp://x"`: true, `"file:///etc/passwd"`: true, `"x-y+z.1:a"`: true,
		`"data:,x"`: false, `"DATA:,x"`: false, `"abc"`: false, `""`: false, `7`: false, `null`: false, `{"a":"http:"}`: false,
		`"a/b:c"`: false, `":x"`: false,
		`"` + strings.Repeat("A", 300) + `:"`:                       false,
		`"https:` + strings.Repeat(`\u0041`, 100) + `"`:             true,
		`"https:` + strings.Repeat(`x`, 248) + `\ud83d\ude00` + `"`: true,
	} {
		if got := isLink([]byte(in)); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}
