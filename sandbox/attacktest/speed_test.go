package attacktest_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"cabra-run/sandbox"
)

// What a request through the relay costs, measured by the agent: a kept
// connection, and a new one for each.
func BenchmarkRequest(b *testing.B) {
	for _, mode := range []string{"kept", "new"} {
		b.Run(mode, func(b *testing.B) {
			box := newFiring(b).box(b, sandbox.Limits{})
			for b.Loop() {
				out, code := box.run(b, "python3", "measure.py", mode, "500")
				var micros float64
				if n, _ := fmt.Sscanf(out, "%f us", &micros); n != 1 || code != 0 {
					b.Fatalf("exit code %d, output %q", code, out)
				}
				b.ReportMetric(micros, "us/request")
			}
		})
	}
}

// 200 MB through one connection, each way.
func BenchmarkBytes(b *testing.B) {
	for _, mode := range []string{"up", "down"} {
		b.Run(mode, func(b *testing.B) {
			box := newFiring(b).box(b, sandbox.Limits{})
			for b.Loop() {
				out, code := box.run(b, "python3", "measure.py", mode, "200")
				var speed float64
				if n, _ := fmt.Sscanf(out, "%f MB/s", &speed); n != 1 || code != 0 {
					b.Fatalf("exit code %d, output %q", code, out)
				}
				b.ReportMetric(speed, "MB/s")
			}
		})
	}
}

// bulk answers /bulk with all of the request's length in zeros, after reading it.
func bulk(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	var size int64
	fmt.Sscan(r.URL.Query().Get("bytes"), &size)
	io.CopyN(w, zeros{}, size)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
