package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Script is what the scripted upstream may use to play its policy in one
// attempt. It never leaves the host but through the commands that the policy
// gives the agent.
type Script struct {
	File      string // the file to work on, relative to Dir; "" is solution.py
	Dir       string // where the agent sees it; "" is /workspace
	Starter   string // its text as the agent finds it
	Reference string // its text when the task is solved
	// Edited names the functions that the reference changes or removes.
	Edited []string
	// Place is the trial's place in the plan, from 0. mixed draws by it, so
	// that the draw does not depend on the order in which trials run.
	Place int
}

// Behaviour is one way in which the scripted upstream plays.
type Behaviour struct {
	Name   string // one of those that Behaviours lists, without mixed
	Status int    // of error
	// After is how many turns of error, cut and silence are as those of solve,
	// and how many answers of unparseable are not.
	After int
}

func (b Behaviour) String() string {
	text := b.Name
	if b.Name == failing {
		text += ":" + strconv.Itoa(b.Status)
	}
	if b.After > 0 {
		text += "@" + strconv.Itoa(b.After)
	}
	return text
}

// The behaviours.
const (
	solve     = "solve"
	wrong     = "wrong"
	untouched = "untouched"
	remove    = "remove"
	idle      = "idle"
	endless   = "endless"
	flood     = "flood"
	slowtool  = "slowtool"
	garbled   = "unparseable"
	cutting   = "cut"
	silence   = "silence"
	failing   = "error"
	mixed     = "mixed"
)

// BehaviourHelp is a behaviour with its description, for help texts.
type BehaviourHelp struct{ Name, Description string }

// Behaviours lists what NewScripted takes.
func Behaviours() []BehaviourHelp {
	return []BehaviourHelp{
		{solve, "looks, searches, edits to the reference solution, checks and finishes (the default)"},
		{wrong, "makes a plausible edit that leaves one function as it was"},
		{untouched, "looks and finishes without an edit"},
		{remove, "deletes the solution file"},
		{idle, "takes the request and never answers"},
		{endless, "calls tools for ever"},
		{flood, "writes files without end"},
		{slowtool, "calls a command that takes ten minutes"},
		{garbled + "[@N]", "without tools: answers what cannot be read, N times or always; else as solve"},
		{cutting + "[@N]", "breaks the answer off in the middle, after N good turns"},
		{silence + "[@N]", "begins to answer and says nothing more, after N good turns"},
		{failing + ":CODE[@N]", "answers with that HTTP status, 400 to 599, after N good turns"},
		{mixed + "[:SEED[:SHARES]]",
			"deals the above to the trials in given shares, such as solve=6,wrong=3,error:500=1"},
	}
}

// BehaviourError is a usage error; it lists what exists.
type BehaviourError struct {
	Text string
	Why  string
}

func (e *BehaviourError) Error() string {
	var names []string
	for _, b := range Behaviours() {
		names = append(names, b.Name)
	}
	return fmt.Sprintf("scripted behaviour %q: %s; there are: %s", e.Text, e.Why, strings.Join(names, ", "))
}

// share is a behaviour with its weight in a draw.
type share struct {
	Behaviour
	weight int
}

// defaultShares shows every outcome in a table of twenty trials or more.
func defaultShares() []share {
	return []share{
		{Behaviour{Name: solve}, 8}, {Behaviour{Name: wrong}, 3}, {Behaviour{Name: untouched}, 2},
		{Behaviour{Name: remove}, 1}, {Behaviour{Name: idle}, 1}, {Behaviour{Name: endless}, 1},
		{Behaviour{Name: flood}, 2}, {Behaviour{Name: failing, Status: 500}, 2},
	}
}

// maxShares is the largest sum of shares: a pack of cards that is shuffled anew
// for each attempt must stay small.
const maxShares = 1000

