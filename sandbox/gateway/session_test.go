package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestStreamPassesThrough(t *testing.T) {
	type seen struct {
		path, key string
		header    http.Header
		body      map[string]any
	}
	var got seen
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		got = seen{path: r.URL.Path, key: r.Header.Get("Authorization"), header: r.Header}
		_ = json.NewDecoder(r.Body).Decode(&got.body)
		sendStream(w, streamText, usageChunk, "data: [DONE]\n\n")
	})
	b := openBox(t, quick(8), up, overTCP(t))
	status, text, err := b.ask(`{"model":"agent-model","stream":true,"messages":[]}`)
	if want := streamText + usageChunk + "data: [DONE]\n\n"; status != 200 || text != want || err != nil {
		t.Fatalf("status %d, %v, got %q", status, err, text)
	}
	if got.path != "/api/v1/chat/completions" || got.key != "Bearer "+testKey {
		t.Errorf("sent to %q with %q", got.path, got.key)
	}
	want := map[string]any{
		"model": "wire-model", "stream": true, "messages": []any{}, "stream_options": map[string]any{"include_usage": true},
	}
	if !reflect.DeepEqual(got.body, want) {
		t.Errorf("sent %v", got.body)
	}
	for name := range got.header {
		switch name {
		case "Accept", "Authorization", "Content-Length", "Content-Type", "User-Agent":
		default:
			t.Errorf("header %s was sent", name)
		}
	}
	x, rec := b.one()
	if x.Seq != 1 || x.Status != 200 || !x.Complete || !x.Usable || x.Error != "" || x.Tries != 1 || x.Waited != 0 ||
		x.Model != "wire-model" || !reflect.DeepEqual(x.Usage, fullUsage) || x.Ended.Before(x.Started) {
		t.Errorf("exchange %+v", x)
	}
	if rec.Request != `{"model":"agent-model","stream":true,"messages":[]}` || rec.Response != text || rec.Path != "/chat/completions" ||
		rec.Headers["Content-Type"] != "text/event-stream" || strings.Contains(fmt.Sprint(rec), b.BasePath()) {
		t.Errorf("record %+v", rec)
	}
	st := b.Stats()
	if st.Requests != 1 || st.Answers != 1 || st.InFlight != 0 || st.LastError != nil || st.Scripted ||
		st.Usage != (Totals{Input: 1000, Cached: 200, Output: 50, Reasoning: 7}) {
		t.Errorf("stats %+v", st)
	}
}

// The agent must have a piece before the provider has sent the next one.
func TestStreamIsNotBuffered(t *testing.T) {
	read := make(chan struct{})
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		sendStream(w, streamText)
		select {
		case <-read:
			sendStream(w, "data: [DONE]\n\n")
		case <-r.Context().Done():
		}
	})
	b := openBox(t, quick(8), up, overTCP(t))
	resp, err := b.post(context.Background(), `{"stream":true}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, len(streamText))
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != streamText {
		t.Fatalf("%q, %v", first, err)
	}
	if st := b.Stats(); st.InFlight != 1 || st.Answers != 0 {
		t.Errorf("while it comes: %+v", st)
	}
	close(read)
	if rest, err := io.ReadAll(resp.Body); string(rest) != "data: [DONE]\n\n" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestWholeAnswer(t *testing.T) {
	const body = `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
	b := openBox(t, quick(8), up, overTCP(t))
	if status, text, err := b.ask(`{"messages":[]}`); status != 200 || text != body || err != nil {
		t.Fatalf("%d %q %v", status, text, err)
	}
	if x, _ := b.one(); !x.Usable || !reflect.DeepEqual(x.Usage, Usage{Input: n64(3), Output: n64(4)}) {
		t.Errorf("%+v", x)
	}
}

