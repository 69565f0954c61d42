package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// streamsAtOnce is how many agents ask at the same time.
const streamsAtOnce = 64

// streaming is a provider that answers in pieces of 100 bytes, each with the
// moment at which it was sent, and with a pause between them.
func streaming(pieces int, pause time.Duration) http.HandlerFunc {
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}` +
		"\n\ndata: [DONE]\n\n"
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		for range pieces {
			if pause > 0 {
				time.Sleep(pause)
			}
			_, err := fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":"%s%d"}}]}`+"\n\n", stampMark, time.Now().UnixNano())
			if err != nil || flush.Flush() != nil {
				return
			}
		}
		_, _ = io.WriteString(w, end)
	}
}

const stampMark = "sent-at:"

// Parallel streams straight to a provider and through the gateway. Paced like a
// model that gives fifty pieces a second, the time from the provider's writing
// of a piece to the agent's reading of it is what the gateway adds; at full
// speed it is the throughput that counts.
func BenchmarkParallelStreams(b *testing.B) {
	for name, v := range map[string]struct {
		pieces int
		pause  time.Duration
	}{"paced": {50, 20 * time.Millisecond}, "full": {500, 0}} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(streaming(v.pieces, v.pause))
			defer server.Close()
			up, err := NewHTTP(HTTPOptions{BaseURL: server.URL + "/v1"})
			if err != nil {
				b.Fatal(err)
			}
			defer up.Close()
			b.Run("direct", func(b *testing.B) {
				measureStreams(b, slices.Repeat([]string{server.URL + "/v1"}, streamsAtOnce))
			})
			b.Run("gateway", func(b *testing.B) { measureStreams(b, benchSessions(b, up)) })
		})
	}
}

// benchSessions opens one session a stream, each with a listener of its own.
func benchSessions(b *testing.B, up Upstream) []string {
	g := New(Options{})
	bases := make([]string, streamsAtOnce)
	for i := range bases {
		s, err := g.Open(SessionOptions{Upstream: up, Model: "m"})
		if err != nil {
			b.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go func() { _ = s.Serve(context.Background(), l) }()
		b.Cleanup(func() { _ = s.Close(context.Background()) })
		bases[i] = fmt.Sprintf("http://%s%s", l.Addr(), s.BasePath())
	}
	return bases
}

func measureStreams(b *testing.B, bases []string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streamsAtOnce}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var delays []time.Duration
	var bytes int64
	var wg sync.WaitGroup
	for b.Loop() { // one round: every stream once
		for _, base := range bases {
			wg.Go(func() {
				own, n, err := readStream(client, base)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					b.Error(err)
				}
				delays, bytes = append(delays, own...), bytes+n
			})
		}
		wg.Wait()
	}
	if b.Failed() || len(delays) == 0 {
		return
	}
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds())/1000, "ms-99th")
	b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
	b.ReportMetric(float64(len(delays))/b.Elapsed().Seconds(), "pieces/s")
}

// readStream asks once and returns how long each piece was on its way.
func readStream(client *http.Client, base string) (delays []time.Duration, bytes int64, err error) {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 10_000) + `"}]}`
	resp, err := client.Post(base+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		bytes += int64(len(lines.Bytes())) + 1
		_, stamp, ok := strings.Cut(lines.Text(), stampMark)
		if !ok {
			continue
		}
		stamp, _, _ = strings.Cut(stamp, `"`)
		at, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return nil, bytes, err
		}
		delays = append(delays, time.Since(time.Unix(0, at)))
	}
	return delays, bytes, lines.Err()
}
