package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// Record is one line of a recording: an exchange with both bodies, keys masked.
type Record struct {
	Seq     int       `json:"seq"` // as Exchange.Seq; 0 for a request that was refused
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Method  string    `json:"method"`
	Path    string    `json:"path"` // below the attempt's address
	Model   string    `json:"model,omitempty"`

	// Request is the body as the agent sent it. In the file, a body that has
	// much in common with that of the line before is stored as Delta instead;
	// ReadRecording puts it together again.
	Request    string `json:"request,omitempty"`
	Delta      *Delta `json:"delta,omitempty"`
	RequestCut bool   `json:"request_cut,omitempty"` // longer than what is kept

	Status      int               `json:"status"`
	Headers     map[string]string `json:"headers,omitempty"` // a choice of the provider's
	Response    string            `json:"response,omitempty"`
	ResponseCut bool              `json:"response_cut,omitempty"`
	Complete    bool              `json:"complete"`
	Error       string            `json:"error,omitempty"`
	Usage       *Usage            `json:"usage,omitempty"`
	Tries       int               `json:"tries,omitempty"`
	WaitedMS    int64             `json:"waited_ms,omitempty"`
}

// Delta is a request body by its difference from the one before: so many bytes
// from its beginning, then Middle, then so many bytes from its end.
type Delta struct {
	Head   int    `json:"head"`
	Middle string `json:"middle"`
	Tail   int    `json:"tail"`
}

// Bounds of a recording.
const (
	maxRecordedBody  = 8 << 20   // of each body
	maxRecordedBytes = 256 << 20 // of a recording, compressed; bodies are left out beyond
	maxDeltaBase     = 2 << 20   // longest body that is remembered for a Delta
	wholeEvery       = 64        // lines between bodies stored whole
)

// Recorder writes a recording: JSON lines in zstd, one frame for each line,
// written when the exchange ends, so that a crash loses at most the line being
// written. Bodies are encoded piece by piece, for they may be large and come
// from a box that wants to fill our memory. It may be used from several
// goroutines.
type Recorder struct {
	mu     sync.Mutex
	out    counter
	enc    *zstd.Encoder
	base   string // request body of the line before
	deltas int    // since the last whole body
	err    error  // the first failure; nothing is written after it
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// NewRecorder returns a Recorder that writes to w and does not close it.
func NewRecorder(w io.Writer) (*Recorder, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("starting compression: %w", err)
	}
	return &Recorder{out: counter{w: w}, enc: enc}, nil
}

// Write appends one record. After an error it only returns that error again: a
// frame that was written in part ends what can be read.
func (r *Recorder) Write(rec Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	rec.Request = r.trim(rec.Request, &rec.RequestCut)
	rec.Response = r.trim(rec.Response, &rec.ResponseCut)
	whole := rec.Request
	r.shorten(&rec)
	r.enc.Reset(&r.out)
	err := writeLine(r.enc, rec)
	if closeErr := r.enc.Close(); err == nil {
		err = closeErr // ends the frame
	}
	if err != nil {
		r.err = fmt.Errorf("writing recording: %w", err)
		return r.err
	}
	r.base = ""
	if len(whole) <= maxDeltaBase {
		r.base = whole
	}
	return nil
}

// writeLine writes a record as one line of JSON: first the members that are
// short, then those that may be long.
func writeLine(w io.Writer, rec Record) error {
	request, response, delta := rec.Request, rec.Response, rec.Delta
	rec.Request, rec.Response, rec.Delta = "", "", nil
	head, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	line := &lineWriter{w: w}
	line.raw(string(head[:len(head)-1]))
	switch {
	case delta != nil:
		line.raw(fmt.Sprintf(`,"delta":{"head":%d,"tail":%d`, delta.Head, delta.Tail))
		line.text("middle", delta.Middle)
		line.raw("}")
	case request != "":
		line.text("request", request)
	}
	if response != "" {
		line.text("response", response)
	}
	line.raw("}\n")
	return line.err
}

// lineWriter writes parts of a JSON object until an error.
type lineWriter struct {
	w   io.Writer
	err error
}

func (l *lineWriter) raw(s string) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, s)
	}
}