func TestFailures(t *testing.T) {
	answer := func(statuses ...int) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, call int) {
			status := statuses[min(call, len(statuses))-1]
			if status == 200 {
				sendStream(w, streamText)
				return
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":"told %d"}}`, status)
		}
	}
	quota := func(w http.ResponseWriter, _ int) {
		w.WriteHeader(429)
		_, _ = io.WriteString(w, `{"error":{"message":"pay first","type":"insufficient_quota"}}`)
	}
	cutOnce := func(w http.ResponseWriter, call int) {
		if call == 1 {
			cut()
		}
		sendStream(w, streamText)
	}
	headersThenCut := func(w http.ResponseWriter, call int) {
		if call == 1 {
			sendStream(w, "")
			cut()
		}
		sendStream(w, streamText)
	}
	cases := []struct {
		name    string
		handler func(w http.ResponseWriter, call int)
		calls   int // at the provider
		status  int // at the agent
		text    string
		kind    FailureKind
		pauses  bool
	}{
		{"429 once", answer(429, 200), 2, 200, streamText, "", false},
		{"500 and 529", answer(500, 529, 200), 3, 200, streamText, "", false},
		{"408", answer(408, 200), 2, 200, streamText, "", false},
		{"500 for ever", answer(500), 4, 500, `{"error":{"message":"told 500"}}`, FailureServer, false},
		{"429 for ever", answer(429), 4, 429, `{"error":{"message":"told 429"}}`, FailureRateLimit, false},
		{"401", answer(401), 1, 401, `{"error":{"message":"told 401"}}`, FailureCredentials, true},
		{"403 after 500", answer(500, 403), 2, 403, `{"error":{"message":"told 403"}}`, FailureCredentials, true},
		{"404", answer(404), 1, 404, `{"error":{"message":"told 404"}}`, FailureModel, true},
		{"402", answer(402), 1, 402, `{"error":{"message":"told 402"}}`, FailureQuota, true},
		{"400", answer(400), 1, 400, `{"error":{"message":"told 400"}}`, FailureRequest, false},
		{"quota", quota, 1, 429, `{"error":{"message":"pay first","type":"insufficient_quota"}}`, FailureQuota, true},
		{"cut before an answer", cutOnce, 2, 200, streamText, "", false},
		{"cut behind the head", headersThenCut, 2, 200, streamText, "", false},
		{"empty answer for ever", func(http.ResponseWriter, int) {}, 4, 502, "", FailureTransport, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int32
			up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				c.handler(w, int(calls.Add(1)))
			})
			b := openBox(t, quick(4), up, overTCP(t))
			status, text, err := b.ask(`{"stream":true}`)
			if status != c.status || c.text != "" && text != c.text || err != nil {
				t.Errorf("the agent got %d %q, %v", status, text, err)
			}
			x, rec := b.one()
			st := b.Stats()
			if int(calls.Load()) != c.calls || x.Tries != c.calls {
				t.Errorf("%d calls, %d tries", calls.Load(), x.Tries)
			}
			if x.Status != c.status || x.Complete != (c.kind == "") || rec.Status != c.status {
				t.Errorf("exchange %+v", x)
			}
			if c.kind == "" {
				if st.LastError != nil || st.Answers != 1 || st.Exhausted != 0 || c.calls > 1 && x.Waited <= 0 {
					t.Errorf("stats %+v, waited %v", st, x.Waited)
				}
				return
			}
			f := st.LastError
			if f == nil || f.Kind != c.kind || f.PausesSweep() != c.pauses || st.Answers != 0 || x.Error != f.Error() {
				t.Fatalf("stats %+v, error %+v", st, f)
			}
			if (st.Exhausted == 1) == f.Permanent {
				t.Errorf("exhausted %d, permanent %v", st.Exhausted, f.Permanent)
			}
		})
	}
}

// A usable answer takes the last error back.
func TestLastErrorIsTheLast(t *testing.T) {
	var calls atomic.Int32
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sendStream(w, streamText)
	})
	b := openBox(t, quick(1), up, overTCP(t))
	if status, _, _ := b.ask(`{"stream":true}`); status != 400 || b.Stats().LastError == nil {
		t.Errorf("first: %d, %+v", status, b.Stats())
	}
	if status, _, _ := b.ask(`{"stream":true}`); status != 200 {
		t.Errorf("second: %d", status)
	}
	b.end()
	if st := b.Stats(); st.LastError != nil || st.Answers != 1 || st.Requests != 2 || st.Usage.Unknown != 1 {
		t.Errorf("%+v", st)
	}
}

