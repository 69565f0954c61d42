package relay_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// watchHeap samples this process's heap, garbage included. The result stops
// the sampling and returns by how much the heap has been larger than before.
func watchHeap(t *testing.T) (grown func() int64) {
	t.Helper()
	read := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before, most := read(), int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, read()-before)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	var once sync.Once
	grown = func() int64 {
		once.Do(func() { close(stop) })
		<-stopped
		return most
	}
	t.Cleanup(func() { grown() })
	return grown
}

// residentBytes is the memory of another process.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		var kb int64
		if n, _ := fmt.Sscanf(string(line), "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	t.Fatal("no VmHWM in the status file")
	return 0
}
