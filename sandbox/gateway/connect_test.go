package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cabra-run/sandbox/gateway/githubtest"
)

const githubToken = "gho_0123456789abcdefghijklmnopqrstuvwxyz"

// loginBox is a session with a login, and a client in its box.
type loginBox struct {
	*box
	github *githubtest.GitHub
	up     *GitHub
	guest  GuestLogin
	addr   string
	web    *http.Client
}

// quickAnswer answers every call in its wire.
func quickAnswer(r *http.Request) (*http.Response, error) {
	up, err := NewScripted("untouched")
	if err != nil {
		return nil, err
	}
	return up.For(Script{}).RoundTrip(r)
}

func openLoginBox(t *testing.T, change ...func(*LoginOptions)) *loginBox {
	t.Helper()
	models := []githubtest.Model{{Name: "wire-model", Endpoints: []string{"/responses", "ws:/responses"}}, {Name: "other"}}
	gh := githubtest.New(t, githubToken, models, quickAnswer)
	up, err := NewGitHub(GitHubOptions{Token: KeySource{Value: githubToken}})
	if err != nil {
		t.Fatal(err)
	}
	gh.Direct(up.http.transport)
	t.Cleanup(up.Close)
	o := LoginOptions{GitHub: up}
	for _, f := range change {
		f(&o)
	}
	login, err := NewLogin(o)
	if err != nil {
		t.Fatal(err)
	}
	login.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, gh.Address())
	}
	b := &loginBox{github: gh, up: up}
	b.open(t, SessionOptions{Upstream: up, Model: "wire-model", Login: login})
	return b
}

// open opens the session, and the client that uses its login.
func (b *loginBox) open(t *testing.T, o SessionOptions) {
	t.Helper()
	b.box = openBoxWith(t, quick(1), o, overTCP(t))
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	b.addr, b.guest = u.Host, b.GuestLogin(u.Host)
	b.web = b.browser(t, b.guest, false)
}

// browser is a program in the box that uses the login as it was given.
func (b *loginBox) browser(t *testing.T, g GuestLogin, h2 bool) *http.Client {
	t.Helper()
	proxy, err := url.Parse(g.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(g.CA))
	tr := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: h2}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// send makes a request of the box with its dummy.
