package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HTTPOptions describe an OpenAI-compatible endpoint. Zero times mean the
// defaults given beside them.
type HTTPOptions struct {
	Name    string // as in --model NAME/model; "" takes the host of BaseURL
	BaseURL string // with its version segment: "https://api.openai.com/v1"
	Key     KeySource
	// Mask learns every key that is read. Nil makes an own one.
	Mask *Mask

	ConnectTimeout time.Duration // 15 s, and as long again for TLS
	// HeaderTimeout (9 min) bounds the wait for the head of an answer. It is
	// below the 10 min after which the CLIs themselves give up.
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration // 5 min, the longest silence within an answer
}

// HTTP is an upstream that sends requests to one OpenAI-compatible endpoint and
// puts in the provider's key. Make one with NewHTTP.
type HTTP struct {
	name      string
	base      *url.URL
	key       KeySource
	mask      *Mask
	idle      time.Duration
	transport *http.Transport
}

// ErrSilent is the failure of an answer that stopped coming.
var ErrSilent = errors.New("provider went silent")

// NewHTTP checks the address and returns the upstream; nothing is sent yet.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	base, err := url.Parse(o.BaseURL)
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
	u := &HTTP{name: o.Name, base: base, key: o.Key, mask: o.Mask, idle: orDuration(o.IdleTimeout, 5*time.Minute)}
	if u.name == "" {
		u.name = base.Host
	}
	if u.mask == nil {
		u.mask = NewMask()
	}
	connect := orDuration(o.ConnectTimeout, 15*time.Second)
	u.transport = &http.Transport{
		Proxy:                  proxyForTLS,
		DialContext:            (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    connect,
		ResponseHeaderTimeout:  orDuration(o.HeaderTimeout, 9*time.Minute),
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: 256 << 10,
		// Compression would hold back parts of a stream.
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
	}
	return u, nil
}

func orDuration(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// proxyForTLS obeys the usual proxy variables only where the proxy cannot read
// the key.
func proxyForTLS(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// Name implements Upstream.
func (u *HTTP) Name() string { return u.name }

// Mask returns the mask that knows every key this upstream has read.
func (u *HTTP) Mask() *Mask { return u.mask }

// Close drops idle connections.
func (u *HTTP) Close() { u.transport.CloseIdleConnections() }

// RoundTrip implements Upstream. The caller's request is not changed, so the
// key does not come into anybody's hands.
func (u *HTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	key, err := u.key.Read()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	out := r.Clone(ctx)
	out.URL = u.base.JoinPath(r.URL.Path)
	out.Host = ""
	out.RequestURI = ""
	if key != nil {
		u.mask.Add(key)
		out.Header.Set("Authorization", "Bearer "+string(key))
	}
	resp, err := u.transport.RoundTrip(out)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	resp.Request = nil // holds the key
	resp.Body = &idleReader{
		body: resp.Body, cancel: cancel, idle: u.idle,
		cause: func() error { return context.Cause(ctx) },
		timer: time.AfterFunc(u.idle, func() { cancel(ErrSilent) }),
	}
	return resp, nil
}

// idleReader gives up a body when nothing arrives for a while.
type idleReader struct {
	body   io.ReadCloser
	cancel context.CancelCauseFunc // ends the request
	cause  func() error            // why it ended
	idle   time.Duration
	timer  *time.Timer
}

func (r *idleReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		r.timer.Reset(r.idle)
	}
	if err != nil && errors.Is(r.cause(), ErrSilent) {
		err = fmt.Errorf("%w for %v", ErrSilent, r.idle)
	}
	return n, err
}

func (r *idleReader) Close() error {
	r.timer.Stop()
	r.cancel(nil)
	return r.body.Close()
}
