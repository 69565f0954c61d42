package gateway

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
)

// Every CLI's tools lead to the reference through a session, in every wire,
// and what the gateway meters is what the answers told.
func TestSolveInEveryWire(t *testing.T) {
	for _, c := range clis() {
		t.Run(c.name, func(t *testing.T) {
			up, err := NewScripted("solve")
			if err != nil {
				t.Fatal(err)
			}
			script := testScript(t)
			b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: script}, overTCP(t))
			folder := &work{t: t, file: script.Starter}
			talk := talks()[c.wire]
			var turns []heard
			var want Totals
			for range 20 {
				resp, err := b.postTo(context.Background(), talk.path, talk.body(c.tools, turns))
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 || err != nil {
					t.Fatalf("%d %s %v", resp.StatusCode, text, err)
				}
				h := talk.hear(t, string(text))
				if !h.done || h.text == "" {
					t.Fatalf("%+v from %s", h, text)
				}
				turns = append(turns, h)
				want.add(h.usage)
				if h.name == "" || h.name == "task_complete" {
					break
				}
				folder.obey(h)
			}
			b.end()
			if folder.file != script.Reference && folder.file != script.Reference+"\n" {
				t.Errorf("the file is\n%s", folder.file)
			}
			called := map[string]int{}
			for _, h := range turns {
				called[h.name]++
			}
			last := turns[len(turns)-1]
			if len(turns) != c.turns || turns[0].name != c.first || turns[0].thought == "" ||
				c.edits != "" && called[c.edits] != 5 && called[c.edits] != 4 ||
				c.last == "says" && last.name != "" || c.last != "says" && last.name != c.last {
				t.Errorf("%d turns, calls %v, first %+v, last %+v", len(turns), called, turns[0], last)
			}
			if got := b.Stats().Usage; got != want || want.Output == 0 || want.Cached == 0 {
				t.Errorf("metered %+v, told %+v", got, want)
			}
		})
	}
}

// mini-SWE-agent is through when a command prints what its prompt says.
func TestSubmitsByCommand(t *testing.T) {
	body := `{"stream":true,"tools":[` + tool(WireChat, "bash", "command") + `],"messages":[` +
		`{"role":"user","content":"At the end: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"},` +
		strings.Repeat(`{"role":"assistant","content":"x"},{"role":"tool","content":"ok"},`, 4) +
		`{"role":"user","content":"go on"}]}`
	s := listenTo(t, play(t, "solve", testScript(t), body))
	if s.name != "bash" || s.arguments != `{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}` {
		t.Errorf("%+v", s)
	}
}

// ask plays one request of a wire directly.
func askScripted(t *testing.T, behaviour string, w Wire, turns int) (int, string, error) {
	t.Helper()
	up, err := NewScripted(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: testScript(t)}, overTCP(t))
	talk := talks()[w]
	resp, err := b.postTo(context.Background(), talk.path, talk.body(tool(w, "bash", "command"), make([]heard, turns)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestErrorsAndCutsInEveryWire(t *testing.T) {
	for w, talk := range talks() {
		for turns := range 4 {
			status, text, err := askScripted(t, "error:429@2", w, turns)
			if turns < 2 {
				if h := talk.hear(t, text); status != 200 || err != nil || h.name != "bash" {
					t.Errorf("%s, turn %d: %d %s %v", w, turns, status, text, err)
				}
				continue
			}
			want := map[Wire]string{
				WireChat:      `{"error":{"code":"rate_limit_error","message":"scripted error 429","type":"rate_limit_error"}}`,
				WireResponses: `{"error":{"code":"rate_limit_error","message":"scripted error 429","type":"rate_limit_error"}}`,
				WireMessages:  `{"error":{"message":"scripted error 429","type":"rate_limit_error"},"type":"error"}`,
				WireGemini:    `{"error":{"code":429,"message":"scripted error 429","status":"RESOURCE_EXHAUSTED"}}`,
			}[w]
			if status != 429 || text != want {
				t.Errorf("%s, turn %d: %d %s", w, turns, status, text)
			}
		}
		if status, text, err := askScripted(t, "cut", w, 0); status != 200 || err == nil || text == "" || talk.hear(t, text).done {
			t.Errorf("%s: %d %q %v", w, status, text, err)
		}
		if _, text, err := askScripted(t, "cut@1", w, 0); err != nil || !talk.hear(t, text).done {
			t.Errorf("%s: %q %v", w, text, err)
		}
	}
}

// Silence is a head and a first event, and then nothing until the agent goes.
func TestSilenceInEveryWire(t *testing.T) {
	for w, talk := range talks() {
		up, err := NewScripted("silence")
		if err != nil {
			t.Fatal(err)
		}
		b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: testScript(t)}, overTCP(t))
		ctx, cancel := context.WithCancel(context.Background())
		resp, err := b.postTo(ctx, talk.path, talk.body(tool(w, "bash", "command"), nil))
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 64<<10)
		n, err := resp.Body.Read(first)
		if err != nil || len(dataLines(string(first[:n]))) != 1 {
			t.Errorf("%s: %q %v", w, first[:n], err)
		}
		cancel()
		if _, err := resp.Body.Read(first); err == nil {
			t.Errorf("%s: more came", w)
		}
		resp.Body.Close()
		if x, _ := b.one(); x.Complete || x.Status != 200 {
			t.Errorf("%s: %+v", w, x)
		}
	}
}

