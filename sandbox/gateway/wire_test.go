package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
)

func TestWireOf(t *testing.T) {
	for path, want := range map[string]Wire{
		"/chat/completions": WireChat, "/responses": WireResponses, "/messages": WireMessages,
		"/messages/count_tokens": WireMessages, "/models/gemini-2.5-pro:generateContent": WireGemini,
		"/models/a/b:c:streamGenerateContent": WireGemini, "/models/m:countTokens": WireGemini,
		"": "", "/": "", "/chat": "", "/v1/responses": "", "/responses/": "", "/responses/resp_1": "",
		"/models": "", "/models/m": "", "/models/:generateContent": "", "/models/m:batchGenerateContent": "",
		"/messages/batches": "", "/completions": "", "/models/m:generateContent/x": "",
	} {
		if got, ok := WireOf(path); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", path, got, ok, want)
		}
	}
}

// What the provider gets of path and query: the run's model in Gemini's path,
// and nothing of a query that chooses keys or hides figures.
func TestCallURL(t *testing.T) {
	for _, c := range []struct{ path, query, model, want string }{
		{"/chat/completions", "key=x", "m", "/chat/completions"},
		{"/responses", "a=b", "m", "/responses"},
		{"/messages", "beta=true&key=x", "m", "/messages?beta=true"},
		{"/messages", "beta=other", "m", "/messages"},
		{"/messages/count_tokens", "beta=true", "m", "/messages/count_tokens?beta=true"},
		{"/models/theirs:streamGenerateContent", "alt=sse&key=x&fields=candidates", "ours",
			"/models/ours:streamGenerateContent?alt=sse"},
		{"/models/theirs:generateContent", "alt=media", "ours", "/models/ours:generateContent"},
		{"/models/theirs:countTokens", "", "a/b c?", "/models/a%2Fb%20c%3F:countTokens"},
	} {
		call, ok := callOf(c.path)
		query, err := url.ParseQuery(c.query)
		if !ok || err != nil {
			t.Fatalf("%q: %v %v", c.path, ok, err)
		}
		if got := call.url(c.model, query).RequestURI(); got != c.want {
			t.Errorf("%s?%s: %s, want %s", c.path, c.query, got, c.want)
		}
	}
}

// wireCase is one exchange in each wire in the shapes that providers send.
type wireCase struct {
	wire            Wire
	path, sentPath  string // from the agent, to the provider
	body, sent      string
	first, rest     string // of the answer
	usage           Usage
	header, headers string // that the agent sends and the provider gets
}

func wireCases() []wireCase {
	return []wireCase{
		{
			wire: WireChat, path: "/v1/chat/completions?x=1", sentPath: "/api/v1/chat/completions",
			body:  `{"model":"theirs","stream":true,"messages":[]}`,
			sent:  `{"model":"wire-model","stream":true,"messages":[],"stream_options":{"include_usage":true}}`,
			first: streamText, rest: usageChunk + "data: [DONE]\n\n", usage: fullUsage,
		},
		{
			wire: WireResponses, path: "/v1/responses", sentPath: "/api/v1/responses",
			body:  `{"model":"theirs","input":[],"stream":true,"store":false}`,
			sent:  `{"model":"wire-model","input":[],"stream":true,"store":false}`,
			first: responsesCall, rest: responsesEnd, usage: fullUsage,
		},
		{
			wire: WireMessages, path: "/v1/messages?beta=true", sentPath: "/api/v1/messages?beta=true",
			body:  `{"model":"theirs","max_tokens":32000,"messages":[],"stream":true}`,
			sent:  `{"model":"wire-model","max_tokens":32000,"messages":[],"stream":true}`,
			first: messagesStart, rest: messagesEnd,
			usage:  Usage{Input: n64(1230), Cached: n64(200), CacheWrite: n64(30), Output: n64(50)},
			header: "Anthropic-Beta", headers: "claude-code-20250219",
		},
		{
			wire: WireGemini, path: "/v1beta/models/theirs:streamGenerateContent?alt=sse&key=box",
			sentPath: "/api/v1/models/wire-model:streamGenerateContent?alt=sse",
			body:     `{"contents":[],"generationConfig":{"maxOutputTokens":100}}`,
			sent:     `{"contents":[],"generationConfig":{"maxOutputTokens":100}}`,
			first:    geminiThought, rest: geminiEnd,
			usage: Usage{Input: n64(1000), Cached: n64(200), Output: n64(67), Reasoning: n64(17)},
		},
	}
}

