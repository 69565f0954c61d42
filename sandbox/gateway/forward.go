package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// answer is a provider's answer of which the first bytes have come.
type answer struct {
	resp  *http.Response
	first []byte
	err   error // of the reading of first, io.EOF included
}

func (a *answer) discard() {
	if a != nil {
		_ = a.resp.Body.Close()
	}
}

// try sends the request once.
func (s *Session) try(ctx context.Context, x *exchange) (*answer, *ProviderFailure) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", x.req.reader())
	if err != nil {
		return nil, s.transportFailure(err)
	}
	target := *x.req.url
	r.URL, r.Header, r.ContentLength = &target, x.header.Clone(), x.req.size
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(x.req.reader()), nil }
	resp, err := s.upstream.RoundTrip(r)
	if err != nil {
		return nil, s.transportFailure(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		failure := statusFailure(resp, s.mask)
		failure.Scripted = s.scripted
		if failure.Kind == FailureModel && (x.req.counts || s.Stats().Answers > 0) {
			// The model may well be there: something else that this request
			// names is not, or nobody counts tokens here.
			failure.Kind = FailureRequest
		}
		_ = resp.Body.Close()
		s.noteHeaders(x, resp.Header)
		return nil, failure
	}
	ans, err := firstBytes(resp)
	if err != nil {
		_ = resp.Body.Close()
		return nil, s.transportFailure(err)
	}
	s.noteHeaders(x, resp.Header)
	return ans, nil
}

func (s *Session) transportFailure(err error) *ProviderFailure {
	f := transportFailure(err, s.mask)
	f.Scripted = s.scripted
	return f
}

// firstBytes waits for the answer proper: until it has begun the failure can
// still be mended.
func firstBytes(resp *http.Response) (*answer, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			return &answer{resp: resp, first: buf[:n], err: err}, nil
		}
		if err == io.EOF {
			return nil, errors.New("empty answer")
		}
		if err != nil {
			return nil, fmt.Errorf("answer broke off before it began: %w", err)
		}
	}
}

// fail passes a failure on to the agent.
func (s *Session) fail(w http.ResponseWriter, x *exchange, f *ProviderFailure) {
	x.failure = f
	x.Status = f.agentStatus()
	x.Error = f.Error()
	if f.Status != 0 && !x.lost { // the provider's refusals are not charged
		x.Usage = noUsage()
	}
	x.keep(s, f.body)
	s.finish(x)
	if f.Status == x.Status && looksLikeJSON(f.body) {
		s.send(w, x.Status, "application/json", f.body)
		return
	}
	s.tell(w, x.Wire, x.Status, f.Message)
}

func looksLikeJSON(body []byte) bool { return strings.HasPrefix(strings.TrimSpace(string(body)), "{") }

// answerHeaders are the provider's headers that agents get; with those of
// recordedHeaders they are also recorded.
var (
	answerHeaders   = []string{"Content-Type", "Content-Encoding", "Cache-Control", "X-Request-Id"}
	recordedHeaders = []string{
		"Retry-After", "Openai-Version", "Openai-Processing-Ms",
		"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests",
		"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens",
	}
)

// noteHeaders keeps the headers that are recorded.
func (s *Session) noteHeaders(x *exchange, h http.Header) {
	x.headers = map[string]string{}
	for _, names := range [][]string{answerHeaders, recordedHeaders} {
		for _, name := range names {
			if v := h.Get(name); v != "" {
				x.headers[name] = oneLine(s.maskString(v))
			}
		}
	}
	if x.req.host != "" {
		s.noteQuota(x, h)
	}
}

// keep adds a piece of the answer to what is recorded, as long as the attempt
// has memory left.
func (x *exchange) keep(s *Session, p []byte) {
	if s.o.Record == nil || x.cut {
		return
	}
	if len(x.response)+len(p) > maxRecordedBody || !s.reserve(x, len(x.response)+len(p)) {
		x.cut = true
		return
	}
	x.response = append(x.response, p...)
}