func TestCutAnswer(t *testing.T) {
	cases := []struct {
		name    string
		handler func(w http.ResponseWriter)
		idle    time.Duration
		clean   bool // the agent sees an ordinary end
		usage   Usage
		want    string
	}{
		{name: "cut", handler: func(w http.ResponseWriter) { sendStream(w, streamText); cut() }, want: "EOF"},
		{name: "cut behind usage", handler: func(w http.ResponseWriter) { sendStream(w, usageChunk); cut() }, usage: fullUsage, want: "EOF"},
		{name: "ended early", handler: func(w http.ResponseWriter) { sendStream(w, `data: {"choices":[]}`+"\n\n") },
			clean: true, want: "the answer ended early"},
		{name: "error within", handler: func(w http.ResponseWriter) { sendStream(w, `data: {"error":{"message":"gone"}}`+"\n\n") },
			clean: true, want: "gone"},
		{name: "silence", idle: 20 * time.Millisecond, want: ErrSilent.Error()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
				if c.handler != nil {
					c.handler(w)
					return
				}
				sendStream(w, streamText)
				<-r.Context().Done()
			}, func(o *HTTPOptions) { o.IdleTimeout = c.idle })
			b := openBox(t, quick(8), up, overTCP(t))
			status, _, err := b.ask(`{"stream":true}`)
			if status != 200 || (err == nil) != c.clean {
				t.Errorf("the agent got %d, %v", status, err)
			}
			x, _ := b.one()
			if x.Complete || x.Usable || x.Tries != 1 || !strings.Contains(x.Error, c.want) || !reflect.DeepEqual(x.Usage, c.usage) {
				t.Errorf("exchange %+v", x)
			}
			st := b.Stats()
			if st.LastError == nil || st.LastError.Permanent || st.Answers != 0 || st.Usage.Known() != c.usage.Known() {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// Known reports whether nothing is unknown in the totals; for tests.
func (t Totals) Known() bool { return t.Unknown == 0 }

func TestSilentProvider(t *testing.T) {
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(o *HTTPOptions) { o.HeaderTimeout = 10 * time.Millisecond })
	b := openBox(t, quick(2), up, overTCP(t))
	if status, text, _ := b.ask(`{}`); status != 502 || !strings.Contains(text, "no answer in time") {
		t.Errorf("%d %q", status, text)
	}
	if x, _ := b.one(); x.Tries != 2 || x.Usage.Known() {
		t.Errorf("%+v", x)
	}
}

func TestAgentGoesAway(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	b := openBox(t, quick(8), up, overTCP(t))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := b.post(ctx, `{}`); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-left // the provider is told to stop
	x, _ := b.one()
	if x.Status != 0 || x.Complete || x.Error == "" || x.Usage.Known() {
		t.Errorf("%+v", x)
	}
	if st := b.Stats(); st.LastError != nil || st.InFlight != 0 || st.Usage.Unknown != 1 {
		t.Errorf("%+v", st)
	}
}

// Close cancels what is in flight and returns when it is recorded.
func TestCloseInMidRequest(t *testing.T) {
	arrived := make(chan struct{})
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		sendStream(w, streamText)
		close(arrived)
		<-r.Context().Done()
	})
	b := openBox(t, quick(8), up, overTCP(t))
	failed := make(chan error, 1)
	go func() {
		_, _, err := b.ask(`{"stream":true}`)
		failed <- err
	}()
	<-arrived
	x, rec := b.one()
	if x.Complete || x.Error == "" || rec.Error == "" || b.Stats().LastError != nil {
		t.Errorf("%+v", x)
	}
	if <-failed == nil {
		t.Error("the agent saw a whole answer")
	}
	if _, err := b.post(context.Background(), `{}`); err == nil {
		t.Error("a closed session takes requests")
	}
}

func TestSlowReader(t *testing.T) {
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		line := ": " + strings.Repeat("x", 1<<16) + "\n"
		for r.Context().Err() == nil {
			sendStream(w, line)
		}
	})
	g := New(Options{Limits: Limits{WriteTime: 20 * time.Millisecond}})
	b := openBox(t, g, up, overTCP(t))
	resp, err := b.post(context.Background(), `{"stream":true}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for b.Stats().InFlight > 0 { // ends by itself, though nobody reads
		time.Sleep(time.Millisecond)
	}
	if x, _ := b.one(); !strings.Contains(x.Error, "stopped reading") || x.Complete {
		t.Errorf("%+v", x)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			sendStream(w, streamText)
		}
	})
	b := openBox(t, New(Options{Limits: Limits{AnswerBytes: 100 << 10}}), up, overTCP(t))
	if _, text, err := b.ask(`{"stream":true}`); err == nil || len(text) > 200<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if x, _ := b.one(); !strings.Contains(x.Error, "longer than") || x.Complete {
		t.Errorf("%+v", x)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	b := openBox(t, quick(8), up, overTCP(t))
	if status, _, err := b.ask(`{}`); status != 502 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if x, _ := b.one(); strayed.Load() != 0 || x.Tries != 1 || b.Stats().LastError.Status != 307 {
		t.Errorf("%d strayed, %+v", strayed.Load(), x)
	}
}

// A provider that sends everything back must not give the key away, neither to
// the box nor to the record.
func TestKeyDoesNotLeak(t *testing.T) {
	for _, status := range []int{200, 400, 401, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
				key := r.Header.Get("Authorization")
				if key != "Bearer "+testKey {
					t.Errorf("the provider got %q", key)
				}
				w.Header().Set("X-Request-Id", key)
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(status)
				half := len(key) / 2
				sendStream(w, `data: {"error":{"message":"bad `+key[:half], key[half:]+"\"}}\n\n", "tail "+testKey[:10])
			})
			b := openBox(t, quick(2), up, overTCP(t))
			resp, err := b.post(context.Background(), `{"stream":true,"metadata":"`+testKey+`"}`)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || status == 200 && !strings.HasSuffix(string(text), "tail "+testKey[:10]) {
				t.Errorf("%q, %v", text, err)
			}
			x, rec := b.one()
			stored, _ := json.Marshal(rec)
			for what, s := range map[string]string{
				"answer": string(text), "headers": fmt.Sprint(resp.Header), "record": string(stored),
				"exchange": fmt.Sprintf("%+v", x), "error": fmt.Sprintf("%+v", b.Stats().LastError),
			} {
				if strings.Contains(s, testKey) {
					t.Errorf("the key is in the %s: %s", what, s)
				}
			}
			if !strings.Contains(string(stored), Masked) {
				t.Errorf("nothing was masked in %s", stored)
			}
		})
	}
}

func TestKeyIsReadAtUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	var got []string
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		sendStream(w, streamText)
	}, func(o *HTTPOptions) { o.Key = KeySource{File: file} })
	b := openBox(t, quick(8), up, overTCP(t))
	if status, text, _ := b.ask(`{}`); status != 401 || !strings.Contains(text, "no usable key") {
		t.Errorf("without a file: %d %q", status, text)
	}
	if f := b.Stats().LastError; f == nil || f.Kind != FailureCredentials || !f.PausesSweep() {
		t.Errorf("%+v", f)
	}
	for _, key := range []string{"first-key-1\n", " second-key-2 \n"} {
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil {
			t.Fatalf("%d, %v", status, err)
		}
	}
	if want := []string{"Bearer first-key-1", "Bearer second-key-2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the provider got %q", got)
	}
	if m := up.Mask().String("first-key-1 second-key-2"); m != Masked+" "+Masked {
		t.Errorf("masked: %q", m)
	}
}

func TestKeySource(t *testing.T) {
	t.Setenv("GATEWAY_TEST_KEY", "from-env-123")
	t.Setenv("GATEWAY_TEST_BAD", "two words")
	for _, c := range []struct {
		name string
		src  KeySource
		want string
		err  string
	}{
		{"none", KeySource{}, "", ""},
		{"value", KeySource{Value: " v-123456\n"}, "v-123456", ""},
		{"env", KeySource{Env: "GATEWAY_TEST_KEY"}, "from-env-123", ""},
		{"unset", KeySource{Env: "GATEWAY_TEST_NONE"}, "", "environment variable GATEWAY_TEST_NONE is empty"},
		{"words", KeySource{Env: "GATEWAY_TEST_BAD"}, "", "white space"},
		{"header", KeySource{Value: "a\r\nX-Evil: 1"}, "", "white space"},
		{"directory", KeySource{File: "/"}, "", "reading key file"},
		{"long", KeySource{Value: strings.Repeat("x", maxKey+1)}, "", "longer than"},
	} {
		got, err := c.src.Read()
		if string(got) != c.want || (err == nil) != (c.err == "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if err != nil && (!errors.Is(err, ErrKey) || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "Evil")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNewHTTPRefuses(t *testing.T) {
	for _, u := range []string{"", "api.openai.com/v1", "ftp://h/v1", "https://u:secret@h/v1", "https://h/v1?k=secret", "https://secret\x00h"} {
		_, err := NewHTTP(HTTPOptions{BaseURL: u})
		if err == nil || strings.Contains(err.Error(), "secret@") || strings.Contains(err.Error(), "u:secret") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	var calls atomic.Int32
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1) })
	b := openBox(t, quick(8), up, overTCP(t))
	host := strings.TrimSuffix(b.url, b.BasePath())
	token := strings.Split(b.BasePath(), "/")[1]
	if len(token) != 32 {
		t.Errorf("token %q", token)
	}
	other := openBox(t, quick(8), up, overTCP(t))
	cases := []struct {
		method, url string
		status      int
	}{
		{"GET", host + "/", 404},
		{"POST", host + "/v1/chat/completions", 404},
		{"POST", host + "/" + token[1:] + token[:1] + "x/v1/chat/completions", 404},
		{"POST", host + "/" + strings.Repeat("0", 32) + "/v1/chat/completions", 404},
		{"POST", host + other.BasePath() + "/chat/completions", 404},
		{"POST", host + "/" + token + "/v1x/chat/completions", 404},
		{"OPTIONS", host + "/*", 404},
		{"GET", b.url + "/models", 200},
		{"GET", b.url + "/chat/completions", 404},
		{"POST", b.url + "/responses", 404},
		{"POST", b.url + "/chat/completions/../../../x", 404},
		{"POST", b.url, 404},
	}
	for _, c := range cases {
		r, err := http.NewRequest(c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || strings.Contains(string(text), token) {
			t.Errorf("%s %s: %d %s", c.method, c.url, resp.StatusCode, text)
		}
		if c.status == 200 && string(text) != fmt.Sprintf(
			`{"data":[{"id":"wire-model","object":"model","owned_by":%q}],"object":"list"}`, up.Name()) {
			t.Errorf("models: %s", text)
		}
	}
	b.end()
	recs, err := read(t, b.file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range recs {
		if r.Seq != 0 || r.Status != 404 {
			t.Errorf("%+v", r)
		}
		paths = append(paths, r.Method+" "+r.Path)
	}
	want := []string{"GET /chat/completions", "POST /responses", "POST /chat/completions/../../../x", "POST "}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("recorded %q", paths)
	}
	if st := b.Stats(); st.Strays != 7 || st.Refused != 4 || st.Requests != 0 || calls.Load() != 0 {
		t.Errorf("%+v, %d calls", st, calls.Load())
	}
}

func TestBodiesAreBounded(t *testing.T) {
	var calls atomic.Int32
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		sendStream(w, streamText)
	})
	g := New(Options{Limits: Limits{BodyBytes: 1000, BufferBytes: 1000}})
	b := openBox(t, g, up, overTCP(t))
	fits := `{"a":"` + strings.Repeat("x", 992) + `"}`
	for _, c := range []struct {
		name   string
		body   io.Reader
		status int
	}{
		{"fits", strings.NewReader(fits), 200},
		{"fits, length unknown", io.MultiReader(strings.NewReader(fits)), 200},
		{"too large", strings.NewReader(fits + " "), 413},
		{"too large, length unknown", io.MultiReader(strings.NewReader(fits + " ")), 413},
		{"no JSON", strings.NewReader("hello"), 400},
		{"empty", strings.NewReader(""), 400},
		{"fits still", strings.NewReader(fits), 200},
	} {
		resp, err := b.client.Post(b.url+"/chat/completions", "application/json", c.body)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", c.name, resp.StatusCode, c.status)
		}
	}
	b.end()
	if st := b.Stats(); st.Requests != 3 || st.Refused != 4 || calls.Load() != 3 {
		t.Errorf("%+v, %d calls", st, calls.Load())
	}
}

