package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"testing"
)

// TestMain is also the program of the processes that the measurements start.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "boxes" {
		if err := ServeBoxes(context.Background(), stdStreams{}, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 3 && os.Args[1] == "orchestrate" {
		n, _ := strconv.Atoi(os.Args[2])
		r := &Memory{Boxes: n, Before: runtime.NumGoroutine()}
		if f := os.Getenv("HEAP"); f != "" {
			r.atPeak = func() { w, _ := os.Create(f); pprof.Lookup("heap").WriteTo(w, 0); w.Close() }
		}
		if f := os.Getenv("CPU"); f != "" {
			w, _ := os.Create(f)
			pprof.StartCPUProfile(w)
			defer pprof.StopCPUProfile()
		}
		err := r.orchestrate(context.Background(), n, os.Args[3], []string{os.Args[0], "boxes"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		json.NewEncoder(os.Stdout).Encode(r)
		if err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type stdStreams struct{}

func (stdStreams) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdStreams) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdStreams) Close() error                { return os.Stdout.Close() }
