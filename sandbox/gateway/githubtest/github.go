// Package githubtest is a stand-in for the hosts of GitHub that its Copilot CLI
// asks, for tests. It was written from what version 1.0.81 of the CLI was seen
// to ask, and answers just enough of it: who the user is, which models there
// are, and calls of a model in chat completions, responses and messages. It owns
// no policy: whoever makes one says what the model answers. It must not know
// gateways or boxes.
package githubtest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The hosts that are played.
const (
	API     = "api.github.com"
	Copilot = "api.githubcopilot.com"
	Plan    = "api.individual.githubcopilot.com"
)

// Model is a model on offer and the paths at which it can be asked.
type Model struct {
	Name      string
	Endpoints []string // "/responses", "/chat/completions", "/v1/messages"
}

// Answer answers a call of the model. The request's path is the one below
// "/v1", as "/chat/completions" is; nil is no answer.
type Answer func(*http.Request) (*http.Response, error)

// Seen is a request as it arrived.
type Seen struct {
	Host, Method, Path string
	Header             http.Header
	Body               string
}

// GitHub is the stand-in.
type GitHub struct {
	// Proxy is the address of an HTTPS proxy behind which nothing but the
	// stand-in is, CA the certificate to trust, PEM.
	Proxy, CA string

	token  string // the only one that is taken, beside those that were told
	told   string
	models []Model
	answer Answer
	server *httptest.Server
	pool   *x509.CertPool

	mu   sync.Mutex
	seen []Seen
}

// Told is the short-lived token that /copilot_internal/v2/token tells.
const Told = "tid=0123456789abcdef0123456789abcdef;exp=1900000000;sku=copilot_for_individual;" +
	"proxy-ep=proxy.individual.githubcopilot.com;8kp=1:fedcba9876543210fedcba9876543210fedcba9876543210"

// New starts a stand-in that knows one token. It ends with the test.
func New(t testing.TB, token string, models []Model, answer Answer) *GitHub {
	t.Helper()
	g := &GitHub{token: token, told: Told, models: models, answer: answer}
	certificate, ca, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	g.CA = ca
	g.pool = x509.NewCertPool()
	g.pool.AppendCertsFromPEM([]byte(ca))
	g.server = httptest.NewUnstartedServer(g)
	g.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.server.EnableHTTP2 = true
	g.server.StartTLS()
	t.Cleanup(g.server.Close)
	proxy := httptest.NewServer(http.HandlerFunc(g.connect))
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(proxy.Close)
	g.Proxy = proxy.URL
	return g
}

// certificates makes an authority and a certificate for all hosts.
func certificates() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"}, DNSNames: []string{API, Copilot, Plan},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(text), nil
}

// Direct makes a client reach the stand-in whatever host it asks.
func (g *GitHub) Direct(tr *http.Transport) {
	tr.Proxy = nil
	tr.TLSClientConfig = &tls.Config{RootCAs: g.pool}
	tr.DialContext = (&hostDialer{g.server.Listener.Addr().String()}).dial
}

// Address is where the stand-in listens.
func (g *GitHub) Address() string { return g.server.Listener.Addr().String() }

// Seen returns what was asked so far.
func (g *GitHub) Seen() []Seen {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

// connect is the proxy: every host is the stand-in.
func (g *GitHub) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only connections", http.StatusMethodNotAllowed)
		return
	}
	outside, err := net.Dial("tcp", g.Address())
	if err != nil {
		http.Error(w, "no stand-in", http.StatusBadGateway)
		return
	}
	defer outside.Close()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	join(conn, buffered.Reader, outside)
}

func join(conn net.Conn, from *bufio.Reader, outside net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(outside, from)
		_ = outside.Close()
	}()
	_, _ = io.Copy(conn, outside)
	_ = conn.Close()
	<-done
}

// ServeHTTP plays all hosts.
func (g *GitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	g.mu.Lock()
	g.seen = append(g.seen, Seen{r.Host, r.Method, r.URL.Path, r.Header.Clone(), string(body)})
	g.mu.Unlock()
	if shown := r.Header.Get("Authorization"); shown != "Bearer "+g.token && shown != "Bearer "+g.told {
		tell(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials", "status": "401"})
		return
	}
	switch {
	case r.Host == API && r.URL.Path == "/copilot_internal/user":
		tell(w, http.StatusOK, user())
	case r.Host == API && r.URL.Path == "/copilot_internal/v2/token":
		tell(w, http.StatusOK, map[string]any{"token": g.told, "expires_at": 1900000000, "refresh_in": 1500,
			"endpoints": endpoints(), "echo": "a copy: " + url.QueryEscape(g.told)})
	case r.Host != API && r.Method == http.MethodGet && r.URL.Path == "/models":
		tell(w, http.StatusOK, g.list())
	case r.Host != API && r.Method == http.MethodPost:
		g.call(w, r, body)
	default:
		tell(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
	}
}

// call lets the model answer. At the end of an answer in events GitHub tells
// what it charges.
func (g *GitHub) call(w http.ResponseWriter, r *http.Request, body []byte) {
	inner := r.Clone(r.Context())
	inner.URL = &url.URL{Path: strings.TrimPrefix(r.URL.Path, "/v1")}
	inner.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := g.answer(inner)
	if err != nil || resp == nil {
		tell(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.Header().Set("X-Quota-Snapshot-Premium_interactions", "ent=300&ov=0.0&ovPerm=false&rem=96.6&rst=2027-01-01T00:00:00Z")
	w.WriteHeader(resp.StatusCode)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	_, _ = w.Write(bytes.Replace(text, []byte(`"type":"response.completed"`),
		[]byte(`"copilot_usage":{"total_nano_aiu":1250000000},"type":"response.completed"`), 1))
}

func tell(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // the client may have gone
}