func TestSlowTool(t *testing.T) {
	_, _, calls := run(t, "slowtool", testScript(t), bashTool, 6)
	if len(calls) != 6 || calls[2] != "bash echo started; sleep 600" || calls[5] != calls[2] {
		t.Errorf("%q", calls)
	}
}

// Requests without a stream are answered in one piece with the same words.
func TestWholeAnswersInEveryWire(t *testing.T) {
	up, err := NewScripted("")
	if err != nil {
		t.Fatal(err)
	}
	b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: testScript(t)}, overTCP(t))
	for w, talk := range talks() {
		streamed := talk.body(tool(w, "bash", "command"), nil)
		whole := strings.Replace(streamed, `"stream":true`, `"stream":false`, 1)
		path := strings.Replace(talk.path, "streamGenerateContent?alt=sse", "generateContent", 1)
		resp, err := b.postTo(context.Background(), path, whole)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.Header.Get("Content-Type") != "application/json" || !json.Valid(text) ||
			!strings.Contains(string(text), "cat solution.py") || !strings.Contains(string(text), "I will read the code first.") {
			t.Errorf("%s: %s", w, text)
		}
	}
	b.end()
	for _, x := range b.exchanges {
		if !x.Usable || !x.Usage.Known() {
			t.Errorf("%s: %+v", x.Wire, x)
		}
	}
}

// Without alt=sse Gemini's stream is one list.
func TestGeminiStreamAsList(t *testing.T) {
	up, err := NewScripted("")
	if err != nil {
		t.Fatal(err)
	}
	b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: testScript(t)}, overTCP(t))
	body := geminiBody(tool(WireGemini, "run_shell_command", "command"), nil)
	resp, err := b.postTo(context.Background(), "/v1beta/models/x:streamGenerateContent", body)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	var list []json.RawMessage
	into(t, string(text), &list)
	var h heard
	for _, one := range list {
		h.hearGemini(t, string(one))
	}
	x, _ := b.one()
	if h.name != "run_shell_command" || !h.done || !x.Usable || !reflect.DeepEqual(x.Usage, h.usage) {
		t.Errorf("%+v, %+v %s", h, x, told(x.Usage))
	}
}

// Side questions of the CLIs: how many tokens, a title, a choice in JSON.
func TestSideQuestions(t *testing.T) {
	up, err := NewScripted("")
	if err != nil {
		t.Fatal(err)
	}
	b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: testScript(t)}, overTCP(t))
	for _, c := range []struct{ path, body, want string }{
		{"/v1/messages/count_tokens", `{"messages":[]}`, `{"input_tokens":7}`},
		{"/v1beta/models/x:countTokens", `{"contents":[]}`, `{"totalTokens":4}`},
		{"/v1beta/models/x:generateContent", `{"contents":[],"generationConfig":{"responseMimeType":"application/json"}}`,
			`"parts":[{"text":"{}"}]`},
		{"/v1/responses", `{"input":"a title, please"}`, "Working on solution.py"},
		{"/v1/messages", `{"messages":[{"role":"user","content":"a title, please"}]}`, "Working on solution.py"},
	} {
		resp, err := b.postTo(context.Background(), c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %d %s", c.path, resp.StatusCode, text)
		}
	}
}

// Equal conversations give equal bytes.
func TestScriptedIsDeterministic(t *testing.T) {
	for w := range talks() {
		_, one, _ := askScripted(t, "solve", w, 3)
		_, two, _ := askScripted(t, "solve", w, 3)
		if one != two || one == "" {
			t.Errorf("%s: %q and %q", w, one, two)
		}
	}
}

// Whatever an agent sends, the scripted upstream answers or refuses.
func FuzzScripted(f *testing.F) {
	for w, talk := range talks() {
		path := strings.TrimPrefix(strings.TrimPrefix(talk.path, "/v1beta"), "/v1")
		f.Add(path, talk.body(tool(w, "bash", "command"), make([]heard, 2)))
	}
	f.Add("/responses", `{"input":[{"type":"additional_tools","tools":[{"tools":[{}]}]}]}`)
	up, err := NewScripted("solve")
	if err != nil {
		f.Fatal(err)
	}
	player := up.For(Script{Starter: "a", Reference: "b"})
	f.Fuzz(func(t *testing.T, path, body string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		r := newPost(path, body)
		if r == nil {
			return
		}
		resp, err := player.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || len(text) == 0 || resp.StatusCode != 200 && resp.StatusCode != 400 {
			t.Fatalf("%d %q %v", resp.StatusCode, text, err)
		}
	})
}
