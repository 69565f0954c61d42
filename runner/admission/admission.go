// Package admission decides whether a machine has room for one more attempt:
// disk, memory and places of the engine. It owns the watermarks and what it has
// learnt of an attempt's need; it must not know what an attempt does, nor who
// waits for one.
package admission

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/sys/unix"

	"cabra-run/sandbox"
)

// Options are the settings of a Gate.
type Options struct {
	// Capacity asks the engine what is left for further boxes.
	Capacity func(ctx context.Context) (sandbox.Capacity, error)
	// Dir is the run folder, whose disk is watched beside those that the
	// engine tells of.
	Dir string
	// MinDisk is what has to stay free on each disk, MinMemory of the memory
	// beside the need of one more box; 0 does not look.
	MinDisk, MinMemory int64
	BoxMemory          int64 // the limit of a box; no more is ever expected
	// Now and FreeDisk stand in for the clock and the file system in tests;
	// nil are the real ones. FreeDisk returns sandbox.NotTold where it cannot tell.
	Now      func() time.Time
	FreeDisk func(dir string) int64
}

const (
	// firstNeed is what a box is expected to need before any was seen.
	firstNeed = 256 << 20
	// settle is how long after its start a box takes ever more of what it
	// needs. Until then what it is expected to need counts, less and less,
	// beside what the machine says that is free.
	settle = 20 * time.Second
	// fresh is how long a reading of the engine is used: several attempts that
	// start together ask once.
	fresh = time.Second
)

// Gate admits attempts. Its methods may be called from several goroutines.
type Gate struct {
	o Options

	mu       sync.Mutex
	admitted []time.Time // of the attempts in flight, the oldest first
	peak     int64       // the most that a box has needed; 0 when none was seen

	capacity sandbox.Capacity
	fault    error
	read     time.Time
	since    int // admitted since then
}

// New returns a Gate that has admitted nothing.
func New(o Options) *Gate {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FreeDisk == nil {
		o.FreeDisk = freeDisk
	}
	return &Gate{o: o}
}

// Admit lets an attempt in and returns "", or says why there is no room. Ended
// has to be called for each that was let in.
func (g *Gate) Admit(ctx context.Context) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.o.Now()
	if g.read.IsZero() || now.Sub(g.read) >= fresh || now.Before(g.read) {
		g.capacity, g.fault = g.o.Capacity(ctx)
		g.read, g.since = now, 0
	}
	for _, short := range []func(time.Time) string{g.engine, g.disk, g.slots, g.memory} {
		if why := short(now); why != "" {
			return why
		}
	}
	g.admitted = append(g.admitted, now)
	g.since++
	return ""
}

// Ended says that an attempt is over, and the most memory that its box needed,
// 0 when nobody knows.
func (g *Gate) Ended(peak int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.peak = max(g.peak, peak)
	if len(g.admitted) > 0 {
		g.admitted = g.admitted[1:] // most likely it was the oldest; else more is reserved for a moment
	}
}

// engine waits for an engine that is away. One that fails in another way may
// still make boxes; then only what this process sees counts.
func (g *Gate) engine(time.Time) string {
	if g.fault == nil {
		return ""
	}
	g.capacity = sandbox.Capacity{MemoryBytes: sandbox.NotTold, Slots: sandbox.NotTold,
		EngineBytes: sandbox.NotTold, StateBytes: sandbox.NotTold}
	if sandbox.IsFault(g.fault, sandbox.FaultUnreachable) || sandbox.IsFault(g.fault, sandbox.FaultTimeout) {
		return fmt.Sprintf("the engine does not answer: %v", g.fault)
	}
	return ""
}

func (g *Gate) disk(time.Time) string {
	if g.o.MinDisk <= 0 {
		return ""
	}
	for _, d := range []struct {
		what string
		free int64
	}{
		{"the run folder", g.o.FreeDisk(g.o.Dir)},
		{"the state folder", g.capacity.StateBytes},
		{"the engine", g.capacity.EngineBytes},
	} {
		if d.free != sandbox.NotTold && d.free < g.o.MinDisk {
			return fmt.Sprintf("only %s are free on the disk of %s, less than %s (--min-free-disk)",
				size(d.free), d.what, size(g.o.MinDisk))
		}
	}
	return ""
}

func (g *Gate) slots(time.Time) string {
	if free := g.capacity.Slots; free != sandbox.NotTold && free-g.since <= 0 {
		return fmt.Sprintf("all %d places for boxes on this engine are taken", sandbox.GuestSlots)
	}
	return ""
}

// memory lets one attempt in whatever is free, so that a small machine gets its
// work done one by one.
func (g *Gate) memory(now time.Time) string {
	if g.o.MinMemory <= 0 || g.capacity.MemoryBytes == sandbox.NotTold || len(g.admitted) == 0 {
		return ""
	}
	need := g.need()
	left := g.capacity.MemoryBytes - g.reserved(now, need)
	if left-need >= g.o.MinMemory {
		return ""
	}
	return fmt.Sprintf("of the memory %s are left, an attempt is expected to need %s, "+
		"and %s have to stay free (--min-free-memory)",
		size(max(left, 0)), size(need), size(g.o.MinMemory))
}

// need is what one more box is expected to need.
func (g *Gate) need() int64 {
	need := g.peak
	if need == 0 {
		need = firstNeed
	}
	if g.o.BoxMemory > 0 {
		need = min(need, g.o.BoxMemory)
	}
	return need
}

// reserved is what the youngest boxes are still going to take.
func (g *Gate) reserved(now time.Time, need int64) int64 {
	var sum float64
	for _, at := range g.admitted {
		if left := settle - now.Sub(at); left > 0 {
			sum += float64(need) * min(1, left.Seconds()/settle.Seconds())
		}
	}
	return int64(sum)
}

func size(n int64) string { return units.BytesSize(float64(n)) }

// freeDisk is what an ordinary user may still write.
func freeDisk(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return sandbox.NotTold
	}
	return int64(st.Bavail) * st.Bsize
}
