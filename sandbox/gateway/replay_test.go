package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cabra-run/sandbox/gateway/price"
)

// asked is a request of a test's agent with what it got.
type asked struct {
	path, body string
	status     int
	header     http.Header
	text       string
	err        error // of the reading
}

// say asks and reads to the end, or for as long as the agent stays.
func (b *box) say(ctx context.Context, a *asked) {
	resp, err := b.postTo(ctx, a.path, a.body)
	if err != nil {
		a.err = err
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	a.status, a.header, a.text, a.err = resp.StatusCode, resp.Header, string(text), err
}

// same compares what an agent got in two runs.
func (a *asked) same(b *asked) error {
	if a.status != b.status || a.text != b.text || (a.err == nil) != (b.err == nil) {
		return fmt.Errorf("%s: got %d %q %v, in the replay %d %q %v", a.path, a.status, a.text, a.err, b.status, b.text, b.err)
	}
	for _, name := range answerHeaders {
		if a.header.Get(name) != b.header.Get(name) {
			return fmt.Errorf("%s: %s is %q, in the replay %q", a.path, name, a.header.Get(name), b.header.Get(name))
		}
	}
	return nil
}

// recordOf lets an agent ask, one request after the other, and returns the
// recording.
func recordOf(t *testing.T, g *Gateway, up Upstream, script Script, list []*asked) *box {
	t.Helper()
	b := openBoxWith(t, g, SessionOptions{Upstream: up, Model: "m", Script: script}, overTCP(t))
	for _, a := range list {
		b.say(context.Background(), a)
	}
	b.end()
	return b
}

func replayOf(t testing.TB, recording []byte) *Replay {
	t.Helper()
	r, err := NewReplay(ReadRecording(bytes.NewReader(recording)), ReplayOptions{Slack: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func again(list []*asked) []*asked {
	var out []*asked
	for _, a := range list {
		out = append(out, &asked{path: a.path, body: a.body})
	}
	return out
}

// wantSame fails unless the second agent got what the first one got.
func wantSame(t testing.TB, first, second []*asked) {
	t.Helper()
	for i := range first {
		if err := first[i].same(second[i]); err != nil {
			t.Error(err)
		}
	}
}

func scriptedUp(t testing.TB, behaviour string) *Scripted {
	t.Helper()
	up, err := NewScripted(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	return up
}

// In every wire a recorded session is replayed to the byte, costs nothing and
// is metered as before.
func TestReplayInEveryWire(t *testing.T) {
	for w, talk := range talks() {
		t.Run(string(w), func(t *testing.T) {
			var list []*asked
			for n := range 4 {
				list = append(list, &asked{path: talk.path, body: talk.body(tool(w, "bash", "command"), make([]heard, n))})
			}
			first := recordOf(t, New(Options{}), scriptedUp(t, "solve"), testScript(t), list)
			if list[0].status != 200 || !talk.hear(t, list[0].text).done {
				t.Fatalf("%+v", list[0])
			}
			up := replayOf(t, first.file.Bytes())
			budget := NewBudget(BudgetOptions{Run: Caps{USD: 1e-9, Tokens: 1}})
			b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Budget: budget,
				Price: &price.Model{MaxOutput: 1000, Rates: price.Rates{Input: 1000, Output: 1000}}}, overTCP(t))
			second := again(list)
			for _, a := range second {
				b.say(context.Background(), a)
			}
			b.end()
			wantSame(t, list, second)
			if got := up.Report(); got.Matched != 4 || got.Unused != 0 || len(got.Drifts) != 0 || got.Divergence != nil {
				t.Errorf("%+v", got)
			}
			for i, x := range b.exchanges {
				if was := first.exchanges[i]; told(x.Usage) != told(was.Usage) || !x.Usable || x.Tries != 1 || x.Waited != 0 ||
					x.CostUSD == nil || *x.CostUSD != 0 || x.WorstUSD == nil || *x.WorstUSD != 0 || x.WorstTokens != 0 {
					t.Errorf("%+v, was %+v", x, was)
				}
			}
			if !b.Stats().Scripted {
				t.Error("a replay's failures would pause the sweep")
			}
		})
	}
}

// failingUp fails in a way that depends on the request.
type failingUp map[string]func() (*http.Response, error)

func (failingUp) Name() string { return "failing" }

func (f failingUp) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for mark, answer := range f {
		if bytes.Contains(body, []byte(mark)) {
			return answer()
		}
	}
	return nil, errors.New("not expected")
}

func answerWith(status int, contentType, body string, end error) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		resp := response(status, contentType, io.MultiReader(strings.NewReader(body), &endsWith{end}), -1)
		resp.Header.Set("Retry-After", "3600")
		resp.Header.Set("X-Request-Id", "r-1")
		return resp, nil
	}
}

