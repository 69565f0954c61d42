package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// answer is what the agent got in the recording, as far as that is known.
func (r *Replay) answer(ctx context.Context, n int, rec *recording) (*http.Response, error) {
	switch why := rec.unknown(); {
	case why != "":
		return nil, r.stop(ReplayDivergence{Request: n, Nearest: rec.place, Used: true, Reason: why})
	case rec.Status == 0:
		return nil, r.left(ctx, n, rec)
	case rec.Status > 299:
		return rec.response(strings.NewReader(rec.refusal())), nil
	}
	body := &replayBody{text: strings.NewReader(rec.Response), end: func() error { return io.EOF }}
	switch {
	case rec.Complete || rec.endedByItself():
	case rec.Error == errAgentGone.Error():
		body.end = func() error { return r.left(ctx, n, rec) }
	default:
		body.end = func() error { return errors.New(rec.Error) }
	}
	return rec.response(body), nil
}

// unknown says why it is not known what the agent got, "" where it is.
func (rec *recording) unknown() string {
	encoding := rec.Headers["Content-Encoding"]
	switch {
	case rec.ResponseCut:
		return fmt.Sprintf("the recorded answer %d was not kept to its end", rec.place)
	case encoding != "" && encoding != "identity":
		return fmt.Sprintf("the recorded answer %d is compressed, of which recordings keep no bytes", rec.place)
	case rec.Status != 0 && (rec.Status < 200 || rec.Status > 599):
		return fmt.Sprintf("the recorded answer %d has the status %d", rec.place, rec.Status)
	}
	return ""
}

func (rec *recording) response(body io.Reader) *http.Response {
	length := int64(-1)
	if s, ok := body.(*strings.Reader); ok {
		length = s.Size()
	}
	resp := response(rec.Status, "", body, length)
	resp.Header = http.Header{}
	for name, value := range rec.Headers {
		resp.Header.Set(name, value)
	}
	return resp
}

// toldFailure is a failure as ProviderFailure words it.
var toldFailure = regexp.MustCompile(`^provider failure \(([a-z ]+)(?:, status \d+)?\): `)

// refusal is the body with which a failure was told: the provider's where the
// agent got that, else the gateway's own words.
func (rec *recording) refusal() string {
	head := toldFailure.FindString(rec.Error)
	own := !strings.Contains(head, fmt.Sprintf(", status %d)", rec.Status))
	if head == "" || !own && looksLikeJSON([]byte(rec.Response)) {
		return rec.Response
	}
	return string(errorDocument(rec.Wire, rec.Status, gatewayError, rec.Error[len(head):]))
}

// endedByItself reports whether an answer that is not whole came to an orderly
// end all the same: an error that the provider told within it, or nothing more.
func (rec *recording) endedByItself() bool {
	if rec.Error == endedEarly {
		return true
	}
	m := newMeter(rec.call, strings.HasPrefix(rec.Headers["Content-Type"], "text/event-stream"))
	_, _ = io.WriteString(m, rec.Response)
	m.end()
	return m.failure != ""
}

// maxPatience bounds the waiting for an agent to leave.
const maxPatience = 2 * time.Hour

// left waits for the agent to go away, as it did in the recording. What it
// would have got otherwise nobody knows.
func (r *Replay) left(ctx context.Context, n int, rec *recording) error {
	stayed := min(max(rec.Ended.Sub(rec.Started), 0), maxPatience) + r.o.Slack
	if err := sleep(ctx, stayed); err != nil {
		return err
	}
	return r.stop(ReplayDivergence{Request: n, Nearest: rec.place, Used: true, Reason: fmt.Sprintf(
		"the agent left the recorded request %d before the end of its answer, and now waits for it", rec.place)})
}

// replayBody is the body of an answer with its end.
type replayBody struct {
	text *strings.Reader
	end  func() error
}

func (b *replayBody) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if err == io.EOF {
		return n, b.end()
	}
	return n, err
}
