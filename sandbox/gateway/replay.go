package gateway

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// ErrNotReplayable is wrapped by the error about a recording from which no
// attempt can be answered.
var ErrNotReplayable = errors.New("recording cannot be replayed")

// ErrDiverged is wrapped by the errors of a replay that has stopped.
var ErrDiverged = errors.New("replay has stopped")

// ReplayOptions say how a recording is replayed. The zero value is usable.
type ReplayOptions struct {
	// Name is the upstream's, such as that of the provider in the recording;
	// "" is "replay".
	Name string
	// Slack (30 s) is how much longer than in the recording a request may wait
	// whose agent went away then, before that counts as a divergence.
	Slack time.Duration
}

// Bounds of what a replay holds. Recordings come out of boxes and are hostile.
const (
	maxReplayRecords = 25_000 // more than a session admits
	maxReplayItems   = 1 << 20
	maxReplayBytes   = 64 << 20
	maxCandidates    = 64 // recorded requests of one structure among which one is chosen
)

// Replay is an upstream that answers one attempt from the recorded traffic of
// another. A request gets the answer of a recorded one with the same structure,
// each once; what texts say decides only between several of them. It asks
// nobody and costs nothing. Make one with NewReplay for each attempt.
type Replay struct {
	o       ReplayOptions
	lost    int                 // recorded requests whose body was not kept
	lookups map[string][]Record // by host and path
	diverge chan struct{}       // closed with the divergence

	mu       sync.Mutex // guards what follows
	all      []*recording
	byKey    map[[sha256.Size]byte][]*recording
	sums     map[[sha256.Size]byte][sha256.Size]byte // of texts without ids and times, by those of the texts
	arrived  int
	report   ReplayReport
	drifts   map[[sha256.Size]byte]int // places in the report, by kind and texts; -1 for none
	stopped  error
	lookedUp map[string]int
}

// recording is a recorded request with its answer.
type recording struct {
	Record
	place  int // in the recording, from 1
	call   modelCall
	shape  *shape
	thread [sha256.Size]byte
	used   bool
}

// NewReplay reads a recording, as ReadRecording yields it. A damaged end is no
// error: what stands before it is replayed. Other errors wrap ErrNotReplayable
// or are those of the reading.
func NewReplay(records iter.Seq2[Record, error], o ReplayOptions) (*Replay, error) {
	if o.Name == "" {
		o.Name = "replay"
	}
	orInt(&o.Slack, 30*time.Second)
	r := &Replay{o: o, lookups: map[string][]Record{}, diverge: make(chan struct{}),
		byKey: map[[sha256.Size]byte][]*recording{}, sums: map[[sha256.Size]byte][sha256.Size]byte{},
		drifts: map[[sha256.Size]byte]int{}, lookedUp: map[string]int{}}
	load := &replayLoader{Replay: r, known: map[string]string{}}
	place := 0
	for rec, err := range records {
		if errors.Is(err, ErrTornRecording) {
			r.report.Torn = true
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading recording: %w", err)
		}
		place++
		if err := load.take(rec, place); err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrNotReplayable, place, err)
		}
	}
	return r, nil
}

// Name implements Upstream.
func (r *Replay) Name() string { return r.o.Name }

// For makes sessions treat a replay like the scripted upstream: its failures
// are for the agent at once, and nothing is paid.
func (r *Replay) For(Script) Upstream { return r }

// Diverged is closed when the replay has stopped.
func (r *Replay) Diverged() <-chan struct{} { return r.diverge }

// Report tells what came of the replay so far; it may be called at any time.
func (r *Replay) Report() ReplayReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Drifts = append([]ReplayDrift(nil), report.Drifts...)
	for _, rec := range r.all {
		if !rec.used {
			report.Unused++
		}
	}
	return report
}

// RoundTrip implements Upstream. Its errors wrap ErrDiverged or are those of
// the request.
func (r *Replay) RoundTrip(req *http.Request) (*http.Response, error) {
	n, err := r.arrive()
	if err != nil {
		return nil, err
	}
	body, err := readBody(req.Body, req.ContentLength, 0)
	if err != nil {
		return nil, fmt.Errorf("reading request: %w", err)
	}
	now, err := readShape(req.URL, modelOf(req.URL, body), body)
	if err != nil {
		return nil, r.stop(ReplayDivergence{Request: n, Reason: "the request cannot be read: " + oneLine(err.Error())})
	}
	rec, err := r.match(n, now)
	if err != nil {
		return nil, err
	}
	return r.answer(req.Context(), n, rec)
}

