package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// List returns the images of ours that the engine has, those of other versions
// of this program too, by name and then the newest first.
func (b *Builder) List(ctx context.Context) ([]Image, error) {
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	tags, err := b.tags(ctx)
	if err != nil {
		return nil, err
	}
	current, err := b.currentTags(ctx, tags)
	if err != nil {
		return nil, err
	}
	var list []Image
	for _, tag := range tags {
		name := b.nameOf(tag)
		if name == layerName {
			continue
		}
		img, ok, err := b.inspect(ctx, name, tag)
		if err != nil {
			return nil, err
		}
		if ok && img.Recipe != "" {
			img.Current = slices.Contains(current, tag)
			list = append(list, img)
		}
	}
	slices.SortStableFunc(list, func(a, b Image) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Created, a.Created))
	})
	return list, nil
}

// tags returns our tags on the engine.
func (b *Builder) tags(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := b.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(
		filters.Arg("reference", b.namespace+"/*"), filters.Arg("label", labelRecipe))})
	if err != nil {
		return nil, explain("listing images", err, "")
	}
	var tags []string
	for _, i := range list {
		for _, tag := range i.RepoTags {
			if strings.HasPrefix(tag, b.namespace+"/") {
				tags = append(tags, tag)
			}
		}
	}
	return tags, nil
}

// currentTags are those that this program would make or use, wherever its
// systems come from: all that it makes unasked, and those of the tags in present
// that it would make if asked for.
func (b *Builder) currentTags(ctx context.Context, present []string) ([]string, error) {
	var tags []string
	for _, name := range b.wantedNames(present) {
		t, err := b.target(name)
		if err != nil {
			continue // of another version of this program
		}
		origins, err := b.origins(ctx, t, false)
		if err != nil {
			return nil, err
		}
		if b.opts.Base != BaseAuto {
			origins = append(origins, origin{kind: BasePull}, origin{kind: BaseBootstrap})
		}
		for _, from := range origins {
			chain, err := b.chain(t, from)
			if err != nil {
				return nil, err
			}
			tags = append(tags, b.tagOf(t, chain))
			for _, l := range chain {
				tags = append(tags, b.layerTag(l))
			}
		}
	}
	own, err := b.currentOwn(ctx, present)
	return append(tags, own...), err
}

// wantedNames are the names of the recipes, and of the other versions in present.
func (b *Builder) wantedNames(present []string) []string {
	names := b.recipes.Names()
	for _, tag := range present {
		if name := b.nameOf(tag); strings.Contains(name, "@") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// currentOwn are those tags of own images and their layers that hold this
// program's relay: whether their recipes still exist is not known here.
func (b *Builder) currentOwn(ctx context.Context, present []string) ([]string, error) {
	program, err := RelayBinary(b.arch)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := b.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelOwn+"="+ownMark(program)))})
	if err != nil {
		return nil, explain("listing images", err, "")
	}
	var tags []string
	for _, i := range list {
		tags = append(tags, i.RepoTags...)
	}
	return slices.DeleteFunc(tags, func(t string) bool { return !slices.Contains(present, t) }), nil
}

// pruneUnfinished removes untagged images of builds that died. Young ones may
// belong to a build that is still going on.
func (b *Builder) pruneUnfinished(ctx context.Context) error {
	listing, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := b.api.ImageList(listing, image.ListOptions{Filters: filters.NewArgs(
		filters.Arg("dangling", "true"), filters.Arg("label", labelRecipe))})
	if err != nil {
		return fmt.Errorf("listing unfinished images: %w", err)
	}
	var failed []error
	for _, i := range list {
		if time.Since(time.Unix(i.Created, 0)) > layerTime+cleanupTime {
			failed = append(failed, removeImage(ctx, b.api, i.ID))
		}
	}
	return errors.Join(failed...)
}