// reserve sets memory for n bytes of answer aside, in steps of 64 KiB.
func (s *Session) reserve(x *exchange, n int) bool {
	const step = 64 << 10
	for x.held < int64(n) {
		if !s.buffer.TryAcquire(step) {
			return false
		}
		x.held += step
	}
	return true
}

// pass sends the answer on as it comes, while metering and keeping it.
func (s *Session) pass(ctx context.Context, w http.ResponseWriter, x *exchange, ans *answer) {
	defer ans.discard()
	for _, name := range answerHeaders {
		if v := ans.resp.Header.Get(name); v != "" {
			w.Header().Set(name, s.maskString(v))
		}
	}
	x.Status = ans.resp.StatusCode
	w.WriteHeader(x.Status)
	m := newMeter(x.req.modelCall, strings.HasPrefix(ans.resp.Header.Get("Content-Type"), "text/event-stream"))
	out := &agentWriter{s: s, w: w}
	masking := s.maskingWriter(out)
	err := s.copyAnswer(x, ans, m, masking)
	// An agent may leave as soon as it has read what it needs, before the
	// answer's formal end: what came is then the whole answer all the same.
	if err == nil || errors.Is(err, errAgentGone) || ended(ctx) {
		x.Complete = m.end()
	}
	x.Usage = m.usage
	x.partial = !m.finished
	x.Usable = x.Complete && m.content
	s.explain(ctx, x, m, err)
	s.finish(x)
	if err != nil {
		panic(http.ErrAbortHandler) // the agent must see that the answer is cut
	}
	_ = masking.Close()
}

// copyAnswer returns nil when the answer ended by itself.
func (s *Session) copyAnswer(x *exchange, ans *answer, m *meter, out io.Writer) error {
	piece, err := ans.first, ans.err
	buf := ans.first[:cap(ans.first)]
	var total int64
	for {
		total += int64(len(piece))
		_, _ = m.Write(piece)
		x.keep(s, piece)
		if len(piece) > 0 {
			if _, werr := out.Write(piece); werr != nil {
				return errAgentGone
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case total > s.limits.AnswerBytes:
			return fmt.Errorf("answer is longer than %d bytes", s.limits.AnswerBytes)
		}
		var n int
		n, err = ans.resp.Body.Read(buf)
		piece = buf[:n]
	}
}

// endedEarly is why an answer is not whole that ended in order.
const endedEarly = "the answer ended early"

var errAgentGone = errors.New("the agent went away or stopped reading")

// explain says why an answer is not complete, and whose fault it is.
func (s *Session) explain(ctx context.Context, x *exchange, m *meter, err error) {
	f := &ProviderFailure{Kind: FailureCut, At: time.Now(), Scripted: s.scripted}
	switch {
	case x.Complete:
		return
	case errors.Is(err, errAgentGone) || ended(ctx):
		x.Error = errAgentGone.Error()
		return
	case m.failure != "":
		f.Kind = FailureServer
		f.Message = m.failure
	case err != nil:
		f.Message = err.Error()
	default:
		f.Message = endedEarly
	}
	f.Message = oneLine(s.maskString(f.Message))
	x.failure = f
	x.Error = f.Message
}

// maskingWriter masks on the way to w.
func (s *Session) maskingWriter(w io.Writer) io.WriteCloser {
	out := &chain{Writer: w}
	for _, m := range s.masks {
		mw := m.Writer(out.Writer)
		out.Writer, out.links = mw, append(out.links, mw)
	}
	return out
}

// chain is a writer whose links are closed from the first written to the last.
type chain struct {
	io.Writer
	links []io.Closer
}

func (c *chain) Close() error {
	for i := len(c.links) - 1; i >= 0; i-- {
		if err := c.links[i].Close(); err != nil {
			return err
		}
	}
	return nil
}

// agentWriter sends every piece at once, and gives up on an agent that does
// not read.
type agentWriter struct {
	s *Session
	w http.ResponseWriter
}

func (a *agentWriter) Write(p []byte) (int, error) {
	a.s.limitWrite(a.w)
	n, err := a.w.Write(p)
	if err == nil {
		err = http.NewResponseController(a.w).Flush()
	}
	a.s.touch()
	return n, err
}
