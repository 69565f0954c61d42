package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const chatPath = "/chat/completions"

// ServeHTTP answers one request out of the box.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "session has ended", http.StatusServiceUnavailable)
		return
	}
	defer s.handlers.Done()
	path, ok := s.path(r)
	switch {
	case !ok:
		s.note(func(st *Stats) { st.Strays++ })
		s.tell(w, http.StatusNotFound, "no such address")
	case !s.admit():
		s.tell(w, http.StatusForbidden, "this attempt has made too many requests")
	case r.Method == http.MethodPost && path == chatPath:
		s.chat(w, r)
	case r.Method == http.MethodGet && path == "/models":
		s.models(w)
	default:
		s.refuse(w, r, http.StatusNotFound, "only chat completions are served here")
	}
}

// admit counts a request against the attempt's bound.
func (s *Session) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.LastActivity = time.Now()
	if s.admitted >= s.limits.Requests {
		s.stats.OverLimit = true
		return false
	}
	s.admitted++
	return true
}

// models tells the one model there is, for agents that ask.
func (s *Session) models(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Owner  string `json:"owned_by"`
	}
	s.tellJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []model{{ID: s.o.Model, Object: "model", Owner: s.upstream.Name()}},
	})
}

// refuse answers a request that goes to no provider, and records it.
func (s *Session) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.note(func(st *Stats) { st.Refused++ })
	if now := time.Now(); s.o.Record != nil {
		s.recorded(0, s.o.Record.Write(Record{
			Started: now, Ended: now, Method: oneLine(r.Method), Status: status, Error: why,
			Path: oneLine(s.maskString(strings.TrimPrefix(r.URL.Path, s.base))),
		}))
	}
	s.tell(w, status, why)
}

// tell sends an error in the form that OpenAI's clients read.
func (s *Session) tell(w http.ResponseWriter, status int, message string) {
	s.tellJSON(w, status, map[string]any{
		"error": map[string]any{"message": message, "type": "gateway_error", "code": status},
	})
}

func (s *Session) tellJSON(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil { // texts and numbers only
		body = []byte("{}")
	}
	s.send(w, status, "application/json", body)
}

// send writes a short answer. An agent that does not read it gets cut off.
func (s *Session) send(w http.ResponseWriter, status int, contentType string, body []byte) {
	s.limitWrite(w)
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the agent may have gone, which is its own affair
}

func (s *Session) limitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.WriteTime))
}

// refusal is why a body is not taken, and what the agent is told.
type refusal struct {
	status int
	err    error
}

// chat serves one model request from its body to its record.
func (s *Session) chat(w http.ResponseWriter, r *http.Request) {
	if s.slots.Acquire(r.Context(), 1) != nil {
		return
	}
	defer s.slots.Release(1)
	held, err := s.hold(r)
	if ended(r.Context()) {
		return
	}
	if err != nil {
		s.refuse(w, r, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	defer s.buffer.Release(held)
	req, no := s.readChat(w, r, held)
	if no != nil {
		s.refuse(w, r, no.status, no.err.Error())
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

func (s *Session) readChat(w http.ResponseWriter, r *http.Request, limit int64) (*chatRequest, *refusal) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.limits.BodyTime))
	raw, err := readBody(r.Body, r.ContentLength, limit)
	// Without a deadline again: its passing would look as if the agent had gone.
	_ = rc.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, errLargeBody):
		return nil, &refusal{http.StatusRequestEntityTooLarge, err}
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, errors.New("request body did not arrive")}
	}
	req, err := newChatRequest(raw, s.o.Model)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err}
	}
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
	req       *chatRequest
	header    http.Header       // what is passed on of the agent's
	headers   map[string]string // what is recorded of the provider's
	response  []byte            // what is recorded of the answer
	cut       bool              // response is not all of it
	held      int64             // memory set aside for response
	failure   *ProviderFailure
	exhausted bool // the retry budget was used up
}

// passedHeaders are the agent's headers that providers get. Everything else
// stays here, above all whatever could authorize or redirect.
var passedHeaders = []string{"Accept", "User-Agent"}

func (s *Session) begin(req *chatRequest, h http.Header) *exchange {
	x := &exchange{req: req, header: http.Header{"Content-Type": {"application/json"}}}
	for _, name := range passedHeaders {
		if v := h.Get(name); v != "" {
			x.header.Set(name, v)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests++
	s.stats.InFlight++
	x.Seq, x.Started, x.Model = s.stats.Requests, time.Now(), s.o.Model
	s.stats.LastActivity = x.Started
	return x
}

// finish records an exchange and counts it; the end of the answer is still to
// be sent.
func (s *Session) finish(x *exchange) {
	x.Ended = time.Now()
	storeErr := s.store(x.Exchange)
	s.record(x)
	s.buffer.Release(x.held)
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.stats
	st.InFlight--
	st.LastActivity = x.Ended
	if x.Tries > 0 {
		st.Usage.add(x.Usage)
	}
	if st.StoreErr == nil {
		st.StoreErr = storeErr
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
	if st.InFlight == 0 {
		s.waits.settle()
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
		Method: http.MethodPost, Path: chatPath, Model: x.Model,
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
