package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"
)

// registryMemory is how long other processes believe that no registry answers.
const registryMemory = time.Hour

const fromImage = "image" // the origin of a system whose base was named

// origin is where a system comes from.
type origin struct {
	kind  string // BasePull, BaseBootstrap or fromImage
	image string // the given image's name, for fromImage
	id    string // its ID
}

func (o origin) name() string {
	if o.image != "" {
		return o.image
	}
	return o.kind
}

// baseImage is what a system is built on.
type baseImage struct {
	id  string
	how string
}

// origins returns what an image may come from, in order of preference. A base
// that the engine does not have is pulled, or left out.
func (b *Builder) origins(ctx context.Context, t target, mayPull bool) ([]origin, error) {
	sys := b.recipes.Systems[t.System]
	switch base := b.opts.Base; {
	case t.own != nil && t.own.Existing != "":
		return b.named(ctx, t.own.Existing, mayPull)
	case base == BasePull, base == BaseBootstrap:
		return []origin{{kind: base}}, nil
	case base == BaseAuto, !sys.Guests:
		return []origin{{kind: BasePull}, {kind: BaseBootstrap}}, nil
	default:
		return b.named(ctx, base, mayPull)
	}
}

// named returns an image that somebody named, or nothing.
func (b *Builder) named(ctx context.Context, ref string, mayPull bool) ([]origin, error) {
	id, _, err := b.local(ctx, ref)
	if err != nil {
		return nil, err
	}
	if id == "" && !mayPull {
		return nil, nil
	}
	if id == "" {
		b.logf("pulling %s", ref)
		if id, err = b.pull(ctx, ref); err != nil {
			return nil, err
		}
	}
	return []origin{{kind: fromImage, image: ref, id: id}}, nil
}

// origin decides where a new image comes from: the kind whose system is built
// already, else the registry where one answers, else a bootstrap.
func (b *Builder) origin(ctx context.Context, t target) (origin, error) {
	list, err := b.origins(ctx, t, true)
	if err != nil {
		return origin{}, err
	}
	if len(list) == 1 {
		return list[0], nil
	}
	sys := b.recipes.Systems[t.System]
	for _, from := range list {
		l, err := b.systemLayer(sys, from)
		if err != nil {
			return origin{}, err
		}
		if _, ok, err := b.inspect(ctx, "", b.layerTag(l)); ok || err != nil {
			return from, err
		}
	}
	if err := b.pullOnce(ctx, sys.Image); err != nil {
		if ctx.Err() != nil {
			return origin{}, err
		}
		return origin{kind: BaseBootstrap}, nil
	}
	return origin{kind: BasePull}, nil
}

// base provides the image that a system is built on; release removes it if it
// was made for this purpose only.
func (b *Builder) base(ctx context.Context, job systemJob) (_ baseImage, release func() error, _ error) {
	nothing := func() error { return nil }
	switch job.from.kind {
	case BaseBootstrap:
		id, err := b.bootstrap(ctx, job)
		how := fmt.Sprintf("debootstrap %s (minbase)", job.Release)
		if job.Without != "" {
			how += "; " + job.Without
		}
		return baseImage{id, how}, func() error { return removeImage(ctx, b.api, id) }, err
	case BasePull:
		if err := b.pullOnce(ctx, job.Image); err != nil {
			return baseImage{}, nothing, err
		}
		id, digest, err := b.local(ctx, job.Image)
		return baseImage{id, strings.TrimSpace("pulled " + job.Image + " " + digest)}, nothing, err
	default:
		return baseImage{job.from.id, "image " + job.from.image + " " + job.from.id}, nothing, nil
	}
}

// local returns the ID and the registry digest of an image that the engine has, or "".
func (b *Builder) local(ctx context.Context, ref string) (id, digest string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := b.api.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", explain("looking for image "+ref, err, "")
	}
	if len(info.RepoDigests) > 0 {
		_, digest, _ = strings.Cut(info.RepoDigests[0], "@")
	}
	return info.ID, digest, nil
}

// pullOnce pulls an image that the engine does not have. A failure is
// remembered, here for good and in the state folder for other processes.
func (b *Builder) pullOnce(ctx context.Context, ref string) error {
	if id, _, err := b.local(ctx, ref); id != "" || err != nil {
		return err
	}
	select {
	case b.pulling <- struct{}{}:
		defer func() { <-b.pulling }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for another pull: %w", ctx.Err())
	}
	host := registryHost(ref)
	if err := b.registries[host]; err != nil {
		return err
	}
	note := filepath.Join(b.state, "no-registry-"+short(digestOf(b.endpoint, host)))
	if b.opts.Base == BaseAuto {
		if err := readNote(note); err != nil {
			return b.noRegistry(host, err)
		}
	}
	b.logf("pulling %s", ref)
	_, err := b.pull(ctx, ref)
	if err == nil || ctx.Err() != nil {
		return err
	}
	err = b.noRegistry(host, err)
	return errors.Join(err, os.WriteFile(note, []byte(oneLine(err.Error())+"\n"), 0o600))
}

// noRegistry remembers that nothing can be pulled from host, and says so once.
// The caller holds the token of b.pulling.
func (b *Builder) noRegistry(host string, err error) error {
	b.registries[host] = err
	if b.opts.Base == BaseAuto {
		b.logf("nothing can be pulled from %s, so Debian is bootstrapped (%v)", host, err)
	}
	return err
}

// readNote returns the failure that another process noted a short while ago.
func readNote(file string) error {
	info, err := os.Stat(file)
	if err != nil || time.Since(info.ModTime()) > registryMemory {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // then it is tried again
	}
	return errors.New(oneLine(string(text)))
}

// registryHost is the part of an image's name that says where it lies.
func registryHost(ref string) string {
	host, _, ok := strings.Cut(ref, "/")
	if ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return host
	}
	return "docker.io"
}

// pull has the engine fetch an image and returns its ID. It gives up when the
// registry does not answer at all, or stops sending.
func (b *Builder) pull(ctx context.Context, ref string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(b.answer, func() { cancel(errors.New("the registry does not answer")) })
	defer silent.Stop()
	failed := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("pulling %s: %w", ref, err)
		}
		return &Error{What: "pulling " + ref, Err: err,
			Hint: "check the engine's network, or use --base bootstrap or --base IMAGE"}
	}
	answer, err := b.api.ImagePull(ctx, ref, image.PullOptions{Platform: "linux/" + b.arch})
	if err != nil {
		return "", failed(err)
	}
	defer answer.Close()
	if err := messages(answer, func(jsonmessage.JSONMessage) { silent.Reset(b.stall) }); err != nil {
		return "", failed(err)
	}
	id, _, err := b.local(ctx, ref)
	if err == nil && id == "" {
		err = failed(errors.New("the engine does not have it afterwards"))
	}
	return id, err
}

// messages reads an engine's stream of progress messages to its end; an error
// message ends it.
func messages(r io.Reader, each func(jsonmessage.JSONMessage)) error {
	dec := json.NewDecoder(r)
	for {
		var m jsonmessage.JSONMessage
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != nil {
			return m.Error
		}
		each(m)
	}
}
