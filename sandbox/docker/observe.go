package docker

import (
	"context"
	"io"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// observed tells Options.Observe of every call, and bounds the attaching ones,
// for which the client itself has no deadline.
type observed struct {
	api
	tell func(call string, took time.Duration, err error)
}

// told runs a call and tells of it.
func told[T any](o observed, call string, f func() (T, error)) (T, error) {
	began := time.Now()
	result, err := f()
	if o.tell != nil {
		o.tell(call, time.Since(began), err)
	}
	return result, err
}

// toldError is told for a call without a result.
func toldError(o observed, call string, f func() error) error {
	_, err := told(o, call, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// within gives up waiting for an attaching call when the context ends. Should
// it succeed later, its connection is closed.
func within(ctx context.Context, attach func() (types.HijackedResponse, error)) (types.HijackedResponse, error) {
	type answer struct {
		conn types.HijackedResponse
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		conn, err := attach()
		answers <- answer{conn, err}
	}()
	select {
	case a := <-answers:
		return a.conn, a.err
	case <-ctx.Done():
		go func() {
			if late := <-answers; late.err == nil {
				late.conn.Close()
			}
		}()
		return types.HijackedResponse{}, ctx.Err()
	}
}

func (o observed) Info(ctx context.Context) (system.Info, error) {
	return told(o, "info", func() (system.Info, error) { return o.api.Info(ctx) })
}

func (o observed) ServerVersion(ctx context.Context) (types.Version, error) {
	return told(o, "version", func() (types.Version, error) { return o.api.ServerVersion(ctx) })
}

func (o observed) Events(ctx context.Context, opts events.ListOptions) (<-chan events.Message, <-chan error) {
	began := time.Now()
	messages, failed := o.api.Events(ctx, opts)
	if o.tell != nil {
		o.tell("events", time.Since(began), nil)
	}
	return messages, failed
}

func (o observed) ImageInspect(
	ctx context.Context, id string, opts ...client.ImageInspectOption,
) (image.InspectResponse, error) {
	return told(o, "image inspect", func() (image.InspectResponse, error) {
		return o.api.ImageInspect(ctx, id, opts...)
	})
}

func (o observed) ContainerCreate(
	ctx context.Context, config *container.Config, host *container.HostConfig,
	net *network.NetworkingConfig, platform *ocispec.Platform, name string,
) (container.CreateResponse, error) {
	return told(o, "create", func() (container.CreateResponse, error) {
		return o.api.ContainerCreate(ctx, config, host, net, platform, name)
	})
}

func (o observed) ContainerAttach(
	ctx context.Context, id string, opts container.AttachOptions,
) (types.HijackedResponse, error) {
	return told(o, "attach", func() (types.HijackedResponse, error) {
		return within(ctx, func() (types.HijackedResponse, error) { return o.api.ContainerAttach(ctx, id, opts) })
	})
}

func (o observed) ContainerStart(ctx context.Context, id string, opts container.StartOptions) error {
	return toldError(o, "start", func() error { return o.api.ContainerStart(ctx, id, opts) })
}

func (o observed) ContainerWait(
	ctx context.Context, id string, cond container.WaitCondition,
) (<-chan container.WaitResponse, <-chan error) {
	began := time.Now()
	result, failed := o.api.ContainerWait(ctx, id, cond)
	if o.tell != nil {
		o.tell("wait", time.Since(began), nil)
	}
	return result, failed
}

func (o observed) ContainerKill(ctx context.Context, id, signal string) error {
	return toldError(o, "kill", func() error { return o.api.ContainerKill(ctx, id, signal) })
}

func (o observed) ContainerRemove(ctx context.Context, id string, opts container.RemoveOptions) error {
	return toldError(o, "remove", func() error { return o.api.ContainerRemove(ctx, id, opts) })
}

func (o observed) ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error) {
	return told(o, "inspect", func() (container.InspectResponse, error) { return o.api.ContainerInspect(ctx, id) })
}

func (o observed) ContainerList(ctx context.Context, opts container.ListOptions) ([]container.Summary, error) {
	return told(o, "list", func() ([]container.Summary, error) { return o.api.ContainerList(ctx, opts) })
}

func (o observed) ContainerUpdate(
	ctx context.Context, id string, c container.UpdateConfig,
) (container.UpdateResponse, error) {
	return told(o, "update", func() (container.UpdateResponse, error) { return o.api.ContainerUpdate(ctx, id, c) })
}

func (o observed) ContainerStatsOneShot(ctx context.Context, id string) (container.StatsResponseReader, error) {
	return told(o, "stats", func() (container.StatsResponseReader, error) {
		return o.api.ContainerStatsOneShot(ctx, id)
	})
}

func (o observed) ContainerExecCreate(
	ctx context.Context, id string, opts container.ExecOptions,
) (container.ExecCreateResponse, error) {
	return told(o, "exec create", func() (container.ExecCreateResponse, error) {
		return o.api.ContainerExecCreate(ctx, id, opts)
	})
}

func (o observed) ContainerExecAttach(
	ctx context.Context, id string, opts container.ExecAttachOptions,
) (types.HijackedResponse, error) {
	return told(o, "exec attach", func() (types.HijackedResponse, error) {
		return within(ctx, func() (types.HijackedResponse, error) { return o.api.ContainerExecAttach(ctx, id, opts) })
	})
}

func (o observed) ContainerExecInspect(ctx context.Context, id string) (container.ExecInspect, error) {
	return told(o, "exec inspect", func() (container.ExecInspect, error) { return o.api.ContainerExecInspect(ctx, id) })
}

func (o observed) ContainerExecResize(ctx context.Context, id string, opts container.ResizeOptions) error {
	return toldError(o, "exec resize", func() error { return o.api.ContainerExecResize(ctx, id, opts) })
}

func (o observed) CopyToContainer(
	ctx context.Context, id, path string, r io.Reader, opts container.CopyToContainerOptions,
) error {
	return toldError(o, "archive put", func() error { return o.api.CopyToContainer(ctx, id, path, r, opts) })
}

func (o observed) CopyFromContainer(
	ctx context.Context, id, path string,
) (r io.ReadCloser, stat container.PathStat, err error) {
	err = toldError(o, "archive get", func() error {
		r, stat, err = o.api.CopyFromContainer(ctx, id, path)
		return err
	})
	return r, stat, err
}

func (o observed) VolumeCreate(ctx context.Context, opts volume.CreateOptions) (volume.Volume, error) {
	return told(o, "volume create", func() (volume.Volume, error) { return o.api.VolumeCreate(ctx, opts) })
}

func (o observed) VolumeRemove(ctx context.Context, id string, force bool) error {
	return toldError(o, "volume remove", func() error { return o.api.VolumeRemove(ctx, id, force) })
}

func (o observed) VolumeList(ctx context.Context, opts volume.ListOptions) (volume.ListResponse, error) {
	return told(o, "volume list", func() (volume.ListResponse, error) { return o.api.VolumeList(ctx, opts) })
}
