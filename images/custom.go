package images

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cabra-run/sandbox"
)

// Custom is the recipe of an image for somebody's own agent: Existing alone, or
// the rest.
type Custom struct {
	Name     string // of the agent
	Existing string // an image that the engine has, by name or ID; it gets the relay and the boxes' accounts
	Base     string // image of ours that the steps build on, NAME or NAME@VERSION; "" is "base"

	// The steps, in this order. npm's packages come with Node in /opt/node and
	// lie in /opt/NAME/node_modules; pip's lie in a virtual environment /opt/NAME.
	Apt  []string // Debian packages, NAME or NAME=VERSION
	Npm  []string // npm packages, NAME@VERSION
	Pip  []string // Python packages, NAME==VERSION
	Copy []Copy   // files of this host
	Run  []string // lines for a shell, as root, with the network of builds

	baseVersion string // of Base
}

// Copy is a file or folder of this host that goes into an image.
type Copy struct {
	From string // path on this host
	To   string // absolute path in the image; where a folder's contents go
}

// ownPrefix sets the names of own images apart from ours.
const ownPrefix = "own-"

var (
	ownNameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	aptForm     = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]*(=[0-9][0-9A-Za-z.+:~-]*)?$`)
	npmForm     = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[0-9][0-9A-Za-z.+-]*$`)
	pipForm     = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*(\[[0-9A-Za-z._,-]+\])?==[0-9][0-9A-Za-z.+!-]*$`)
)

// EnsureRecipe returns the image of an own recipe, built now if it is not there.
// It is built again when the recipe, a copied file or what it builds on changes,
// not when a registry has something new. Its errors are *Error or wrap the context's.
func (b *Builder) EnsureRecipe(ctx context.Context, c Custom) (Image, error) {
	t, err := b.ownTarget(c)
	if err != nil {
		return Image{}, err
	}
	return b.ensure(ctx, t)
}

// LookupRecipe returns the image of an own recipe if it is there, and builds nothing.
func (b *Builder) LookupRecipe(ctx context.Context, c Custom) (Image, bool, error) {
	t, err := b.ownTarget(c)
	if err != nil {
		return Image{}, false, err
	}
	return b.lookup(ctx, t)
}

func (b *Builder) ownTarget(c Custom) (target, error) {
	if err := c.check(); err != nil {
		return target{}, &Error{What: fmt.Sprintf("the recipe of image %s", c.Name), Err: err}
	}
	if c.Existing != "" {
		return target{name: ownPrefix + c.Name, Recipe: Recipe{Relay: true}, own: &c}, nil
	}
	if c.Base == "" {
		c.Base = "base"
	}
	t, err := b.target(c.Base)
	if err != nil {
		return target{}, err
	}
	if !t.Relay {
		return target{}, &Error{
			What: fmt.Sprintf("the recipe of image %s builds on %s, which is not for agents", c.Name, c.Base),
			Hint: `build on "base", or on an agent's image`,
		}
	}
	c.baseVersion, t.version = t.version, ""
	t.name, t.own = ownPrefix+c.Name, &c
	return t, nil
}

// check refuses words that a package manager would read as something else.
func (c Custom) check() error {
	if !ownNameForm.MatchString(c.Name) {
		return fmt.Errorf("name %q: it takes small letters, digits and -, at most 32", c.Name)
	}
	for _, list := range []struct {
		words []string
		form  *regexp.Regexp
		what  string
	}{
		{c.Apt, aptForm, "a Debian package, NAME or NAME=VERSION"},
		{c.Npm, npmForm, "an npm package, NAME@VERSION"},
		{c.Pip, pipForm, "a Python package, NAME==VERSION"},
	} {
		for _, w := range list.words {
			if !list.form.MatchString(w) {
				return fmt.Errorf("%q is not %s", w, list.what)
			}
		}
	}
	steps := len(c.Apt) + len(c.Npm) + len(c.Pip) + len(c.Copy) + len(c.Run)
	if c.Existing != "" && (steps > 0 || c.Base != "") {
		return fmt.Errorf("an existing image gets no further steps")
	}
	for _, cp := range c.Copy {
		if err := cp.check(); err != nil {
			return err
		}
	}
	return nil
}

// boxOwn are folders that a box mounts over, or that are the relay's.
var boxOwn = []string{
	"/dev", "/proc", "/sys", "/run", "/tmp", "/home/agent", sandbox.WorkspaceDir, path.Dir(sandbox.RelayPath),
}

func (c Copy) check() error {
	if !path.IsAbs(c.To) || path.Clean(c.To) != c.To || c.To == "/" {
		return fmt.Errorf("copying to %q: a plain absolute path is needed", c.To)
	}
	inside := func(dir string) bool { return c.To == dir || strings.HasPrefix(c.To, dir+"/") }
	if slices.ContainsFunc(boxOwn, inside) {
		return fmt.Errorf("copying to %q: nothing that lies there is seen in a box", c.To)
	}
	return nil
}

// stepsOf are the steps of an own recipe.
func stepsOf(c Custom) (steps, error) {
	st := steps{
		dir: "/opt/" + c.Name, apt: c.Apt, npm: c.Npm, scripts: true,
		pip: strings.Join(c.Pip, "\n"), run: c.Run,
	}
	var err error
	st.copies, err = readCopies(c.Copy)
	return st, err
}

// ownLines are the command lines that an own recipe builds on.
func (b *Builder) ownLines(t target) []namedCLI {
	base := t
	base.version = t.own.baseVersion
	lines := b.commandLines(base)
	isNode := func(c namedCLI) bool { return c.name == "node" }
	if len(t.own.Npm) > 0 && !slices.ContainsFunc(lines, isNode) {
		lines = append(lines, namedCLI{"node", b.recipes.CLIs["node"]})
	}
	return lines
}

// ownLayer is the layer of an own recipe's steps.
func (b *Builder) ownLayer(t target, from origin, parent layer) (layer, error) {
	st, err := stepsOf(*t.own)
	if err != nil {
		return layer{}, err
	}
	l := layer{digest: st.digest(parent.digest), what: "the steps of " + t.own.Name, seconds: 60}
	l.build = func(ctx context.Context, s site, parent string) (string, error) {
		return b.buildSteps(ctx, s, stepsJob{
			steps: st, layer: l, parent: parent, own: true, from: from, release: b.recipes.Systems[t.System].Release,
			adds: t.own.packages(), how: "steps of the agent's own recipe (as the registries have it)",
		})
	}
	return l, nil
}

// packages are what a recipe asks for, for the package list; pip's are asked of pip.
func (c Custom) packages() []string {
	var list []string
	for _, p := range c.Apt {
		list = append(list, "apt:"+p)
	}
	for _, p := range c.Npm {
		at := strings.LastIndexByte(p, '@')
		list = append(list, "npm:"+p[:at]+"="+p[at+1:])
	}
	return list
}

// ownMark is what own images are labelled with: they are out of date when the
// relay is another one.
func ownMark(relay []byte) string { return short(digestOf(string(relay))) }
