// Package engineproxy stands between a program under test and a container
// engine: a socket whose calls are counted and can be made to hang, fail, lose
// their answers or break. It owns the ways in which an engine can trouble its
// clients, must not know what the calls are for, and is for tests only.
package engineproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Fate is what becomes of a call.
type Fate string

// The fates. Every connection that is closed is closed without an answer.
const (
	Pass   Fate = ""
	Hang   Fate = "hang"   // taken, never passed on and never answered; until Release
	Stall  Fate = "stall"  // passed on and done, but not answered until Release
	Refuse Fate = "refuse" // not passed on; the engine's answer is 500
	Drop   Fate = "drop"   // not passed on; the connection is closed
	Lose   Fate = "lose"   // passed on and done; the answer is lost with the connection
	Cut    Fate = "cut"    // a stream is cut after Rule.After bytes of the engine
)

// Rule gives a fate to calls.
type Rule struct {
	Call  string  // as Name gives it; "" is every call
	Nth   int     // only this call of that name, from 1; 0 is every one
	Most  int     // how many calls it strikes at most; 0 is no bound
	Share float64 // strikes this share of the calls, by the seed; 0 is all of them
	Fate  Fate
	Delay time.Duration // before anything else
	After int64         // of Cut
}

// Struck is one call that met a fate.
type Struck struct {
	Call string
	Fate Fate
}

// Proxy is a listening socket before an engine.
type Proxy struct {
	target   string
	dir      string
	listener net.Listener

	mu       sync.Mutex
	rules    []rule
	random   *rand.Rand
	counts   map[string]int
	struck   []Struck
	released chan struct{}
	conns    map[net.Conn]string   // client connections, with the stream that they have become
	engines  map[net.Conn]net.Conn // the engine's end of each
	open     sync.WaitGroup
}

type rule struct {
	Rule
	hits int
}

// New listens before the engine on the socket target. The same seed makes the
// same decisions for the same order of calls.
func New(target string, seed uint64) (*Proxy, error) {
	dir, err := os.MkdirTemp("", "proxy") // short: socket paths are
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &Proxy{
		target: strings.TrimPrefix(target, "unix://"), dir: dir, listener: l,
		random: rand.New(rand.NewPCG(seed, seed)), counts: map[string]int{},
		released: make(chan struct{}), conns: map[net.Conn]string{}, engines: map[net.Conn]net.Conn{},
	}
	p.open.Go(p.accept)
	return p, nil
}

// Endpoint is what clients connect to.
func (p *Proxy) Endpoint() string { return "unix://" + p.listener.Addr().String() }

// Script adds rules; the first that strikes decides.
func (p *Proxy) Script(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rules {
		p.rules = append(p.rules, rule{Rule: r})
	}
}

// Clear takes all rules away; what hangs goes on hanging.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Release ends the hanging of all calls: their connections are closed.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.released)
	p.released = make(chan struct{})
}

// CutStreams closes every open stream of a call ("attach", "exec attach", "wait")
// and returns how many there were.
func (p *Proxy) CutStreams(call string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for conn, stream := range p.conns {
		if stream == call {
			conn.Close()
			p.engines[conn].Close()
			n++
		}
	}
	return n
}

// Counts is how often each call was made.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	for call, n := range p.counts {
		all[call] = n
	}
	return all
}

// Struck lists the calls that met a fate, in their order.
func (p *Proxy) Struck() []Struck {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Struck(nil), p.struck...)
}

// Close ends everything and returns when it has ended.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Release()
	p.mu.Lock()
	for conn := range p.conns {
		conn.Close()
		if engine := p.engines[conn]; engine != nil {
			engine.Close()
		}
	}
	p.mu.Unlock()
	p.open.Wait()
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns[conn] = ""
		p.mu.Unlock()
		p.open.Go(func() {
			p.serve(conn)
			conn.Close()
			p.mu.Lock()
			delete(p.conns, conn)
			delete(p.engines, conn)
			p.mu.Unlock()
		})
	}
}

// serve passes the calls of one connection on until one side ends it.
func (p *Proxy) serve(client net.Conn) {
	in := bufio.NewReader(client)
	engine, err := net.Dial("unix", p.target)
	if err != nil {
		return // the client sees what it would see of a dead engine's socket
	}
	defer engine.Close()
	p.mu.Lock()
	p.engines[client] = engine
	p.mu.Unlock()
	out := bufio.NewReader(engine)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		call := Name(req.Method, req.URL.Path)
		r, released := p.judge(call)
		if !pause(r.Delay, released) {
			return
		}
		switch r.Fate {
		case Hang:
			// A client that gives up is not seen; its deadline closes its end.
			<-released
			return
		case Drop:
			return
		case Refuse:
			io.Copy(io.Discard, req.Body)
			if refuse(client) != nil {
				return
			}
			continue
		}
		if req.Write(engine) != nil {
			return
		}
		resp, err := http.ReadResponse(out, req)
		if err != nil {
			return
		}
		if r.Fate == Stall {
			<-released
		}
		if r.Fate == Lose || r.Fate == Stall {
			return
		}
		p.note(client, call)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			p.splice(client, engine, in, out, resp, r)
			return
		}
		if err := answer(client, resp, r); err != nil || resp.Close || req.Close {
			return
		}
		p.note(client, "")
	}
}

// judge counts a call and finds its fate.
func (p *Proxy) judge(call string) (Rule, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[call]++
	for i := range p.rules {
		r := &p.rules[i]
		switch {
		case r.Call != "" && r.Call != call,
			r.Nth > 0 && r.Nth != p.counts[call],
			r.Most > 0 && r.hits >= r.Most,
			r.Share > 0 && p.random.Float64() >= r.Share:
			continue
		}
		r.hits++
		if r.Fate != Pass {
			p.struck = append(p.struck, Struck{call, r.Fate})
		}
		return r.Rule, p.released
	}
	return Rule{}, p.released
}

// note remembers which stream a connection carries.
func (p *Proxy) note(conn net.Conn, stream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, open := p.conns[conn]; open {
		p.conns[conn] = stream
	}
}

func pause(d time.Duration, released <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-released:
		return false
	}
}

func refuse(client net.Conn) error {
	const text = `{"message": "refused by the test's proxy"}`
	_, err := fmt.Fprintf(client, "HTTP/1.1 500 Internal Server Error\r\nApi-Version: 1.41\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	return err
}

// errCut ends an answer that is to be cut.
var errCut = errors.New("cut by the test's proxy")

// answer passes an answer on.
func answer(client net.Conn, resp *http.Response, r Rule) error {
	defer resp.Body.Close()
	if r.Fate == Cut {
		resp.Body = io.NopCloser(io.MultiReader(io.LimitReader(resp.Body, r.After), failing{}))
	}
	return resp.Write(client)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errCut }

// splice passes a stream on in both directions, each ended by itself.
func (p *Proxy) splice(client, engine net.Conn, in, out *bufio.Reader, resp *http.Response, r Rule) {
	resp.Body = nil
	if resp.Write(client) != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(engine, in)
		closeWrite(engine)
	})
	var src io.Reader = out
	if r.Fate == Cut {
		src = io.LimitReader(out, r.After)
	}
	io.Copy(client, src)
	if r.Fate == Cut {
		client.Close()
		engine.Close()
	}
	closeWrite(client)
	// The client may have more to say, but to nobody: the engine has ended.
	client.Close()
	both.Wait()
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}
