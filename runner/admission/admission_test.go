package admission_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cabra-run/runner/admission"
	"cabra-run/sandbox"
)

const gib = 1 << 30

// machine is what a gate is told of, and its clock.
type machine struct {
	capacity sandbox.Capacity
	fault    error
	disk     int64
	now      time.Time
	asked    int
}

func newMachine() *machine {
	return &machine{disk: 100 * gib, now: time.Unix(1000, 0), capacity: sandbox.Capacity{
		MemoryBytes: 8 * gib, Slots: 100, EngineBytes: 100 * gib, StateBytes: 100 * gib}}
}

func (m *machine) gate(o admission.Options) *admission.Gate {
	o.Now = func() time.Time { return m.now }
	o.FreeDisk = func(string) int64 { return m.disk }
	o.Capacity = func(context.Context) (sandbox.Capacity, error) {
		m.asked++
		return m.capacity, m.fault
	}
	return admission.New(o)
}

// admit asks n times at this moment and returns how many were let in, and why
// the first one that was not.
func admit(t *testing.T, g *admission.Gate, n int) (in int, why string) {
	t.Helper()
	for range n {
		if said := g.Admit(t.Context()); said == "" {
			in++
		} else if why == "" {
			why = said
		}
	}
	return in, why
}

func defaults() admission.Options {
	return admission.Options{MinDisk: 2 * gib, MinMemory: gib / 2, BoxMemory: 2 * gib}
}

func TestDisk(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*machine)
		want   string
	}{
		{"enough", func(*machine) {}, ""},
		{"at the mark", func(m *machine) { m.disk = 2 * gib }, ""},
		{"run folder", func(m *machine) { m.disk = gib },
			"only 1GiB are free on the disk of the run folder, less than 2GiB (--min-free-disk)"},
		{"state folder", func(m *machine) { m.capacity.StateBytes = gib / 2 },
			"only 512MiB are free on the disk of the state folder, less than 2GiB (--min-free-disk)"},
		{"engine", func(m *machine) { m.capacity.EngineBytes = 0 },
			"only 0B are free on the disk of the engine, less than 2GiB (--min-free-disk)"},
		{"nobody knows", func(m *machine) {
			m.disk, m.capacity.StateBytes, m.capacity.EngineBytes = sandbox.NotTold, sandbox.NotTold, sandbox.NotTold
		}, ""},
	} {
		m := newMachine()
		tt.change(m)
		if got := m.gate(defaults()).Admit(t.Context()); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := m.gate(admission.Options{MinMemory: gib / 2}).Admit(t.Context()); got != "" {
			t.Errorf("%s: %q although no disk is watched", tt.name, got)
		}
	}
}

// A full disk waits also when nothing runs; scarce memory lets one through.
func TestOneAlways(t *testing.T) {
	m := newMachine()
	m.capacity.MemoryBytes = 1 << 20
	g := m.gate(defaults())
	if in, why := admit(t, g, 3); in != 1 || !strings.HasPrefix(why, "of the memory ") {
		t.Errorf("%d let in, %q", in, why)
	}
	g.Ended(0)
	if in, _ := admit(t, g, 1); in != 1 {
		t.Error("nothing runs, and nothing is let in")
	}
	m.disk = 0
	g.Ended(0)
	if in, _ := admit(t, g, 1); in != 0 {
		t.Error("let in onto a full disk")
	}
}

// Those who wait do not all enter at once: what was let in a moment ago counts
// with its expected need, 256 MiB before any was seen. 8 GiB less 512 MiB that
// have to stay free are room for 30 of them.
func TestAllAtOnce(t *testing.T) {
	m := newMachine()
	g := m.gate(defaults())
	in, why := admit(t, g, 64)
	if in != 30 {
		t.Errorf("%d let in, want 30", in)
	}
	want := "of the memory 512MiB are left, an attempt is expected to need 256MiB, and 512MiB have to stay free (--min-free-memory)"
	if why != want {
		t.Errorf("%q, want %q", why, want)
	}
	if m.asked != 1 {
		t.Errorf("the engine was asked %d times in one moment", m.asked)
	}
	// Half of the time to settle later half of the need is reserved still:
	// (8 - 30/8) GiB are left, of which 15 times 256 MiB can be given.
	m.now = m.now.Add(10 * time.Second)
	if in, _ := admit(t, g, 64); in != 15 {
		t.Errorf("half settled: %d more let in, want 15", in)
	}
}

