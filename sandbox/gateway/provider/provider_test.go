package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cabra-run/sandbox/gateway"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "providers.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// alone makes the default file one that does not exist.
func alone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	return dir
}

func load(t *testing.T, path string) *Registry {
	t.Helper()
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The built-in definitions say what the vendors' documentation says.
func TestBuiltin(t *testing.T) {
	alone(t)
	t.Setenv("AZURE_OPENAI_ENDPOINT", "https://lab.openai.azure.com/")
	r := load(t, "")
	if got := r.Names(); !slices.Equal(got, []string{"anthropic", "azure", "gemini", "openai", "openrouter"}) {
		t.Errorf("providers %v", got)
	}
	for _, c := range []struct {
		name string
		wire gateway.Wire
		base string
		auth gateway.Auth
		key  string
	}{
		{"openrouter", "chat", "https://openrouter.ai/api/v1", "", "OPENROUTER_API_KEY"},
		{"openrouter", "messages", "https://openrouter.ai/api/v1", "", "OPENROUTER_API_KEY"},
		{"openai", "responses", "https://api.openai.com/v1", "", "OPENAI_API_KEY"},
		{"anthropic", "messages", "https://api.anthropic.com/v1", "x-api-key", "ANTHROPIC_API_KEY"},
		{"anthropic", "chat", "https://api.anthropic.com/v1", "", "ANTHROPIC_API_KEY"},
		{"gemini", "gemini", "https://generativelanguage.googleapis.com/v1beta", "x-goog-api-key", "GEMINI_API_KEY"},
		{"gemini", "chat", "https://generativelanguage.googleapis.com/v1beta/openai", "", "GEMINI_API_KEY"},
		{"azure", "chat", "https://lab.openai.azure.com/openai/v1", "api-key", "AZURE_OPENAI_API_KEY"},
	} {
		d, ok := r.Get(c.name)
		if !ok || !d.Speaks(c.wire) {
			t.Fatalf("%s does not speak %s", c.name, c.wire)
		}
		e, err := d.Endpoint(c.wire)
		if err != nil || e.BaseURL != c.base || e.Auth != c.auth || d.Key.Env != c.key || d.Origin != "built in" {
			t.Errorf("%s %s: %+v %v %v", c.name, c.wire, e, d.Key, err)
		}
		if c.auth == "x-api-key" && e.Headers["anthropic-version"] != "2023-06-01" {
			t.Errorf("headers %v", e.Headers)
		}
	}
}

func TestResolve(t *testing.T) {
	dir := alone(t)
	r := load(t, "")
	for model, want := range map[string][2]string{
		"openai/gpt-5.5": {"openai", "gpt-5.5"}, "openrouter/anthropic/claude-opus-4.7": {"openrouter", "anthropic/claude-opus-4.7"},
		"openrouter/a/b/c:free": {"openrouter", "a/b/c:free"},
	} {
		d, name, err := r.Resolve(model)
		if err != nil || d.Name != want[0] || name != want[1] {
			t.Errorf("%s: %v %q %v", model, d, name, err)
		}
	}
	if _, _, err := r.Resolve("openai/"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("empty name: %v", err)
	}
	for model, want := range map[string]string{
		"gpt-5.5": `model "gpt-5.5" names no provider`, "opneai/gpt-5.5": `no provider "opneai" is defined`,
		"/x": `no provider "" is defined`,
	} {
		_, _, err := r.Resolve(model)
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%s: %v", model, err)
			continue
		}
		hint := unknown.Hint()
		if model != "/x" && !strings.Contains(err.Error(), want) ||
			!strings.Contains(hint, "anthropic, azure, gemini, openai, openrouter") ||
			!strings.Contains(hint, filepath.Join(dir, "cabra-run", "providers.toml")) {
			t.Errorf("%s: %v; %s", model, err, hint)
		}
	}
}