// Scripted is an upstream that plays a fixed, honest little policy in every
// wire, instead of asking a model. Its steps depend on nothing but
// the request, the script and the behaviour, which for unparseable counts. Make one with NewScripted; an
// attempt plays it through For, which sessions call.
type Scripted struct {
	text   string
	seed   string
	shares []share // one of them when there is nothing to draw
	total  int     // of the weights
}

// NewScripted understands a behaviour as listed by Behaviours; "" is solve.
// Anything else is a *BehaviourError.
func NewScripted(behaviour string) (*Scripted, error) {
	s := &Scripted{text: behaviour}
	if behaviour == "" {
		s.text = solve
	}
	if s.text == mixed {
		s.text = mixed + ":1"
	}
	name, rest, _ := strings.Cut(s.text, ":")
	if name != mixed {
		b, err := parseBehaviour(s.text)
		if err != nil {
			return nil, err
		}
		s.shares = []share{{b, 1}}
		return s, nil
	}
	seed, shares, custom := strings.Cut(rest, ":")
	if seed == "" {
		return nil, &BehaviourError{s.text, "the seed is missing"}
	}
	s.seed, s.shares = seed, defaultShares()
	if custom {
		var err error
		if s.shares, err = parseShares(s.text, shares); err != nil {
			return nil, err
		}
	}
	for _, sh := range s.shares {
		s.total += sh.weight
	}
	return s, nil
}

func parseBehaviour(text string) (Behaviour, error) {
	switch text {
	case solve, wrong, untouched, remove, idle, endless, flood, slowtool:
		return Behaviour{Name: text}, nil
	}
	name, turns, later := strings.Cut(text, "@")
	after := 0
	if later {
		var err error
		if after, err = strconv.Atoi(turns); err != nil || after < 1 || after > maxAfter {
			return Behaviour{}, &BehaviourError{text, fmt.Sprintf("want a number of turns from 1 to %d", maxAfter)}
		}
	}
	if name == cutting || name == silence || name == garbled {
		return Behaviour{Name: name, After: after}, nil
	}
	code, ok := strings.CutPrefix(name, failing+":")
	if !ok {
		return Behaviour{}, &BehaviourError{text, "not known"}
	}
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		return Behaviour{}, &BehaviourError{text, "want a status from 400 to 599"}
	}
	return Behaviour{Name: failing, Status: status, After: after}, nil
}

// maxAfter is more turns than the policy takes to solve any task.
const maxAfter = 1000

func parseShares(text, list string) ([]share, error) {
	var shares []share
	total := 0
	for item := range strings.SplitSeq(list, ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(item), "=")
		weight, err := strconv.Atoi(number)
		if !ok || err != nil || weight < 0 {
			return nil, &BehaviourError{text, fmt.Sprintf("share %q is not NAME=NUMBER", item)}
		}
		b, err := parseBehaviour(name)
		if err != nil {
			return nil, err
		}
		if total += min(weight, maxShares+1); weight > 0 {
			shares = append(shares, share{b, weight})
		}
	}
	if len(shares) == 0 {
		return nil, &BehaviourError{text, "no share is above 0"}
	}
	if total > maxShares {
		return nil, &BehaviourError{text, fmt.Sprintf("the shares add up to more than %d", maxShares)}
	}
	return shares, nil
}

// Name implements Upstream.
func (s *Scripted) Name() string { return "scripted" }

// String is the behaviour in full, "solve" or "mixed:7".
func (s *Scripted) String() string { return s.text }

