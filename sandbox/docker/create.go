package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"

	"cabra-run/sandbox"
)

// guestName is the prefix of the names of boxes with a guest. A name is taken
// by at most one container of an engine, and the engine decides that
// atomically, so names are what allots the uids: among all processes that use
// the engine, without a place to keep accounts.
const guestName = "cabra-box-"

// plainName is the prefix of the names of boxes without a guest.
const plainName = "cabra-run-"

// imageFacts is what has to be known of an image to run it exactly.
type imageFacts struct {
	env []string // names of variables that it would add
	// noHealthcheck switches an image's health check off; nil without one.
	noHealthcheck *container.HealthConfig
}

// Create makes a box that does not run yet.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	const op = "creating box"
	if err := ctx.Err(); err != nil {
		return nil, fault(ctx, op, err)
	}
	if err := spec.Check(); err != nil {
		return nil, &sandbox.Fault{Op: op, Kind: sandbox.FaultBadSpec, Err: err}
	}
	facts, err := e.imageFacts(ctx, spec.Image)
	if err != nil {
		return nil, err
	}
	e.findLost(ctx)
	creation := sandbox.RandomName()
	p := &plan{
		spec: spec, limits: spec.Limits.OrDefaults(), image: facts, seccomp: e.seccomp, podman: e.podman,
		creation: creation, labels: boxLabels(spec.Labels, e.owner.Label, creation),
	}
	if e.cpus > 0 { // engines refuse more than they have
		p.limits.CPUs = min(p.limits.CPUs, float64(e.cpus))
	}
	box, err := e.make(ctx, op, p)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		// What the answer of a lost or cancelled call would have named is
		// found by the label.
		return nil, errors.Join(fault(ctx, op, err), e.undo(ctx, box, p))
	}
	return box, nil
}

// make makes workspace and container. On an error the box holds what was made
// until then.
func (e *Engine) make(ctx context.Context, op string, p *plan) (*Box, error) {
	box := newBox(e, p)
	if p.spec.Workspace != nil {
		box.workspace = e.newWorkspace(p)
	}
	err := e.createContainer(ctx, op, p, box)
	if err != nil && e.demote(box, err) {
		if err := box.workspace.remove(ctx); err != nil {
			return box, err
		}
		return e.make(ctx, op, p)
	}
	if err != nil {
		return box, err
	}
	e.mu.Lock()
	e.boxes[box] = struct{}{}
	e.mu.Unlock()
	if box.workspace != nil {
		return box, box.workspace.fill(ctx, box.id, box.uid)
	}
	return box, nil
}

// demote switches to the archive transport when the engine says that it does
// not see a folder that this process has just made.
func (e *Engine) demote(box *Box, err error) bool {
	if _, bound := box.workspace.(*bindWorkspace); !bound || e.opts.Transport != "" {
		return false
	}
	text := err.Error()
	if !strings.Contains(text, "bind source path does not exist") && !strings.Contains(text, "statfs") {
		return false
	}
	e.mu.Lock()
	e.transport = TransportArchive
	e.mu.Unlock()
	return true
}

// createContainer makes the container under a free name.
func (e *Engine) createContainer(ctx context.Context, op string, p *plan, box *Box) error {
	if !p.spec.Guest {
		box.uid = sandbox.InitUID
		id, err := e.createNamed(ctx, p, box, plainName+p.creation[:12])
		box.id = id
		return fault(ctx, op, err)
	}
	first := rand.IntN(sandbox.GuestSlots)
	for i := range sandbox.GuestSlots {
		box.uid = sandbox.FirstGuest + (first+i)%sandbox.GuestSlots
		id, err := e.createNamed(ctx, p, box, fmt.Sprintf("%s%d", guestName, box.uid))
		if nameTaken(err) {
			continue
		}
		box.id = id
		return fault(ctx, op, err)
	}
	return &sandbox.Fault{Op: op, Kind: sandbox.FaultNoCapacity,
		Err: fmt.Errorf("all %d guest slots of the engine are taken", sandbox.GuestSlots)}
}

