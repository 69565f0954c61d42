package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func chat(messages ...string) string {
	var list []string
	for i, m := range messages {
		list = append(list, `{"role":"`+[]string{"user", "assistant"}[i%2]+`","content":`+mustJSON(m)+`}`)
	}
	return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
}

// recordingOf makes a recording of chat requests, each answered with its number.
func recordingOf(t testing.TB, records ...Record) []byte {
	t.Helper()
	var file bytes.Buffer
	rec, err := NewRecorder(&file)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		r = whole(r, i)
		if err := rec.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

// whole fills in what a test does not say.
func whole(r Record, i int) Record {
	if r.Method == "" {
		r.Method, r.Path, r.Wire, r.Model = http.MethodPost, "/chat/completions", WireChat, "m"
	}
	if r.Status == 0 {
		r.Status = 200
	}
	if r.Response == "" && r.Error == "" {
		r.Complete, r.Response = true, fmt.Sprintf(`{"answer":%d}`, i+1)
	}
	return r
}

// answered is the number of the record that a request was answered from.
func answered(t testing.TB, r *Replay, body string) (string, error) {
	t.Helper()
	resp, err := r.RoundTrip(newPost("/chat/completions", body))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"answer":`), "}"), err
}

func TestMatching(t *testing.T) {
	const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	for name, c := range map[string]struct{ recorded, asked, want []string }{
		"in order":                          {[]string{chat("a"), chat("a", "b", "c")}, []string{chat("a"), chat("a", "b", "c")}, []string{"1", "2"}},
		"another order":                     {[]string{chat("a"), chat("a", "b", "c")}, []string{chat("a", "b", "c"), chat("a")}, []string{"2", "1"}},
		"two conversations, swapped":        {[]string{chat("a"), chat("b")}, []string{chat("b"), chat("a")}, []string{"2", "1"}},
		"conversations told by their start": {[]string{chat("a", "x", "y"), chat("b", "x", "y")}, []string{chat("b", "x", "z"), chat("a", "x", "z")}, []string{"2", "1"}},
		"ids are no difference":             {[]string{chat("a"), chat("in " + id)}, []string{chat("in " + strings.Replace(id, "6", "7", 1)), chat("a")}, []string{"2", "1"}},
		"the same twice: the earliest":      {[]string{chat("a"), chat("a")}, []string{chat("a"), chat("a")}, []string{"1", "2"}},
		"another text: the earliest":        {[]string{chat("a"), chat("b")}, []string{chat("c"), chat("b")}, []string{"1", "2"}},
		"one conversation, what was said":   {[]string{chat("a", "x", "y"), chat("a", "v", "w")}, []string{chat("a", "v", "w"), chat("a", "x", "y")}, []string{"2", "1"}},
	} {
		var records []Record
		for _, body := range c.recorded {
			records = append(records, Record{Request: body})
		}
		r := replayOf(t, recordingOf(t, records...))
		var got []string
		for _, body := range c.asked {
			answer, err := answered(t, r, body)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, answer)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: answered from %v, want %v", name, got, c.want)
		}
	}
}

func TestDrifts(t *testing.T) {
	const was = `{"model":"m","temperature":0,"tools":[{"type":"function","function":{"name":"f","description":"d"}}],"messages":[
		{"role":"system","content":"It is 2026-11-30, in 6ba7b810-9dad-11d1-80b4-00c04fd430c8"},{"role":"user","content":"u"},
		{"role":"assistant","content":"a","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"one\ntwo"}`
	more := func(body string) string { return body + `,{"role":"user","content":"more"}]}` }
	r := replayOf(t, recordingOf(t, Record{Request: was + "]}"}, Record{Request: more(was)}))
	now := strings.NewReplacer("2026-11-30", "2027-01-02", "6ba7b810", "00000000", "two", "three", `"u"`, `"v"`, `"a"`, `"b"`,
		`{}"`, `{ }"`, `"d"`, `"e"`, `temperature":0`, `temperature":1`, `"x"`, `"y"`).Replace(was)
	for i, body := range []string{now + "]}", more(now)} {
		if got, err := answered(t, r, body); err != nil || got != fmt.Sprint(i+1) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	got := r.Report()
	var kinds []string
	for _, d := range got.Drifts {
		kinds = append(kinds, fmt.Sprintf("%s %d %d/%d x%d", d.Kind, d.Item, d.Request, d.Recorded, d.Requests))
	}
	want := []string{"user message 2 1/1 x2", "assistant text 3 1/1 x2", "tool call 4 1/1 x2", "tool result 5 1/1 x2",
		"tool definition 6 1/1 x2", "settings 7 1/1 x2"}
	if !slices.Equal(kinds, want) || got.ResultDrifts != 1 || got.Matched != 2 || got.Divergence != nil {
		t.Errorf("%q, want %q; %+v", kinds, want, got)
	}
	if d := got.Drifts[3].Diff; d != "@@ -1,2 +1,2 @@\n one\n-two\n+three\n" {
		t.Errorf("%q", d)
	}
}

func TestDriftsAreBounded(t *testing.T) {
	const n = maxDrifts + 20
	var records []Record
	for i := range n {
		records = append(records, Record{Request: chat(fmt.Sprintf("recorded %d: %s", i*7919+1, strings.Repeat("x\n", 5000)))})
	}
	r := replayOf(t, recordingOf(t, records...))
	for i := range n {
		if _, err := answered(t, r, chat(fmt.Sprintf("now %d: %s", i*7919+1, strings.Repeat("y\n", 5000)))); err != nil {
			t.Fatal(err)
		}
	}
	got := r.Report()
	size := 0
	for _, d := range got.Drifts {
		size += len(d.Diff)
	}
	if len(got.Drifts) != maxDrifts || got.MoreDrifts != 20 || size > maxDrifts*2000 {
		t.Errorf("%d drifts of %d bytes, %d more", len(got.Drifts), size, got.MoreDrifts)
	}
}

// A request that fits nothing stops the replay for good, with the difference to
// the nearest recorded one; the agent gets a refusal that it need not try again.
func TestDivergence(t *testing.T) {
	recording := recordingOf(t, Record{Request: chat("a")}, Record{Request: chat("a", "b", "c")}, Record{Request: chat("a", "b", "c", "d", "e")})
	r := replayOf(t, recording)
	b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: r, Model: "m"}, overTCP(t))
	say := func(body string) *asked {
		a := &asked{path: "/v1/chat/completions", body: body}
		b.say(context.Background(), a)
		return a
	}
	if a := say(chat("a")); a.text != `{"answer":1}` {
		t.Fatalf("%+v", a)
	}
	select {
	case <-r.Diverged():
		t.Fatal("diverged")
	default:
	}
	bad := say(`{"model":"x","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"}]}`)
	<-r.Diverged()
	later := say(chat("a", "b", "c"))
	const want = `{"error":{"code":"gateway_error","message":"replay has stopped at request 2: no recorded request has its structure","type":"gateway_error"}}`
	if bad.status != 400 || bad.text != want || later.status != 400 || later.text != want {
		t.Errorf("%+v, then %+v", bad, later)
	}
	got := r.Report()
	if d := got.Divergence; d == nil || d.Request != 2 || d.Nearest != 2 || d.Used ||
		d.Diff != "@@ -1,4 +1,4 @@\n POST /chat/completions, wire chat, model m, stream false\n user: text\n assistant: text\n-user: text\n+system: text\n" {
		t.Errorf("%+v", d)
	}
	if got.Matched != 1 || got.Unused != 2 {
		t.Errorf("%+v", got)
	}
	if f := b.Stats().LastError; f == nil || f.Kind != FailureReplay || !f.Permanent || !f.Scripted || f.PausesSweep() {
		t.Errorf("%+v", f)
	}
}

func TestReasonsOfDivergence(t *testing.T) {
	cut := Record{Request: chat("a"), RequestCut: true}
	broken := recordingOf(t, Record{Request: chat("a", "b", "c")}, Record{Request: chat("a")})
	for name, c := range map[string]struct {
		recording []byte
		want      string
		used      bool
	}{
		"nothing recorded": {recordingOf(t), "nothing is recorded that could answer it", false},
		"answered already": {recordingOf(t, Record{Request: chat("b")}), "all 1 recorded requests of its structure are answered already", true},
		"request cut": {recordingOf(t, cut),
			"nothing is recorded that could answer it; 1 recorded requests cannot be compared, because their bodies were not kept", false},
		"answer cut":       {recordingOf(t, Record{Request: chat("b")}, Record{Request: chat("a"), ResponseCut: true}), "the recorded answer 2 was not kept to its end", true},
		"compressed":       {recordingOf(t, Record{Request: chat("b")}, Record{Request: chat("a"), Headers: map[string]string{"Content-Encoding": "gzip"}}), "the recorded answer 2 is compressed", true},
		"odd status":       {recordingOf(t, Record{Request: chat("b")}, Record{Request: chat("a"), Status: 101}), "the recorded answer 2 has the status 101", true},
		"damaged":          {broken[:len(broken)-5], "no recorded request has its structure; the recording ends in a damaged part", false},
		"another model":    {recordingOf(t, Record{Request: chat("a"), Method: "POST", Path: "/chat/completions", Wire: WireChat, Model: "n"}), "no recorded request has its structure", false},
		"unreadable":       {recordingOf(t, Record{Request: "nonsense"}), "nothing is recorded that could answer it; 1 recorded", false},
		"answered by tell": {recordingOf(t, Record{Request: chat("a"), Method: "POST", Path: "/v1/chat/completions", Status: 404, Error: "no"}), "nothing is recorded", false},
	} {
		r := replayOf(t, c.recording)
		if strings.HasPrefix(name, "answer") || name == "compressed" || name == "odd status" {
			_, _ = answered(t, r, chat("b"))
		}
		_, err := answered(t, r, chat("a"))
		d := r.Report().Divergence
		if !errors.Is(err, ErrDiverged) || d == nil || !strings.HasPrefix(d.Reason, c.want) || d.Used != c.used {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
	}
}

// Recordings are hostile: what is too large or was not seen is an error.
func TestNotReplayable(t *testing.T) {
	seq := func(n int, rec Record) func(func(Record, error) bool) {
		return func(yield func(Record, error) bool) {
			for i := range n {
				r := rec
				r.Response += strings.Repeat(fmt.Sprint(i%10), len(rec.Response))
				if !yield(whole(r, i), nil) {
					return
				}
			}
		}
	}
	lines := `{"messages":[` + strings.Repeat(`{"role":"user","content":""},`, maxShapeItems-2) + `{"role":"user"}]}`
	for name, c := range map[string]struct {
		records func(func(Record, error) bool)
		want    string
	}{
		"records": {seq(maxReplayRecords+1, Record{Method: "GET", Path: "x", Error: "no"}), "more than 25000 records"},
		"bytes":   {seq(100, Record{Request: chat("a"), Response: strings.Repeat("x", 1<<20)}), "more than 64 MiB of texts"},
		"parts":   {seq(30, Record{Request: lines}), "more than 1048576 parts in all requests"},
		"tunnel":  {seq(1, Record{Method: http.MethodConnect, Path: "api.github.com:443", BytesIn: 1}), "the box had its connection to itself"},
	} {
		_, err := NewReplay(c.records, ReplayOptions{})
		if !errors.Is(err, ErrNotReplayable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("disk")
	if _, err := NewReplay(func(yield func(Record, error) bool) { yield(Record{}, broken) }, ReplayOptions{}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
