package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"cabra-run/results"
)

// What the orchestrator may be cost by two attempts at once, each 64 MiB, and
// what may be left of it: connections that are kept for the next sweep.
const (
	heapLimit    = 2 * 64 << 20
	keptFiles    = 24
	keptRoutines = 64
)

// ward watches what attacks cost this process, which stands for the
// orchestrator, and what they leave on the host.
type ward struct {
	rig      *rig
	most     atomic.Int64 // heap since the last account
	before   int64        // heap
	files    int          // descriptors that were open at the beginning
	routines int
}

func newWard(t *testing.T, r *rig) *ward {
	w := &ward{rig: r}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				w.most.Store(max(w.most.Load(), heap()))
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	return w
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// begin takes what there is now for what belongs here.
func (w *ward) begin(t *testing.T) {
	t.Helper()
	w.files = len(openFiles(t))
	w.routines = runtime.NumGoroutine()
}

// noRoutines fails the test when, after everything has been closed, goroutines
// are left that were not there now.
func noRoutines(t *testing.T) {
	now := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(now); err != nil {
			t.Error(err)
		}
	})
}

// reset starts a new account of the heap.
func (w *ward) reset() {
	runtime.GC()
	w.before = heap()
	w.most.Store(0)
}

// grown is by how much the heap, garbage included, has grown at most.
func (w *ward) grown() int64 { return max(0, w.most.Load()-w.before) }

// cost is what an attack cost.
type cost struct {
	heap  int64 // grown at most
	leaks int
}

// account looks at what the last sweep has cost and left.
func (w *ward) account(t *testing.T, grown int64) cost {
	t.Helper()
	c := cost{heap: grown}
	if c.heap > heapLimit {
		t.Errorf("the attack cost the orchestrator %d MiB of heap", c.heap>>20)
	}
	left := append(w.onEngine(t), w.onHost(t)...)
	// Scorer workers and kept connections have some; at the end all are looked for.
	if n := runtime.NumGoroutine() - w.routines; n > keptRoutines {
		left = append(left, fmt.Sprintf("%d goroutines", n))
	}
	if n := len(openFiles(t)) - w.files; n > keptFiles {
		left = append(left, fmt.Sprintf("%d open files: %q", n, openFiles(t)))
	}
	for _, l := range left {
		t.Errorf("left over: %s", l)
	}
	c.leaks = len(left)
	return c
}

func (w *ward) onEngine(t *testing.T) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	left, err := w.rig.engine.Remains(ctx)
	if err != nil {
		t.Error(err)
	}
	return left
}

// onHost looks for processes and control groups of the boxes, mounts, and files
// of the state folder and of the folder for temporary files.
func (w *ward) onHost(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, id := range w.rig.engine.boxes() {
		left = append(left, processes(id)...)
		groups, _ := filepath.Glob("/sys/fs/cgroup/*/docker/" + id)
		left = append(left, groups...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, w.rig.state) {
			left = append(left, "mount "+line)
		}
	}
	for _, dir := range []string{filepath.Join(w.rig.state, "work"), os.Getenv("TMPDIR")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // volumes need no folder
			t.Error(err)
		}
		for _, e := range entries {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	runs, _ := filepath.Glob(filepath.Join(w.rig.dir, "*", "tmp", "*"))
	return append(left, runs...)
}

// processes are those of a box: its ID is in the name of their control group.
func processes(id string) []string {
	var left []string
	paths, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err == nil && bytes.Contains(text, []byte(id)) {
			left = append(left, "process "+p)
		}
	}
	return left
}

// openFiles are what the descriptors of this process lead to.
func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			files = append(files, target)
		}
	}
	return files
}

// wantNowhere looks for secrets in every file of a run, also in what is compressed.
func wantNowhere(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// One in the trace is the agent's own, which may be a bomb.
		if filepath.Base(path) == results.RecordingFile && !strings.Contains(path, "/"+results.TraceDir+"/") {
			text = unpacked(t, path, text)
		}
		for _, s := range secrets {
			if i := bytes.Index(text, []byte(s)); i >= 0 {
				t.Errorf("%s holds a secret: %q", strings.TrimPrefix(path, dir), text[max(0, i-80):i])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// unpacked is a recording; one that was cut off gives what there is.
func unpacked(t *testing.T, path string, text []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(text, nil)
	if err != nil && len(plain) == 0 {
		t.Errorf("%s: %v", path, err)
	}
	return plain
}