// The need is the highest peak that was seen, and never more than a box may take.
func TestNeedIsLearnt(t *testing.T) {
	for _, tt := range []struct {
		peaks []int64
		want  int // of 7.5 GiB
	}{
		{nil, 30},
		{[]int64{100 << 20}, 76},          // 7680 / 100
		{[]int64{gib, 100 << 20, 0}, 7},   // 7.5 / 1
		{[]int64{16 * gib}, 3},            // 7.5 / 2
		{[]int64{0}, 30},                  // nobody knows
		{[]int64{100 << 20, 1 << 20}, 76}, // the highest
	} {
		m := newMachine()
		g := m.gate(defaults())
		for _, p := range tt.peaks {
			g.Ended(p)
		}
		if in, _ := admit(t, g, 99); in != tt.want {
			t.Errorf("peaks %v: %d let in, want %d", tt.peaks, in, tt.want)
		}
	}
}

// What has ended reserves nothing any more.
func TestEnded(t *testing.T) {
	m := newMachine()
	g := m.gate(defaults())
	admit(t, g, 64)
	for range 30 {
		g.Ended(0)
	}
	if in, _ := admit(t, g, 64); in != 30 {
		t.Errorf("%d let in, want 30", in)
	}
}

func TestSlots(t *testing.T) {
	m := newMachine()
	m.capacity.Slots = 3
	g := m.gate(defaults())
	if in, why := admit(t, g, 5); in != 3 || why != "all 256 places for boxes on this engine are taken" {
		t.Errorf("%d let in, %q", in, why)
	}
	m.now = m.now.Add(2 * time.Second) // another reading: the boxes are there now, and one has ended
	m.capacity.Slots = 1
	g.Ended(0)
	if in, _ := admit(t, g, 5); in != 1 {
		t.Errorf("%d let in, want 1", in)
	}
}

// An engine that is away is waited for; one that cannot list may still work.
func TestEngineFails(t *testing.T) {
	m := newMachine()
	g := m.gate(defaults())
	m.fault = &sandbox.Fault{Op: "listing boxes", Kind: sandbox.FaultUnreachable, Err: errors.New("refused")}
	if why := g.Admit(t.Context()); why != "the engine does not answer: listing boxes: unreachable: refused" {
		t.Errorf("%q", why)
	}
	m.now, m.fault = m.now.Add(2*time.Second), &sandbox.Fault{Op: "listing boxes", Kind: sandbox.FaultEngine, Err: errors.New("no")}
	if why := g.Admit(t.Context()); why != "" {
		t.Errorf("%q", why)
	}
	m.now, m.fault = m.now.Add(2*time.Second), nil
	if in, _ := admit(t, g, 2); in != 2 {
		t.Error("not let in after the engine came back")
	}
}

// A real disk without room: a file system of 4 MiB.
func TestRealDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("only who may mount can have a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	m := newMachine()
	g := admission.New(admission.Options{Dir: dir, MinDisk: 2 << 20,
		Capacity: func(context.Context) (sandbox.Capacity, error) { return m.capacity, nil }})
	if why := g.Admit(t.Context()); why != "" {
		t.Errorf("empty: %q", why)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := g.Admit(t.Context()); why != "only 1MiB are free on the disk of the run folder, less than 2MiB (--min-free-disk)" {
		t.Errorf("filled: %q", why)
	}
	if err := os.Remove(filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	if why := g.Admit(t.Context()); why != "" {
		t.Errorf("emptied: %q", why)
	}
}
