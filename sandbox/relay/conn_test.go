package relay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cabra-run/sandbox/relay"
)

// serve lets handler answer on the host's end until the test ends.
func serve(t *testing.T, c *relay.Conn, handler http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: handler}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Serve(c)
	}()
	t.Cleanup(func() {
		server.Close()
		c.Close()
		<-ended
	})
}

// client is the agent's HTTP client, without kept connections unless keep.
func client(t *testing.T, keep bool) *http.Client {
	transport := &http.Transport{DisableKeepAlives: !keep, MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}

func TestHundredConnectionsAtOnce(t *testing.T) {
	c, _ := connect(t, relay.Bounds{})
	var open, most atomic.Int64
	serve(t, c, func(w http.ResponseWriter, r *http.Request) {
		n := open.Add(1)
		defer open.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "echo %s", body)
	})
	agent := client(t, false)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			for j := range 5 {
				text := fmt.Sprintf("%d/%d", i, j)
				if got := post(t, agent, c, text); got != "echo "+text {
					t.Errorf("answer %q to %q", got, text)
				}
			}
		})
	}
	all.Wait()
	if s := c.Stats(); s.Opened != 501 {
		t.Errorf("%d connections were counted, want 500 and the opening line", s.Opened)
	}
	if most.Load() > 64 {
		t.Errorf("%d connections at once, want 64 at most", most.Load())
	}
	if c.Err() != nil {
		t.Errorf("the stream ended: %v", c.Err())
	}
}

func post(t *testing.T, agent *http.Client, c *relay.Conn, text string) string {
	t.Helper()
	answer, err := agent.Post("http://"+c.Addr().String()+"/", "text/plain", strings.NewReader(text))
	if err != nil {
		t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// pattern gives n bytes that are not the same everywhere.
func pattern(n int64) io.Reader {
	return io.LimitReader(&counting{}, n)
}

type counting struct{ at uint32 }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.at>>8) ^ byte(c.at)
		c.at++
	}
	return len(p), nil
}

func TestTwoHundredMegabytesBothWays(t *testing.T) {
	const size = 200 << 20
	c, p := connect(t, relay.Bounds{})
	want := sha256.New()
	io.Copy(want, pattern(size))
	var up [32]byte
	serve(t, c, func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		io.Copy(sum, r.Body)
		copy(up[:], sum.Sum(nil))
		io.Copy(w, pattern(size))
	})
	heap := watchHeap(t)
	answer, err := client(t, false).Post("http://"+c.Addr().String(), "", pattern(size))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	down := sha256.New()
	if n, err := io.Copy(down, answer.Body); n != size || err != nil {
		t.Fatalf("%d bytes came down: %v", n, err)
	}
	if !bytes.Equal(up[:], want.Sum(nil)) || !bytes.Equal(down.Sum(nil), want.Sum(nil)) {
		t.Error("what arrived is not what was sent")
	}
	grown, rss := heap(), residentBytes(t, p.Process.Pid)
	t.Logf("host's heap +%d KiB, relay's memory %d KiB", grown>>10, rss>>10)
	if grown > 16<<20 {
		t.Errorf("the host's heap grew by %d bytes", grown)
	}
	if rss > 64<<20 {
		t.Errorf("the relay has %d bytes of memory", rss)
	}
}

// A client that does not read its answer holds up only itself.
func TestSlowReaderHoldsUpNobody(t *testing.T) {
	c, _ := connect(t, relay.Bounds{})
	serve(t, c, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			io.Copy(w, &counting{})
			return
		}
		io.WriteString(w, "quick")
	})
	for range 20 {
		slow, err := net.Dial("tcp", c.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		io.WriteString(slow, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	agent := client(t, false)
	for range 50 {
		if got := post(t, agent, c, ""); got != "quick" {
			t.Fatalf("answer %q", got)
		}
	}
}

// A host that does not read its requests stops the agent, not itself.
func TestSlowHostIsBounded(t *testing.T) {
	c, _ := connect(t, relay.Bounds{})
	heap := watchHeap(t)
	const writers = 16
	var all sync.WaitGroup
	links := make(chan net.Conn, writers)
	for range writers {
		conn, err := net.Dial("tcp", c.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer conn.Close()
			io.Copy(conn, pattern(1<<20))
		})
		link, err := c.Accept()
		if err != nil {
			t.Fatal(err)
		}
		links <- link
	}
	close(links)
	for link := range links { // one after the other, while the others wait
		if n, err := io.Copy(io.Discard, link); n != 1<<20 || err != nil {
			t.Errorf("read %d bytes: %v", n, err)
		}
		link.Close()
	}
	all.Wait()
	if grown := heap(); grown > 32<<20 {
		t.Errorf("the host's heap grew by %d bytes", grown)
	}
	if c.Err() != nil {
		t.Errorf("slow reading ended the stream: %v", c.Err())
	}
}

// The agent gives up in the middle of an answer, again and again: the host
// learns it each time, and no place is lost.
func TestAgentGivesUp(t *testing.T) {
	c, _ := connect(t, relay.Bounds{})
	gone := make(chan struct{}, 200)
	serve(t, c, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.CopyN(w, &counting{}, 10_000)
		}
		gone <- struct{}{}
	})
	for range 200 {
		conn, err := net.Dial("tcp", c.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	for i := range 200 {
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Fatalf("the host learned of %d ends, want 200", i)
		}
	}
}

