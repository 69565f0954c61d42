package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ServeHTTP answers one request out of the box.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "session has ended", http.StatusServiceUnavailable)
		return
	}
	defer s.handlers.Done()
	if r.Method == http.MethodConnect {
		s.connect(w, r)
		return
	}
	path, ok := s.path(r)
	wire := wireGuess(path, r.Header)
	switch {
	case !ok:
		s.note(func(st *Stats) { st.Strays++ })
		s.tell(w, wire, http.StatusNotFound, "no such address")
	case !s.admit():
		s.tell(w, wire, http.StatusForbidden, "this attempt has made too many requests")
	default:
		s.route(w, r, path, wire)
	}
}

// route answers a request below the attempt's address.
func (s *Session) route(w http.ResponseWriter, r *http.Request, path string, wire Wire) {
	below := belowVersion(path)
	c, asks := callOf(below)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.Method == http.MethodPost && asks && s.speaks(c.wire):
		s.serve(w, r, c)
	case r.Method == http.MethodPost && asks:
		s.refuse(w, r, refusal{wire: wire, status: http.StatusNotFound,
			err: fmt.Errorf("the wire %q is not served in this run", wire)})
	case reads && (below == modelsPath || strings.HasPrefix(below, modelsPath+"/")):
		s.models(w, wire, below != modelsPath)
	case reads && path == helloPath:
		w.WriteHeader(http.StatusNotFound)
	default:
		s.refuse(w, r, refusal{wire: wire, status: http.StatusNotFound,
			err: errors.New("only model requests are served here")})
	}
}

// helloPath is where Claude Code asks whether anybody is there, to no end.
const helloPath = "/api/hello"

func (s *Session) speaks(w Wire) bool { return s.o.Wires == nil || slices.Contains(s.o.Wires, w) }

// admit counts a request against the attempt's bound, and as a sign of life.
func (s *Session) admit() bool {
	s.touch()
	return s.bounded()
}

// bounded counts a request against the attempt's bound.
func (s *Session) bounded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admitted >= s.limits.Requests {
		s.stats.OverLimit = true
		return false
	}
	s.admitted++
	return true
}

// refuse answers a request that goes to no provider, and records it.
func (s *Session) refuse(w http.ResponseWriter, r *http.Request, no refusal) {
	s.note(func(st *Stats) { st.Refused++ })
	why, path := no.err.Error(), no.path
	if path == "" {
		path = strings.TrimPrefix(r.URL.Path, s.root)
	}
	if now := time.Now(); s.o.Record != nil {
		s.recorded(0, s.o.Record.Write(Record{
			Started: now, Ended: now, Method: oneLine(r.Method), Status: no.status, Error: why, Wire: no.wire,
			Path: oneLine(s.maskString(path)),
		}))
	}
	s.tell(w, no.wire, no.status, why)
}

// refusal is why a request is not taken, and what the agent is told.
type refusal struct {
	wire   Wire
	status int
	err    error
	path   string // as it is recorded, "" for the request's own
}

// serve serves one model request from its body to its record.
func (s *Session) serve(w http.ResponseWriter, r *http.Request, c modelCall) {
	if s.slots.Acquire(r.Context(), 1) != nil {
		return
	}
	defer s.slots.Release(1)
	held, err := s.hold(r)
	if ended(r.Context()) {
		return
	}
	if err != nil {
		s.refuse(w, r, refusal{wire: c.wire, status: http.StatusRequestEntityTooLarge, err: err})
		return
	}
	defer s.buffer.Release(held)
	req, no := s.readRequest(w, r, c, held)
	if no != nil {
		s.refuse(w, r, *no)
		return
	}
	x := s.begin(req, r.Header)
	ans, failure := s.ask(r.Context(), x)
	switch {
	case ans != nil:
		s.pass(r.Context(), w, x, ans)
	case failure != nil:
		s.fail(w, x, failure)
	default:
		x.Error = "the agent went away before an answer"
		s.finish(x)
		panic(http.ErrAbortHandler) // a session that ends must not look like an empty answer
	}
}

// hold sets memory aside for the body: what it says it needs, else the most
// that it may need.
func (s *Session) hold(r *http.Request) (int64, error) {
	n := r.ContentLength
	if n > s.limits.BodyBytes {
		return 0, fmt.Errorf("request body is larger than %d bytes", s.limits.BodyBytes)
	}
	if n < 0 {
		n = s.limits.BodyBytes
	}
	if err := s.buffer.Acquire(r.Context(), n); err != nil {
		return 0, err
	}
	return n, nil
}

func (s *Session) readRequest(
	w http.ResponseWriter, r *http.Request, c modelCall, limit int64,
) (*modelRequest, *refusal) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.limits.BodyTime))
	raw, err := readBody(r.Body, r.ContentLength, limit)
	// Without a deadline again: its passing would look as if the agent had gone.
	_ = rc.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, errLargeBody):
		return nil, &refusal{wire: c.wire, status: http.StatusRequestEntityTooLarge, err: err}
	case err != nil:
		return nil, &refusal{wire: c.wire, status: http.StatusBadRequest, err: errors.New("request body did not arrive")}
	}
	req, err := newRequest(c, raw, s.o.Model)
	if err != nil {
		return nil, &refusal{wire: c.wire, status: http.StatusBadRequest, err: err}
	}
	req.url = c.url(s.o.Model, r.URL.Query())
	return req, nil
}

