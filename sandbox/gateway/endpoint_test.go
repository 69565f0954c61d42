package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// script writes a program that the tests run as a key command.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key-command")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeyCommand(t *testing.T) {
	dir := t.TempDir()
	counted := script(t, `echo run >> "$1"; echo "  key-$(wc -l < "$1" | tr -d ' ')-abcdef"`)
	log := filepath.Join(dir, "log")
	k := KeySource{Command: &KeyCommand{Args: []string{counted, log}}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if key, err := k.Read(); err != nil || string(key) != "key-1-abcdef" {
				t.Errorf("%s %v", key, err)
			}
		})
	}
	wg.Wait()
	k.Forget([]byte("another")) // that is not the one in use
	if key, _ := k.Read(); string(key) != "key-1-abcdef" {
		t.Errorf("%s", key)
	}
	k.Forget([]byte("key-1-abcdef"))
	if key, _ := k.Read(); string(key) != "key-2-abcdef" {
		t.Errorf("after a refusal: %s", key)
	}
}

func TestKeyCommandFails(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"none":     {nil, "empty"},
		"missing":  {[]string{"/none/program"}, "/none/program"},
		"status":   {[]string{script(t, "echo not signed in >&2; exit 3")}, "exit status 3: not signed in"},
		"empty":    {[]string{script(t, "true")}, "is empty"},
		"words":    {[]string{script(t, "echo two words")}, "white space"},
		"endless":  {[]string{script(t, "yes 0123456789abcdef | head -c 40000 | tr -d '\\n'")}, "longer than"},
		"no shell": {[]string{"/bin/echo", "$HOME;", "x"}, "white space"},
	} {
		_, err := KeySource{Command: &KeyCommand{Args: c.args}}.Read()
		if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	slow := &KeyCommand{Args: []string{script(t, "sleep 600 & sleep 600")}, Timeout: 50 * time.Millisecond}
	if _, err := slow.Read(context.Background()); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("%v", err)
	}
}

// A key that was renewed at the moment of its refusal is used at once, and the
// agent sees nothing of it.
func TestRenewedKey(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	command := script(t, `echo run >> "$1"; echo "renewed-key-$(wc -l < "$1" | tr -d ' ')"`)
	var got []string
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Header.Get("X-Api-Key")+" "+fmt.Sprint(len(body) > 0))
		if r.Header.Get("X-Api-Key") != "renewed-key-2" {
			http.Error(w, `{"error":{"message":"expired"}}`, http.StatusUnauthorized)
			return
		}
		sendStream(w, streamText)
	}, func(o *HTTPOptions) {
		o.Key = KeySource{Command: &KeyCommand{Args: []string{command, log}}}
		o.Endpoints = map[Wire]Endpoint{WireChat: {BaseURL: o.BaseURL, Auth: AuthXKey}}
		o.BaseURL = ""
	})
	b := openBox(t, quick(1), up, overTCP(t))
	for range 2 {
		if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil {
			t.Errorf("%d %v", status, err)
		}
	}
	if strings.Join(got, ", ") != "renewed-key-1 true, renewed-key-2 true, renewed-key-2 true" {
		t.Errorf("the provider got %q", got)
	}
	for _, key := range []string{"renewed-key-1", "renewed-key-2"} {
		if !up.Mask().Found([]byte(key)) {
			t.Errorf("%s is not masked", key)
		}
	}
}

// A key that stays the same is not tried twice.
func TestRefusedKey(t *testing.T) {
	calls := 0
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Error(w, `{"error":{"message":"bad key"}}`, http.StatusUnauthorized)
	})
	b := openBox(t, quick(8), up, overTCP(t))
	if status, text, err := b.ask(`{}`); status != 401 || err != nil || !strings.Contains(text, "bad key") || calls != 1 {
		t.Errorf("%d %s %v after %d calls", status, text, err, calls)
	}
	if f := b.Stats().LastError; f == nil || !f.PausesSweep() {
		t.Errorf("%+v", f)
	}
}

func TestEndpoints(t *testing.T) {
	up, err := NewHTTP(HTTPOptions{Name: "p", Endpoints: map[Wire]Endpoint{
		WireMessages: {BaseURL: "https://m.example/v1", Auth: AuthXKey}, WireChat: {BaseURL: "https://c.example/v1"},
	}, RateLimits: RateLimits{Concurrent: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if w := up.Wires(); len(w) != 2 || w[0] != WireChat || w[1] != WireMessages || up.Limits().Concurrent != 3 ||
		up.Address(WireMessages) != "https://m.example/v1" || up.Address(WireGemini) != "" {
		t.Errorf("%v", w)
	}
	b := openBox(t, quick(8), up, overTCP(t))
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/responses", strings.NewReader("{}"))
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	b.end()
	if f := b.Stats().LastError; f == nil || !f.Permanent || f.Kind != FailureRequest || b.exchanges[0].Tries != 1 {
		t.Errorf("a wire that the provider does not speak: %+v", f)
	}
	if _, err := NewHTTP(HTTPOptions{BaseURL: "https://x", Endpoints: map[Wire]Endpoint{WireChat: {BaseURL: "https://x", Auth: "basic"}}}); err == nil ||
		!strings.Contains(err.Error(), `auth "basic"`) {
		t.Errorf("%v", err)
	}
}

func TestMaskFoundIn(t *testing.T) {
	m := NewMask([]byte(testKey))
	long := strings.Repeat("x", 64<<10-10)
	for text, want := range map[string]bool{
		"": false, "plain": false, long + testKey: true, long + long + "2f" + testKey[:5]: false, testKey: true,
		long + "%73%6B%2D" + testKey: true,
	} {
		for _, r := range []io.Reader{strings.NewReader(text), &oneByOne{strings.NewReader(text)}} {
			if got, err := m.FoundIn(r); got != want || err != nil {
				t.Errorf("%d bytes: %v %v", len(text), got, err)
			}
		}
	}
}

// oneByOne gives seven bytes at a time.
type oneByOne struct{ r io.Reader }

func (o *oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:min(7, len(p))]) }
