// Package providertest plays a model provider over HTTP, for tests of what lies
// between it and an agent: keys, retries, limits and budgets. It answers as the
// scripted upstream does, wants a key, and fails as often as it is told to. It
// must not be imported by anything but tests.
package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"cabra-run/sandbox/gateway"
)

// Options describe a provider.
type Options struct {
	Key      string
	Upstream gateway.Upstream // that plays the model
	// RateLimited and Broken are how many of every hundred requests get a 429
	// and a 500, in an order that Seed decides.
	RateLimited, Broken int
	Seed                uint64
}

// Provider is an [http.Handler]. Make one with New.
type Provider struct {
	o Options

	mu     sync.Mutex
	deck   []int // statuses of the requests to come
	random *rand.Rand
	sent   map[int]int // answers by status
}

// New returns a provider. Its wires lie at Base, as [Endpoints] says.
func New(o Options) *Provider {
	return &Provider{o: o, random: rand.New(rand.NewPCG(o.Seed, 0)), sent: map[int]int{}}
}

// Endpoints are the provider's wires when it is served at an address.
func Endpoints(address string) map[gateway.Wire]gateway.Endpoint {
	return map[gateway.Wire]gateway.Endpoint{
		gateway.WireChat:      {BaseURL: address + "/v1"},
		gateway.WireResponses: {BaseURL: address + "/v1"},
		gateway.WireMessages:  {BaseURL: address + "/v1", Auth: gateway.AuthXKey},
		gateway.WireGemini:    {BaseURL: address + "/v1beta", Auth: gateway.AuthGoogle},
	}
}

// Sent returns how many answers of each status there were.
func (p *Provider) Sent(status int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent[status]
}

// ServeHTTP answers one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway has gone
	}
	switch status := p.deal(); {
	case !p.authorized(r):
		p.fail(w, http.StatusUnauthorized)
	case status != http.StatusOK:
		p.fail(w, status)
	default:
		p.answer(w, r, body)
	}
}

// deal draws the status of a request from a pack of a hundred, so that the
// shares are met exactly and a streak of failures has an end.
func (p *Provider) deal() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.deck) == 0 {
		p.deck = slices.Concat(
			slices.Repeat([]int{http.StatusTooManyRequests}, p.o.RateLimited),
			slices.Repeat([]int{http.StatusInternalServerError}, p.o.Broken),
			slices.Repeat([]int{http.StatusOK}, 100-p.o.RateLimited-p.o.Broken))
		p.random.Shuffle(len(p.deck), func(i, j int) { p.deck[i], p.deck[j] = p.deck[j], p.deck[i] })
	}
	status := p.deck[0]
	p.deck = p.deck[1:]
	return status
}

// authorized wants the key in the header of the wire, and in no other.
func (p *Provider) authorized(r *http.Request) bool {
	headers := map[string]string{"Authorization": "Bearer " + p.o.Key, "X-Api-Key": p.o.Key, "X-Goog-Api-Key": p.o.Key}
	own := "Authorization"
	switch wire, _ := gateway.WireOf(path(r)); wire {
	case gateway.WireMessages:
		own = "X-Api-Key"
	case gateway.WireGemini:
		own = "X-Goog-Api-Key"
	}
	for name, want := range headers {
		if got := r.Header.Get(name); name == own && got != want || name != own && got != "" {
			return false
		}
	}
	return true
}

// path is the request's path below the provider's base.
func path(r *http.Request) string {
	for _, base := range []string{"/v1beta/", "/v1/"} {
		if rest, ok := strings.CutPrefix(r.URL.Path, base); ok {
			return "/" + rest
		}
	}
	return r.URL.Path
}

func (p *Provider) fail(w http.ResponseWriter, status int) {
	p.count(status)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	message := fmt.Sprintf("the provider fails with %d, as it was told to", status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message}})
}

func (p *Provider) count(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[status]++
}

// answer passes on what the upstream says, piece by piece.
func (p *Provider) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = path(r), ""
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := p.o.Upstream.RoundTrip(out)
	if err != nil {
		p.fail(w, http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	p.count(resp.StatusCode)
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	for piece := make([]byte, 32<<10); ; {
		n, err := resp.Body.Read(piece)
		if _, werr := w.Write(piece[:n]); werr != nil {
			return
		}
		_ = http.NewResponseController(w).Flush() // a client that has gone shows at the next piece
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the answer is cut
		}
	}
}
