package docker

import (
	"context"

	"cabra-run/sandbox"
)

// Stopped waits until a container that may be anybody's does not run any more.
func (e *Engine) Stopped(ctx context.Context, id string) error {
	_, err := (&Box{e: e, id: id}).waitStopped(ctx)
	return err
}

// Exists reports whether the engine has a container.
func (e *Engine) Exists(ctx context.Context, id string) (bool, error) {
	_, err := e.api.ContainerInspect(ctx, id)
	if sandbox.IsFault(fault(ctx, "looking", err), sandbox.FaultGone) {
		return false, nil
	}
	return err == nil, err
}