func TestUserFile(t *testing.T) {
	dir := alone(t)
	if err := os.MkdirAll(filepath.Join(dir, "cabra-run"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "cabra-run", "providers.toml")
	text := `
[providers.openai.limits]
requests_per_minute = 30
concurrent = 4

[providers.lab]
base_url = "http://lab:8000/v1"
key = { file = "lab.key" }
wires = ["messages", "chat"]
headers = { X-Team = "a" }
[providers.lab.wire.messages]
auth = "x-api-key"
headers = { X-Wire = "m" }
query = { version = "2" }
[providers.lab.limits]
shared = true
tokens_per_minute = 5
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := load(t, "")
	openai, _ := r.Get("openai")
	if openai.Limits != (gateway.RateLimits{RequestsPerMinute: 30, Concurrent: 4}) || openai.Key.Env != "OPENAI_API_KEY" ||
		len(openai.Wires) != 2 || openai.Origin != path+":2" {
		t.Errorf("openai: %+v", openai)
	}
	lab, ok := r.Get("lab")
	if !ok || lab.Origin != path+":6" || lab.Key.File != filepath.Join(dir, "cabra-run", "lab.key") ||
		lab.Limits != (gateway.RateLimits{TokensPerMinute: 5, Shared: true}) || lab.Wires[0] != "messages" {
		t.Fatalf("lab: %+v", lab)
	}
	m, err := lab.Endpoint("messages")
	if err != nil || m.Auth != "x-api-key" || m.Headers["X-Team"] != "a" || m.Headers["X-Wire"] != "m" || m.Query["version"] != "2" {
		t.Errorf("%+v %v", m, err)
	}
	c, err := lab.Endpoint("chat")
	if err != nil || c.Auth != "" || len(c.Headers) != 1 || len(c.Query) != 0 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := lab.Upstream(nil); err == nil || !strings.Contains(err.Error(), path+":8: providers.lab.key") ||
		!strings.Contains(err.Error(), "lab.key") || !errors.Is(err, gateway.ErrKey) {
		t.Errorf("missing key file: %v", err)
	}
	if other := load(t, file(t, "")); slices.Contains(other.Names(), "lab") {
		t.Error("a named file does not take the place of the default one")
	}
}

const good = `[providers.lab]
base_url = "http://lab/v1"
wires = ["chat"]
key = { env = "LAB_KEY" }
`

// Every error says which file, line and field.
func TestBadFiles(t *testing.T) {
	alone(t)
	swap := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, c := range map[string]struct{ text, want string }{
		"syntax":       {"[providers.lab\n", ":1: "},
		"unknown":      {good + "keys = 3\n", `:5: unknown field "providers.lab.keys"`},
		"unknown deep": {good + "[providers.lab.limits]\nrpm = 3\n", `:6: unknown field "providers.lab.limits.rpm"`},
		"type":         {swap(`["chat"]`, `"chat"`), ":3"},
		"name":         {swap("lab]", `"Lab X"]`), `:1: providers.Lab X: "Lab X" cannot be`},
		"reserved":     {swap("lab]", `scripted]`), `"scripted" cannot be`},
		"url":          {swap("http://lab/v1", "lab/v1"), ":2: providers.lab.base_url: base URL"},
		"password":     {swap("http://lab/v1", "http://u:secret@lab/v1"), ":2: providers.lab.base_url: base URL"},
		"no url":       {swap(`base_url = "http://lab/v1"`, ""), `:1: providers.lab.base_url: base_url is missing for wire "chat"`},
		"auth":         {good + "auth = \"basic\"\n", `:5: providers.lab.auth: auth "basic"`},
		"wire":         {swap(`"chat"`, `"chatter"`), `:3: providers.lab.wires: wires: "chatter" is none of`},
		"no wires":     {swap(`wires = ["chat"]`, ""), ":1: providers.lab.wires: wires: name at least one"},
		"other wire":   {good + "[providers.lab.wire.gemini]\nauth = \"none\"\n", `:5: providers.lab.wire.gemini: wire "gemini" is not in wires`},
		"two keys":     {swap(`{ env = "LAB_KEY" }`, `{ env = "A", file = "b" }`), ":4: providers.lab.key: key: want one of"},
		"no key":       {swap(`{ env = "LAB_KEY" }`, `{}`), ":4: providers.lab.key: key: want one of"},
		"key itself":   {swap("LAB_KEY", "sk-secret-key"), ":4: providers.lab.key: key: env is the name"},
		"command":      {swap(`{ env = "LAB_KEY" }`, `{ command = [""] }`), ":4: providers.lab.key: key: command"},
		"key header":   {good + "headers = { authorization = \"x\" }\n", `:5: providers.lab.headers: header "authorization" is not for`},
		"bad header":   {good + "headers = { X-A = \"a\\nb\" }\n", `:5: providers.lab.headers: header "X-A" cannot`},
		"bad query":    {good + "query = { a = \"ä\" }\n", ":5: providers.lab.query"},
		"moved":        {"[providers.openai]\nbase_url = \"https://elsewhere.example/v1\"\n", ":2: providers.openai.base_url: elsewhere.example is another host than before: say under key"},
		"wire moved":   {"[providers.openai.wire.chat]\nbase_url = \"https://elsewhere.example/v1\"\n", "elsewhere.example is another host than before"},
		"negative":     {good + "[providers.lab.limits]\nconcurrent = -1\n", ":5: providers.lab.limits: limits: a number is negative"},
	} {
		path := file(t, c.text)
		_, err := Load(path)
		if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Load("/none/providers.toml"); err == nil || !strings.Contains(err.Error(), "/none/providers.toml") {
		t.Errorf("missing file: %v", err)
	}
}

func TestMissingVariable(t *testing.T) {
	alone(t)
	t.Setenv("AZURE_OPENAI_ENDPOINT", "")
	t.Setenv("AZURE_OPENAI_API_KEY", "azure-key-123")
	r := load(t, "")
	azure, _ := r.Get("azure")
	if _, err := azure.Upstream(nil); err == nil || !strings.Contains(err.Error(), "environment variable AZURE_OPENAI_ENDPOINT is not set") ||
		!strings.Contains(err.Error(), "built-in providers:") {
		t.Errorf("%v", err)
	}
	t.Setenv("AZURE_OPENAI_ENDPOINT", "https://u:secret@lab.example")
	if _, err := azure.Upstream(nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	openai, _ := r.Get("openai")
	t.Setenv("OPENAI_API_KEY", "")
	if _, err := openai.Upstream(nil); err == nil || !strings.Contains(err.Error(), "environment variable OPENAI_API_KEY is empty") {
		t.Errorf("%v", err)
	}
}

// A definition's requests arrive where and how it says, with its key alone.
func TestUpstream(t *testing.T) {
	alone(t)
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got = r
	}))
	defer srv.Close()
	t.Setenv("LAB_HOST", srv.URL+"/")
	path := file(t, `[providers.lab]
