package images

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// target is what a caller asks for.
type target struct {
	name    string // of the recipe, or of the own image
	version string // another one than the recipe's, or empty
	Recipe
	own *Custom // or nil
}

// String is the name by which it was asked for.
func (t target) String() string {
	if t.version != "" {
		return t.name + "@" + t.version
	}
	return t.name
}

// versionForm is what a version may look like that somebody asks for.
var versionForm = regexp.MustCompile(`^[0-9][0-9A-Za-z.-]{0,63}$`)

// target finds an image by name, or by NAME@VERSION.
func (b *Builder) target(asked string) (target, error) {
	name, version, at := strings.Cut(asked, "@")
	recipe, ok := b.recipes.Images[name]
	if !ok {
		return target{}, &Error{
			What: fmt.Sprintf("there is no image %q", name),
			Hint: "images are " + strings.Join(b.recipes.Names(), ", "),
		}
	}
	t := target{name: name, Recipe: recipe}
	switch {
	case !at:
		return t, nil
	case recipe.CLI == "":
		return target{}, &Error{
			What: fmt.Sprintf("image %s has no versions, so there is no %q", name, asked),
			Hint: "leave out the part from @ on",
		}
	case !versionForm.MatchString(version):
		return target{}, &Error{
			What: fmt.Sprintf("%q is no version that a registry could have", version),
			Hint: fmt.Sprintf("name a published one, such as %s@%s", name, b.recipes.CLIs[recipe.CLI].Version),
		}
	}
	if version != b.recipes.CLIs[recipe.CLI].Version {
		t.version = version
	}
	return t, nil
}

// Version returns what version of its command line an image has, "" for one
// without.
func (b *Builder) Version(name string) (string, error) {
	t, err := b.target(name)
	if err != nil || t.CLI == "" || t.version != "" {
		return t.version, err
	}
	return b.recipes.CLIs[t.CLI].Version, nil
}

// Names returns the names of the images that can be asked for, sorted.
func (b *Builder) Names() []string { return b.recipes.Names() }

// commandLines returns the command lines of a target, the lowest first: those
// that are needed, then its own in the version that is wanted.
func (b *Builder) commandLines(t target) []namedCLI {
	var list []namedCLI
	for name := t.CLI; name != ""; name = b.recipes.CLIs[name].Needs {
		cli := b.recipes.CLIs[name]
		if name == t.CLI && t.version != "" {
			cli = cli.as(t.version)
		}
		list = append(list, namedCLI{name, cli})
	}
	slices.Reverse(list)
	return list
}

type namedCLI struct {
	name string
	CLI
}

// as returns the recipe for another version, of which nothing is pinned.
func (c CLI) as(version string) CLI {
	old := c.Version
	c.Version, c.unpinned = version, true
	c.Packages = maps.Clone(c.Packages)
	for arch, p := range c.Packages {
		p.Integrity = ""
		c.Packages[arch] = p
	}
	c.Checks = slices.Clone(c.Checks)
	for i := range c.Checks {
		c.Checks[i].Prints = strings.ReplaceAll(c.Checks[i].Prints, old, version)
	}
	return c
}

// tagOf names a target's finished image.
func (b *Builder) tagOf(t target, chain []layer) string {
	tag := short(chain[len(chain)-1].digest)
	if t.version != "" {
		tag = t.version + "-" + tag
	}
	return b.namespace + "/" + t.name + ":" + tag
}

// nameOf is the name that an image of ours was asked for by.
func (b *Builder) nameOf(tag string) string {
	name, tag, _ := strings.Cut(strings.TrimPrefix(tag, b.namespace+"/"), ":")
	if i := strings.LastIndexByte(tag, '-'); i > 0 {
		name += "@" + tag[:i]
	}
	return name
}

// Lookup returns the image if it is there, and builds nothing.
func (b *Builder) Lookup(ctx context.Context, name string) (Image, bool, error) {
	t, err := b.target(name)
	if err != nil {
		return Image{}, false, err
	}
	return b.lookup(ctx, t)
}

// Ensure returns the image of that name, or NAME@VERSION for another version of
// its command line, built now if it is not there. Another version is the
// registry's word, not pinned. Its errors are *Error or wrap the context's.
func (b *Builder) Ensure(ctx context.Context, name string) (Image, error) {
	t, err := b.target(name)
	if err != nil {
		return Image{}, err
	}
	return b.ensure(ctx, t)
}
