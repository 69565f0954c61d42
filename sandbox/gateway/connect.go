package gateway

import (
	"bufio"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Login lets the boxes of a run reach the hosts of a CLI that insists on its
// own, through an HTTPS proxy on the attempt's connection. One is made for each
// run.
type Login struct {
	github *GitHub
	hosts  []string
	raw    bool
	ca     *authority
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// LoginOptions describe a Login.
type LoginOptions struct {
	GitHub *GitHub
	// Passthrough leaves TLS to the box: it holds the user's own token, and of
	// its connections to Hosts nothing is seen but their sizes. Hosts are names;
	// a part that is "*" stands for any one part.
	Passthrough bool
	Hosts       []string
}

// NewLogin makes the run's certificate authority.
func NewLogin(o LoginOptions) (*Login, error) {
	if o.GitHub == nil {
		return nil, errors.New("making a login: no upstream")
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	l := &Login{github: o.GitHub, raw: o.Passthrough, hosts: o.Hosts, dial: dialer.DialContext}
	if l.raw {
		if len(l.hosts) == 0 {
			return nil, errors.New("making a login: no host is allowed")
		}
		return l, nil
	}
	var err error
	l.ca, err = newAuthority(githubDomains)
	return l, err
}

// Passthrough reports whether the boxes have TLS to themselves.
func (l *Login) Passthrough() bool { return l != nil && l.raw }

// allows reports whether a box may connect to a host.
func (l *Login) allows(host string) bool {
	if !l.raw {
		return host == githubAPI || isCopilotHost(host)
	}
	return slices.ContainsFunc(l.hosts, func(pattern string) bool { return matchesHost(pattern, host) })
}

func matchesHost(pattern, host string) bool {
	want, have := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != have[i] && (want[i] != "*" || !isLabel(have[i])) {
			return false
		}
	}
	return true
}

// GuestLogin is what a box needs to use the login.
type GuestLogin struct {
	Proxy string // the proxy's address, with the attempt's credentials
	CA    string // certificate to trust, PEM; "" where the box has TLS to itself
	Token string // a dummy, or the user's own where the box has TLS to itself
}

// GuestLogin returns what the box needs; address is the relay's in there.
func (s *Session) GuestLogin(address string) GuestLogin {
	g := GuestLogin{Proxy: "http://" + proxyUser + ":" + s.root[1:] + "@" + address, Token: s.guestToken}
	if s.o.Login != nil && s.o.Login.ca != nil {
		g.CA = s.o.Login.ca.pem()
	}
	return g
}

// proxyUser goes with the attempt's token; it says nothing.
const proxyUser = "box"

// openLogin readies the tokens of an attempt.
func (s *Session) openLogin() error {
	l := s.o.Login
	if l == nil {
		return nil
	}
	token, err := s.loginToken()
	if err != nil {
		return fmt.Errorf("reading the login's token: %w", err)
	}
	l.github.Mask().Add(token)
	s.swap = newSwap(token)
	s.guestToken = s.swap.login
	if l.raw {
		s.guestToken = string(token)
	}
	return nil
}

// loginToken is the user's own token. A replay asks nobody and needs none.
func (s *Session) loginToken() ([]byte, error) {
	l := s.o.Login
	switch {
	case s.replay != nil && l.raw:
		return nil, fmt.Errorf("%w: the box has its connections to itself", ErrNotReplayable)
	case s.replay != nil:
		return []byte(replayedToken), nil
	}
	token, err := l.github.http.key.Read()
	if err == nil && token == nil {
		err = fmt.Errorf("%w: no source is set", ErrKey)
	}
	return token, err
}

// replayedToken is of the shape of a user's token, and nobody's.
const replayedToken = "gho_000000000000000000000000000000000000"

// maxTunnels bounds the connections through the proxy at one time; the CLIs
// open about four.
const maxTunnels = 64

// connect serves a box that wants to be connected to a host outside.
func (s *Session) connect(w http.ResponseWriter, r *http.Request) {
	if s.o.Login == nil || !s.knows(r.Header.Get("Proxy-Authorization")) {
		s.note(func(st *Stats) { st.Strays++ })
		w.Header().Set("Proxy-Authenticate", `Basic realm="attempt"`)
		s.tell(w, WireChat, http.StatusProxyAuthRequired, "no such address")
		return
	}
	if !s.bounded() { // telemetry is no sign of life
		s.tell(w, WireChat, http.StatusForbidden, "this attempt has made too many requests")
		return
	}
	host, port, err := net.SplitHostPort(r.Host)
	host = strings.ToLower(host)
	if err != nil || port != "443" || !s.o.Login.allows(host) {
		s.refuse(w, r, refusal{status: http.StatusForbidden, path: r.Host,
			err: errors.New("this host is not served: only the model is")})
		return
	}
	if !s.tunnels.TryAcquire(1) {
		s.tell(w, WireChat, http.StatusServiceUnavailable, "too many connections at one time")
		return
	}
	defer s.tunnels.Release(1)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // only HTTP/1.1 is spoken there
		s.refuse(w, r, refusal{status: http.StatusNotImplemented, path: r.Host, err: errors.New("no proxy is served here")})
		return
	}
	s.tunnel(conn, buffered, host)
}

// tunnel serves a connection that was taken over, to its end.
func (s *Session) tunnel(conn net.Conn, buffered *bufio.ReadWriter, host string) {
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Time{})
	guest := net.Conn(conn)
	if buffered.Reader.Buffered() > 0 { // a client that did not wait for the answer
		guest = &readConn{conn, buffered.Reader}
	}
	if s.o.Login.raw {
		s.passthrough(guest, host)
		return
	}
	if accepted(conn) == nil {
		s.endTLS(guest, host)
	}
}

// accepted tells the box that its connection stands.
func accepted(conn net.Conn) error {
	_, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	return err
}

// readConn reads what was read ahead first.
type readConn struct {
	net.Conn
	r io.Reader
}

func (c *readConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// knows reports whether credentials are the attempt's.
func (s *Session) knows(credentials string) bool {
	r := http.Request{Header: http.Header{"Authorization": {credentials}}}
	_, token, ok := r.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte("/"+token), []byte(s.root)) == 1
}

// endTLS shows the box a certificate for the host and serves what it asks.
func (s *Session) endTLS(conn net.Conn, host string) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	only := &onlyConn{conn: tls.Server(conn, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.o.Login.ca.leaf(host) },
	}), ended: make(chan struct{})}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.within(w, r, host) }),
		Protocols:         &protocols,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       10 * time.Minute,
		MaxHeaderBytes:    64 << 10,

		DisableGeneralOptionsHandler: true,

		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				only.end()
			}
		},
	}
	_ = server.Serve(only) // ends with the connection
	_ = server.Close()
}

// onlyConn is a listener that accepts one connection and ends with it.
type onlyConn struct {
	conn  net.Conn
	taken bool
	once  sync.Once
	ended chan struct{}
}

// Accept implements net.Listener; it is called by one goroutine.
func (o *onlyConn) Accept() (net.Conn, error) {
	if !o.taken {
		o.taken = true
		return o.conn, nil
	}
	<-o.ended
	return nil, net.ErrClosed
}

func (o *onlyConn) end() { o.once.Do(func() { close(o.ended) }) }

// Close implements net.Listener.
func (o *onlyConn) Close() error {
	o.end()
	return nil
}

// Addr implements net.Listener.
func (o *onlyConn) Addr() net.Addr { return o.conn.LocalAddr() }