// Behaviour is what is played for the trial at that place of the plan. A pack
// of cards with the shares is shuffled for each full row of trials and dealt to
// them, so that even a short table has its shares.
func (s *Scripted) Behaviour(place int) Behaviour {
	if len(s.shares) == 1 {
		return s.shares[0].Behaviour
	}
	type card struct {
		Behaviour
		rank [sha256.Size]byte
	}
	var pack []card
	for _, sh := range s.shares {
		for range sh.weight {
			text := fmt.Sprintf("%s\x00%d\x00%d", s.seed, place/s.total, len(pack))
			pack = append(pack, card{sh.Behaviour, sha256.Sum256([]byte(text))})
		}
	}
	slices.SortFunc(pack, func(a, b card) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	return pack[place%s.total].Behaviour
}

// RoundTrip implements Upstream for an empty script.
func (s *Scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.For(Script{}).RoundTrip(r)
}

// For binds an attempt's script.
func (s *Scripted) For(script Script) Upstream {
	if script.File == "" {
		script.File = "solution.py"
	}
	if script.Dir == "" {
		script.Dir = "/workspace"
	}
	return &player{behaviour: s.Behaviour(script.Place), script: script}
}

// player is the scripted upstream of one attempt.
type player struct {
	behaviour Behaviour
	script    Script
	garbled   atomic.Int64 // answers that could not be read
}

func (p *player) Name() string { return "scripted" }

func (p *player) RoundTrip(r *http.Request) (*http.Response, error) {
	b := p.behaviour
	if b.Name == idle {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	wire := wireGuess(r.URL.Path, r.Header)
	if b.Name == failing && b.After == 0 {
		return p.failure(wire), nil
	}
	body, err := readBody(r.Body, r.ContentLength, 0)
	if err != nil {
		return nil, fmt.Errorf("reading request: %w", err)
	}
	talk, err := readConversation(r.URL, body)
	if err != nil {
		return document(http.StatusBadRequest, scriptedError(wire, http.StatusBadRequest, err.Error())), nil
	}
	if talk.counts {
		return document(http.StatusOK, talk.count()), nil
	}
	if b.Name == failing && talk.turns >= b.After {
		return p.failure(wire), nil
	}
	return p.answer(r.Context(), talk), nil
}

// answer plays a turn, whole or as much of it as the behaviour lets through.
func (p *player) answer(ctx context.Context, talk *conversation) *http.Response {
	t := p.turn(talk)
	said := &speech{done: ctx.Done(), pieces: [][]byte{t.whole(talk)}}
	contentType := "application/json"
	if talk.stream {
		said.pieces = t.stream(talk)
	}
	if talk.stream && !talk.list {
		contentType = "text/event-stream"
	}
	switch bad := talk.turns >= p.behaviour.After; {
	case bad && p.behaviour.Name == cutting:
		said.stop(len(said.pieces) / 2)
		said.end = errCutOff
	case bad && p.behaviour.Name == silence:
		said.stop(1)
		said.silent = true
	}
	return response(http.StatusOK, contentType, said, -1)
}

var errCutOff = errors.New("the scripted answer breaks off here")

// speech is the body of an answer, a piece for each reading.
type speech struct {
	pieces [][]byte
	end    error           // behind the last piece; nil is an ordinary end
	silent bool            // nothing comes behind the last piece until done
	done   <-chan struct{} // closed when nobody listens any more
}

// stop leaves only that many pieces, and half of one that is alone.
func (s *speech) stop(n int) {
	if len(s.pieces) == 1 {
		s.pieces[0] = s.pieces[0][:len(s.pieces[0])/2]
		return
	}
	s.pieces = s.pieces[:max(n, 1)]
}

func (s *speech) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		if s.silent {
			<-s.done
			return 0, context.Canceled
		}
		if s.end != nil {
			return 0, s.end
		}
		return 0, io.EOF
	}
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func (p *player) failure(w Wire) *http.Response {
	text := fmt.Sprintf("scripted error %d", p.behaviour.Status)
	return document(p.behaviour.Status, scriptedError(w, p.behaviour.Status, text))
}

// scriptedError is an error as providers tell it.
func scriptedError(w Wire, status int, message string) []byte {
	return errorDocument(w, status, openAIError(status), message)
}

func document(status int, body []byte) *http.Response {
	return response(status, "application/json", bytes.NewReader(body), int64(len(body)))
}

func response(status int, contentType string, body io.Reader, length int64) *http.Response {
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {contentType}},
		Body:          io.NopCloser(body),
		ContentLength: length,
	}
}