// readBody reads a body of at most limit bytes into memory of its length, or
// of the limit where the length is unknown: growing step by step would cost
// several times as much.
func readBody(body io.Reader, length, limit int64) ([]byte, error) {
	if length >= 0 {
		limit = length
	}
	raw := make([]byte, limit)
	n, err := io.ReadFull(body, raw)
	if length < 0 && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		return raw[:n], nil
	}
	if err != nil {
		return nil, err
	}
	if n, err := body.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, errLargeBody
	}
	return raw, nil
}

var errLargeBody = errors.New("request body is too large")

// exchange is a model request on its way.
type exchange struct {
	Exchange
	id        int // tells requests of a session apart
	req       *modelRequest
	header    http.Header       // what is passed on of the agent's
	headers   map[string]string // what is recorded of the provider's
	response  []byte            // what is recorded of the answer
	cut       bool              // response is not all of it
	held      int64             // memory set aside for response
	failure   *ProviderFailure
	exhausted bool // the retry budget was used up
	inFlight  bool // the provider had the request when the agent left
	partial   bool // the answer has no end, so its usage tells nothing
	lost      bool // the connection of a try broke: what that has cost is unknown
	pass      *pass
	reserved  *reservation
}

// passedHeaders are the agent's headers that providers get. Everything else
// stays here, above all whatever could authorize or redirect.
var passedHeaders = []string{"Accept", "User-Agent"}

// wireHeaders are passed on besides: they say which edition of the wire the
// agent speaks.
var wireHeaders = map[Wire][]string{WireMessages: {"Anthropic-Version", "Anthropic-Beta"}}

func (s *Session) begin(req *modelRequest, h http.Header) *exchange {
	x := &exchange{req: req, header: http.Header{"Content-Type": {"application/json"}}}
	copyHeaders(x.header, h, passedHeaders, wireHeaders[req.wire])
	if req.host != "" {
		copyHeaders(x.header, h, githubHeaders)
	}
	if req.authorization != "" {
		x.header.Set("Authorization", req.authorization)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	s.stats.InFlight++
	if !req.counts {
		s.stats.Requests++
		x.Seq = s.stats.Requests
	}
	x.id, x.Wire, x.Started, x.Model = s.begun, req.wire, time.Now(), s.o.Model
	s.stats.LastActivity = x.Started
	return x
}

// finish records an exchange and counts it; the end of the answer is still to
// be sent.
func (s *Session) finish(x *exchange) {
	x.Ended = time.Now()
	s.settle(x)
	var storeErr error
	if !x.req.counts {
		storeErr = s.store(x.Exchange)
	}
	s.record(x)
	s.buffer.Release(x.held)
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.stats
	st.InFlight--
	st.LastActivity = x.Ended
	if st.StoreErr == nil {
		st.StoreErr = storeErr
	}
	if !x.req.counts {
		st.count(x)
	}
	if st.InFlight == 0 {
		s.waits.settle()
	}
}

// count takes in what came of a model request.
func (st *Stats) count(x *exchange) {
	if x.Tries > 0 {
		st.Usage.add(x.Usage)
	}
	if x.exhausted {
		st.Exhausted++
	}
	if x.Usable {
		st.Answers++
		st.LastError = nil
	} else if x.failure != nil {
		st.LastError = x.failure
	}
}

func (s *Session) store(x Exchange) error {
	if s.o.OnExchange == nil {
		return nil
	}
	s.storing.Lock()
	defer s.storing.Unlock()
	return s.o.OnExchange(x)
}

// record writes an exchange into the recording.
func (s *Session) record(x *exchange) {
	if s.o.Record == nil {
		return
	}
	request, response := s.mask(x.req.raw), s.maskCut(x.response, x.cut)
	s.recorded(len(request)+len(response), s.o.Record.write(Record{
		Seq: x.Seq, Started: x.Started, Ended: x.Ended,
		Method: http.MethodPost, Path: x.req.host + x.req.url.RequestURI(), Wire: x.Wire, Model: x.Model,
		Status: x.Status, Headers: x.headers, ResponseCut: x.cut,
		Complete: x.Complete, Error: x.Error, Usage: &x.Usage, Tries: x.Tries, WaitedMS: x.Waited.Milliseconds(),
	}, request, response))
}

// recorded notes what came of writing to the recorder.
func (s *Session) recorded(n int, err error) {
	s.note(func(st *Stats) {
		st.RecordedBytes += int64(n)
		if st.RecordErr == nil {
			st.RecordErr = err
		}
	})
}

// maskCut masks a text; where it was cut, half a key may stand at its end.
func (s *Session) maskCut(b []byte, cut bool) []byte {
	b = s.mask(b)
	if cut {
		for _, m := range s.masks {
			b = b[:len(b)-m.openTail(b)]
		}
	}
	return b
}

// ended reports why a request has no future: the agent or the session is gone.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