type endsWith struct{ err error }

func (e *endsWith) Read([]byte) (int, error) {
	if e.err == nil {
		return 0, io.EOF
	}
	return 0, e.err
}

// What the agent got of a failure is replayed as it was, at once and without
// asking again.
func TestReplayOfFailures(t *testing.T) {
	up := failingUp{
		"limited":  answerWith(429, "application/json", `{"error":{"message":"slower"}}`, nil),
		"broken":   answerWith(500, "text/html", "<h1>sorry</h1>", nil),
		"refused":  answerWith(400, "application/json", `{"error":{"message":"too long"}}`, nil),
		"moved":    answerWith(302, "text/html", "<a>", nil),
		"gone":     func() (*http.Response, error) { return nil, errors.New("connection refused") },
		"empty":    answerWith(200, "text/event-stream", "", nil),
		"cut off":  answerWith(200, "text/event-stream", `data: {"choices":[{"delta":{"content":"hel`, errors.New("reset")),
		"early":    answerWith(200, "text/event-stream", `data: {"choices":[{"delta":{"content":"hello"}}]}`+"\n\n", nil),
		"told":     answerWith(200, "text/event-stream", `data: {"error":{"message":"overloaded"}}`+"\n\n", nil),
		"in order": answerWith(200, "text/event-stream", streamText, nil),
	}
	var list []*asked
	for mark := range up {
		list = append(list, &asked{path: "/v1/chat/completions", body: `{"stream":true,"messages":[{"role":"user","content":"` + mark + `"}]}`})
	}
	first := recordOf(t, quick(3), up, Script{}, list)
	replay := replayOf(t, first.file.Bytes())
	second := again(list)
	b := recordOf(t, New(Options{}), replay, Script{}, second)
	wantSame(t, list, second)
	if got := replay.Report(); got.Matched != len(up) || got.Divergence != nil || len(got.Drifts) != 0 {
		t.Errorf("%+v", got)
	}
	for i, x := range b.exchanges {
		if was := first.exchanges[i]; x.Tries != 1 || x.Waited > time.Second || x.Status != was.Status || x.Complete != was.Complete || x.Usable != was.Usable {
			t.Errorf("%+v, was %+v", x, was)
		}
	}
	// What is recorded of a replay can be replayed.
	third := again(list)
	recordOf(t, New(Options{}), replayOf(t, b.file.Bytes()), Script{}, third)
	wantSame(t, list, third)
}

// In every wire an answer that broke off breaks off where it did.
func TestReplayOfCuts(t *testing.T) {
	for w, talk := range talks() {
		list := []*asked{{path: talk.path, body: talk.body(tool(w, "bash", "command"), nil)}}
		first := recordOf(t, New(Options{}), scriptedUp(t, "cut"), testScript(t), list)
		second := again(list)
		recordOf(t, New(Options{}), replayOf(t, first.file.Bytes()), Script{}, second)
		if wantSame(t, list, second); list[0].err == nil || list[0].text == "" {
			t.Errorf("%s: %+v", w, list[0])
		}
	}
}

