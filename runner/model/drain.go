package model

import (
	"io"
	"net/http"
	"time"
)

// draining is a transport whose answers are read to their end. The vendors'
// libraries hang up at the last event, and whoever serves the stream would see
// a client that has gone before its answer was whole.
type draining struct{ http.RoundTripper }

// drained returns the client with a draining transport.
func drained(c *http.Client) *http.Client {
	own := *c
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Transport = draining{own.Transport}
	return &own
}

// RoundTrip implements http.RoundTripper.
func (d draining) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &drainedBody{resp.Body}
	}
	return resp, err
}

// Bounds on what is read behind the last event.
const (
	drainBytes = 64 << 10
	drainTime  = 5 * time.Second
)

type drainedBody struct{ io.ReadCloser }

// Close reads what is left of the answer, within bounds.
func (b *drainedBody) Close() error {
	late := time.AfterFunc(drainTime, func() { _ = b.ReadCloser.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, b.ReadCloser, drainBytes) // it is over either way
	return b.ReadCloser.Close()
}
