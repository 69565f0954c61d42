package docker

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cabra-run/sandbox"
)

// group writes the files of a control group into a folder.
func group(t *testing.T, v2 bool, files map[string]string) *cgroup {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &cgroup{memory: dir, pids: dir, cpu: dir, v2: v2}
}

// TestCgroupLimits uses texts of real kernels: version 1 with and without swap
// accounting (9223372036854771712 is its word for "none"), version 2 set and unset.
func TestCgroupLimits(t *testing.T) {
	swap, err := readField("/proc/meminfo", "SwapTotal")
	if err != nil {
		t.Fatal(err)
	}
	swap <<= 10 // of this host: nothing can swap more
	for _, tc := range []struct {
		name         string
		v2           bool
		files        map[string]string
		memory, pids int64
		cpus         float64
		swap         int64
	}{
		{"version 1", false, map[string]string{"memory.limit_in_bytes": "2147483648", "memory.memsw.limit_in_bytes": "2147483648",
			"pids.max": "256", "cpu.cfs_quota_us": "150000", "cpu.cfs_period_us": "100000"}, 2 << 30, 256, 1.5, 0},
		{"version 1 without swap accounting", false, map[string]string{"memory.limit_in_bytes": "9223372036854771712",
			"pids.max": "max", "cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, sandbox.Unlimited, sandbox.Unlimited, 8, swap},
		{"version 2", true, map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "7", "cpu.max": "50000 100000"},
			1 << 20, 7, 0.5, 0},
		{"version 2, nothing set", true, map[string]string{"memory.max": "max", "memory.swap.max": "max", "pids.max": "max",
			"cpu.max": "max 100000"}, sandbox.Unlimited, sandbox.Unlimited, 8, swap},
	} {
		var e sandbox.Effective
		if err := group(t, tc.v2, tc.files).limits(&e, 8); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if e.Limits.MemoryBytes != tc.memory || e.Limits.Pids != tc.pids || e.Limits.CPUs != tc.cpus || e.SwapBytes != tc.swap {
			t.Errorf("%s: %+v", tc.name, e)
		}
	}
	var e sandbox.Effective
	if err := group(t, true, nil).limits(&e, 8); err == nil {
		t.Error("a group that is gone has limits")
	}
}

func TestTmpfsSize(t *testing.T) {
	for options, want := range map[string]int64{
		"tmpfs rw,size=262144k,nr_inodes=100000,mode=1777": 256 << 20,
		"shm rw,size=65536":           65536,
		"tmpfs rw,relatime,mode=1777": sandbox.Unlimited,
	} {
		if got := tmpfsSize(options); got != want {
			t.Errorf("%q: %d, want %d", options, got, want)
		}
	}
}

// TestPromised is about an engine on another host that cannot enforce all of
// it: its own word is taken.
func TestPromised(t *testing.T) {
	e := stubEngine(t, map[string]http.HandlerFunc{"/info": func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"NCPU": 8, "MemoryLimit": true, "SwapLimit": false, "PidsLimit": false, "CpuCfsQuota": true}`))
	}}, Options{})
	b := newBox(e, testPlan(nil))
	b.limits, b.home, b.started = sandbox.DefaultLimits(), true, true
	b.notes = warnings([]string{"Your kernel does not support swap limit capabilities", strings.Repeat("x", 2*maxNote)})
	got, err := b.Effective(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got.Source != sandbox.EffectiveEngine || got.SwapBytes != sandbox.NotTold || len(got.Notes) != 2 || len(got.Notes[1]) != maxNote {
		t.Errorf("%+v", got)
	}
	if d := got.Differences(sandbox.Limits{}); !slices.Equal(d, []string{"pids: wanted 256, in effect no limit"}) {
		t.Errorf("differences %q", d)
	}
}

// TestObserve counts the calls of a few operations.
func TestObserve(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	var failed int
	e := stubEngine(t, map[string]http.HandlerFunc{"/update": answer(500, "no")}, Options{
		Observe: func(call string, took time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			if took < 0 {
				t.Errorf("%s took %v", call, took)
			}
			if err != nil {
				failed++
			}
			calls = append(calls, call)
		},
	})
	b := newBox(e, testPlan(nil))
	b.id = "1"
	b.SetPids(context.Background(), 1)
	b.Kill(context.Background())
	if want := []string{"info", "version", "update", "kill", "wait"}; !slices.Equal(calls, want) || failed != 1 {
		t.Errorf("calls %q, %d failed; want %q and the update", calls, failed, want)
	}
}
