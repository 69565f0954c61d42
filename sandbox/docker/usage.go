package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/docker/docker/api/types/container"

	"cabra-run/sandbox"
)

var errNotRunning = errors.New("the box is not running")

// maxStats bounds the engine's answer.
const maxStats = 1 << 20

// Usage reads the engine's figures for the box and the size of its workspace.
func (b *Box) Usage(ctx context.Context) (sandbox.Usage, error) {
	const op = "reading usage"
	if err := b.check(op); err != nil {
		return sandbox.Usage{}, err
	}
	u := sandbox.Usage{WorkspaceBytes: -1}
	err := b.e.call(ctx, op, func(ctx context.Context) error {
		stats, err := b.stats(ctx)
		if err != nil {
			return err
		}
		u.MemoryBytes = int64(stats.MemoryStats.Usage)
		u.MemoryPeakBytes = int64(stats.MemoryStats.MaxUsage)
		u.Pids = int64(stats.PidsStats.Current)
		state, err := b.e.api.ContainerInspect(ctx, b.id)
		if err != nil || state.State == nil {
			return err
		}
		if state.State.OOMKilled {
			u.OOMKills = 1
		}
		if !state.State.Running {
			return &sandbox.Fault{Op: op, Kind: sandbox.FaultNotRunning, Err: errNotRunning}
		}
		return nil
	})
	if err != nil {
		return u, err
	}
	if b.workspace != nil {
		u.WorkspaceBytes, err = b.workspace.usage(ctx, b)
	}
	return u, fault(ctx, op, err)
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