base_url = "${LAB_HOST}/api/v1"
key = { command = ["printf", "%s", "key-from-command"] }
wires = ["chat", "messages", "gemini"]
[providers.lab.wire.messages]
auth = "x-api-key"
headers = { anthropic-version = "2023-06-01" }
query = { version = "2" }
[providers.lab.wire.gemini]
base_url = "${LAB_HOST}/google/v1beta"
auth = "x-goog-api-key"
`)
	lab, _ := load(t, path).Get("lab")
	mask := gateway.NewMask()
	up, err := lab.Upstream(mask)
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	for _, c := range []struct{ path, uri, header, value string }{
		{"/chat/completions", "/api/v1/chat/completions", "Authorization", "Bearer key-from-command"},
		{"/messages?beta=true", "/api/v1/messages?beta=true&version=2", "X-Api-Key", "key-from-command"},
		{"/models/a%2Fb:generateContent", "/google/v1beta/models/a%2Fb:generateContent", "X-Goog-Api-Key", "key-from-command"},
	} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := up.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got.RequestURI != c.uri || got.Header.Get(c.header) != c.value {
			t.Errorf("%s: %s %v", c.path, got.RequestURI, got.Header)
		}
		keys := 0
		for _, values := range got.Header {
			if strings.Contains(strings.Join(values, " "), "key-from-command") {
				keys++
			}
		}
		if keys != 1 {
			t.Errorf("%s: the key is in %d headers", c.path, keys)
		}
	}
	if got.Header.Get("Anthropic-Version") != "" || !mask.Found([]byte("…key-from-command…")) {
		t.Error("headers of another wire, or a key that the mask does not know")
	}
}

func FuzzDefinitions(f *testing.F) {
	f.Add(good)
	f.Add(string(builtin))
	f.Add("[providers.a.wire.chat]\nbase_url='http://x'\n[providers.a]\nwires=['chat']\n")
	f.Add("providers.'a.b'={wires=['chat'],base_url='${X}'}")
	f.Fuzz(func(t *testing.T, text string) {
		r := &Registry{definitions: map[string]*Definition{}}
		if err := r.read([]byte(text), source{name: "fuzz.toml"}); err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz.toml") {
				t.Fatalf("error without a file: %v", err)
			}
			return
		}
		for _, name := range r.Names() {
			d, rest, err := r.Resolve(name + "/m/n")
			if err != nil || d.Name != name || rest != "m/n" || len(d.Wires) == 0 {
				t.Fatalf("%q: %v %v", name, d, err)
			}
			for _, w := range d.Wires {
				if e, err := d.Endpoint(w); err == nil {
					if _, err := gateway.ParseBaseURL(e.BaseURL); err != nil {
						t.Fatalf("%q has address %q: %v", name, e.BaseURL, err)
					}
				}
			}
		}
	})
}