func (b *loginBox) send(method, address, body string, header ...string) (*http.Response, string, error) {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Authorization", "Bearer "+b.guest.Token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := b.web.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// wantNoToken looks for the real token in everything that the box or the disk got.
func (b *loginBox) wantNoToken(texts ...string) {
	b.t.Helper()
	mask := NewMask([]byte(githubToken), []byte(githubtest.Told))
	recs, err := read(b.t, b.file.Bytes())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range recs {
		texts = append(texts, r.Request, r.Response, r.Path, r.Error)
		for name, v := range r.Headers {
			texts = append(texts, name+v)
		}
	}
	for _, text := range append(texts, b.guest.Proxy, b.guest.CA, b.guest.Token) {
		if mask.Found([]byte(text)) {
			b.t.Errorf("the token stands in %.300q", text)
		}
	}
}

// A call of the model through the proxy is one like any other: with the run's
// model, recorded and metered, and with the real token outside.
func TestLoginCalls(t *testing.T) {
	tests := map[string]struct {
		url, body string
		h2        bool
		wire      Wire
		nano      int64 // what the stand-in tells of its charge, 0 for nothing
	}{
		"responses":    {"https://api.githubcopilot.com/responses", `{"model":"x","stream":true,"input":[]}`, false, WireResponses, 1250000000},
		"responses h2": {"https://api.githubcopilot.com/responses", `{"model":"x","stream":true,"input":[]}`, true, WireResponses, 1250000000},
		"chat":         {"https://api.individual.githubcopilot.com/chat/completions", `{"model":"x","stream":true,"messages":[]}`, false, WireChat, 0},
		"messages":     {"https://api.githubcopilot.com/v1/messages", `{"model":"x","stream":true,"messages":[],"max_tokens":9}`, false, WireMessages, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := openLoginBox(t)
			b.web = b.browser(t, b.guest, tt.h2)
			resp, text, err := b.send(http.MethodPost, tt.url, tt.body, "X-Initiator", "agent", "X-Evil", "1", "Cookie", "c=1")
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%v %v %s", resp, err, text)
			}
			if want := map[bool]int{false: 1, true: 2}[tt.h2]; resp.ProtoMajor != want {
				t.Errorf("HTTP/%d, want %d", resp.ProtoMajor, want)
			}
			x, rec := b.one()
			if x.Wire != tt.wire || !x.Complete || !x.Usage.Known() || x.Model != "wire-model" {
				t.Errorf("%+v", x)
			}
			if got := value(x.Usage.NanoAIU); got != tt.nano {
				t.Errorf("charge %d, want %d", got, tt.nano)
			}
			host, path, _ := strings.Cut(strings.TrimPrefix(tt.url, "https://"), "/")
			if want := host + "/" + strings.TrimPrefix(path, "v1/"); rec.Path != want || rec.Response == "" || rec.Request != tt.body {
				t.Errorf("recorded %q, want %q", rec.Path, want)
			}
			if rec.Headers["X-Quota-Snapshot-Premium_interactions"] == "" {
				t.Errorf("the quota is not recorded: %v", rec.Headers)
			}
			seen := b.github.Seen()
			if len(seen) != 1 || seen[0].Host != host || seen[0].Path != "/"+path {
				t.Fatalf("asked %+v", seen)
			}
			h := seen[0].Header
			if h.Get("Authorization") != "Bearer "+githubToken || h.Get("X-Initiator") != "agent" || h.Get("X-Evil") != "" || h.Get("Cookie") != "" {
				t.Errorf("sent %v", h)
			}
			if !strings.Contains(seen[0].Body, `"model":"wire-model"`) || strings.Contains(seen[0].Body, `"x"`) {
				t.Errorf("sent %s", seen[0].Body)
			}
			b.wantNoToken(text)
		})
	}
}

// What a box may not ask is refused at once, recorded, and goes nowhere.
func TestLoginRefusals(t *testing.T) {
	const copilot = "https://api.githubcopilot.com"
	tests := map[string]struct {
		method, url string
		header      []string
		status      int
		path        string // as recorded
	}{
		"telemetry":       {http.MethodPost, "https://telemetry.individual.githubcopilot.com/telemetry", nil, 0, "telemetry.individual.githubcopilot.com:443"},
		"releases":        {http.MethodGet, "https://github.com/github/copilot-cli/releases", nil, 0, "github.com:443"},
		"anything":        {http.MethodGet, "https://example.com/", nil, 0, "example.com:443"},
		"metadata":        {http.MethodGet, "https://169.254.169.254/", nil, 0, "169.254.169.254:443"},
		"another port":    {http.MethodGet, copilot + ":8443/models", nil, 0, "api.githubcopilot.com:8443"},
		"a longer name":   {http.MethodGet, "https://api.githubcopilot.com.example.com/", nil, 0, "api.githubcopilot.com.example.com:443"},
		"MCP":             {http.MethodPost, copilot + "/mcp/readonly", nil, 403, "api.githubcopilot.com/mcp/readonly"},
		"remote tasks":    {http.MethodGet, copilot + "/agents/tasks/1", nil, 403, "api.githubcopilot.com/agents/tasks/1"},
		"graphql":         {http.MethodPost, "https://api.github.com/graphql", nil, 403, "api.github.com/graphql"},
		"model elsewhere": {http.MethodPost, "https://api.github.com/responses", nil, 403, "api.github.com/responses"},
		"another token":   {http.MethodGet, copilot + "/models", []string{"Authorization", "Bearer " + githubToken}, 401, "api.githubcopilot.com/models"},
		"no scheme":       {http.MethodPost, copilot + "/responses", []string{"Authorization", "x"}, 401, "api.githubcopilot.com/responses"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := openLoginBox(t)
			opened := b.Stats().LastActivity
			resp, text, err := b.send(tt.method, tt.url, `{"model":"x"}`, tt.header...)
			if tt.status == 0 && err == nil || tt.status != 0 && (err != nil || resp.StatusCode != tt.status) {
				t.Fatalf("%v %v, want status %d", resp, err, tt.status)
			}
			b.end()
			recs, err := read(t, b.file.Bytes())
			if err != nil || len(recs) != 1 || recs[0].Path != tt.path || recs[0].Seq != 0 || recs[0].Error == "" {
				t.Errorf("recorded %+v, %v; want %q", recs, err, tt.path)
			}
			if st := b.Stats(); st.Refused != 1 || st.Requests != 0 || st.LastActivity != opened {
				t.Errorf("%+v", st)
			}
			if seen := b.github.Seen(); len(seen) != 0 {
				t.Errorf("asked outside: %+v", seen)
			}
			b.wantNoToken(text)
		})
	}
}

