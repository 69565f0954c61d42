package engineproxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// behind is a proxy before an engine that answers every call with its path.
func behind(t *testing.T, seed uint64) (*Proxy, *http.Client, *int) {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	reached := new(int)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*reached++ // one connection at a time
		fmt.Fprint(w, r.URL.Path, strings.Repeat(".", 100))
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	p, err := New("unix://"+l.Addr().String(), seed)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, Dial: func(_, _ string) (net.Conn, error) {
		return net.Dial("unix", strings.TrimPrefix(p.Endpoint(), "unix://"))
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
		os.RemoveAll(dir)
	})
	return p, &http.Client{Transport: transport}, reached
}

// call makes one call and returns its answer.
func call(c *http.Client, path string) (code int, body string, err error) {
	resp, err := c.Get("http://engine" + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestFates(t *testing.T) {
	p, c, reached := behind(t, 1)
	for _, tc := range []struct {
		fate    Fate
		code    int
		fails   bool
		reaches int
	}{
		{Pass, 200, false, 1}, {Refuse, 500, false, 0}, {Drop, 0, true, 0}, {Lose, 0, true, 1}, {Cut, 200, true, 1},
	} {
		p.Script(Rule{Call: "info", Most: 1, Fate: tc.fate, After: 10})
		*reached = 0
		code, body, err := call(c, "/v1.41/info")
		if code != tc.code || (err != nil) != tc.fails || *reached != tc.reaches {
			t.Errorf("%q: code %d, body %q, %v, reached %d times", tc.fate, code, body, err, *reached)
		}
		p.Clear()
	}
	if n := p.Counts()["info"]; n != 5 || len(p.Struck()) != 4 {
		t.Errorf("%d calls, struck %v", n, p.Struck())
	}
}

func TestHang(t *testing.T) {
	for _, fate := range []Fate{Hang, Stall} {
		p, c, _ := behind(t, 1)
		p.Script(Rule{Call: "version", Nth: 2, Fate: fate})
		done := make(chan error)
		go func() {
			for range 2 {
				if _, _, err := call(c, "/version"); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for len(p.Struck()) == 0 { // until it hangs
			select {
			case err := <-done:
				t.Fatalf("%q: the call does not hang: %v", fate, err)
			default:
			}
		}
		for hangs := true; hangs; { // a release before it waits would free nobody
			p.Release()
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%q: answered", fate)
				}
				hangs = false
			default:
			}
		}
	}
}

// TestShare: the same seed strikes the same calls.
func TestShare(t *testing.T) {
	strikes := func(seed uint64) (pattern string) {
		p, c, _ := behind(t, seed)
		p.Script(Rule{Share: 0.2, Fate: Refuse})
		for range 100 {
			code, _, err := call(c, "/info")
			if err != nil {
				t.Fatal(err)
			}
			pattern += fmt.Sprint(code / 500)
		}
		return pattern
	}
	first := strikes(5)
	if n := strings.Count(first, "1"); n < 8 || n > 35 {
		t.Errorf("%d of 100 calls struck, want about 20", n)
	}
	if second := strikes(5); second != first {
		t.Errorf("another pattern: %s, %s", first, second)
	}
}

func TestName(t *testing.T) {
	for call, want := range map[string]string{
		"POST /v1.41/containers/create":        "create",
		"POST /v1.41/containers/abc/start":     "start",
		"POST /containers/abc/attach":          "attach",
		"GET /v1.41/containers/json":           "list",
		"GET /v1.41/containers/abc/json":       "inspect",
		"DELETE /v1.41/containers/abc":         "remove",
		"POST /v1.41/exec/abc/start":           "exec attach",
		"GET /v1.41/images/sha256:abc/json":    "image inspect",
		"HEAD /_ping":                          "ping",
		"POST /v1.41/images/load":              "POST images/load",
		"GET /v1.41/containers/abc/top":        "GET containers/ID/top",
		"DELETE /v1.41/volumes/cabra-0011":     "volume remove",
		"PUT /v1.41/containers/abc/archive":    "archive put",
		"POST /v1.41/containers/abc/something": "POST containers/ID/something",
	} {
		method, path, _ := strings.Cut(call, " ")
		if got := Name(method, path); got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}
