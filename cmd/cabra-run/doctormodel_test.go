package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labKey is what the provider of these tests wants to see.
const labKey = "lab-key-0123456789"

// labProvider answers one model in chat completions, when it is shown the key,
// and returns a file that defines it.
func labProvider(t *testing.T) (definitions string, paths *[]string) {
	t.Helper()
	paths = &[]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*paths = append(*paths, r.URL.Path)
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+labKey:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"bad key %s"}}`, r.Header.Get("Authorization"))
		case !bytes.Contains(body, []byte(`"owl-2"`)):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"message":"no such model","code":"model_not_found"}}`)
		case strings.HasSuffix(r.URL.Path, "/responses"):
			_, _ = io.WriteString(w, `{"status":"completed","output":[]}`)
		default:
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "providers.toml")
	text := fmt.Sprintf("[providers.lab]\nabout = \"A lab\"\nbase_url = %q\nauth = \"bearer\"\n"+
		"wires = [\"chat\", \"responses\"]\nkey = { env = \"LAB_KEY\" }\n", srv.URL+"/v1")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, paths
}

func TestDoctorChecksAModel(t *testing.T) {
	file, paths := labProvider(t)
	for _, c := range []struct {
		name        string
		key         string
		check       modelCheck
		noPreflight bool
		says        []string
		fails       string // in error and hint, "" for none
		asked       string // path of the last request
	}{
		{name: "answers", key: labKey, check: modelCheck{model: "lab/owl-2"}, asked: "/v1/chat/completions", says: []string{
			"provider lab: A lab (", "address  http://127.0.0.1:", "key      environment variable LAB_KEY: there\n",
			"wire     chat (the provider's first", "price    unknown: ", "model    owl-2 answers ("}},
		{name: "wire of the agent", key: labKey, check: modelCheck{model: "lab/owl-2", agent: "codex"}, asked: "/v1/responses",
			says: []string{"wire     responses (agent codex)\n", "model    owl-2 answers"}},
		{name: "not asked", key: "another", check: modelCheck{model: "lab/owl-2"}, noPreflight: true,
			says: []string{"model    not asked (--no-preflight)\n"}},
		{name: "no key", check: modelCheck{model: "lab/owl-2"}, says: []string{"provider lab: A lab"},
			fails: "its key is read from: environment variable LAB_KEY"},
		{name: "wrong key", key: "wrong-key-987654", check: modelCheck{model: "lab/owl-2"}, asked: "/v1/chat/completions",
			says: []string{"key      environment variable LAB_KEY: there\n"}, fails: "the key was rejected (status 401)"},
		{name: "unknown model", key: labKey, check: modelCheck{model: "lab/cat-1"}, asked: "/v1/chat/completions",
			fails: `it does not know model "cat-1"`},
		{name: "unknown provider", key: labKey, check: modelCheck{model: "labs/owl-2"}, fails: `no provider "labs" is defined`},
		{name: "no agent", key: labKey, check: modelCheck{model: "lab/owl-2", agent: "emacs"}, fails: `no agent "emacs"`},
		{name: "agent without model", key: labKey, check: modelCheck{model: "lab/owl-2", agent: "nop"}, fails: "agent nop asks no model"},
		{name: "scripted", check: modelCheck{model: "scripted"}, says: []string{"model    scripted is a fixed policy: no key, no cost\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("LAB_KEY", c.key)
			*paths = nil
			c.check.providers, c.check.noPreflight = file, c.noPreflight
			var out, failed bytes.Buffer
			err := (&app{stderr: &out}).checkModel(t.Context(), c.check)
			printError(&failed, err)
			if (err != nil) != (c.fails != "") || !strings.Contains(failed.String(), c.fails) {
				t.Errorf("failed with %q, want %q", failed.String(), c.fails)
			}
			for _, text := range c.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("does not say %q:\n%s", text, out.String())
				}
			}
			if c.key != "" && strings.Contains(out.String()+failed.String(), c.key) {
				t.Errorf("tells the key:\n%s%s", out.String(), failed.String())
			}
			if asked := append([]string{""}, *paths...); asked[len(asked)-1] != c.asked {
				t.Errorf("asked at %q, want %q", asked, c.asked)
			}
		})
	}
}

// Both the model and the machine are checked, whatever comes of one; a mistake
// in the flags ends it at once.
func TestDoctorGoesOnAfterAModel(t *testing.T) {
	file, _ := labProvider(t)
	check := modelCheck{model: "lab/owl-2", providerOptions: providerOptions{providers: file}}
	for _, c := range []struct {
		key     string
		model   string
		machine error
		code    int
		checked bool
	}{
		{labKey, "lab/owl-2", nil, exitOK, true},
		{labKey, "lab/owl-2", errors.New("no engine"), exitError, true},
		{"wrong-key", "lab/owl-2", nil, exitError, true},
		{"wrong-key", "lab/owl-2", errors.New("no engine"), exitError, true},
		{labKey, "owl", nil, exitUsage, false},
	} {
		t.Setenv("LAB_KEY", c.key)
		check.model = c.model
		var out bytes.Buffer
		checked := false
		err := doctorBoth(context.Background(), &app{stderr: &out}, check, func() error {
			checked = true
			return c.machine
		})
		code := printError(&out, err)
		if code != c.code || checked != c.checked {
			t.Errorf("%+v: code %d, machine checked: %v\n%s", c, code, checked, out.String())
		}
		for text, want := range map[string]bool{"the key was rejected": c.key != labKey, "no engine": c.machine != nil} {
			if strings.Count(out.String(), text) != map[bool]int{true: 1}[want] {
				t.Errorf("%+v: %q told: %v\n%s", c, text, !want, out.String())
			}
		}
	}
}