// connectLine sends a CONNECT and returns the status line.
func connectLine(t *testing.T, addr, target, credentials string) (string, net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\nProxy-Authorization: Basic "+
		base64.StdEncoding.EncodeToString([]byte(credentials))+"\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), conn
}

// The proxy is only there for who knows the attempt's address, and only in a
// run with a login.
func TestProxyCredentials(t *testing.T) {
	b, other := openLoginBox(t), openLoginBox(t)
	for _, credentials := range []string{"", "box:", "box:wrong", "box:" + other.root[1:], b.root[1:] + ":"} {
		if line, _ := connectLine(t, b.addr, "api.githubcopilot.com:443", credentials); !strings.Contains(line, " 407 ") {
			t.Errorf("%q: %s", credentials, line)
		}
	}
	if st := b.Stats(); st.Strays != 5 {
		t.Errorf("%d strays, want 5", st.Strays)
	}
	plain := openBox(t, quick(1), b.up, overTCP(t))
	u, err := url.Parse(plain.url)
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := connectLine(t, u.Host, "api.githubcopilot.com:443", "box:"+plain.root[1:]); !strings.Contains(line, " 407 ") {
		t.Errorf("without a login: %s", line)
	}
	// Nor is the dummy of one attempt good in another.
	resp, _, err := b.send(http.MethodGet, "https://api.githubcopilot.com/models", "", "Authorization", "Bearer "+other.guest.Token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", resp, err)
	}
}

// A request within the encryption must be for the host of the connection.
func TestMisdirectedRequest(t *testing.T) {
	b := openLoginBox(t)
	r, err := http.NewRequest(http.MethodGet, "https://api.githubcopilot.com/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "api.github.com"
	r.Header.Set("Authorization", "Bearer "+b.guest.Token)
	resp, err := b.web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMisdirectedRequest || len(b.github.Seen()) != 0 {
		t.Errorf("status %d, asked %v", resp.StatusCode, b.github.Seen())
	}
}

// The authority of a run is no other run's and signs for GitHub alone, whatever
// it is made to sign.
func TestAuthority(t *testing.T) {
	a, err := newAuthority(githubDomains)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newAuthority(githubDomains)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(by *authority, host string) error {
		c, err := a.leaf(host)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := a.leaf(host); again != c {
			t.Error("made twice")
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(by.pem())) {
			t.Fatal("no certificate")
		}
		_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool})
		return err
	}
	for _, host := range []string{"api.github.com", "api.githubcopilot.com", "api.business.githubcopilot.com"} {
		if err := valid(a, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if valid(b, host) == nil {
			t.Errorf("%s: another run's box trusts it", host)
		}
	}
	if valid(a, "example.com") == nil {
		t.Error("a certificate for example.com is trusted")
	}
	if strings.Contains(a.pem(), "PRIVATE") {
		t.Error("the box gets the key")
	}
	for n := range 2 * maxLeaves {
		if _, err := a.leaf(strings.Repeat("x", n+1) + ".github.com"); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.leaves) > maxLeaves {
		t.Errorf("%d certificates are kept", len(a.leaves))
	}
}

