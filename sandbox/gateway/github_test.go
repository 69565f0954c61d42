package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/sandbox/gateway/githubtest"
)

// A token that GitHub tells is a dummy in the box, of which the fields that a
// CLI reads are right, and stands for the real one outside.
func TestToldTokens(t *testing.T) {
	b := openLoginBox(t)
	resp, text, err := b.send(http.MethodGet, "https://api.github.com/copilot_internal/v2/token", "")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	var doc struct {
		Token     string
		Echo      string
		Expires   int64             `json:"expires_at"`
		Endpoints map[string]string `json:"endpoints"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Expires != 1900000000 || doc.Endpoints["api"] != "https://api.individual.githubcopilot.com" {
		t.Errorf("the rest was changed: %s", text)
	}
	for _, field := range []string{"exp=1900000000;", "sku=copilot_for_individual;", "proxy-ep=proxy.individual.githubcopilot.com;"} {
		if !strings.Contains(doc.Token, field) {
			t.Errorf("no %s in %s", field, doc.Token)
		}
	}
	for _, secret := range []string{"0123456789abcdef0123456789abcdef", "fedcba9876543210"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is told", secret)
		}
	}
	if len(doc.Token) != len(githubtest.Told) || doc.Echo != "a copy: "+Masked {
		t.Errorf("token %q, echo %q", doc.Token, doc.Echo)
	}
	// Asked again, the same; and good for the model.
	if _, again, _ := b.send(http.MethodGet, "https://api.github.com/copilot_internal/v2/token", ""); again != text {
		t.Errorf("another dummy for the same token: %s", again)
	}
	if resp, _, err := b.send(http.MethodPost, "https://api.githubcopilot.com/responses", `{"stream":true,"input":[]}`,
		"Authorization", "Bearer "+doc.Token); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	seen := b.github.Seen()
	if got := seen[len(seen)-1].Header.Get("Authorization"); got != "Bearer "+githubtest.Told {
		t.Errorf("sent with %q", got)
	}
	b.end()
	b.wantNoToken(text)
}

func TestAuthorization(t *testing.T) {
	w := newSwap([]byte(githubToken))
	told := w.dummy(githubtest.Told)
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for shown, want := range map[string]string{
		"Bearer " + w.login:                "",
		"bearer " + w.login:                "",
		"token " + w.login:                 "",
		basic("x-access-token:" + w.login): "",
		basic(w.login + ":"):               "",
		basic(w.login + ":x-oauth-basic"):  "",
		"Bearer " + told:                   "Bearer " + githubtest.Told,
		basic("x-access-token:" + told):    "Bearer " + githubtest.Told,
	} {
		if got, ok := w.authorization(shown); !ok || got != want {
			t.Errorf("%q: %q, %v; want %q", shown, got, ok, want)
		}
	}
	for _, shown := range []string{"", w.login, "Bearer", "Bearer ", "Bearer " + githubToken, "Bearer " + githubtest.Told,
		"Basic ???", basic("x:y"), "Digest " + w.login, "Bearer " + w.login + "x"} {
		if got, ok := w.authorization(shown); ok {
			t.Errorf("%q: %q was taken", shown, got)
		}
	}
}

func TestDummies(t *testing.T) {
	for _, token := range []string{githubToken, "github_pat_11ABCDEFG0123456789_abcdefghijklmnopqrstuvwxyz", "ghu_abcdefghijklmnopqrstuvwxyz0123456789",
		githubtest.Told, "a=b;c=d"} {
		d := dummyOf(token)
		if d == token || len(d) != len(token) || dummyOf(token) == d {
			t.Errorf("%q for %q", d, token)
		}
		if head := kept.FindString(token); !strings.HasPrefix(d, head) {
			t.Errorf("%q for %q", d, token)
		}
		for i, c := range token {
			if strings.ContainsRune("_;=:.", c) && d[i] != byte(c) {
				t.Errorf("%q is not of the shape of %q", d, token)
			}
		}
	}
}

// Tokens are found wherever they stand in an answer; without any, an answer
// stays as it is to the byte.
func TestHide(t *testing.T) {
	const secret = "secret-0123456789-secret"
	m := NewMask()
	w := newSwap([]byte(githubToken))
	out := string(w.hide([]byte(`{"a":[{"access_token":"`+secret+`"}],"n":12345678901234567890,"html":"<b>"}`), m))
	if strings.Contains(out, secret) || !strings.Contains(out, "12345678901234567890") || !strings.Contains(out, "<b>") || !m.Found([]byte(secret)) {
		t.Errorf("got %s", out)
	}
	for _, same := range []string{`{"b": 1,  "a":"<"}`, `{"token":"short"}`, `{"tokens":"` + secret + `"}`, `no JSON token`, ``, `{"token":7}`} {
		if got := string(w.hide([]byte(same), m)); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	for n := range 2 * maxTold {
		w.dummy(strings.Repeat("y", minTold+n))
	}
	if len(w.told) > maxTold {
		t.Errorf("%d tokens are remembered", len(w.told))
	}
}

// The box sees the run's model alone, by transports that can be recorded.
func TestLoginModels(t *testing.T) {
	b := openLoginBox(t)
	_, text, err := b.send(http.MethodGet, "https://api.githubcopilot.com/models", "")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Data []struct {
			ID           string
			Endpoints    []string `json:"supported_endpoints"`
			Capabilities map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Data) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	if m := list.Data[0]; m.ID != "wire-model" || len(m.Endpoints) != 1 || m.Endpoints[0] != "/responses" || m.Capabilities["family"] != "wire-model" {
		t.Errorf("%+v", m)
	}
	for _, same := range []string{`{"data":[{"id":"x"}]}`, `{"data":7}`, `[]`, `x`} {
		if got := string(onlyModel([]byte(same), "m")); got != same {
			t.Errorf("%s became %s", same, got)
		}
	}
}

// A token that GitHub refuses pauses the run instead of being the agent's
// failure, and a renewed one is picked up.
func TestRefusedLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("gho_expired_expired_expired_expired_0000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openLoginBox(t, func(o *LoginOptions) { o.GitHub.http.key = KeySource{File: file} })
	resp, text, err := b.send(http.MethodGet, "https://api.github.com/copilot_internal/user", "")
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("%v %v", resp, err)
	}
	f := b.Stats().LastError
	if f == nil || f.Kind != FailureCredentials || !f.Permanent || !f.PausesSweep() || !strings.Contains(f.Message, "Bad credentials") {
		t.Errorf("%+v, the box saw %s", f, text)
	}
	if err := os.WriteFile(file, []byte(githubToken), 0o600); err != nil {
		t.Fatal(err)
	}
	resp, text, err = b.send(http.MethodGet, "https://api.github.com/copilot_internal/user", "")
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(text, `"login":"someone"`) {
		t.Errorf("%v %v %s", resp, err, text)
	}
	b.end()
	b.wantNoToken(text)
}

// A missing answer of no consequence is the CLI's to bear.
func TestMissingSettings(t *testing.T) {
	b := openLoginBox(t)
	resp, _, err := b.send(http.MethodGet, "https://api.github.com/copilot_internal/managed_settings", "")
	if err != nil || resp.StatusCode != http.StatusNotFound || b.Stats().LastError != nil {
		t.Errorf("%v %v %v", resp, err, b.Stats().LastError)
	}
}

func TestGitHubCheck(t *testing.T) {
	b := openLoginBox(t)
	if err := b.up.Check(context.Background(), "wire-model"); err != nil {
		t.Error(err)
	}
	seen := b.github.Seen()
	if len(seen) != 1 || seen[0].Host != githubtest.Copilot || seen[0].Path != "/models" {
		t.Errorf("asked %+v", seen)
	}
	var pe *PreflightError
	err := b.up.Check(context.Background(), "no-such")
	if !errors.As(err, &pe) || pe.Kind != PreflightModel || !strings.Contains(pe.Message, "there is: wire-model, other") {
		t.Errorf("%v", err)
	}
	b.up.http.key = KeySource{Value: "gho_another_token_that_github_refuses_00"}
	err = b.up.Check(context.Background(), "wire-model")
	if !errors.As(err, &pe) || pe.Kind != PreflightKey || pe.Status != http.StatusUnauthorized || strings.Contains(err.Error(), "gho_") {
		t.Errorf("%v", err)
	}
	b.up.http.key = KeySource{File: "/no/such/file"}
	if err = b.up.Check(context.Background(), "m"); !errors.As(err, &pe) || pe.Kind != PreflightKey {
		t.Errorf("%v", err)
	}
}
