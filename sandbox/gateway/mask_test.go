package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMaskForms(t *testing.T) {
	const key = "sk-Test+Key/0123456789=ab&<q>"
	quoted, _ := json.Marshal(key)
	cases := map[string]string{
		"plain":            "Authorization: Bearer " + key,
		"json":             `{"k":` + string(quoted) + `}`,
		"json with slash":  strings.ReplaceAll(key, "/", `\/`),
		"query":            "https://h/?k=" + url.QueryEscape(key),
		"path":             "https://h/" + url.PathEscape(key),
		"lower query":      "k=sk-Test%2bKey%2f0123456789%3dab%26%3cq%3e&x",
		"base64":           base64.StdEncoding.EncodeToString([]byte(key)),
		"base64 url":       base64.URLEncoding.EncodeToString([]byte(key)),
		"basic auth":       base64.StdEncoding.EncodeToString([]byte("u:" + key)),
		"inside base64":    base64.StdEncoding.EncodeToString([]byte("abc" + key + "xyz")),
		"inside base64, 1": base64.RawURLEncoding.EncodeToString([]byte("abcd" + key + "x")),
		"hex":              hex.EncodeToString([]byte(key)),
		"upper hex":        strings.ToUpper(hex.EncodeToString([]byte(key))),
		"twice":            key + key,
	}
	m := NewMask([]byte(key))
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			if !m.Found([]byte(text)) {
				t.Errorf("Found(%q) = false", text)
			}
			got := m.String(text)
			if m.Found([]byte(got)) || !strings.Contains(got, Masked) || len(got) >= len(text)+len(Masked) {
				t.Errorf("String(%q) = %q", text, got)
			}
			if string(m.Bytes([]byte(text))) != got {
				t.Errorf("Bytes and String differ")
			}
		})
	}
}

func TestMaskLeavesTheRest(t *testing.T) {
	m := NewMask([]byte("abc"), nil, []byte("0123456789"))
	const text = "abc is too short to be hidden, 012345678 is another text"
	if got := m.String(text); got != text {
		t.Errorf("got %q", got)
	}
	in := []byte("x0123456789y")
	if got := m.Bytes(in); string(got) != "x[masked]y" || string(in) != "x0123456789y" {
		t.Errorf("got %q, input now %q", got, in)
	}
	var none Mask
	if got := none.String(text); got != text {
		t.Errorf("zero mask: got %q", got)
	}
}

func TestMaskWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-zA-Z0-9+/=_-]{8,40}`).Draw(t, "key")
		before := rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "before")
		enc := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			url.QueryEscape,
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte(before + s)) },
			func(s string) string { return hex.EncodeToString([]byte(s)) },
		}).Draw(t, "enc")
		text := before + enc(key) + before + enc(key) + before
		m := NewMask([]byte(key))
		var out bytes.Buffer
		w := m.Writer(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if m.Found(out.Bytes()) {
			t.Fatalf("key %q is still in %q", key, out.String())
		}
		if !strings.HasPrefix(out.String(), before) && before != key {
			t.Fatalf("%q lost its beginning %q", out.String(), before)
		}
	})
}

// What cannot be the beginning of a key must not wait for the next write.
func TestMaskWriterHoldsNothingBack(t *testing.T) {
	var out bytes.Buffer
	w := NewMask([]byte("sk-0123456789")).Writer(&out)
	for _, step := range []struct{ in, out string }{
		{"data: {}\n\n", "data: {}\n\n"},
		{"data: sk-01", "data: {}\n\ndata: "},
		{"9\n", "data: {}\n\ndata: sk-019\n"},
	} {
		if _, err := w.Write([]byte(step.in)); err != nil || out.String() != step.out {
			t.Fatalf("after %q: %q, %v; want %q", step.in, out.String(), err, step.out)
		}
	}
}
