package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
)

// PruneOptions say what Prune removes. The zero value removes everything of
// ours that this program would not make.
type PruneOptions struct {
	// All removes the current images too. Those that a container uses stay.
	All bool
	// Keep spares the newest versions of each image, so many with the current
	// one; 0 and 1 spare none of those that are out of date.
	Keep int
	// OlderThan spares what was made more recently.
	OlderThan time.Duration
	// Layers removes the layers that no remaining image consists of whatever
	// their age; they make the next build faster.
	Layers bool
	// DryRun removes nothing.
	DryRun bool
}

// Pruned is what Prune removed, or would have.
type Pruned struct {
	Images []Image `json:"images"`
	Layers int     `json:"layers"` // tags of layers
	InUse  []Image `json:"in_use"` // that a container uses, and therefore stay
	// Bytes is what became free on the engine's disk; with DryRun what would
	// at least.
	Bytes int64 `json:"bytes"`
}

// diskTime bounds the engine's counting of what it holds, which reads whole
// trees.
const diskTime = 5 * time.Minute

// Prune removes images of ours by a policy. What could not be removed is part
// of the error.
func (b *Builder) Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	p, err := b.planPrune(ctx, o)
	if err != nil {
		return Pruned{}, err
	}
	before, err := b.disk(ctx)
	if err != nil {
		return Pruned{}, err
	}
	result := Pruned{InUse: p.inUse}
	if o.DryRun {
		result.Images, result.Layers, result.Bytes = p.images, len(p.layers), before.alone(p.ids())
		return result, nil
	}
	failed := b.remove(ctx, p, &result)
	if len(p.images)+len(p.layers) > 0 {
		if after, err := b.disk(ctx); err == nil {
			result.Bytes = max(0, before.layers-after.layers)
		}
	}
	if failed != nil {
		return result, &Error{What: "removing images", Err: failed, Hint: "remove the containers that use them first"}
	}
	return result, nil
}

// prunePlan is what is to be removed.
type prunePlan struct {
	images []Image
	layers []Image
	inUse  []Image
}

func (p prunePlan) ids() map[string]bool {
	ids := map[string]bool{}
	for _, img := range slices.Concat(p.images, p.layers) {
		ids[img.ID] = true
	}
	return ids
}

// planPrune applies the policy.
func (b *Builder) planPrune(ctx context.Context, o PruneOptions) (prunePlan, error) {
	list, err := b.List(ctx)
	if err != nil {
		return prunePlan{}, err
	}
	used, err := b.usedImages(ctx)
	if err != nil {
		return prunePlan{}, err
	}
	var p prunePlan
	kept := map[string]bool{}
	seen := map[string]int{} // versions of each recipe, the newest first
	slices.SortStableFunc(list, func(x, y Image) int {
		return cmp.Or(-compareBool(x.Current, y.Current), -cmp.Compare(made(x).UnixNano(), made(y).UnixNano()))
	})
	for _, img := range list {
		recipe, _, _ := strings.Cut(img.Name, "@")
		seen[recipe]++
		switch {
		case !o.All && (img.Current || seen[recipe] <= o.Keep || young(img, o.OlderThan)):
			kept[img.ID] = true
		case used[img.ID]:
			kept[img.ID] = true
			p.inUse = append(p.inUse, img)
		default:
			p.images = append(p.images, img)
		}
	}
	p.layers, err = b.planLayers(ctx, o, kept)
	return p, err
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// planLayers lists the layers to be removed: those that are neither current nor
// the top of an image that stays. The engine keeps what lies below such a top
// in any case.
func (b *Builder) planLayers(ctx context.Context, o PruneOptions, kept map[string]bool) ([]Image, error) {
	tags, err := b.tags(ctx)
	if err != nil {
		return nil, err
	}
	var current []string
	if !o.All {
		if current, err = b.currentTags(ctx, tags); err != nil {
			return nil, err
		}
	}
	var layers []Image
	for _, tag := range tags {
		if b.nameOf(tag) != layerName || slices.Contains(current, tag) {
			continue
		}
		img, ok, err := b.inspect(ctx, layerName, tag)
		if err != nil {
			return nil, err
		}
		if ok && !kept[img.ID] && (o.All || o.Layers || !young(img, o.OlderThan)) {
			layers = append(layers, img)
		}
	}
	return layers, nil
}

// made is when an image was built; the zero time when it does not tell.
func made(img Image) time.Time {
	t, err := time.Parse(time.RFC3339Nano, img.Created)
	if err != nil {
		return time.Time{}
	}
	return t
}

func young(img Image, limit time.Duration) bool {
	return limit > 0 && time.Since(made(img)) < limit
}

// usedImages are the IDs of images that containers were made from, whoever's
// they are and running or not.
func (b *Builder) usedImages(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := b.api.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, explain("listing containers", err, "")
	}
	used := map[string]bool{}
	for _, c := range list {
		used[c.ImageID] = true
	}
	return used, nil
}

// remove carries the plan out and notes in result what it has removed.
func (b *Builder) remove(ctx context.Context, p prunePlan, result *Pruned) error {
	var failed []error
	for _, img := range p.images {
		if err := removeImage(ctx, b.api, img.Tag); err != nil {
			failed = append(failed, err)
			continue
		}
		result.Images = append(result.Images, img)
	}
	for _, img := range p.layers {
		if err := removeImage(ctx, b.api, img.Tag); err != nil {
			failed = append(failed, err)
			continue
		}
		result.Layers++
	}
	return errors.Join(append(failed, b.pruneUnfinished(ctx))...)
}

// diskUse is what the engine's images take.
type diskUse struct {
	layers int64            // all of them together
	single map[string]int64 // what an image has to itself, by ID
}

// alone is what these images have to themselves. What only they share comes on
// top of it.
func (d diskUse) alone(ids map[string]bool) (sum int64) {
	for id := range ids {
		sum += d.single[id]
	}
	return sum
}

func (b *Builder) disk(ctx context.Context) (diskUse, error) {
	ctx, cancel := context.WithTimeout(ctx, diskTime)
	defer cancel()
	u, err := b.api.DiskUsage(ctx, types.DiskUsageOptions{Types: []types.DiskUsageObject{types.ImageObject}})
	if err != nil {
		return diskUse{}, explain("asking the engine what it holds", err, "")
	}
	d := diskUse{layers: u.LayersSize, single: map[string]int64{}}
	for _, img := range u.Images {
		if img == nil {
			return d, fmt.Errorf("the engine lists an empty image")
		}
		d.single[img.ID] = max(0, img.Size-max(0, img.SharedSize))
	}
	return d, nil
}
