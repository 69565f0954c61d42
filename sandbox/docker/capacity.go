package docker

import (
	"context"
	"os"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"
	"golang.org/x/sys/unix"

	"cabra-run/sandbox"
)

// Capacity says what is left for further boxes: one engine call, and a look at
// this host where the engine is on it.
func (e *Engine) Capacity(ctx context.Context) (sandbox.Capacity, error) {
	var boxes []container.Summary
	err := e.call(ctx, "listing boxes", func(ctx context.Context) (err error) {
		boxes, err = e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: listOwned()})
		return err
	})
	if err != nil {
		return sandbox.Capacity{}, err
	}
	c := sandbox.Capacity{
		Slots: sandbox.GuestSlots, MemoryBytes: sandbox.NotTold, EngineBytes: sandbox.NotTold,
		StateBytes: freeBytes(e.opts.StateDir),
	}
	for _, box := range boxes {
		if box.State == "running" {
			c.Boxes++
		}
		if hasSlot(box) {
			c.Slots--
		}
	}
	if !e.here {
		return c, nil
	}
	if kilobytes, err := readField("/proc/meminfo", "MemAvailable"); err == nil {
		c.MemoryBytes = kilobytes << 10
	}
	c.EngineBytes = freeBytes(e.rootDir)
	return c, nil
}

// hasSlot reports whether a container takes the name of a guest's uid, which
// it does in any state.
func hasSlot(c container.Summary) bool {
	for _, name := range c.Names {
		if strings.HasPrefix(strings.TrimPrefix(name, "/"), guestName) {
			return true
		}
	}
	return false
}

// freeBytes is what an ordinary user may still write, NotTold when the place is
// not to be seen.
func freeBytes(dir string) int64 {
	var st unix.Statfs_t
	if dir == "" || unix.Statfs(dir, &st) != nil {
		return sandbox.NotTold
	}
	return int64(st.Bavail) * st.Bsize
}

// onThisHost reports whether an engine behind a unix socket runs on the kernel
// of this process: socket files can lead elsewhere, into a virtual machine or
// through a tunnel.
func onThisHost(endpoint string, facts system.Info) bool {
	if !strings.HasPrefix(endpoint, "unix://") {
		return false
	}
	name, err := os.Hostname()
	if err != nil || facts.Name != name {
		return false
	}
	var uts unix.Utsname
	if unix.Uname(&uts) != nil || facts.KernelVersion != unix.ByteSliceToString(uts.Release[:]) {
		return false
	}
	kilobytes, err := readField("/proc/meminfo", "MemTotal")
	return err == nil && facts.MemTotal == kilobytes<<10
}