func TestRequestsAreBounded(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 5)
	var most, now, calls atomic.Int32
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		arrived <- struct{}{}
		<-release
		now.Add(-1)
		sendStream(w, streamText)
	})
	g := New(Options{Limits: Limits{Concurrent: 2, Requests: 5}})
	b := openBox(t, g, up, overTCP(t))
	statuses := make(chan int, 7)
	for range 7 {
		go func() {
			status, _, _ := b.ask(`{"stream":true}`)
			statuses <- status
		}()
	}
	count := map[int]int{<-statuses: 1}
	count[<-statuses]++ // the two that are refused come first: the others wait
	<-arrived
	<-arrived
	close(release)
	for range 5 {
		count[<-statuses]++
	}
	if !reflect.DeepEqual(count, map[int]int{200: 5, 403: 2}) || most.Load() != 2 || calls.Load() != 5 || !b.Stats().OverLimit {
		t.Errorf("statuses %v, at one time %d, calls %d, %+v", count, most.Load(), calls.Load(), b.Stats())
	}
}

// Neither a store nor a recorder that fails keeps the answer from the agent.
func TestStoreFails(t *testing.T) {
	up := endpoint(t, func(w http.ResponseWriter, r *http.Request) { sendStream(w, streamText) })
	rec, err := NewRecorder(&failingWriter{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	b := openBox(t, quick(8), up, overTCP(t))
	b.storeErr = errors.New("database is locked")
	b.o.Record = rec
	if status, text, err := b.ask(`{"stream":true}`); status != 200 || text != streamText || err != nil {
		t.Errorf("%d %q %v", status, text, err)
	}
	b.end()
	st := b.Stats()
	if st.StoreErr != b.storeErr || st.RecordErr == nil || !strings.Contains(st.RecordErr.Error(), "disk full") || st.Answers != 1 {
		t.Errorf("%+v", st)
	}
}

func TestOpenRefuses(t *testing.T) {
	up, err := NewScripted("")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []SessionOptions{{Model: "m"}, {Upstream: up}} {
		if _, err := New(Options{}).Open(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
