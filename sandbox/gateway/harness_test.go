package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const testKey = "sk-test-0123456789abcdefghij"

// box is a session with an agent's view of it.
type box struct {
	*Session
	t      *testing.T
	url    string
	client *http.Client
	file   bytes.Buffer // the recording

	mu        sync.Mutex
	exchanges []Exchange
	storeErr  error
}

// listen makes the connection between session and agent; bubbles of synctest
// need one without a real network.
type listen func() (net.Listener, func(ctx context.Context, network, addr string) (net.Conn, error))

func overTCP(t *testing.T) listen {
	return func() (net.Listener, func(context.Context, string, string) (net.Conn, error)) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l, (&net.Dialer{}).DialContext
	}
}

func openBox(t *testing.T, g *Gateway, up Upstream, on listen) *box {
	t.Helper()
	return openBoxWith(t, g, SessionOptions{Upstream: up, Model: "wire-model"}, on)
}

// openBoxWith puts the test's recorder and store into the options.
func openBoxWith(t *testing.T, g *Gateway, o SessionOptions, on listen) *box {
	t.Helper()
	b := &box{t: t}
	rec, err := NewRecorder(&b.file)
	if err != nil {
		t.Fatal(err)
	}
	o.Record, o.OnExchange = rec, b.store
	s, err := g.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Session = s
	l, dial := on()
	tr := &http.Transport{DialContext: dial, DisableCompression: true}
	b.url, b.client = "http://"+l.Addr().String()+s.BasePath(), &http.Client{Transport: tr}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		b.end()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		tr.CloseIdleConnections()
		_ = rec.Close()
	})
	return b
}

// end closes the session as a runner does; everything is recorded afterwards.
func (b *box) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		b.t.Errorf("Close: %v", err)
	}
}

func (b *box) store(x Exchange) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exchanges = append(b.exchanges, x)
	return b.storeErr
}

// ask posts a chat completion and reads the answer to its end.
func (b *box) ask(body string) (int, string, error) {
	resp, err := b.post(context.Background(), body)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (b *box) post(ctx context.Context, body string) (*http.Response, error) {
	return b.postTo(ctx, "/v1/chat/completions", body)
}

// postTo posts to a path below the attempt's address.
func (b *box) postTo(ctx context.Context, path, body string) (*http.Response, error) {
	url := strings.TrimSuffix(b.url, "/v1") + path
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer box")
	r.Header.Set("X-Api-Key", "box")
	r.Header.Set("Cookie", "box=1")
	r.Header.Set("User-Agent", "agent/1")
	return b.client.Do(r)
}

// newPost is a request as an upstream gets it, nil for an address that is none.
func newPost(path, body string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if err != nil {
		return nil
	}
	return r
}

// one ends the session and returns its only exchange and record.
func (b *box) one() (Exchange, Record) {
	b.t.Helper()
	b.end()
	recs, err := read(b.t, b.file.Bytes())
	if err != nil || len(recs) != 1 || len(b.exchanges) != 1 {
		b.t.Fatalf("%d records, %d exchanges, %v", len(recs), len(b.exchanges), err)
	}
	return b.exchanges[0], recs[0]
}

// quick is a gateway whose back-off takes no noticeable time.
func quick(tries int) *Gateway {
	return New(Options{
		Retry:   RetryBudget{Tries: tries, Slower: tries},
		Backoff: Backoff{Base: time.Microsecond, Max: time.Microsecond, RetryAfterMax: time.Microsecond},
	})
}

// fakeProvider is an upstream that asks a test's own provider.
func fakeProvider(t *testing.T, h http.HandlerFunc, change ...func(*HTTPOptions)) *HTTP {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	o := HTTPOptions{BaseURL: srv.URL + "/api/v1/", Key: KeySource{Value: testKey}}
	for _, f := range change {
		f(&o)
	}
	up, err := NewHTTP(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	return up
}

const streamText = `data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\n"

func sendStream(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range parts {
		_, _ = io.WriteString(w, p)
		_ = http.NewResponseController(w).Flush()
	}
}

// cut breaks the connection off.
func cut() { panic(http.ErrAbortHandler) }
