package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Answers of a model in each wire.
var plainAnswers = map[Wire]string{
	WireChat:      `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`,
	WireResponses: `{"status":"incomplete","error":null,"output":[]}`,
	WireMessages:  `{"type":"message","content":[{"type":"text","text":"ok"}]}`,
	WireGemini:    `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`,
}

func TestPreflightPasses(t *testing.T) {
	for _, w := range Wires() {
		var path string
		var asked map[string]any
		up := fakeProvider(t, func(rw http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			body, _ := io.ReadAll(r.Body)
			if json.Unmarshal(body, &asked) != nil || len(body) > 300 {
				t.Errorf("%s is asked %q", w, body)
			}
			_, _ = io.WriteString(rw, plainAnswers[w])
		})
		if err := Preflight(t.Context(), up, w, "m-1"); err != nil {
			t.Errorf("%s: %v", w, err)
		}
		want := map[Wire]string{WireChat: "/chat/completions", WireResponses: "/responses", WireMessages: "/messages",
			WireGemini: "/models/m-1:generateContent"}[w]
		if path != "/api/v1"+want || w != WireGemini && asked["model"] != "m-1" {
			t.Errorf("%s: %s %v", w, path, asked)
		}
	}
}

func TestPreflightSays(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   PreflightKind // "" passes
		want   string
		calls  int
	}{
		"busy":       {429, `{"error":{"message":"slow"}}`, "", "", 1},
		"key":        {401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `"}}`, PreflightKey, "the key was rejected (status 401): Incorrect API key provided: [masked]", 1},
		"gemini key": {400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, PreflightKey, "rejected", 1},
		"forbidden":  {403, `{"error":{"message":"no access"}}`, PreflightKey, "no access", 1},
		"money":      {402, `{"error":{"message":"Insufficient credits"}}`, PreflightMoney, "no money or quota left", 1},
		"low":        {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access"}}`, PreflightMoney, "credit balance", 1},
		"model":      {404, `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`, PreflightModel, `it does not know model "m"`, 1},
		"anthropic":  {404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`, PreflightModel, `model "m"`, 1},
		"openrouter": {400, `{"error":{"message":"m is not a valid model ID","code":400}}`, PreflightModel, `model "m"`, 1},
		"path":       {404, `{"error":"Not Found"}`, PreflightAddress, "nothing answers models there (status 404)", 1},
		"page":       {404, "<html>404</html>", PreflightAddress, "nothing answers models there", 1},
		"website":    {200, "<html>Welcome</html>", PreflightAddress, "no answer of a model: <html>Welcome</html>", 1},
		"moved":      {301, "", PreflightAddress, "sends requests on to another address", 1},
		"inside":     {200, `{"error":{"code":401,"message":"User not found."}}`, PreflightKey, "User not found", 1},
		"broken":     {500, `{"error":{"message":"oops"}}`, PreflightBroken, "it fails (status 500): oops", 3},
		"refused":    {400, `{"error":{"message":"nothing suits"}}`, PreflightRefused, "nothing suits", 2},
	} {
		calls := 0
		up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}, func(o *HTTPOptions) { o.Name = "lab" })
		err := Preflight(t.Context(), up, WireChat, "m")
		var failed *PreflightError
		if c.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.As(err, &failed) || failed.Kind != c.kind || !strings.Contains(failed.Message, c.want) ||
			!strings.HasPrefix(failed.Message, "provider lab at http://127.0.0.1:") || strings.Contains(failed.Message, testKey) {
			t.Errorf("%s: %v, want %s %q", name, err, c.kind, c.want)
		}
		if calls != c.calls {
			t.Errorf("%s: asked %d times", name, calls)
		}
	}
}

// A provider that does not take the bound of the answer's length is asked
// without it.
func TestPreflightWithoutBound(t *testing.T) {
	calls := 0
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "max_completion_tokens") {
			http.Error(w, `{"error":{"message":"Unsupported parameter"}}`, 400)
			return
		}
		_, _ = io.WriteString(w, plainAnswers[WireChat])
	})
	if err := Preflight(t.Context(), up, WireChat, "m"); err != nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestPreflightWithoutAnswer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		o    HTTPOptions
		wire Wire
		kind PreflightKind
		want string
	}{
		"refused": {HTTPOptions{Name: "lab", BaseURL: gone.URL}, WireChat, PreflightSilent, "no answer: "},
		"key":     {HTTPOptions{Name: "lab", BaseURL: gone.URL, Key: KeySource{Env: "GATEWAY_TEST_NONE"}}, WireChat, PreflightKey, "GATEWAY_TEST_NONE is empty"},
		"wire":    {HTTPOptions{Name: "lab", Endpoints: map[Wire]Endpoint{WireChat: {BaseURL: gone.URL}}}, WireGemini, PreflightRefused, "does not speak"},
	} {
		up, err := NewHTTP(c.o)
		if err != nil {
			t.Fatal(err)
		}
		err = Preflight(t.Context(), up, c.wire, "m")
		var failed *PreflightError
		if !errors.As(err, &failed) || failed.Kind != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	up := fakeProvider(t, func(http.ResponseWriter, *http.Request) {})
	if err := Preflight(ctx, up, WireChat, "m"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   FailureKind
	}{
		{429, `{"error":{"code":"insufficient_quota"}}`, FailureQuota},
		{429, `{"error":{"message":"slow"}}`, FailureRateLimit},
		{429, `[{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}]`, FailureQuota},
		{429, `{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]}}`, FailureRateLimit},
		{403, `{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"]}}}`, FailureRequest},
		{403, `{"error":{"message":"no"}}`, FailureCredentials},
		{529, `{"type":"error","error":{"type":"overloaded_error"}}`, FailureServer},
		{413, `{}`, FailureRequest},
		{400, `not json`, FailureRequest},
	} {
		if got := kindOf(c.status, []byte(c.body)); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.body, got, c.want)
		}
	}
}
