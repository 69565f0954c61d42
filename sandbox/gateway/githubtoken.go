package gateway

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// swap is the pairs of tokens of one attempt: the dummies that the box holds,
// and what they stand for outside.
type swap struct {
	login string // the dummy of the user's own token

	mu   sync.Mutex
	told map[string]string // dummy → token that GitHub has told
	was  map[string]string // and back
}

// maxTold bounds the tokens that are remembered for an attempt; a CLI renews
// one every half an hour.
const maxTold = 256

func newSwap(login []byte) *swap {
	return &swap{login: dummyOf(string(login)), told: map[string]string{}, was: map[string]string{}}
}

// dummy is what the box gets to see of a token that GitHub has told, "" when
// there have been too many.
func (w *swap) dummy(token string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.was[token]; ok {
		return d
	}
	if len(w.told) >= maxTold {
		return ""
	}
	d := dummyOf(token)
	w.told[d], w.was[token] = token, d
	return d
}

// authorization is what a request of the box is sent with, by what it was
// authorized with in there: "" for the user's own token. Without a dummy that
// the box was given it is not taken.
func (w *swap) authorization(shown string) (string, bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(shown), " ")
	token = strings.TrimSpace(token)
	switch strings.ToLower(scheme) {
	case "bearer", "token":
	case "basic":
		text, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			return "", false
		}
		// Git and others put a token into either half.
		user, password, _ := strings.Cut(string(text), ":")
		if token = password; password == "" || password == "x-oauth-basic" {
			token = user
		}
	default:
		return "", false
	}
	if token == w.login {
		return "", true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	real, ok := w.told[token]
	return "Bearer " + real, ok
}

// tokenMember is the name of a member that bears a token.
var tokenMember = regexp.MustCompile(`(?i)^(.*[_-])?(token|secret|password)$`)

// minTold is the length from which on a text is a token.
const minTold = 16

// hide replaces the tokens that an answer bears by dummies and makes them known
// to the mask. Everything else of the answer stays; one without tokens is
// returned as it is.
func (w *swap) hide(body []byte, m *Mask) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if dec.Decode(&doc) != nil || !w.hideIn(doc, m) {
		return body
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(doc) != nil { // it came from JSON
		return []byte("{}")
	}
	return out.Bytes()
}

// hideIn reports whether there was a token.
func (w *swap) hideIn(v any, m *Mask) bool {
	found := false
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = w.hideIn(e, m) || found
		}
	case map[string]any:
		for name, e := range v {
			text, ok := e.(string)
			if ok && len(text) >= minTold && tokenMember.MatchString(name) {
				m.Add([]byte(text))
				v[name], found = w.dummy(text), true
				continue
			}
			found = w.hideIn(e, m) || found
		}
	}
	return found
}

// kept is what a dummy has in common with its token: the beginning that says
// its kind.
var kept = regexp.MustCompile(`^(gh[a-z]_|github_pat_)`)

// dummyOf makes a text of the shape of a token that says nothing about it.
// Tokens of Copilot are fields, of which those that are no secrets are kept: a
// CLI reads in them how long the token is good, and for what.
func dummyOf(token string) string {
	if !strings.Contains(token, "=") {
		head := kept.FindString(token)
		return head + scrambled(token[len(head):])
	}
	fields := strings.Split(token, ";")
	for i, f := range fields {
		name, value, ok := strings.Cut(f, "=")
		if ok && secretField(value) {
			fields[i] = name + "=" + scrambled(value)
		}
	}
	out := strings.Join(fields, ";")
	if out == token { // nothing looked like a secret, so everything is one
		return scrambled(token)
	}
	return out
}

var plainField = regexp.MustCompile(`^[a-z_]+$|^[a-z0-9-]+(\.[a-z0-9-]+)+$`)

func secretField(value string) bool { return len(value) >= minTold && !plainField.MatchString(value) }

// scrambled replaces every letter and digit by one drawn at random.
func scrambled(s string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	out := []byte(s)
	draws := make([]byte, len(out))
	rand.Read(draws) // never fails, by its contract
	for i, c := range out {
		if strings.IndexByte(letters, c) >= 0 {
			out[i] = letters[int(draws[i])%len(letters)]
		}
	}
	return string(out)
}
