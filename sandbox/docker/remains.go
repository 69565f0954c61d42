package docker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
)

// thing is something on the engine or this host that belongs to a box.
type thing struct {
	kind   thingKind
	name   string // container ID, volume name, folder name
	labels map[string]string
}

type thingKind string

const (
	aBox       thingKind = "box"
	aVolume    thingKind = "volume"
	aWorkspace thingKind = "workspace"
)

// things lists all that carries our labels, whoever made it: boxes first,
// since a volume cannot be removed before its box.
func (e *Engine) things(ctx context.Context) ([]thing, error) {
	var boxes []container.Summary
	var volumes volume.ListResponse
	err := e.call(ctx, "listing boxes", func(ctx context.Context) (err error) {
		boxes, err = e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: listOwned()})
		if err != nil {
			return err
		}
		volumes, err = e.api.VolumeList(ctx, volume.ListOptions{Filters: listOwned()})
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []thing
	for _, c := range boxes {
		all = append(all, thing{aBox, c.ID, c.Labels})
	}
	for _, v := range volumes.Volumes {
		if v != nil {
			all = append(all, thing{aVolume, v.Name, v.Labels})
		}
	}
	works, err := workspaces(filepath.Join(e.opts.StateDir, workDir))
	return append(all, works...), fault(ctx, "listing workspaces", err)
}

// workspaces lists the folders of the bind transport.
func workspaces(parent string) ([]thing, error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var all []thing
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), labelsSuffix)
		if seen[name] {
			continue
		}
		seen[name] = true
		labels := readLabels(filepath.Join(parent, name+labelsSuffix))
		if labels == nil {
			labels = orphanLabels(entry)
		}
		all = append(all, thing{aWorkspace, name, labels})
	}
	return all, nil
}

// orphanLife is how long something without readable labels is left alone: it
// may be in the making.
const orphanLife = time.Hour

// orphanLabels stand for labels that never reached the disk.
func orphanLabels(entry fs.DirEntry) map[string]string {
	info, err := entry.Info()
	if err != nil {
		return nil
	}
	return map[string]string{labelDeadline: strconv.FormatInt(info.ModTime().Add(orphanLife).Unix(), 10)}
}

// Remains lists what boxes of this process have left, one line each; nothing
// once they have all been removed.
func (e *Engine) Remains(ctx context.Context) ([]string, error) {
	return e.remains(ctx, func(t thing) bool { return t.lock() == e.owner.Label.Lock })
}

// RemainsHere lists what is left of all processes that have had this engine's
// state folder, living and dead ones.
func (e *Engine) RemainsHere(ctx context.Context) ([]string, error) {
	owners := filepath.Dir(e.owner.Label.Lock)
	return e.remains(ctx, func(t thing) bool { return t.kind == aWorkspace || filepath.Dir(t.lock()) == owners })
}

func (e *Engine) remains(ctx context.Context, whose func(thing) bool) ([]string, error) {
	all, err := e.things(ctx)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, t := range all {
		if whose(t) {
			left = append(left, string(t.kind)+" "+t.name)
		}
	}
	return left, nil
}
