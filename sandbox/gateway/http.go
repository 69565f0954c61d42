package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// HTTPOptions describe a provider. Zero times mean the defaults given beside
// them.
type HTTPOptions struct {
	Name string // as in --model NAME/model; "" takes the host of the first address
	// Endpoints are the wires that the provider speaks. BaseURL is short for
	// all others at that address, "https://api.openai.com/v1" for one, with
	// the key in Authorization.
	Endpoints map[Wire]Endpoint
	BaseURL   string
	Key       KeySource
	RateLimits
	// Mask learns every key that is read. Nil makes an own one.
	Mask *Mask

	ConnectTimeout time.Duration // 15 s, and as long again for TLS
	// HeaderTimeout (9 min) bounds the wait for the head of an answer. It is
	// below the 10 min after which the CLIs themselves give up.
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration // 5 min, the longest silence within an answer
}

// HTTP is an upstream that sends requests to a provider and puts in its key.
// Make one with NewHTTP.
type HTTP struct {
	name      string
	ends      map[Wire]*destination
	key       KeySource
	limits    RateLimits
	mask      *Mask
	idle      time.Duration
	transport *http.Transport
}

// ErrSilent is the failure of an answer that stopped coming.
var ErrSilent = errors.New("provider went silent")

// NewHTTP checks the addresses and returns the upstream; nothing is sent yet.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	u := &HTTP{
		name: o.Name, ends: map[Wire]*destination{}, key: o.Key, limits: o.RateLimits, mask: o.Mask,
		idle: orDuration(o.IdleTimeout, 5*time.Minute),
	}
	ends := maps.Clone(o.Endpoints)
	if o.BaseURL != "" || len(ends) == 0 {
		if ends == nil {
			ends = map[Wire]Endpoint{}
		}
		for _, wire := range Wires() {
			if _, ok := ends[wire]; !ok {
				ends[wire] = Endpoint{BaseURL: o.BaseURL}
			}
		}
	}
	for wire, end := range ends {
		e, err := newDestination(end)
		if err != nil {
			return nil, err
		}
		u.ends[wire] = e
	}
	if u.name == "" {
		u.name = u.ends[u.Wires()[0]].base.Host
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

// Limits returns what the provider may be asked.
func (u *HTTP) Limits() RateLimits { return u.limits }

// Wires lists the wires that the provider speaks, in the order of [Wires].
func (u *HTTP) Wires() []Wire {
	return slices.DeleteFunc(Wires(), func(w Wire) bool { return u.ends[w] == nil })
}

// Address returns where requests of a wire go, for messages; it holds no key.
func (u *HTTP) Address(w Wire) string {
	if e := u.ends[w]; e != nil {
		return e.base.String()
	}
	return ""
}

// ErrWire is wrapped by the refusal of a request in a wire that the provider
// does not speak.
var ErrWire = errors.New("provider does not speak the wire")

// RoundTrip implements Upstream. The caller's request is not changed, so the
// key does not come into anybody's hands. Where the key is refused and has been
// renewed meanwhile, the request is sent again with the new one.
func (u *HTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	wire, ok := WireOf(r.URL.Path)
	end := u.ends[wire]
	if !ok || end == nil {
		return nil, fmt.Errorf("%w: %s, %q", ErrWire, u.name, wire)
	}
	return u.authorized(r, end)
}

// authorized sends a request with the key.
func (u *HTTP) authorized(r *http.Request, end *destination) (*http.Response, error) {
	key, err := u.key.read(r.Context())
	if err != nil {
		return nil, err
	}
	resp, err := u.send(r, end, key)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.GetBody == nil {
		return resp, err
	}
	u.key.Forget(key)
	renewed, err := u.key.read(r.Context())
	if err != nil || bytes.Equal(renewed, key) {
		return resp, nil // the refusal tells more than why there is no other key
	}
	body, err := r.GetBody()
	if err != nil {
		return resp, nil
	}
	_ = resp.Body.Close()
	again := r.Clone(r.Context())
	again.Body = body
	return u.send(again, end, renewed)
}

func (u *HTTP) send(r *http.Request, end *destination, key []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	out := r.Clone(ctx)
	end.address(out)
	if key != nil {
		u.mask.Add(key)
		end.authorize(out.Header, string(key))
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
