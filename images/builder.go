package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
)

// Values of Options.Base beside an image's name.
const (
	BasePull      = "pull"      // the recipe's image from a registry, or fail
	BaseBootstrap = "bootstrap" // debootstrap, or fail
	BaseAuto      = ""          // pull, and bootstrap where no registry answers
)

// Options of a Builder. The zero value works.
type Options struct {
	Host string // the engine; "" is DOCKER_HOST or the default socket
	// Base says where systems come from: BaseAuto, BasePull, BaseBootstrap, or
	// a Debian image for agents (the scorer's system is then as with BaseAuto).
	Base     string
	CABundle string // PEM file that builds trust; "" is the host's when it has certificates of its own
	KeepCA   bool   // agents' images trust the bundle as well
	StateDir string // locks and temporary files; "" is a folder in the user's cache
	// Log gets a line before anything that takes long; nil drops it.
	Log func(line string)
}

// Image is a finished image.
type Image struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"`  // use this
	Tag      string   `json:"tag"` // for people
	Bytes    int64    `json:"bytes"`
	Packages []string `json:"packages"` // name=version, sorted
	Recipe   string   `json:"recipe"`   // digest
	Base     string   `json:"base"`     // "pull", "bootstrap" or an image's name
	How      string   `json:"how"`      // where its parts came from
	Current  bool     `json:"current"`  // what this program would build
	Created  string   `json:"created"`
}

// Builder makes images on one engine. Its methods may be called from several goroutines.
type Builder struct {
	opts    Options
	recipes Recipes
	state   string
	bundle  string
	getenv  func(string) string
	patience
	namespace string // of tags

	mu       sync.Mutex // guards the making of what follows, which then stays
	api      *client.Client
	arch     string
	endpoint string

	pulling    chan struct{}    // holds one token while somebody pulls; guards registries
	registries map[string]error // host → why nothing can be pulled from it
}

// patience is how long registries get. A missing one is often a packet that
// nobody answers, so its first sign of life is waited for separately.
type patience struct{ answer, stall time.Duration }

// New returns a Builder. The engine is looked for when it is first needed.
func New(o Options) (*Builder, error) { return newBuilder(o, os.Getenv) }

func newBuilder(o Options, getenv func(string) string) (*Builder, error) {
	recipes, err := Embedded()
	if err != nil {
		return nil, err
	}
	b := &Builder{
		opts: o, recipes: recipes, getenv: getenv, patience: patience{10 * time.Second, 2 * time.Minute},
		namespace: defaultNamespace, pulling: make(chan struct{}, 1), registries: map[string]error{},
	}
	if b.state, err = stateDir(o.StateDir); err != nil {
		return nil, err
	}
	b.bundle = o.CABundle
	if b.bundle == "" {
		b.bundle = hostBundle(getenv)
	} else if !isFile(b.bundle) {
		return nil, &Error{What: fmt.Sprintf("CA bundle %q is not a file", b.bundle), Hint: "name a PEM file"}
	}
	if o.KeepCA && b.bundle == "" {
		return nil, &Error{What: "there is no CA bundle to keep in the images", Hint: "name one"}
	}
	return b, nil
}

func stateDir(dir string) (string, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = filepath.Join(os.TempDir(), fmt.Sprintf("cabra-run-%d", os.Getuid()))
		}
		dir = filepath.Join(cache, "cabra-run")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "images"))
	if err != nil {
		return "", err
	}
	if err := sandbox.PrivateDir(dir); err != nil {
		return "", &Error{What: "making the folder for builds", Hint: "name a writable state folder", Err: err}
	}
	return dir, nil
}

// Close gives up the connection to the engine.
func (b *Builder) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.api == nil {
		return nil
	}
	return b.api.Close()
}

// ensure builds a target where it is not there.
func (b *Builder) ensure(ctx context.Context, t target) (Image, error) {
	found, ok, err := b.lookup(ctx, t)
	if err != nil || ok {
		return found, err
	}
	from, err := b.origin(ctx, t)
	if err != nil {
		return Image{}, err
	}
	chain, err := b.chain(t, from)
	if err != nil {
		return Image{}, err
	}
	id := ""
	for i, l := range chain {
		l.step = fmt.Sprintf("image %s, step %d of %d", t, i+1, len(chain))
		if id, err = b.ensureLayer(ctx, l, id); err != nil {
			return Image{}, explain("building image "+t.String(), err, "")
		}
	}
	tag := b.tagOf(t, chain)
	if err := b.api.ImageTag(ctx, id, tag); err != nil {
		return Image{}, explain("tagging "+tag, err, "")
	}
	found, ok, err = b.inspect(ctx, t.String(), tag)
	if err == nil && !ok {
		err = &Error{What: fmt.Sprintf("image %s was removed while it was made", tag), Hint: "try again"}
	}
	return found, err
}

