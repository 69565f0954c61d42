package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Auth is where a provider wants its key.
type Auth string

// The ways of showing a key.
const (
	AuthBearer Auth = "bearer"         // Authorization: Bearer KEY; also ""
	AuthXKey   Auth = "x-api-key"      // Anthropic
	AuthGoogle Auth = "x-goog-api-key" // Gemini
	AuthKey    Auth = "api-key"        // Azure
	AuthNone   Auth = "none"
)

// Auths lists all of them.
func Auths() []Auth { return []Auth{AuthBearer, AuthXKey, AuthGoogle, AuthKey, AuthNone} }

// Endpoint is where and how a provider is asked in one wire.
type Endpoint struct {
	BaseURL string // with its version segment
	Auth    Auth   // "" is AuthBearer
	// Headers are set in every request, Query is added to its address. They
	// hold no keys: they are neither hidden nor renewed.
	Headers map[string]string
	Query   map[string]string
}

// destination is a checked Endpoint.
type destination struct {
	base    *url.URL
	auth    Auth
	headers map[string]string
	query   url.Values
}

func newDestination(e Endpoint) (*destination, error) {
	base, err := ParseBaseURL(e.BaseURL)
	if err != nil {
		return nil, err
	}
	out := &destination{base: base, auth: e.Auth, headers: e.Headers, query: url.Values{}}
	for name, v := range e.Query {
		out.query.Set(name, v)
	}
	switch e.Auth {
	case "":
		out.auth = AuthBearer
	case AuthBearer, AuthXKey, AuthGoogle, AuthKey, AuthNone:
	default:
		return nil, fmt.Errorf("auth %q: want one of %v", e.Auth, Auths())
	}
	return out, nil
}

// ParseBaseURL checks the address of an endpoint. Errors show no password.
func ParseBaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil {
		// url.Error repeats the whole address, which may hold a password.
		return nil, errors.New("base URL cannot be parsed")
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("base URL %q: want http://HOST/… or https://HOST/…", base.Redacted())
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("base URL %q: no user, query or fragment is allowed", base.Redacted())
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = strings.TrimRight(base.RawPath, "/")
	return base, nil
}

// address directs a request, whose URL holds only the path below the base, to
// the endpoint.
func (e *destination) address(r *http.Request) {
	query := r.URL.Query()
	for name, v := range e.query {
		query[name] = v
	}
	r.URL = e.base.JoinPath(r.URL.EscapedPath())
	r.URL.RawQuery = query.Encode()
	r.Host = ""
	r.RequestURI = ""
	for name, v := range e.headers {
		r.Header.Set(name, v)
	}
}

func (e *destination) authorize(h http.Header, key string) {
	switch e.auth {
	case AuthNone:
	case AuthBearer:
		h.Set("Authorization", "Bearer "+key)
	default:
		h.Set(string(e.auth), key)
	}
}