// In every wire the agent has a piece before the provider has sent the next,
// the model is the run's, and usage and record are as told.
func TestWiresPassThrough(t *testing.T) {
	for _, c := range wireCases() {
		t.Run(string(c.wire), func(t *testing.T) {
			read := make(chan struct{})
			type seen struct{ at, body, header, key string }
			got := make(chan seen, 1)
			up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got <- seen{r.RequestURI, string(body), r.Header.Get(c.header), r.Header.Get("X-Goog-Api-Key")}
				sendStream(w, c.first)
				select {
				case <-read:
					sendStream(w, c.rest)
				case <-r.Context().Done():
				}
			})
			b := openBox(t, quick(8), up, overTCP(t))
			r, err := http.NewRequest("POST", strings.TrimSuffix(b.url, "/v1")+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Goog-Api-Key", "box")
			if c.header != "" {
				r.Header.Set(c.header, c.headers)
			}
			resp, err := b.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			first := make([]byte, len(c.first))
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != c.first {
				t.Fatalf("%q, %v", first, err)
			}
			close(read)
			if rest, err := io.ReadAll(resp.Body); string(rest) != c.rest || err != nil {
				t.Fatalf("%q, %v", rest, err)
			}
			if s := <-got; s.at != c.sentPath || s.body != c.sent || s.header != c.headers || s.key != "" {
				t.Errorf("the provider got %+v", s)
			}
			x, rec := b.one()
			if x.Wire != c.wire || !x.Usable || !reflect.DeepEqual(x.Usage, c.usage) || x.CostUSD != nil ||
				x.Model != "wire-model" {
				t.Errorf("exchange %+v %s", x, told(x.Usage))
			}
			if rec.Wire != c.wire || rec.Path != strings.TrimPrefix(c.sentPath, "/api/v1") || rec.Request != c.body ||
				rec.Response != c.first+c.rest {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

// An answer that breaks off is cut for the agent too, and what it would have
// cost is unknown where the wire tells the output only at the end.
func TestWiresCut(t *testing.T) {
	for _, c := range wireCases() {
		t.Run(string(c.wire), func(t *testing.T) {
			up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) { sendStream(w, c.first); cut() })
			b := openBox(t, quick(8), up, overTCP(t))
			resp, err := b.postTo(context.Background(), c.path, c.body)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Error("the agent saw an ordinary end")
			}
			x, _ := b.one()
			if x.Complete || x.Usage.Known() || b.Stats().LastError.Kind != FailureCut || b.Stats().Usage.Unknown != 1 {
				t.Errorf("%+v %+v", x, b.Stats())
			}
		})
	}
}

// told is usage in words, for messages of tests.
func told(u Usage) string {
	text, _ := json.Marshal(u)
	return string(text)
}

// Counting tokens asks no model: it costs nothing, and a provider that does
// not know the question stops no sweep.
func TestCountTokens(t *testing.T) {
	var status atomic.Int32
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, r.URL.Path+string(body))
	})
	b := openBox(t, quick(2), up, overTCP(t))
	for _, c := range []struct {
		status                 int32
		path, body, seen, sent string
	}{
		{200, "/v1/messages/count_tokens", `{"model":"x"}`, "/api/v1/messages/count_tokens", `{"model":"wire-model"}`},
		{404, "/v1/messages/count_tokens", `{}`, "/api/v1/messages/count_tokens", `{"model":"wire-model"}`},
		{200, "/v1beta/models/x:countTokens", `{"generateContentRequest":{"model":"models/x","contents":[]}}`,
			"/api/v1/models/wire-model:countTokens",
			`{"generateContentRequest":{"model":"models/wire-model","contents":[]}}`},
	} {
		status.Store(c.status)
		resp, err := b.postTo(context.Background(), c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != int(c.status) || c.status == 200 && string(text) != c.seen+c.sent {
			t.Errorf("%s: %d %s", c.path, resp.StatusCode, text)
		}
	}
	b.end()
	st := b.Stats()
	if len(b.exchanges) != 0 || st.Requests != 0 || st.LastError != nil || st.Usage != (Totals{}) || st.Refused != 0 {
		t.Errorf("%+v, stats %+v", b.exchanges, st)
	}
	recs, err := read(t, b.file.Bytes())
	if err != nil || len(recs) != 3 || recs[0].Seq != 0 || recs[0].Path != "/messages/count_tokens" ||
		!reflect.DeepEqual(*recs[0].Usage, noUsage()) {
		t.Errorf("%+v %v", recs, err)
	}
}

