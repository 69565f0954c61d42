package docker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cabra-run/sandbox"
)

// Reap removes boxes, volumes and workspaces whose owner is dead, and those
// which this owner could not remove when it should have. One that
// cannot be removed does not keep the others; the errors are joined.
func (e *Engine) Reap(ctx context.Context) (sandbox.Reaped, error) {
	var r sandbox.Reaped
	e.findLost(ctx)
	all, err := e.things(ctx)
	if err != nil {
		return r, err
	}
	var errs []error
	inUse := map[string]bool{}
	for _, t := range all {
		if !t.ownerless(time.Now()) {
			if owner, err := sandbox.ParseOwnerLabel(t.labels[labelOwner]); err == nil {
				inUse[owner.Lock] = true
			}
			continue
		}
		if err := e.reapOne(ctx, t, &r); err != nil {
			errs = append(errs, err)
			inUse[t.lock()] = true // the proof of death is still needed
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 0 && ctx.Err() == nil {
		errs = append(errs, sandbox.RemoveStaleLocks(e.opts.StateDir, inUse))
	}
	return r, fault(ctx, "removing remains", errors.Join(errs...))
}

func (t thing) lock() string {
	owner, _ := sandbox.ParseOwnerLabel(t.labels[labelOwner])
	return owner.Lock
}

// ownerless reports whether nobody can lay claim to the thing any more.
func (t thing) ownerless(now time.Time) bool {
	owner, err := sandbox.ParseOwnerLabel(t.labels[labelOwner])
	if err == nil {
		switch owner.Liveness() {
		case sandbox.Alive:
			return false
		case sandbox.Dead:
			return true
		}
	}
	deadline, err := strconv.ParseInt(t.labels[labelDeadline], 10, 64)
	return err == nil && now.After(time.Unix(deadline, 0))
}

func (e *Engine) reapOne(ctx context.Context, t thing, r *sandbox.Reaped) error {
	switch t.kind {
	case aBox:
		err := e.removeContainer(ctx, t.name)
		if err == nil {
			r.Boxes++
		}
		return err
	case aVolume:
		err := e.removeVolume(ctx, t.name)
		if err == nil {
			r.Volumes++
		}
		return err
	default:
		err := removeWork(filepath.Join(e.opts.StateDir, workDir), t.name)
		if err == nil {
			r.Workspaces++
		}
		return err
	}
}

// maxLabels bounds the labels file of a workspace.
const maxLabels = 64 << 10

// readLabels returns nil when the file is not there or not whole.
func readLabels(path string) map[string]string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLabels {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var labels map[string]string
	if json.Unmarshal(text, &labels) != nil {
		return nil
	}
	return labels
}
