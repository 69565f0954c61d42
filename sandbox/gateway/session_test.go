package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestStreamPassesThrough(t *testing.T) {
	type seen struct {
		path, key string
		header    http.Header
		body      map[string]any
	}
	var got seen
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
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
	if x.Seq != 1 || x.Status != 200 || !x.Complete || !x.Usable || x.Error != "" || x.Tries != 1 ||
		x.Waited != 0 ||
		x.Model != "wire-model" || !reflect.DeepEqual(x.Usage, fullUsage) || x.Ended.Before(x.Started) {
		t.Errorf("exchange %+v", x)
	}
	if rec.Request != `{"model":"agent-model","stream":true,"messages":[]}` || rec.Response != text ||
		rec.Path != "/chat/completions" ||
		rec.Headers["Content-Type"] != "text/event-stream" ||
		strings.Contains(fmt.Sprint(rec), b.BasePath()) {
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
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
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
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
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

func TestAgentGoesAway(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
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
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		sendStream(w, `data: {"choices":[{"delta":{"content":"hel"}}]}`+"\n\n")
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

// An agent that leaves when it has read all that it needs, before the formal
// end, has had a whole answer: what it cost is known.
func TestAgentLeavesAfterTheWholeAnswer(t *testing.T) {
	arrived := make(chan struct{})
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		sendStream(w, `data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`+"\n\n")
		close(arrived)
		<-r.Context().Done()
	})
	b := openBox(t, quick(8), up, overTCP(t))
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := b.post(ctx, `{"stream":true}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAtLeast(resp.Body, make([]byte, 4096), 50); err != nil {
		t.Fatal(err)
	}
	<-arrived
	cancel()
	x, _ := b.one()
	if !x.Complete || !x.Usable || x.Error != "" || *x.Usage.Input != 7 || *x.Usage.Output != 3 {
		t.Errorf("%+v", x)
	}
}

// Neither a store nor a recorder that fails keeps the answer from the agent.
func TestStoreFails(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) { sendStream(w, streamText) })
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
	if st.StoreErr != b.storeErr || st.RecordErr == nil ||
		!strings.Contains(st.RecordErr.Error(), "disk full") || st.Answers != 1 {
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

// A listener that fails is an error, unlike the session's end.
func TestServeTellsOfALostListener(t *testing.T) {
	up, err := NewScripted("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{}).Open(SessionOptions{Upstream: up, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := overTCP(t)()
	_ = l.Close()
	if err := s.Serve(context.Background(), l); err == nil || !strings.Contains(err.Error(), "serving model connection") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l, _ = overTCP(t)()
	if err := s.Serve(ctx, l); err != nil {
		t.Errorf("with its context: %v", err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
