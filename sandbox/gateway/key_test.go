package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A provider that sends everything back must not give the key away, neither to
// the box nor to the record.
func TestKeyDoesNotLeak(t *testing.T) {
	for _, status := range []int{200, 400, 401, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
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
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
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
		if err != nil && (!errors.Is(err, ErrKey) || !strings.Contains(err.Error(), c.err) ||
			strings.Contains(err.Error(), "Evil")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNewHTTPRefuses(t *testing.T) {
	for _, u := range []string{"", "api.openai.com/v1", "ftp://h/v1", "https://u:secret@h/v1", "https://h/v1?k=secret", "https://secret\x00h"} {
		_, err := NewHTTP(HTTPOptions{BaseURL: u})
		if err == nil || strings.Contains(err.Error(), "secret@") ||
			strings.Contains(err.Error(), "u:secret") {
			t.Errorf("%q: %v", u, err)
		}
	}
}
