package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results/trace"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

var (
	starter   = "def f():\n    return 1\n\n\ndef g():\n    return f() + 1\n\n\ndef h():\n    return 3\n"
	reference = "def f(a):\n    return a\n\n\ndef g(a):\n    return f(a) + 1\n\n\ndef h():\n    return 3\n"
)

// gate serves a session of the gateway and returns its address.
func gate(t *testing.T, up gateway.Upstream) (*gateway.Session, string) {
	t.Helper()
	s, err := gateway.New(gateway.Options{Retry: gateway.RetryBudget{Tries: 1}}).Open(gateway.SessionOptions{
		Upstream: up, Model: "model-1", Script: gateway.Script{Starter: starter, Reference: reference, Edited: []string{"f", "g"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		_ = s.Close(context.Background())
		server.Close()
	})
	return s, server.URL + s.Root()
}

func scripted(t *testing.T, behaviour string) gateway.Upstream {
	t.Helper()
	up, err := gateway.NewScripted(behaviour)
	if err != nil {
		t.Fatal(err)
	}
	return up
}

func job(form Form, wire string) Job {
	return Job{Agent: "llm", Version: "1", SessionID: "s-1", Form: form, Wire: wire, Model: "model-1",
		Code: tasks.Files{"solution.py": starter}, Problem: "Pass a through f and g."}
}

// solve runs a job and returns what came of it, with its trace.
func solve(t *testing.T, ctx context.Context, root string, j Job) (Result, *trace.Trace, error) {
	t.Helper()
	ask, err := NewAsker(j.Wire, root, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "conversation.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r, solveErr := Solve(ctx, ask, j, log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	home, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	tr, err := trace.Read("llm", home, trace.Hint{SessionID: j.SessionID})
	if err != nil || tr == nil || len(tr.Problems) > 0 {
		t.Fatalf("trace %+v, %v", tr, err)
	}
	return r, tr, solveErr
}

// Every wire carries every form through the real client libraries, the gateway
// and back, and the figures of both sides agree.
func TestSolve(t *testing.T) {
	for _, wire := range Wires() {
		for _, form := range []Form{WholeFiles, Diff} {
			for behaviour, want := range map[string]struct {
				code  string // "" for none
				turns int
			}{"solve": {reference, 1}, "untouched": {starter, 1}, "unparseable@2": {reference, 3}, "unparseable": {"", 10}} {
				t.Run(fmt.Sprintf("%s/%s/%s", wire, form, behaviour), func(t *testing.T) {
					session, root := gate(t, scripted(t, behaviour))
					r, tr, err := solve(t, t.Context(), root, job(form, wire))
					if err != nil || r.Files["solution.py"] != want.code {
						t.Fatalf("got %q, %q, %v", r.Files, r.Reason, err)
					}
					finish := trace.FinishCompleted
					if want.code == "" {
						finish = trace.FinishGaveUp
						if !strings.Contains(r.Reason, "10 tries") || !strings.Contains(r.Reason, "no <solution>") {
							t.Errorf("reason %q", r.Reason)
						}
					}
					stats := session.Stats()
					if tr.Turns != want.turns || stats.Answers != want.turns || stats.Refused > 0 || tr.Finished != finish {
						t.Errorf("%d turns, %d answers at the gateway, %s", tr.Turns, stats.Answers, tr.Finished)
					}
					if *tr.Tokens == (trace.Tokens{}) || tr.Tokens.Input != stats.Usage.Input || tr.Tokens.Output != stats.Usage.Output {
						t.Errorf("tokens %+v, at the gateway %d in, %d out", tr.Tokens, stats.Usage.Input, stats.Usage.Output)
					}
				})
			}
			t.Run(fmt.Sprintf("%s/%s/wrong", wire, form), func(t *testing.T) {
				_, root := gate(t, scripted(t, "wrong"))
				r, _, err := solve(t, t.Context(), root, job(form, wire))
				if text := r.Files["solution.py"]; err != nil || text == "" || text == starter || text == reference {
					t.Errorf("got %q, %v", text, err)
				}
			})
		}
	}
}

func TestFailures(t *testing.T) {
	for _, wire := range Wires() {
		for behaviour, want := range map[string]struct {
			requests int
			reason   string
		}{"error:500": {1, "status 500"}, "error:401": {1, "status 401"}, "error:400": {1, "scripted error 400"}, "cut": {10, "10 tries"}} {
			t.Run(wire+"/"+behaviour, func(t *testing.T) {
				session, root := gate(t, scripted(t, behaviour))
				r, tr, err := solve(t, t.Context(), root, job(WholeFiles, wire))
				if err != nil || r.Files != nil || !strings.Contains(r.Reason, want.reason) {
					t.Errorf("got %q, %q, %v", r.Files, r.Reason, err)
				}
				if n := session.Stats().Requests; n != want.requests || tr.Error == nil || tr.Finished != trace.FinishError {
					t.Errorf("%d requests, error %+v, %s", n, tr.Error, tr.Finished)
				}
			})
		}
	}
}

// A model that says nothing ends with the context, and so does the trace.
func TestStopped(t *testing.T) {
	for _, wire := range Wires() {
		for _, behaviour := range []string{"idle", "silence"} {
			_, root := gate(t, scripted(t, behaviour))
			ctx, cancel := context.WithCancel(t.Context())
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				cancel() // once it has been asked
				return http.DefaultTransport.RoundTrip(r)
			})}
			ask, err := NewAsker(wire, root, client)
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			_, err = Solve(ctx, ask, job(WholeFiles, wire), &log)
			if !errors.Is(err, context.Canceled) || !strings.Contains(log.String(), `"end":"stopped"`) {
				t.Errorf("%s, %s: %v\n%s", wire, behaviour, err, log.String())
			}
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const whole = "<solution>\\n# === solution.py ===\\nx = 1\\n</solution>"

// The answer of a model at the limit of its length is not read, however whole
// it looks; one that simply ends is.
func TestCutAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, wire, body string
		readable         bool
	}{
		{"chat", "chat", `{"choices":[{"index":0,"delta":{"content":"` + whole + `"},"finish_reason":"stop"}]}`, true},
		{"chat, other word", "chat", `{"choices":[{"index":0,"delta":{"content":"` + whole + `"},"finish_reason":"eos"}]}`, true},
		{"chat at its limit", "chat", `{"choices":[{"index":0,"delta":{"content":"` + whole + `"},"finish_reason":"length"}]}`, false},
		{"chat without end", "chat", `{"choices":[{"index":0,"delta":{"content":"` + whole + `"},"finish_reason":null}]}`, false},
		{"responses", "responses", `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"` + whole + `"}]}]}}`, true},
		{"responses at its limit", "responses", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"` + whole + `"}]}]}}`, false},
		{"responses failed", "responses", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oh"}}}`, false},
		{"messages", "messages", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + whole + `"}}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`, true},
		{"messages at its limit", "messages", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + whole + `"}}
{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, doc := range strings.Split(tt.body, "\n") {
					var e struct{ Type string }
					if err := json.Unmarshal([]byte(doc), &e); err != nil {
						t.Errorf("%s: %v", doc, err)
					}
					if e.Type != "" {
						fmt.Fprintf(w, "event: %s\n", e.Type)
					}
					fmt.Fprintf(w, "data: %s\n\n", doc)
				}
			}))
			defer server.Close()
			j := job(WholeFiles, tt.wire)
			j.Tries = 1
			r, _, err := solve(t, t.Context(), server.URL, j)
			if err != nil || (r.Files["solution.py"] == "x = 1\n") != tt.readable {
				t.Errorf("got %q, %q, %v", r.Files, r.Reason, err)
			}
		})
	}
}

// What the model is asked with: one message, the effort of its family, no key
// of the environment's, and the address that was given.
func TestRequests(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-user")
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-user")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	for _, tt := range []struct {
		wire, model, path string
		has, lacks        []string
	}{
		{"chat", "gpt-5.5", "/v1/chat/completions", []string{`"reasoning_effort":"medium"`, `"stream":true`}, nil},
		{"chat", "gpt-4.1", "/v1/chat/completions", []string{`"model":"gpt-4.1"`}, []string{"effort", `"reasoning"`}},
		{"chat", "deepseek/deepseek-v3.2", "/v1/chat/completions", []string{`"reasoning":{"enabled":true}`}, []string{"effort"}},
		{"responses", "gpt-5.3-codex", "/v1/responses", []string{`"effort":"medium"`, `"store":false`}, nil},
		{"messages", "claude-opus-4-7", "/v1/messages", []string{`"output_config":{"effort":"medium"}`, `"max_tokens":64000`}, nil},
		{"messages", "claude-3-5-haiku-20241022", "/v1/messages", []string{`"max_tokens":8192`}, []string{"effort"}},
	} {
		t.Run(tt.wire+" "+tt.model, func(t *testing.T) {
			var path, body string
			var head http.Header
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				path, body, head = r.URL.Path, string(text), r.Header
				http.Error(w, `{"error":{"message":"no","type":"x"}}`, http.StatusBadRequest)
			}))
			defer server.Close()
			j := job(WholeFiles, tt.wire)
			j.Model = tt.model
			if _, _, err := solve(t, t.Context(), server.URL, j); err != nil {
				t.Fatal(err)
			}
			if path != tt.path || strings.Count(body, `"role":"user"`) > 1 {
				t.Errorf("%s: %s", path, body)
			}
			for _, part := range tt.has {
				if !strings.Contains(body, part) {
					t.Errorf("no %s in %.300s", part, body)
				}
			}
			for _, part := range tt.lacks {
				if strings.Contains(body, part) {
					t.Errorf("%s in %.300s", part, body)
				}
			}
			if strings.Contains(fmt.Sprint(head), "sk-of-the-user") {
				t.Errorf("a key of the environment was sent: %v", head)
			}
		})
	}
}