// Close ends connections that the box holds open, also those that it has to itself.
func TestCloseEndsTunnels(t *testing.T) {
	for _, raw := range []bool{false, true} {
		b := openLoginBox(t, func(o *LoginOptions) { o.Passthrough, o.Hosts = raw, []string{"api.githubcopilot.com"} })
		line, conn := connectLine(t, b.addr, "api.githubcopilot.com:443", "box:"+b.root[1:])
		if !strings.Contains(line, " 200 ") {
			t.Fatal(line)
		}
		b.end()
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			t.Error("the connection outlives the session")
		}
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// With TLS to itself the box holds the user's token and talks to the allowed
// hosts alone; only sizes are known of it.
func TestPassthrough(t *testing.T) {
	b := openLoginBox(t, func(o *LoginOptions) {
		o.Passthrough, o.Hosts = true, []string{"api.github.com", "api.githubcopilot.com", "api.*.githubcopilot.com"}
	})
	if b.guest.Token != githubToken || b.guest.CA != "" {
		t.Errorf("%+v", b.guest)
	}
	b.guest.CA = b.github.CA // as if it were a public one
	b.web = b.browser(t, b.guest, false)
	resp, text, err := b.send(http.MethodGet, "https://api.individual.githubcopilot.com/models", "")
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(text, `"other"`) {
		t.Fatalf("%v %v %s", resp, err, text)
	}
	if _, _, err := b.send(http.MethodGet, "https://example.com/", ""); err == nil {
		t.Error("example.com was reached")
	}
	b.end()
	recs, err := read(t, b.file.Bytes())
	if err != nil || len(recs) != 2 {
		t.Fatalf("%+v, %v", recs, err)
	}
	for _, r := range recs {
		through := r.Path == "api.individual.githubcopilot.com"
		if through != (r.BytesOut > 100 && r.BytesIn > int64(len(text)) && r.Complete) || !through && r.Status != http.StatusForbidden {
			t.Errorf("%+v", r)
		}
	}
	st := b.Stats()
	if st.Tunnels != 1 || st.TunnelOut < 100 || st.TunnelIn < int64(len(text)) || st.Requests != 0 {
		t.Errorf("%+v", st)
	}
	if bytes.Contains(b.file.Bytes(), []byte(githubToken)) {
		t.Error("the token is recorded")
	}
}

func TestMatchesHost(t *testing.T) {
	for _, tt := range []struct {
		pattern, host string
		want          bool
	}{
		{"api.github.com", "api.github.com", true},
		{"api.github.com", "api.github.com.example.com", false},
		{"api.*.githubcopilot.com", "api.business.githubcopilot.com", true},
		{"api.*.githubcopilot.com", "api.githubcopilot.com", false},
		{"api.*.githubcopilot.com", "api.a.b.githubcopilot.com", false},
		{"api.*.githubcopilot.com", "api..githubcopilot.com", false},
		{"api.*.githubcopilot.com", "api.a%.githubcopilot.com", false},
	} {
		if got := matchesHost(tt.pattern, tt.host); got != tt.want {
			t.Errorf("%s, %s: %v", tt.pattern, tt.host, got)
		}
	}
}

func TestLoginOptions(t *testing.T) {
	if _, err := NewLogin(LoginOptions{}); err == nil {
		t.Error("a login without an upstream")
	}
	up, err := NewGitHub(GitHubOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLogin(LoginOptions{GitHub: up, Passthrough: true}); err == nil {
		t.Error("everything is passed through")
	}
	l, err := NewLogin(LoginOptions{GitHub: up})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := quick(1).Open(SessionOptions{Upstream: up, Model: "m", Login: l}); !errors.Is(err, ErrKey) {
		t.Errorf("a login without a token: %v", err)
	}
}