// EnsureAll returns several images, in the order of their names, built side by
// side where they must be built. The first failure ends the other builds.
func (b *Builder) EnsureAll(ctx context.Context, names ...string) ([]Image, error) {
	list := make([]Image, len(names))
	g, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		g.Go(func() (err error) {
			list[i], err = b.Ensure(ctx, name)
			return err
		})
	}
	return list, g.Wait()
}

// lookup returns a target's image if it is there.
func (b *Builder) lookup(ctx context.Context, t target) (Image, bool, error) {
	if err := b.connect(ctx); err != nil {
		return Image{}, false, err
	}
	origins, err := b.origins(ctx, t, false)
	if err != nil {
		return Image{}, false, err
	}
	for _, from := range origins {
		chain, err := b.chain(t, from)
		if err != nil {
			return Image{}, false, err
		}
		if img, ok, err := b.inspect(ctx, t.String(), b.tagOf(t, chain)); ok || err != nil {
			return img, ok, err
		}
	}
	return Image{}, false, nil
}

// connect makes the connection on its first call, and tries again after a failure.
func (b *Builder) connect(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.api != nil {
		return nil
	}
	api, endpoint, err := docker.Connect(ctx, b.opts.Host)
	if err != nil {
		return explain("looking for an engine", err, "")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	version, err := api.ServerVersion(ctx)
	if err != nil {
		return errors.Join(explain("asking the engine at "+endpoint, err, ""), api.Close())
	}
	b.api, b.arch, b.endpoint = api, version.Arch, endpoint
	return nil
}

// inspect returns the image with that tag, if it is there.
func (b *Builder) inspect(ctx context.Context, name, tag string) (Image, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := b.api.ImageInspect(ctx, tag)
	if errdefs.IsNotFound(err) {
		return Image{}, false, nil
	}
	if err != nil {
		return Image{}, false, explain("looking for image "+tag, err, "")
	}
	return describe(name, tag, info), true, nil
}

// describe reads what the build wrote into an image's labels.
func describe(name, tag string, info image.InspectResponse) Image {
	img := Image{Name: name, ID: info.ID, Tag: tag, Bytes: info.Size, Created: info.Created, Current: true}
	if info.Config != nil {
		labels := info.Config.Labels
		img.Recipe, img.Base, img.How = labels[labelRecipe], labels[labelBase], labels[labelHow]
		img.Packages = strings.Fields(labels[labelPackages])
	}
	return img
}

// ensureLayer returns the image of a layer, built by whoever takes its lock first.
func (b *Builder) ensureLayer(ctx context.Context, l layer, parent string) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, layerTime)
	defer cancel()
	unlock, err := lock(ctx, b.state, short(l.digest))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	tag := b.layerTag(l)
	if img, ok, err := b.inspect(ctx, "", tag); ok || err != nil {
		return img.ID, err
	}
	b.logf("building %s: %s (about %d s, once)", l.step, l.what, l.seconds)
	s := b.site(l)
	if err := errors.Join(s.sweep(ctx), b.pruneUnfinished(ctx)); err != nil {
		return "", err
	}
	if id, err = l.build(ctx, s, parent); err != nil {
		return "", err
	}
	if err := b.finish(ctx, s, l, id); err != nil {
		return "", errors.Join(err, removeImage(ctx, b.api, id))
	}
	// Somebody with another state folder may have been faster: their image is
	// the one that stays.
	img, _, err := b.inspect(ctx, "", tag)
	return img.ID, err
}

// finish checks a new layer's image and gives it its tag, unless that is taken.
func (b *Builder) finish(ctx context.Context, s site, l layer, id string) error {
	for _, c := range l.checks {
		if err := check(ctx, s, id, c, l.env); err != nil {
			return err
		}
	}
	tag := b.layerTag(l)
	if _, taken, err := b.inspect(ctx, "", tag); err != nil {
		return err
	} else if taken {
		return removeImage(ctx, b.api, id)
	}
	if err := b.api.ImageTag(ctx, id, tag); err != nil {
		return fmt.Errorf("tagging %s: %w", tag, err)
	}
	return nil
}

func (b *Builder) logf(format string, args ...any) {
	if b.opts.Log != nil {
		b.opts.Log(fmt.Sprintf(format, args...))
	}
}

// removeImage removes an image by ID, also after ctx was cancelled.
func removeImage(ctx context.Context, api *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	_, err := api.ImageRemove(ctx, id, image.RemoveOptions{PruneChildren: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("removing image %.19s: %w", id, err)
	}
	return nil
}

// temporary makes a folder for the holder of a layer's lock, after removing what
// an earlier holder left when it died.
func (b *Builder) temporary(l layer) (string, error) {
	pattern := "tmp-" + short(l.digest) + "-"
	left, err := filepath.Glob(filepath.Join(b.state, pattern+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("removing what an earlier build left: %w", err)
		}
	}
	return os.MkdirTemp(b.state, pattern)
}