// arrive numbers a request, unless the replay has stopped.
func (r *Replay) arrive() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived++
	return r.arrived, r.stopped
}

// stop ends the replay for good; only the first reason counts.
func (r *Replay) stop(d ReplayDivergence) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopLocked(d)
}

func (r *Replay) stopLocked(d ReplayDivergence) error {
	if r.stopped == nil {
		r.report.Divergence = &d
		r.stopped = fmt.Errorf("%w at request %d: %s", ErrDiverged, d.Request, d.Reason)
		close(r.diverge)
	}
	return r.stopped
}

// lookUp returns what was answered to a question beside the model's. Those are
// asked as often as a program likes: the last answer holds for what comes after.
func (r *Replay) lookUp(address string) (Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.lookups[address]
	if len(list) == 0 {
		r.arrived++
		return Record{}, r.stopLocked(ReplayDivergence{Request: r.arrived, Reason: "nobody asked for " + shortName(address)})
	}
	i := min(r.lookedUp[address], len(list)-1)
	r.lookedUp[address] = i + 1
	return list[i], nil
}

// replayLoader takes records in, within bounds.
type replayLoader struct {
	*Replay
	known        map[string]string // texts that are held; requests repeat what was said before
	bytes, items int
}

func (l *replayLoader) take(rec Record, place int) error {
	if place > maxReplayRecords {
		return fmt.Errorf("more than %d records", maxReplayRecords)
	}
	switch {
	case rec.Method == http.MethodConnect && rec.BytesIn+rec.BytesOut > 0:
		return errors.New("the box had its connection to itself, of which nothing is recorded")
	case rec.Method == http.MethodGet && rec.Wire == "" && rec.Status >= 200 && rec.Status <= 599:
		l.lookups[rec.Path] = append(l.lookups[rec.Path], rec)
		return l.hold(len(rec.Response))
	case rec.Method == http.MethodPost && rec.Model != "": // refused ones name no model
		return l.request(rec, place)
	}
	return nil
}

// request takes a model request in. One whose body was not kept stays out: an
// agent that makes it again finds nothing that fits.
func (l *replayLoader) request(rec Record, place int) error {
	at, err := recordedAddress(rec.Path)
	if err != nil {
		return err
	}
	e := &recording{place: place}
	if rec.RequestCut {
		l.lost++
		return nil
	}
	if e.call, e.shape, err = shapeOfRecord(at, rec); err != nil {
		l.lost++
		return nil
	}
	if l.items += len(e.shape.items); l.items > maxReplayItems {
		return fmt.Errorf("more than %d parts in all requests", maxReplayItems)
	}
	for i := range e.shape.items {
		if err := l.intern(&e.shape.items[i]); err != nil {
			return err
		}
	}
	rec.Request = ""
	e.Record, e.thread = rec, l.thread(e.shape)
	key := e.shape.key()
	l.all, l.byKey[key] = append(l.all, e), append(l.byKey[key], e)
	return l.hold(len(rec.Response))
}

func shapeOfRecord(at *url.URL, rec Record) (modelCall, *shape, error) {
	c, _ := callOf(at.Path)
	c.host = at.Host
	s, err := readShape(at, rec.Model, []byte(rec.Request))
	return c, s, err
}

// intern holds every text once.
func (l *replayLoader) intern(item *shapeItem) error {
	for _, s := range []*string{&item.line, &item.text} {
		if held, ok := l.known[*s]; ok {
			*s = held
			continue
		}
		l.known[*s] = *s
		if err := l.hold(len(*s)); err != nil {
			return err
		}
	}
	return nil
}

func (l *replayLoader) hold(n int) error {
	const each = 64 // of a text, beside its bytes
	if l.bytes += n + each; l.bytes > maxReplayBytes {
		return fmt.Errorf("more than %d MiB of texts", maxReplayBytes>>20)
	}
	return nil
}
