package images

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

// Labels of our images.
const (
	labelRecipe   = "cabra.recipe"   // digest of the layer and all below it
	labelPackages = "cabra.packages" // name=version, by spaces
	labelBase     = "cabra.base"     // "pull", "bootstrap" or an image's name
	labelHow      = "cabra.how"      // for people
	labelOwn      = "cabra.own"      // of own images and their layers: the relay that they get
)

// Our tags are in repositories NAMESPACE/IMAGE and NAMESPACE/layer.
const (
	defaultNamespace = "cabra-run"
	layerName        = "layer"
)

// layer is one step of making an image.
type layer struct {
	digest  string // of everything that decides on its content, and of all layers below
	what    string // for the log
	seconds int    // rough time of a build
	checks  []Check
	env     []string // of the checks
	build   func(ctx context.Context, s site, parent string) (imageID string, err error)
	step    string // for the log, set by the caller
}

// chain returns the layers of an image, the lowest first.
func (b *Builder) chain(t target, from origin) ([]layer, error) {
	layers, err := b.lowerLayers(t, from)
	if err != nil || !t.Relay {
		return layers, err
	}
	relay, err := b.relayLayer(layers[len(layers)-1], t.own != nil)
	return append(layers, relay), err
}

// lowerLayers are those below the relay.
func (b *Builder) lowerLayers(t target, from origin) ([]layer, error) {
	if t.own != nil && t.own.Existing != "" {
		return []layer{b.adoptLayer(from)}, nil
	}
	system, err := b.systemLayer(b.recipes.Systems[t.System], from)
	if err != nil {
		return nil, err
	}
	lines := b.commandLines(t)
	if t.own != nil {
		lines = b.ownLines(t)
	}
	layers := []layer{system}
	for _, cli := range lines {
		l, err := b.cliLayer(cli, layers[len(layers)-1])
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	if t.own != nil {
		l, err := b.ownLayer(t, from, layers[len(layers)-1])
		return append(layers, l), err
	}
	return layers, nil
}

// digestOf hashes parts so that no two different lists give the same input.
func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func short(digest string) string { return digest[:12] }

func (b *Builder) layerTag(l layer) string {
	return b.tagOf(target{name: layerName}, []layer{l})
}

// systemVersion changes when the same recipe gives another system.
const systemVersion = "system/1"

func (b *Builder) systemLayer(sys System, from origin) (layer, error) {
	passwd, group := accounts(sys.Guests)
	kept := ""
	if b.keepsCA(sys) {
		pem, err := os.ReadFile(b.bundle)
		if err != nil {
			return layer{}, &Error{What: "reading the CA bundle", Hint: "name a readable PEM file", Err: err}
		}
		kept = string(pem)
	}
	l := layer{
		digest: digestOf(systemVersion, b.arch, sys.Release, sys.Image, strings.Join(sys.Packages, " "),
			from.kind, from.id, passwd, group, kept, installScript,
			strings.Join(emptied, " "), strings.Join(blanked, " ")),
		what:    fmt.Sprintf("Debian %s with %d packages", sys.Release, len(sys.Packages)),
		seconds: sys.Seconds,
		checks:  sys.Checks,
	}
	if from.kind == fromImage {
		l.checks = anyVersion(sys.Checks) // its owner decides on the versions
	}
	l.build = func(ctx context.Context, s site, _ string) (string, error) {
		return b.buildSystem(ctx, s, systemJob{System: sys, layer: l, from: from, keptCA: kept})
	}
	return l, nil
}

// anyVersion returns checks that only want the commands to work.
func anyVersion(checks []Check) []Check {
	var loose []Check
	for _, c := range checks {
		loose = append(loose, Check{Run: c.Run})
	}
	return loose
}

// keepsCA: only agents' systems have certificates at all.
func (b *Builder) keepsCA(sys System) bool { return b.opts.KeepCA && sys.Guests }

func (b *Builder) relayLayer(parent layer, own bool) (layer, error) {
	program, err := RelayBinary(b.arch)
	if err != nil {
		return layer{}, err
	}
	l := layer{
		digest:  digestOf("relay/1", parent.digest, string(program)),
		what:    "the relay",
		seconds: 2,
	}
	l.build = func(ctx context.Context, s site, parent string) (string, error) {
		labels := map[string]string{}
		if own {
			labels[labelOwn] = ownMark(program)
		}
		return b.stack(ctx, s, stacked{
			parent: parent, digest: l.digest, labels: labels,
			write: func(w io.Writer) error { return writeRelay(w, program) },
		})
	}
	return l, nil
}

// site names the place where a layer is built: the same key for everybody who
// would take the same lock, and for nobody else.
func (b *Builder) site(l layer) site {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = nil // not Linux: the state folder alone must do
	}
	return site{api: b.api, key: short(digestOf(string(boot), b.state, l.digest))}
}
