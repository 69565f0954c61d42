package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"cabra-run/sandbox"
)

var errNotRunning = errors.New("the box is not running")

// maxStats bounds the engine's answer.
const maxStats = 1 << 20

// Usage reads what the box uses: from the kernel where the engine is on this
// host, else from the engine.
func (b *Box) Usage(ctx context.Context) (sandbox.Usage, error) {
	const op = "reading usage"
	if err := b.check(op); err != nil {
		return sandbox.Usage{}, err
	}
	u, err := b.figures(ctx, op)
	if err != nil {
		return u, err
	}
	u.WorkspaceBytes = -1
	if b.workspace != nil {
		u.WorkspaceBytes, err = b.workspace.usage(ctx, b)
	}
	return u, fault(ctx, op, err)
}

func (b *Box) figures(ctx context.Context, op string) (sandbox.Usage, error) {
	group, state, err := b.locate(ctx, op)
	if err != nil {
		return sandbox.Usage{}, err
	}
	if group != nil {
		if u, err := group.read(); err == nil {
			b.mu.Lock()
			b.oomKills = u.OOMKills
			b.mu.Unlock()
			return u, nil
		}
		// The group ends with the box; the engine says which error it is.
		if state, err = b.running(ctx, op); err != nil {
			return sandbox.Usage{}, err
		}
	}
	return b.told(ctx, op, state)
}

// locate finds the box's control group, nil where the engine is elsewhere;
// then the state is what the engine was asked for.
func (b *Box) locate(ctx context.Context, op string) (*cgroup, *container.State, error) {
	b.mu.Lock()
	group := b.cgroup
	b.mu.Unlock()
	if group != nil {
		return group, nil, nil
	}
	var state *container.State
	if b.e.here {
		group = usualCgroup(b.id)
	}
	if group == nil {
		var err error
		if state, err = b.running(ctx, op); err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(b.e.endpoint, "unix://") {
			if found, err := findCgroup(state.Pid, b.id); err == nil {
				group = found
			}
		}
	}
	b.mu.Lock()
	b.cgroup = group
	b.mu.Unlock()
	return group, state, nil
}

// running asks the engine for the state of a running box.
func (b *Box) running(ctx context.Context, op string) (*container.State, error) {
	var c container.InspectResponse
	err := b.e.call(ctx, op, func(ctx context.Context) (err error) {
		c, err = b.e.api.ContainerInspect(ctx, b.id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.State == nil || !c.State.Running {
		return nil, &sandbox.Fault{Op: op, Kind: sandbox.FaultNotRunning, Err: errNotRunning}
	}
	return c.State, nil
}

// told is what the engine tells of a running box.
func (b *Box) told(ctx context.Context, op string, state *container.State) (u sandbox.Usage, err error) {
	err = b.e.call(ctx, op, func(ctx context.Context) error {
		stats, err := b.stats(ctx)
		if err != nil {
			return err
		}
		u.ScratchBytes = -1
		u.MemoryBytes = int64(stats.MemoryStats.Usage)
		u.MemoryPeakBytes = int64(stats.MemoryStats.MaxUsage)
		u.Pids = int64(stats.PidsStats.Current)
		u.OOMKills, err = b.oomEvents(ctx)
		if state.OOMKilled {
			u.OOMKills = max(1, u.OOMKills)
		}
		return err
	})
	return u, err
}

func (b *Box) stats(ctx context.Context) (container.StatsResponse, error) {
	var stats container.StatsResponse
	resp, err := b.e.api.ContainerStatsOneShot(ctx, b.id)
	if err != nil {
		return stats, err
	}
	defer resp.Body.Close()
	return stats, json.NewDecoder(io.LimitReader(resp.Body, maxStats)).Decode(&stats)
}

// oomEvents counts the box's out-of-memory events that the engine remembers.
// It notes a killed command nowhere else.
func (b *Box) oomEvents(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := time.Now().Unix()
	messages, failed := b.e.api.Events(ctx, events.ListOptions{
		Since:   fmt.Sprint(min(b.created.Unix(), now)), // the clock may have been set back
		Until:   fmt.Sprint(now),
		Filters: filters.NewArgs(filters.Arg("container", b.id), filters.Arg("event", "oom")),
	})
	var count int64
	for {
		select {
		case <-messages:
			count++
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				err = nil // that was all
			}
			return count, err
		}
	}
}

// maxUsageText bounds the answer of the relay's usage command.
const maxUsageText = 256

// usage asks the relay's binary in the box; the engine has no call for it. The
// command runs as the agent, who can keep it from answering: -1 then.
func (w *volumeWorkspace) usage(ctx context.Context, b *Box) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.e.opts.CallTimeout)
	defer cancel()
	var out bytes.Buffer
	p, err := b.Exec(ctx, sandbox.Command{
		Args:   []string{sandbox.RelayPath, "usage", sandbox.WorkspaceDir},
		Stdout: &limitedWriter{w: &out, left: maxUsageText},
	})
	if err != nil {
		return -1, err
	}
	code, err := p.Wait(ctx)
	if err != nil || code != 0 {
		return -1, nil
	}
	var size, files int64
	if n, err := fmt.Sscan(out.String(), &size, &files); n < 1 || err != nil || size < 0 {
		return -1, nil
	}
	return size, nil
}

// limitedWriter fails when too much is written.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, io.ErrShortWrite
	}
	l.left -= len(p)
	return l.w.Write(p)
}
