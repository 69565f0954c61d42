package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func testScript(t testing.TB) Script {
	return Script{
		Starter: readTestdata(t, "starter.py"), Reference: readTestdata(t, "reference.py"),
		Edited: []string{"gone", "f1"}, Place: 1,
	}
}

func play(t testing.TB, behaviour string, script Script, body string) *http.Response {
	t.Helper()
	up, err := NewScripted(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, "/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := up.For(script).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// said is an answer put together from its stream.
type said struct {
	content, thought, name, arguments, finish string
	usage                                     wireUsage
}

func listenTo(t testing.TB, resp *http.Response) said {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %s %v", resp.StatusCode, text, err)
	}
	m := newMeter(modelCall{wire: WireChat}, true)
	_, _ = m.Write(text)
	if !m.end() || !m.content || m.usage.Reasoning == nil {
		t.Fatalf("not a usable answer: %s", text)
	}
	var s said
	for line := range strings.SplitSeq(string(text), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c wireCompletion
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		if c.Usage != nil {
			s.usage = *c.Usage
		}
		for _, ch := range c.Choices {
			if ch.Delta.Content != nil {
				s.content += *ch.Delta.Content
			}
			s.thought += ch.Delta.Reasoning
			if ch.FinishReason != nil {
				s.finish = *ch.FinishReason
			}
			for _, call := range ch.Delta.ToolCalls {
				if call.Custom != nil {
					s.name, s.arguments = s.name+call.Custom.Name, s.arguments+call.Custom.Input
					continue
				}
				s.name += call.Function.Name
				s.arguments += call.Function.Arguments
			}
		}
	}
	return s
}

// request is a chat completion request as tests take it apart.
type request struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Stream   bool              `json:"stream"`
}

