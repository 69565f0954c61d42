// Package fake is a sandbox.Engine in memory for tests. Programs are Go
// functions that stand in for PID 1 and for commands; workspaces and homes are
// folders. It passes the conformance suite, and it can be told to fail, hang
// or lose answers at any call. A Host is the daemon: it outlives the engines
// connected to it, so that the death of an orchestrator can be played. It owns
// no isolation whatsoever and must not be used outside of tests.
package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"cabra-run/sandbox"
)

// Options are the settings of a Host.
type Options struct {
	// Dir holds the workspaces and homes; usually t.TempDir().
	Dir string
	// Programs maps argv[0] to what it does.
	Programs map[string]Program
	// Program is asked for an argv that Programs does not know; nil or a nil
	// result means that the program does not exist.
	Program func(args []string) Program
	// Images lists the image IDs that exist; nil means that all do.
	Images []string
	// Slots is the number of guest uids; 0 is sandbox.GuestSlots.
	Slots int
}

// Host is a daemon in memory.
type Host struct {
	opts Options

	mu       sync.Mutex
	boxes    map[string]*Box
	slots    map[int]bool
	serial   int
	calls    map[Op]int
	troubles []Trouble
	capacity sandbox.Capacity
}

// NewHost returns a daemon without boxes.
func NewHost(o Options) *Host {
	if o.Slots == 0 {
		o.Slots = sandbox.GuestSlots
	}
	return &Host{opts: o, boxes: map[string]*Box{}, slots: map[int]bool{}, calls: map[Op]int{},
		capacity: sandbox.Capacity{MemoryBytes: 8 << 30, EngineBytes: 100 << 30, StateBytes: 100 << 30}}
}

// SetCapacity sets what engines report of memory and disks; boxes and slots
// are counted.
func (h *Host) SetCapacity(c sandbox.Capacity) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.capacity = c
}

// room is what engines report.
func (h *Host) room() sandbox.Capacity {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.capacity
	c.Slots = h.opts.Slots - len(h.slots)
	for _, b := range h.boxes {
		if b.isRunning() {
			c.Boxes++
		}
	}
	return c
}

// New returns an engine on a daemon of its own.
func New(o Options) *Engine { return NewHost(o).Connect() }

// Boxes returns the boxes that exist, in the order of their making.
func (h *Host) Boxes() []*Box {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*Box
	for _, b := range h.boxes {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *Box) int { return a.serial - b.serial })
	return all
}

// Calls returns how often an operation was called.
func (h *Host) Calls(op Op) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[op]
}

// add makes the box's folder and gives it an ID and a uid.
func (h *Host) add(b *Box) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	uid := sandbox.InitUID
	if b.spec.Guest {
		if uid = h.freeSlot(); uid == 0 {
			return &sandbox.Fault{Op: "creating box", Kind: sandbox.FaultNoCapacity,
				Err: fmt.Errorf("all %d guest slots are taken", h.opts.Slots)}
		}
		h.slots[uid] = true
	}
	h.serial++
	b.serial, b.uid = h.serial, uid
	b.id = fmt.Sprintf("fake-%d", h.serial)
	b.dir = filepath.Join(h.opts.Dir, b.id)
	h.boxes[b.id] = b
	return nil
}

func (h *Host) freeSlot() int {
	for i := range h.opts.Slots {
		if uid := sandbox.FirstGuest + i; !h.slots[uid] {
			return uid
		}
	}
	return 0
}

// drop removes the box from the daemon and from the disk.
func (h *Host) drop(b *Box) error {
	h.mu.Lock()
	if h.boxes[b.id] == b {
		delete(h.boxes, b.id)
		if b.spec.Guest {
			delete(h.slots, b.uid)
		}
	}
	h.mu.Unlock()
	return os.RemoveAll(b.dir)
}

func (h *Host) knows(image string) bool {
	return h.opts.Images == nil || slices.Contains(h.opts.Images, image)
}

// program finds what an argv runs, nil for nothing.
func (h *Host) program(args []string) Program {
	if p := h.opts.Programs[args[0]]; p != nil {
		return p
	}
	if h.opts.Program != nil {
		return h.opts.Program(args)
	}
	return nil
}