// text writes one more member, in pieces.
func (l *lineWriter) text(name, value string) {
	l.raw(`,"` + name + `":"`)
	for _, piece := range pieces(value, 64<<10) {
		quoted, err := json.Marshal(piece)
		if err != nil && l.err == nil {
			l.err = err
			return
		}
		l.raw(string(quoted[1 : len(quoted)-1]))
	}
	l.raw(`"`)
}

// Close gives up what the recorder holds, without closing its writer.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.New("recorder is closed")
	return nil
}

// trim bounds a body and makes it valid UTF-8, as JSON needs it.
func (r *Recorder) trim(body string, cut *bool) string {
	limit := maxRecordedBody
	if r.out.n > maxRecordedBytes {
		limit = 0
	}
	if len(body) > limit {
		body, *cut = body[:limit], true
	}
	return strings.ToValidUTF8(body, "\uFFFD")
}

// shorten replaces the request by a Delta where that saves at least half.
func (r *Recorder) shorten(rec *Record) {
	r.deltas++
	head, tail := common(r.base, rec.Request)
	if r.deltas >= wholeEvery || head+tail < len(rec.Request)/2 || head+tail < 1024 {
		r.deltas = 0
		return
	}
	rec.Delta = &Delta{Head: head, Middle: rec.Request[head : len(rec.Request)-tail], Tail: tail}
	rec.Request = ""
}

// common returns how many bytes two texts share at their beginnings and, apart
// from those, at their ends, without splitting a character.
func common(a, b string) (head, tail int) {
	limit := min(len(a), len(b))
	for head < limit && a[head] == b[head] {
		head++
	}
	for head > 0 && head < len(b) && !utf8.RuneStart(b[head]) {
		head--
	}
	for tail < limit-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(b[len(b)-tail]) {
		tail--
	}
	return head, tail
}

// ErrTornRecording ends the reading of a recording whose last part is damaged,
// as a crash leaves it. What was read before is whole.
var ErrTornRecording = errors.New("recording ends in a damaged part")

// maxLine is beyond the longest line that a Recorder writes: two bodies in
// which every character needs an escape of six.
const maxLine = 13 * maxRecordedBody

// ReadRecording yields the records of a recording in the order in which they
// were written. It yields at most one error, as the last element, and needs
// memory for one record only.
func ReadRecording(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			yield(Record{}, fmt.Errorf("starting decompression: %w", err))
			return
		}
		defer dec.Close()
		lines := &lineReader{r: dec}
		base := ""
		for {
			line, err := lines.next()
			if err == io.EOF {
				return
			}
			rec, err := parseRecord(line, base, err)
			if !yield(rec, err) || err != nil {
				return
			}
			base = rec.Request
		}
	}
}

func parseRecord(line []byte, base string, err error) (Record, error) {
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrTornRecording, err)
	}
	var rec Record
	if err := json.Unmarshal(line, &rec); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrTornRecording, err)
	}
	if d := rec.Delta; d != nil {
		if d.Head < 0 || d.Tail < 0 || d.Head > len(base) || d.Tail > len(base)-d.Head {
			return Record{}, fmt.Errorf("%w: a body refers to more than there is", ErrTornRecording)
		}
		rec.Request = base[:d.Head] + d.Middle + base[len(base)-d.Tail:]
		rec.Delta = nil
	}
	return rec, nil
}

// lineReader reads lines of bounded length, and takes a last line without an
// end for a torn one.
type lineReader struct {
	r   io.Reader
	buf []byte
	pos int
}

var errLongLine = errors.New("a line is too long")

func (l *lineReader) next() ([]byte, error) {
	searched := l.pos
	for {
		if i := bytes.IndexByte(l.buf[searched:], '\n'); i >= 0 {
			line := l.buf[l.pos : searched+i]
			l.pos = searched + i + 1
			return line, nil
		}
		if len(l.buf)-l.pos > maxLine {
			return nil, errLongLine
		}
		l.buf = append(l.buf[:0], l.buf[l.pos:]...)
		l.pos, searched = 0, len(l.buf)
		n, err := l.fill()
		if n > 0 {
			continue
		}
		if err == io.EOF && len(l.buf) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) fill() (int, error) {
	const step = 64 << 10
	old := len(l.buf)
	l.buf = append(l.buf, make([]byte, step)...)
	n, err := l.r.Read(l.buf[old:])
	l.buf = l.buf[:old+n]
	return n, err
}