func (r request) text(t testing.TB, messages int) string {
	t.Helper()
	r.Messages = r.Messages[:messages]
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func copilotTalk(t testing.TB) request {
	t.Helper()
	var r request
	if err := json.Unmarshal([]byte(readTestdata(t, "copilot-solve.json")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The conversation in testdata is what Copilot 1.0.81 sent with its last
// request of a run that solved the task (long texts cut): its turns must come
// out again, request by request.
func TestSolveAsCopilotPlayedIt(t *testing.T) {
	talk := copilotTalk(t)
	turns := 0
	for i, raw := range talk.Messages {
		var m struct {
			Role      string
			Content   string
			ToolCalls []struct{ Function wireFunction } `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		if m.Role != "assistant" {
			continue
		}
		turns++
		got := listenTo(t, play(t, "solve", testScript(t), talk.text(t, i)))
		want := m.ToolCalls[0].Function
		if got.content != m.Content || got.name != want.Name || got.arguments != want.Arguments ||
			got.finish != "tool_calls" {
			t.Errorf("turn %d: got %+v, want %+v", turns, got, m)
		}
	}
	if turns != 8 {
		t.Errorf("%d turns", turns)
	}
	last := listenTo(t, play(t, "solve", testScript(t), talk.text(t, len(talk.Messages))))
	if last.name != "task_complete" || !strings.Contains(last.arguments, `"summary":"`) {
		t.Errorf("last: %+v", last)
	}
	u := last.usage
	if u.Prompt < 1000 || u.PromptDetails.Cached == 0 || u.PromptDetails.Cached > u.Prompt ||
		u.Completion == 0 ||
		u.CompletionDetails.Reasoning > u.Completion || u.Total != u.Prompt+u.Completion {
		t.Errorf("usage %+v", u)
	}
}

// run plays a behaviour to its end (or through max turns) against an agent that
// obeys edits and writes, and returns the file (and whether it is left), and
// the commands and tools that were called.
func run(t testing.TB, behaviour string, script Script, tools string, max int) (file string, there bool, calls []string) {
	t.Helper()
	file, there = script.Starter, true
	messages := `{"role":"system","content":"s"},{"role":"user","content":"do it"}`
	written := regexp.MustCompile(`open\('solution.py','(wb|ab)'\).write\(base64.b64decode\('([^']*)'\)`)
	for range max {
		s := listenTo(t, play(t, behaviour, script, `{"stream":true,"messages":[`+messages+`],"tools":[`+tools+`]}`))
		if s.finish == "stop" {
			return file, there, append(calls, "says "+s.content)
		}
		var args map[string]string
		if err := json.Unmarshal([]byte(s.arguments), &args); err != nil {
			t.Fatalf("%s: %v", s.arguments, err)
		}
		calls = append(calls, s.name+" "+args["command"]+args["cmd"])
		switch {
		case s.name == "task_complete":
			return file, there, calls
		case s.name == "edit":
			if args["path"] != "/workspace/solution.py" || strings.Count(file, args["old_str"]) != 1 {
				t.Fatalf("edit %v does not fit", args)
			}
			file = strings.Replace(file, args["old_str"], args["new_str"], 1)
		case strings.HasPrefix(args["command"], "rm solution.py"):
			there = false
		}
		if m := written.FindStringSubmatch(args["command"] + args["cmd"]); m != nil {
			part, err := base64.StdEncoding.DecodeString(m[2])
			if err != nil {
				t.Fatal(err)
			}
			if m[1] == "wb" {
				file = ""
			}
			file += string(part)
		}
		messages += `,{"role":"assistant","content":"x"},{"role":"tool","content":"ok"}`
	}
	return file, there, calls
}

const (
	bashTool = `{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{},"description":{}}}}}`
	editTool = `{"type":"function","function":{"name":"edit","parameters":{"properties":{"path":{},"old_str":{},"new_str":{}}}}}`
	doneTool = `{"type":"function","function":{"name":"task_complete","parameters":{"properties":{"summary":{}}}}}`
	execTool = `{"type":"function","function":{"name":"exec_command","parameters":{"properties":{"cmd":{}}}}}`
)

func TestBehaviours(t *testing.T) {
	s := testScript(t)
	all := bashTool + "," + editTool + "," + doneTool
	cases := []struct {
		name, tools string
		max, calls  int
		want        string // the file, "" when it is gone
		last        string
	}{
		{"solve", all, 20, 9, s.Reference, "task_complete "},
		{"solve", bashTool, 20, 5, s.Reference, "says Looked at"},
		{"solve", execTool + "," + doneTool, 20, 5, s.Reference, "task_complete "},
		{"wrong", all, 20, 8, s.wrongText(), "task_complete "},
		{"untouched", all, 20, 3, s.Starter, "task_complete "},
		{"remove", all, 20, 4, "", "task_complete "},
		{"endless", all, 300, 300, s.Starter, "bash sleep 0.3; wc -l solution.py; echo 299"},
		{"flood", all, 30, 30, s.Starter, `bash python3 -c "import itertools`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file, there, calls := run(t, c.name, s, c.tools, c.max)
			if there != (c.want != "") || there && file != c.want {
				t.Errorf("there %v, file\n%s", there, file)
			}
			if len(calls) != c.calls || !strings.HasPrefix(calls[len(calls)-1], c.last) {
				t.Errorf("%d calls: %.2000q", len(calls), calls)
			}
			if !strings.HasSuffix(calls[0], " cat solution.py") ||
				!strings.HasSuffix(calls[1], " grep -n 'f1(' solution.py") {
				t.Errorf("it did not look first: %q", calls[:2])
			}
		})
	}
}

func TestLongFileGoesThroughTheShell(t *testing.T) {
	s := testScript(t)
	s.Reference = strings.Repeat("# a line that is added to the file\n", 4000)
	file, _, calls := run(t, "solve", s, bashTool+","+editTool+","+doneTool, 20)
	if file != s.Reference || len(calls) != 7 {
		t.Errorf("%d bytes in %d calls", len(file), len(calls))
	}
	for _, c := range calls {
		if len(c) > 128<<10 {
			t.Errorf("a command of %d bytes", len(c))
		}
	}
}

func TestErrorBehaviour(t *testing.T) {
	resp := play(t, "error:503", Script{}, `not even JSON`)
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 ||
		string(body) != `{"error":{"code":"server_error","message":"scripted error 503","type":"server_error"}}` {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestScriptedWithoutStream(t *testing.T) {
	body, err := io.ReadAll(play(t, "solve", testScript(t), `{"messages":[],"tools":[`+bashTool+`]}`).Body)
	if err != nil {
		t.Fatal(err)
	}
	m := newMeter(modelCall{wire: WireChat}, false)
	_, _ = m.Write(body)
	if !m.end() || !m.content || !m.usage.Known() || !bytes.Contains(body, []byte(`"name":"bash"`)) {
		t.Errorf("%s", body)
	}
}

func TestScriptedTalksWhenAsked(t *testing.T) {
	history := `{"role":"user","content":"a"},{"role":"assistant","content":"b"},`
	for name, body := range map[string]string{
		"no tools": `{"stream":true,"messages":[{"role":"user","content":"a title, please"}]}`,
		"summary": `{"stream":true,"tools":[` + bashTool + `],"messages":[` + history +
			`{"role":"user","content":"Please create a detailed summary of the conversation so far."}]}`,
	} {
		if s := listenTo(t, play(t, "endless", testScript(t), body)); s.finish != "stop" ||
			s.content == "" || s.name != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	// A task that has the words does not stop the play.
	first := `{"stream":true,"tools":[` + bashTool + `],"messages":[{"role":"user","content":"write a summary of the conversation"}]}`
	if s := listenTo(t, play(t, "solve", testScript(t), first)); s.name != "bash" {
		t.Errorf("%+v", s)
	}
}

func TestNewScriptedRefuses(t *testing.T) {
	for _, text := range []string{
		"solved", "Solve", "error", "error:", "error:200", "error:600", "error:x", "mixed:", "mixed:1:", "mixed:1:solve",
		"mixed:1:solve=x", "mixed:1:solve=0", "mixed:1:nothing=1", "mixed:1:mixed=1", "mixed:1:solve=-1", "mixed:1:solve=900,wrong=101", "solve:2", ":",
		"cut@", "cut@0", "silence@x", "error:500@", "error:500@-1", "error:500@1001", "solve@2", "idle@1", "@1",
	} {
		_, err := NewScripted(text)
		var usage *BehaviourError
		if !errors.As(err, &usage) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, b := range Behaviours() {
			if !strings.Contains(err.Error(), b.Name) {
				t.Errorf("%q: %q is missing in %v", text, b.Name, err)
			}
		}
	}
}

func TestBehavioursPrintAsTheyAreGiven(t *testing.T) {
	for _, text := range []string{"solve", "slowtool", "cut", "cut@3", "silence@1", "error:429", "error:500@12"} {
		up, err := NewScripted(text)
		if err != nil || up.String() != text || up.Behaviour(7).String() != text {
			t.Errorf("%q: %v %v", text, up, err)
		}
	}
	up, err := NewScripted("mixed:1:error:500@2=1,cut@1=1")
	if err != nil || len(up.shares) != 2 || up.shares[0].After != 2 || up.shares[1].String() != "cut@1" {
		t.Errorf("%+v %v", up, err)
	}
}

// Every full row of trials has the shares to the card, whatever the seed, and
// rows are shuffled differently.
func TestMixedDeals(t *testing.T) {
	up, err := NewScripted("mixed:7:solve=6,wrong=3,error:500=1")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for row := range 50 {
		count := map[string]int{}
		order := ""
		for i := range 10 {
			b := up.Behaviour(10*row + i)
			if b != up.Behaviour(10*row+i) {
				t.Fatal("dealt twice, two results")
			}
			count[b.String()]++
			order += b.String() + " "
		}
		if count["solve"] != 6 || count["wrong"] != 3 || count["error:500"] != 1 {
			t.Errorf("row %d: %v", row, count)
		}
		rows[order] = true
	}
	if len(rows) < 20 {
		t.Errorf("only %d of 50 rows differ", len(rows))
	}
	for _, text := range []string{"mixed", "mixed:8", "mixed:another"} {
		other, err := NewScripted(text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i := range 20 {
			seen[other.Behaviour(i).String()] = true
		}
		for _, w := range []string{"solve", "wrong", "untouched", "remove", "idle", "endless", "flood", "error:500"} {
			if !seen[w] {
				t.Errorf("%s: %s is not among the first 20", text, w)
			}
		}
	}
	if up, err := NewScripted("mixed"); err != nil || up.String() != "mixed:1" {
		t.Errorf("%v %v", up, err)
	}
}

// In a session the scripted upstream's errors reach the agent at once, marked.
func TestScriptedInASession(t *testing.T) {
	up, err := NewScripted("error:500")
	if err != nil {
		t.Fatal(err)
	}
	b := openBox(t, New(Options{}), up, overTCP(t))
	for range 3 {
		if status, text, err := b.ask(`{"stream":true}`); status != 500 || err != nil ||
			!strings.Contains(text, "scripted error 500") {
			t.Errorf("%d %q %v", status, text, err)
		}
	}
	b.end()
	st := b.Stats()
	if !st.Scripted || st.LastError == nil || !st.LastError.Scripted || st.LastError.PausesSweep() ||
		st.Exhausted != 3 || st.Requests != 3 {
		t.Errorf("%+v", st)
	}
	if !reflect.DeepEqual(b.exchanges[0].Usage, noUsage()) {
		t.Errorf("a refused request has a price: %+v", b.exchanges[0].Usage)
	}
}
