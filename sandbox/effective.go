package sandbox

import (
	"fmt"
	"strconv"
)

// NotTold is the value of a figure that an engine cannot tell.
const NotTold = -1

// Effective says which limits are in force in a running box. Fields of Limits
// are NotTold where nobody can say.
type Effective struct {
	Limits Limits `json:"limits"`
	// SwapBytes is what the box may swap beside its memory: 0 is none.
	SwapBytes int64 `json:"swap_bytes"`
	// WorkspaceDiskBytes is the size of the workspace's own file system;
	// NotTold when it has none, and the workspace only the limit that is polled.
	WorkspaceDiskBytes int64 `json:"workspace_disk_bytes"`
	// Source is EffectiveKernel where the figures were read from the kernel
	// that enforces them, EffectiveEngine where the engine's word is all there is.
	Source string   `json:"source"`
	Notes  []string `json:"notes,omitempty"` // what the engine warned of
}

// Where an Effective comes from.
const (
	EffectiveKernel = "kernel"
	EffectiveEngine = "engine"
)

// Differences lists the limits that are not in force as wanted, one line each
// ("memory: wanted 2147483648, in effect none"); nil when all are. Zero fields
// of want are the defaults. A limit that nobody can tell is not listed.
func (e Effective) Differences(want Limits) []string {
	want = want.OrDefaults()
	var lines []string
	differ := func(name string, want, got string) {
		lines = append(lines, fmt.Sprintf("%s: wanted %s, in effect %s", name, want, got))
	}
	for _, l := range []struct {
		name      string
		want, got int64
	}{
		{"memory", want.MemoryBytes, e.Limits.MemoryBytes},
		{"pids", want.Pids, e.Limits.Pids},
		{"open files", want.OpenFiles, e.Limits.OpenFiles},
		{"tmp", want.TmpBytes, e.Limits.TmpBytes},
		{"home", want.HomeBytes, e.Limits.HomeBytes},
		{"shm", want.ShmBytes, e.Limits.ShmBytes},
		{"workspace", want.WorkspaceBytes, e.Limits.WorkspaceBytes},
	} {
		if l.got != NotTold && l.got != l.want {
			differ(l.name, strconv.FormatInt(l.want, 10), amount(l.got))
		}
	}
	if got := e.Limits.CPUs; got != NotTold && got != want.CPUs {
		differ("cpus", fmt.Sprint(want.CPUs), cores(got))
	}
	if e.SwapBytes > 0 {
		differ("swap", "none", amount(e.SwapBytes))
	}
	return lines
}

// Unlimited is the value of a limit that is not in force at all.
const Unlimited = 1<<63 - 1

func amount(n int64) string {
	if n == Unlimited {
		return "no limit"
	}
	return strconv.FormatInt(n, 10)
}

func cores(n float64) string {
	if n >= Unlimited {
		return "no limit"
	}
	return fmt.Sprint(n)
}

// Capacity is what is left for further boxes. Fields are NotTold where this
// process cannot know, as of an engine on another host.
type Capacity struct {
	MemoryBytes int64 `json:"memory_bytes"` // that can be taken without swapping
	Boxes       int   `json:"boxes"`        // running boxes of cabra-run, whoever's
	Slots       int   `json:"slots"`        // guest uids that are free
	EngineBytes int64 `json:"engine_bytes"` // free on the disk of the engine's data
	StateBytes  int64 `json:"state_bytes"`  // free on the disk of our state folder
}
