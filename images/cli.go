package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// cliJob is what the building of a command line's layer needs to know.
type cliJob struct {
	namedCLI
	layer  layer
	parent string
}

// cliLayer returns the layer of a command line on top of parent.
func (b *Builder) cliLayer(cli namedCLI, parent layer) (layer, error) {
	l := layer{
		what:    fmt.Sprintf("%s %s from its registry", cli.name, cli.Version),
		seconds: cli.Seconds,
		checks:  cli.Checks,
		env:     cli.Env,
	}
	var build func(context.Context, site, cliJob) (string, error)
	var err error
	switch {
	case cli.Npm != "" && !cli.unpinned:
		build = b.buildTree
		l.digest, err = treeDigest(cli, b.arch, parent.digest)
	case cli.Npm != "" || cli.Pip != "":
		return b.installedLayer(cli, l, parent)
	default:
		build = b.buildPackage
		l.digest, err = packageDigest(cli, b.arch, parent.digest)
	}
	l.build = func(ctx context.Context, s site, parent string) (string, error) {
		return build(ctx, s, cliJob{cli, l, parent})
	}
	return l, err
}

// packageDigest covers what decides on a layer that is one npm package.
func packageDigest(cli namedCLI, arch, parent string) (string, error) {
	pkg, ok := cli.Packages[arch]
	if !ok {
		return "", &Error{
			What: fmt.Sprintf("there is no %s for the engine's architecture %s", cli.name, arch),
			Hint: "use an engine on amd64 or arm64",
		}
	}
	parts := []string{"cli/1", parent, pkg.Name, cli.Version, pkg.Integrity, cli.Dir}
	if pkg.Suffix != "" || pkg.Strip != "" || len(cli.Keep) > 0 {
		parts = append(parts, pkg.Suffix, pkg.Strip, strings.Join(cli.Keep, " "))
	}
	return digestOf(parts...), nil
}

// treeDigest covers what decides on a layer that is a tree of npm packages.
func treeDigest(cli namedCLI, arch, parent string) (string, error) {
	lock, err := npmLockOf(cli.name)
	if err != nil {
		return "", err
	}
	parts := []string{"tree/1", parent, cli.Dir, strings.Join(cli.Drop, " ")}
	for _, p := range lock.wanted(arch) {
		parts = append(parts, p.path, p.Name, p.version, p.Integrity)
	}
	for _, name := range slices.Sorted(maps.Keys(cli.Files)) {
		parts = append(parts, name, cli.Files[name])
	}
	return digestOf(parts...), nil
}

// installedLayer is the layer of a command line that a package manager installs
// in a container: a Python package, or another version of an npm tree.
func (b *Builder) installedLayer(cli namedCLI, l layer, parent layer) (layer, error) {
	st, how := steps{dir: cli.Dir, files: cli.Files}, cli.Npm
	if cli.Npm != "" {
		st.npm = []string{cli.Npm + "@" + cli.Version}
	} else {
		how = cli.Pip
		st.pip, st.pinned = cli.Pip+"=="+cli.Version, !cli.unpinned
		if st.pinned {
			var err error
			if st.pip, err = requirementsOf(cli.name); err != nil {
				return layer{}, err
			}
		}
	}
	pinned := ""
	if st.pinned {
		pinned = "by the sums of all files"
	}
	l.digest = st.digest(parent.digest)
	l.build = func(ctx context.Context, s site, parent string) (string, error) {
		if err := b.published(ctx, cli); err != nil {
			return "", err
		}
		job := stepsJob{steps: st, layer: l, parent: parent,
			how: fmt.Sprintf("%s %s (%s)", how, cli.Version, checkedBy(pinned))}
		if cli.Npm != "" {
			job.adds = []string{fmt.Sprintf("npm:%s=%s", cli.Npm, cli.Version)}
		}
		return b.buildSteps(ctx, s, job)
	}
	return l, nil
}

// published asks the registry for a version that no recipe pins, so that a
// missing one is an error of few words.
func (b *Builder) published(ctx context.Context, cli namedCLI) error {
	switch {
	case !cli.unpinned:
		return nil
	case cli.Npm != "":
		reg, err := newRegistry(npmBase(b.getenv), b.bundle)
		if err != nil {
			return err
		}
		_, err = reg.integrity(ctx, Package{Name: cli.Npm}, cli.Version)
		return err
	}
	index, err := newRegistry(pipIndex(b.getenv), b.bundle)
	if err != nil {
		return err
	}
	return index.publishedPython(ctx, cli.Pip, cli.Version)
}

// buildPackage puts an npm package's folder on top of the parent.
func (b *Builder) buildPackage(ctx context.Context, s site, job cliJob) (id string, err error) {
	pkg := job.Packages[b.arch]
	dir, err := b.temporary(job.layer)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	reg, err := newRegistry(npmBase(b.getenv), b.bundle)
	if err != nil {
		return "", err
	}
	file, err := reg.fetch(ctx, pkg, job.Version, dir)
	if err != nil {
		return "", err
	}
	tgz, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer tgz.Close()
	return b.stack(ctx, s, stacked{
		parent: job.parent, digest: job.layer.digest,
		write: func(w io.Writer) error {
			return unpack(w, tgz, part{dir: job.Dir, strip: pkg.Strip, keep: job.Keep})
		},
		adds:    fmt.Sprintf("npm:%s=%s", pkg.Name, job.Version),
		explain: fmt.Sprintf("%s %s (%s)", pkg.Name, job.Version, checkedBy(pkg.Integrity)),
	})
}

// checkedBy says what a package was checked against.
func checkedBy(pinned string) string {
	if pinned == "" {
		return "as the registry has it"
	}
	return "checked"
}
