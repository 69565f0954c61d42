package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"cabra-run/sandbox"
)

// volumeTimeouts is how many times the deadline of a call the removal of a
// volume may take: a box can leave very many files in it.
const volumeTimeouts = 10

// removeVolume removes a volume that may be gone already. An engine cannot
// remove one that is nested deeper than it may have files open; such a one is
// emptied from inside first. Removal is never forced: Docker then forgets a
// volume whose files it could not remove, and nobody would find them again.
func (e *Engine) removeVolume(ctx context.Context, name string) error {
	var err error
	for range insistTries {
		err = e.dropVolume(ctx, name)
		if tooDeep(err) {
			if cerr := e.clearVolume(ctx, name); cerr != nil {
				return errors.Join(err, cerr)
			}
			continue
		}
		if !sandbox.IsFault(err, sandbox.FaultUnreachable) && !sandbox.IsFault(err, sandbox.FaultEngine) {
			return err
		}
	}
	return err
}

// tooDeep recognises by its words that an engine could not remove a tree.
func tooDeep(err error) bool {
	if !sandbox.IsFault(err, sandbox.FaultEngine) {
		return false
	}
	return slices.ContainsFunc([]string{"openfdat", "unlinkat", "too many open files", "file name too long"},
		func(word string) bool { return strings.Contains(err.Error(), word) })
}

// dropVolume asks the engine once, whoever has given up meanwhile.
func (e *Engine) dropVolume(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), volumeTimeouts*e.opts.CallTimeout)
	defer cancel()
	err := fault(ctx, fmt.Sprintf("removing volume %q", name), e.api.VolumeRemove(ctx, name, false))
	if sandbox.IsFault(err, sandbox.FaultGone) {
		return nil
	}
	return err
}

// clearVolume empties a volume with the relay's program, in a container of the
// image that its box had. It may read and move whatever the box's users left.
func (e *Engine) clearVolume(ctx context.Context, name string) error {
	const op = "emptying volume"
	p, err := e.clearing(ctx, name)
	if err != nil || p == nil {
		return fault(ctx, op, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), volumeTimeouts*e.opts.CallTimeout)
	defer cancel()
	config := p.config()
	config.User = userOf(0)
	host := p.hostConfig(0, &mount.Mount{Type: mount.TypeVolume, Source: name, Target: sandbox.WorkspaceDir,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
	host.CapAdd = []string{"DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER"}
	made, err := e.api.ContainerCreate(ctx, config, host, nil, nil, plainName+p.creation[:12])
	if err == nil {
		err = e.runToEnd(ctx, made.ID)
	}
	return fault(ctx, op, errors.Join(err, e.removeCreation(ctx, p.creation)))
}

// clearing is the plan of a container that empties a volume; nil when there is
// no such volume.
func (e *Engine) clearing(ctx context.Context, name string) (*plan, error) {
	var found volume.ListResponse
	err := e.finish(ctx, "looking for volume", func(ctx context.Context) (err error) {
		found, err = e.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", name))})
		return err
	})
	i := slices.IndexFunc(found.Volumes, func(v *volume.Volume) bool { return v != nil && v.Name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	labels := found.Volumes[i].Labels
	facts, err := e.imageFacts(context.WithoutCancel(ctx), labels[labelImage])
	if err != nil {
		return nil, err
	}
	creation := sandbox.RandomName()
	return &plan{
		spec:   sandbox.Spec{Image: labels[labelImage], Command: []string{sandbox.RelayPath, "clear", sandbox.WorkspaceDir}},
		limits: sandbox.DefaultLimits(), image: facts, seccomp: e.seccomp, podman: e.podman, creation: creation,
		labels: boxLabels(sandbox.Labels{Run: labels[labelRun], Trial: labels[labelTrial],
			Deadline: time.Now().Add(time.Hour)}, e.owner.Label, creation),
	}, nil
}

// runToEnd starts a container and waits for it to end with 0.
func (e *Engine) runToEnd(ctx context.Context, id string) error {
	if err := e.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return err
	}
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result, failed := e.api.ContainerWait(wctx, id, container.WaitConditionNotRunning)
	code, err := waited(wctx, result, failed)
	if err == nil && code != 0 {
		err = fmt.Errorf("it ends with %d", code)
	}
	return err
}