// The gateway's own errors, and lists of models, are in the form of the wire.
func TestOwnWords(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) { sendStream(w, streamText) })
	b := openBoxWith(t, quick(1), SessionOptions{Upstream: up, Model: "m1", Wires: []Wire{WireChat, WireMessages}},
		overTCP(t))
	const bad, off = "request body is not usable: not JSON", " is not served in this run"
	openAI := func(text string) string {
		return `{"error":{"code":"gateway_error","message":"` + text + `","type":"gateway_error"}}`
	}
	anthropic := func(kind, text string) string {
		return `{"error":{"message":"` + text + `","type":"` + kind + `"},"type":"error"}`
	}
	const gem = `"displayName":"m1","name":"models/m1","supportedGenerationMethods":` +
		`["generateContent","streamGenerateContent","countTokens"]`
	for _, c := range []struct {
		method, path string
		anthropic    bool
		status       int
		want         string
	}{
		{"POST", "/v1/chat/completions", false, 400, openAI(bad)},
		{"POST", "/chat/completions", false, 400, openAI(bad)},
		{"POST", "/v1/responses", false, 404, openAI(`the wire \"responses\"` + off)},
		{"POST", "/v1/messages", false, 400, anthropic("invalid_request_error", bad)},
		{"POST", "/messages?beta=true", true, 400, anthropic("invalid_request_error", bad)},
		{"POST", "/v1/files", true, 404, anthropic("not_found_error", "only model requests are served here")},
		{"POST", "/v1beta/models/x:generateContent", false, 404,
			`{"error":{"code":404,"message":"the wire \"gemini\"` + off + `","status":"NOT_FOUND"}}`},
		{"POST", "/models/x:generateContent", false, 404,
			`{"error":{"code":404,"message":"the wire \"gemini\"` + off + `","status":"NOT_FOUND"}}`},
		{"GET", "/v1/models", false, 200,
			`{"data":[{"id":"m1","object":"model","owned_by":"` + up.Name() + `"}],"object":"list"}`},
		{"GET", "/models", false, 200,
			`{"data":[{"id":"m1","object":"model","owned_by":"` + up.Name() + `"}],"object":"list"}`},
		{"GET", "/v1/models/other", false, 200, `{"id":"m1","object":"model","owned_by":"` + up.Name() + `"}`},
		{"GET", "/v1/models", true, 200, `{"data":[{"created_at":"1970-01-01T00:00:00Z","display_name":"m1",` +
			`"id":"m1","type":"model"}],"first_id":"m1","has_more":false,"last_id":"m1"}`},
		{"GET", "/v1beta/models", false, 200, `{"models":[{` + gem + `}]}`},
		{"GET", "/v1beta/models/x", false, 200, `{` + gem + `}`},
		{"GET", "/api/hello", false, 404, ""},
	} {
		r, err := http.NewRequest(c.method, strings.TrimSuffix(b.url, "/v1")+c.path, strings.NewReader("no"))
		if err != nil {
			t.Fatal(err)
		}
		if c.anthropic {
			r.Header.Set("Anthropic-Version", "2023-06-01")
		}
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || string(text) != c.want {
			t.Errorf("%s %s: %d %s\nwant %s", c.method, c.path, resp.StatusCode, text, c.want)
		}
	}
	b.end()
	if st := b.Stats(); st.Refused != 8 || st.Requests != 0 || st.Strays != 0 {
		t.Errorf("%+v", st)
	}
}

// A failure without a body of its own is told in the form of the wire.
func TestFailureInTheWire(t *testing.T) {
	for _, c := range wireCases() {
		up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) })
		b := openBox(t, quick(1), up, overTCP(t))
		resp, err := b.postTo(context.Background(), c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		want := map[Wire]string{
			WireMessages: `{"error":{"message":"busy","type":"api_error"},"type":"error"}`,
			WireGemini:   `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`,
		}[c.wire]
		if want == "" {
			want = `{"error":{"code":"gateway_error","message":"busy","type":"gateway_error"}}`
		}
		if resp.StatusCode != 503 || string(text) != want {
			t.Errorf("%s: %d %s", c.wire, resp.StatusCode, text)
		}
	}
}