// createNamed is not cancelled with its caller: the engine would go on and
// leave a container whose ID nobody has heard of.
func (e *Engine) createNamed(ctx context.Context, p *plan, box *Box, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var m *mount.Mount
	if box.workspace != nil {
		var err error
		if m, err = box.workspace.prepare(ctx, box.uid); err != nil {
			return "", err
		}
	}
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeouts*e.opts.CallTimeout)
	defer cancel()
	resp, err := e.api.ContainerCreate(cctx, p.config(), p.hostConfig(box.uid, m), nil, nil, name)
	box.notes = warnings(resp.Warnings)
	return resp.ID, err
}

func nameTaken(err error) bool {
	return err != nil && (cerrdefs.IsConflict(err) || strings.Contains(err.Error(), "is already in use"))
}

// undo removes whatever a failed Create has made.
func (e *Engine) undo(ctx context.Context, box *Box, p *plan) error {
	err := errors.Join(e.removeCreation(ctx, p.creation), box.Remove(ctx))
	if err != nil {
		e.mu.Lock()
		e.lost[p.creation] = struct{}{}
		e.mu.Unlock()
	}
	return err
}

// removeCreation removes the container of one Create, which its label names.
func (e *Engine) removeCreation(ctx context.Context, creation string) error {
	var lost []container.Summary
	err := e.insist(ctx, "looking for remains", func(ctx context.Context) (err error) {
		lost, err = e.api.ContainerList(ctx, container.ListOptions{All: true,
			Filters: filters.NewArgs(filters.Arg("label", labelCreation+"="+creation))})
		return err
	})
	errs := []error{err}
	for _, c := range lost {
		errs = append(errs, e.removeContainer(ctx, c.ID))
	}
	return errors.Join(errs...)
}

// findLost removes what could not be removed when it should have been: the
// engine was away, or an answer was lost. What cannot be removed now either is
// left to the next call, and at last to another process's Reap.
func (e *Engine) findLost(ctx context.Context) {
	e.mu.Lock()
	lost := slices.Collect(maps.Keys(e.lost))
	e.mu.Unlock()
	for _, creation := range lost {
		if err := e.removeCreation(ctx, creation); err != nil {
			return // the engine has other troubles
		}
		if err := e.removeVolume(ctx, volumeName(creation)); err != nil {
			return
		}
		if err := removeWork(filepath.Join(e.opts.StateDir, workDir), creation); err != nil {
			return
		}
		e.mu.Lock()
		delete(e.lost, creation)
		maps.DeleteFunc(e.boxes, func(b *Box, _ struct{}) bool { return b.creation == creation })
		e.mu.Unlock()
	}
}

// imageFacts looks at an image once per process.
func (e *Engine) imageFacts(ctx context.Context, id string) (imageFacts, error) {
	const op = "looking at image"
	e.mu.Lock()
	facts, known := e.images[id]
	e.mu.Unlock()
	if known {
		return facts, nil
	}
	err := e.call(ctx, op, func(ctx context.Context) error {
		img, err := e.api.ImageInspect(ctx, id)
		if err != nil {
			return err
		}
		if img.Config == nil {
			facts.env = envNames(nil)
			return nil
		}
		if len(img.Config.Volumes) > 0 {
			// Each would be a writable place without a bound.
			return &sandbox.Fault{Op: op, Kind: sandbox.FaultBadSpec,
				Err: fmt.Errorf("image %s declares volumes", id)}
		}
		facts.env = envNames(img.Config.Env)
		if img.Config.Healthcheck != nil {
			facts.noHealthcheck = &container.HealthConfig{Test: []string{"NONE"}}
		}
		return nil
	})
	if err != nil {
		return facts, err
	}
	e.mu.Lock()
	e.images[id] = facts
	e.mu.Unlock()
	return facts, nil
}