// An agent that left before the end of an answer may do so again. One that
// stays would get what nobody knows.
func TestReplayOfAnAgentThatLeft(t *testing.T) {
	for _, behaviour := range []string{"silence", "idle"} {
		up := scriptedUp(t, behaviour)
		b := openBoxWith(t, New(Options{}), SessionOptions{Upstream: up, Model: "m", Script: testScript(t)}, overTCP(t))
		leave := func(b *box) {
			ctx, cancel := context.WithCancel(context.Background())
			resp, err := b.postTo(ctx, "/v1/chat/completions", chatBody(bashTool, nil))
			if err == nil { // silence: something has come
				_, err = resp.Body.Read(make([]byte, 10))
				defer resp.Body.Close()
			}
			if cancel(); err != nil {
				t.Errorf("%s: %v", behaviour, err)
			}
		}
		if behaviour == "idle" {
			leave = func(b *box) {
				ctx, cancel := context.WithCancel(context.Background())
				go func() {
					for b.Stats().InFlight == 0 {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
				if _, err := b.postTo(ctx, "/v1/chat/completions", chatBody(bashTool, nil)); err == nil {
					t.Error("an answer")
				}
			}
		}
		leave(b)
		b.end()
		slack := ReplayOptions{Slack: time.Hour}
		leaving, err := NewReplay(ReadRecording(bytes.NewReader(b.file.Bytes())), slack)
		if err != nil {
			t.Fatal(err)
		}
		again := openBoxWith(t, New(Options{}), SessionOptions{Upstream: leaving, Model: "m"}, overTCP(t))
		leave(again)
		again.end()
		if got := leaving.Report(); got.Matched != 1 || got.Divergence != nil {
			t.Errorf("%s: %+v", behaviour, got)
		}
		staying := replayOf(t, b.file.Bytes())
		a := &asked{path: "/v1/chat/completions", body: chatBody(bashTool, nil)}
		recordOf(t, New(Options{}), staying, Script{}, []*asked{a})
		d := staying.Report().Divergence
		if d == nil || !strings.Contains(d.Reason, "the agent left the recorded request 1") || a.status == 200 && a.err == nil {
			t.Errorf("%s: %+v, got %+v", behaviour, d, a)
		}
	}
}

// Requests that the gateway answered itself are none to be answered; those that
// count tokens are.
func TestReplayLeavesOutWhatWasRefused(t *testing.T) {
	up := scriptedUp(t, "solve")
	list := []*asked{
		{path: "/v1/messages/count_tokens", body: `{"messages":[{"role":"user","content":"u"}]}`},
		{path: "/v1/messages/count_tokens", body: `{"messages":[{"role":"user","content":"u"}],"mcp_servers":[]}`}, // refused
		{path: "/v1/models/x:embedContent", body: `{}`},                                                            // refused
		{path: "/v1beta/models/x:countTokens", body: `{"contents":[{"role":"user","parts":[{"text":"u"}]}]}`},
		{path: "/v1/messages", body: messagesBody(tool(WireMessages, "Bash", "command"), nil)},
	}
	first := recordOf(t, New(Options{}), up, testScript(t), list)
	r := replayOf(t, first.file.Bytes())
	second := again(list)
	b := recordOf(t, New(Options{}), r, Script{}, second)
	wantSame(t, list, second)
	if got := r.Report(); got.Matched != 3 || got.Unused != 0 || got.Divergence != nil {
		t.Errorf("%+v", got)
	}
	if len(b.exchanges) != 1 || b.exchanges[0].Seq != 1 {
		t.Errorf("%+v", b.exchanges)
	}
}

// Two conversations, recorded and replayed in any two orders and at the same
// time: every request gets the bytes that it got.
func TestReplayOfInterleavedConversations(t *testing.T) {
	script := testScript(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := rapid.SampledFrom(Wires()).Draw(rt, "wire")
		talk := talks()[w]
		path := strings.TrimPrefix(strings.TrimPrefix(talk.path, "/v1beta"), "/v1")
		threads := make([][]*asked, 2)
		for i := range threads {
			task := strings.Repeat("please ", i+1) + "do it"
			for n := range rapid.IntRange(1, 5).Draw(rt, "turns") {
				body := strings.Replace(talk.body(tool(w, "bash", "command"), make([]heard, n)), "do it", task, 1)
				threads[i] = append(threads[i], &asked{path: path, body: body})
			}
		}
		order := func() []*asked {
			var out []*asked
			at := []int{0, 0}
			for at[0] < len(threads[0]) || at[1] < len(threads[1]) {
				i := rapid.IntRange(0, 1).Draw(rt, "next")
				if at[i] == len(threads[i]) {
					i = 1 - i
				}
				out = append(out, threads[i][at[i]])
				at[i]++
			}
			return out
		}
		player := scriptedUp(t, "solve").For(script)
		var records []Record
		for _, a := range order() {
			resp, err := player.RoundTrip(newPost(a.path, a.body))
			if err != nil {
				rt.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			a.status, a.text = resp.StatusCode, string(text)
			at := newPost(a.path, "").URL
			records = append(records, Record{Method: "POST", Path: at.RequestURI(), Wire: w, Model: modelOf(at, []byte(a.body)),
				Request: a.body, Response: a.text, Status: a.status, Complete: true})
		}
		for i := range records {
			if records[i].Model == "" {
				records[i].Model = "m"
			}
		}
		r := replayOf(t, recordingOf(t, records...))
		var all sync.WaitGroup
		faults := make(chan error, 20)
		for _, a := range order() {
			body := a.body
			if w != WireGemini {
				body = `{"model":"m",` + body[1:]
			}
			all.Add(1)
			go func() {
				defer all.Done()
				resp, err := r.RoundTrip(newPost(a.path, body))
				if err != nil {
					faults <- err
					return
				}
				if text, err := io.ReadAll(resp.Body); err != nil || string(text) != a.text || resp.StatusCode != a.status {
					faults <- fmt.Errorf("got %s, want %s, %v", text, a.text, err)
				}
			}()
		}
		all.Wait()
		close(faults)
		for err := range faults {
			rt.Error(err)
		}
		if got := r.Report(); got.Unused != 0 || got.Matched != len(records) || len(got.Drifts) != 0 {
			rt.Errorf("%+v", got)
		}
	})
}

// A login's questions and model calls are replayed without a token and without
// its hosts.
func TestReplayOfALogin(t *testing.T) {
	b := openLoginBox(t)
	type step struct{ method, url, body string }
	steps := []step{
		{http.MethodGet, "https://api.github.com/copilot_internal/user", ""},
		{http.MethodGet, "https://api.githubcopilot.com/models", ""},
		{http.MethodPost, "https://api.githubcopilot.com/responses", `{"stream":true,"input":[]}`},
	}
	var first []string
	for _, s := range steps {
		resp, text, err := b.send(s.method, s.url, s.body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%+v: %v %v", s, resp, err)
		}
		first = append(first, text)
	}
	b.end()
	asked := len(b.github.Seen())
	up, err := NewGitHub(GitHubOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	login, err := NewLogin(LoginOptions{GitHub: up})
	if err != nil {
		t.Fatal(err)
	}
	r := replayOf(t, b.file.Bytes())
	second := &loginBox{}
	second.open(t, SessionOptions{Upstream: r, Model: "wire-model", Login: login})
	for i, s := range steps {
		resp, text, err := second.send(s.method, s.url, s.body)
		if err != nil || resp.StatusCode != http.StatusOK || text != first[i] {
			t.Errorf("%+v: %v %v %s, was %s", s, resp, err, text, first[i])
		}
	}
	if got := r.Report(); got.Matched != 1 || got.Unused != 0 || got.Divergence != nil || len(b.github.Seen()) != asked {
		t.Errorf("%+v, %d requests more", got, len(b.github.Seen())-asked)
	}
	if resp, text, err := second.send(http.MethodGet, "https://api.github.com/user", ""); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%v %v %s", resp, err, text)
	}
	if d := r.Report().Divergence; d == nil || d.Reason != "nobody asked for api.github.com/user" {
		t.Errorf("%+v", d)
	}
	raw, err := NewLogin(LoginOptions{GitHub: up, Passthrough: true, Hosts: []string{"x.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{}).Open(SessionOptions{Upstream: r, Model: "m", Login: raw}); !errors.Is(err, ErrNotReplayable) {
		t.Errorf("%v", err)
	}
}

// Whatever a recording holds, a request that it may fit gets an answer that can
// be sent, or an error.
func FuzzReplay(f *testing.F) {
	f.Add("/chat/completions", chat("a"), 200, "text/event-stream", streamText, "")
	f.Add("/chat/completions", chat("a"), 200, "", "cut", "reset")
	f.Add("/chat/completions", chat("a"), 0, "", "", "the agent went away before an answer")
	f.Add("/chat/completions", chat("a"), 502, "", "", "provider failure (transport): gone")
	f.Add("/chat/completions", chat("a"), 400, "", `{"error":1}`, "provider failure (request, status 400): no")
	f.Add("api.githubcopilot.com/messages?beta=true", chat("a"), 99, "", "", "")
	f.Add(geminiStream, `{"contents":[]}`, 429, "application/json", `{}`, "provider failure (rate limit, status 429): x")
	f.Fuzz(func(t *testing.T, path, body string, status int, contentType, response, failure string) {
		rec := Record{Method: http.MethodPost, Path: path, Model: "m", Request: body, Status: status, Response: response,
			Error: failure, Complete: failure == "", Headers: map[string]string{"Content-Type": contentType}}
		at, err := recordedAddress(path)
		if err != nil {
			return
		}
		rec.Wire, _ = WireOf(at.Path)
		r, err := NewReplay(func(yield func(Record, error) bool) { yield(rec, nil) }, ReplayOptions{Slack: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		req := newPost("/", body)
		req.URL = at
		resp, err := r.RoundTrip(req)
		report := r.Report()
		if err != nil {
			if !errors.Is(err, ErrDiverged) || report.Divergence == nil {
				t.Fatalf("%v, %+v", err, report)
			}
			return
		}
		text, err := io.ReadAll(resp.Body)
		if report.Matched != 1 || resp.StatusCode < 200 || resp.StatusCode > 599 || resp.StatusCode != status ||
			status < 300 && string(text) != response || (err == nil) && status > 299 && len(text) == 0 && response != "" {
			t.Fatalf("%d %q %v of %+v", resp.StatusCode, text, err, rec)
		}
	})
}