// Host and agent may close their sides in any order; both see everything that
// was sent before.
func TestHalfClosed(t *testing.T) {
	c, _ := connect(t, relay.Bounds{})
	conn, err := net.Dial("tcp", c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "question")
	conn.(*net.TCPConn).CloseWrite()
	link, err := c.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(link); string(got) != "question" || err != nil {
		t.Errorf("the host read %q, %v", got, err)
	}
	io.WriteString(link, "answer")
	link.Close()
	if got, err := io.ReadAll(conn); string(got) != "answer" || err != nil {
		t.Errorf("the agent read %q, %v", got, err)
	}
	if _, err := link.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection can be read")
	}
}

func TestHostCloses(t *testing.T) {
	c, p := connect(t, relay.Bounds{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(c.Err(), relay.ErrClosed) || errors.Is(c.Err(), relay.ErrProtocol) {
		t.Errorf("Err is %v, want ErrClosed", c.Err())
	}
	within(t, "the relay's end", p.ended)
	if code := p.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the relay exits with %d, want 0", code)
	}
	if _, err := c.Accept(); !errors.Is(err, relay.ErrClosed) {
		t.Errorf("Accept after Close gives %v", err)
	}
}

// The host dies without a word: its end of the stream is just gone. The relay
// ends although an agent is connected and data is under way.
func TestHostDies(t *testing.T) {
	p := start(t)
	c, err := relay.Accept(context.Background(), p, relay.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	agent, err := net.Dial("tcp", c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	go io.Copy(agent, &counting{})
	if _, err := c.Accept(); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	within(t, "the relay's end", p.ended)
	within(t, "the host's end", c.Done())
	if !errors.Is(c.Err(), relay.ErrEnded) {
		t.Errorf("Err is %v, want ErrEnded", c.Err())
	}
}

func TestRelayDies(t *testing.T) {
	c, p := connect(t, relay.Bounds{})
	p.Process.Kill()
	within(t, "the end of the stream", c.Done())
	if !errors.Is(c.Err(), relay.ErrEnded) || errors.Is(c.Err(), relay.ErrProtocol) {
		t.Errorf("Err is %v, want ErrEnded", c.Err())
	}
}

func TestDeadline(t *testing.T) {
	c, p := connect(t, relay.Bounds{}, "--deadline", "1")
	within(t, "the relay's end", p.ended)
	if code := p.ProcessState.ExitCode(); code != 4 {
		t.Errorf("the relay exits with %d, want 4", code)
	}
	within(t, "the end of the stream", c.Done())
}

func TestSignalsDoNotEndTheRelay(t *testing.T) {
	c, p := connect(t, relay.Bounds{})
	serve(t, c, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "alive") })
	for sig := syscall.Signal(1); sig <= 31; sig++ {
		switch sig {
		case syscall.SIGKILL, syscall.SIGSTOP: // cannot be taken; a PID 1 gets neither from inside
			continue
		case syscall.SIGILL, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGTRAP, syscall.SIGSYS:
			continue // the runtime's own, for faults of the program
		}
		if err := p.Process.Signal(sig); err != nil {
			t.Fatalf("sending %v: %v", sig, err)
		}
		if got := post(t, client(t, false), c, ""); got != "alive" {
			t.Fatalf("after %v the relay answers %q", sig, got)
		}
	}
}

func TestContextEndsTheWaiting(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, theirs)
	}()
	cancel()
	if _, err := relay.Accept(ctx, ours, relay.Bounds{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept gives %v, want the context's error", err)
	}
}
