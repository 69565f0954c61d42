package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Record is one line of a recording: an exchange with both bodies, keys masked.
type Record struct {
	Seq     int       `json:"seq"` // as Exchange.Seq; 0 for a request that was refused or counts tokens
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Method  string    `json:"method"`
	// Path is that below the provider's base, with its query, as the provider
	// gets it; for a refused request that below the attempt's address.
	Path  string `json:"path"`
	Wire  Wire   `json:"wire,omitempty"`
	Model string `json:"model,omitempty"`

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
	// Of a connection that the box has to itself: how much went through it.
	BytesOut int64 `json:"bytes_out,omitempty"`
	BytesIn  int64 `json:"bytes_in,omitempty"`
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
	base   []byte // request body of the line before, compressed: thousands of recorders may be open
	deltas int    // since the last whole body
	err    error  // the first failure; nothing is written after it
}

// presses make lines. Each takes megabytes and is needed for moments, so that
// recorders have none of their own.
var presses = sync.Pool{New: func() any {
	// The options are constants that are in range, so there is no error.
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	return enc
}}

// giveBack lets go of the last line's writer.
func giveBack(press *zstd.Encoder) {
	press.Reset(nil)
	presses.Put(press)
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
	return &Recorder{out: counter{w: w}}, nil
}

// Write appends one record. After an error it only returns that error again: a
// frame that was written in part ends what can be read.
func (r *Recorder) Write(rec Record) error {
	request, response := []byte(rec.Request), []byte(rec.Response)
	rec.Request, rec.Response = "", ""
	return r.write(rec, request, response)
}

// write is Write with the bodies apart, so that they need not be copied.
func (r *Recorder) write(rec Record, request, response []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	press := presses.Get().(*zstd.Encoder)
	defer giveBack(press)
	request = r.trim(request, &rec.RequestCut)
	response = r.trim(response, &rec.ResponseCut)
	head, tail := r.shared(request)
	press.Reset(&r.out)
	line := &lineWriter{w: press}
	line.head(rec)
	switch {
	case head+tail > 0:
		line.raw(fmt.Sprintf(`,"delta":{"head":%d,"tail":%d`, head, tail))
		line.text("middle", request[head:len(request)-tail])
		line.raw("}")
	case len(request) > 0:
		line.text("request", request)
	}
	if len(response) > 0 {
		line.text("response", response)
	}
	line.raw("}\n")
	if err := press.Close(); line.err == nil { // ends the frame
		line.err = err
	}
	if line.err != nil {
		r.err = fmt.Errorf("writing recording: %w", line.err)
		return r.err
	}
	r.base = nil
	if len(request) <= maxDeltaBase {
		r.base = bytes.Clone(s2.Encode(nil, request))
	}
	return nil
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

// head writes the members that are short, and leaves the object open.
func (l *lineWriter) head(rec Record) {
	text, err := json.Marshal(rec)
	if err != nil {
		l.err = err
		return
	}
	l.raw(string(text[:len(text)-1]))
}

// text writes one more member, in pieces.
func (l *lineWriter) text(name string, value []byte) {
	l.raw(`,"` + name + `":"`)
	for len(value) > 0 && l.err == nil {
		n := runeEnd(value, 64<<10)
		quoted, err := json.Marshal(string(value[:n]))
		if err != nil {
			l.err = err
			return
		}
		l.raw(string(quoted[1 : len(quoted)-1]))
		value = value[n:]
	}
	l.raw(`"`)
}

// runeEnd is the length of the longest beginning of b, up to n bytes, that
// does not split a character.
func runeEnd(b []byte, n int) int {
	if len(b) <= n {
		return len(b)
	}
	for n > 1 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// Close gives up what the recorder holds, without closing its writer.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.New("recorder is closed")
	r.base = nil
	return nil
}

// trim bounds a body and makes it valid UTF-8, as JSON needs it.
func (r *Recorder) trim(body []byte, cut *bool) []byte {
	limit := maxRecordedBody
	if r.out.n > maxRecordedBytes {
		limit = 0
	}
	if len(body) > limit {
		body, *cut = body[:limit], true
	}
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
}

// shared returns how much of a request is stored by reference to the one
// before; nothing where that would save less than half.
func (r *Recorder) shared(request []byte) (head, tail int) {
	r.deltas++
	var base []byte
	if r.base != nil {
		base, _ = s2.Decode(nil, r.base) // it was encoded here
	}
	head, tail = common(base, request)
	if r.deltas >= wholeEvery || head+tail < len(request)/2 || head+tail < 1024 {
		r.deltas = 0
		return 0, 0
	}
	return head, tail
}

// common returns how many bytes two texts share at their beginnings and, apart
// from those, at their ends, without splitting a character.
func common(a, b []byte) (head, tail int) {
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
