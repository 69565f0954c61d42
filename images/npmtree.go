package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// fetchers is how many packages of a tree are fetched at a time.
const fetchers = 8

// npmLock is the part of a package-lock.json that says what is installed where.
// It names no addresses: what is fetched is checked by its sum.
type npmLock struct {
	LockfileVersion int                    `json:"lockfileVersion"`
	Packages        map[string]npmLockItem `json:"packages"` // by path below the tree's folder
}

type npmLockItem struct {
	Name      string   `json:"name"` // where it is not the last part of the path
	Version   string   `json:"version"`
	Integrity string   `json:"integrity"`
	Optional  bool     `json:"optional"`
	OS        []string `json:"os"`
	CPU       []string `json:"cpu"`
	Libc      []string `json:"libc"`
	Script    bool     `json:"hasInstallScript"`
	Bundled   bool     `json:"inBundle"` // comes with the package around it
}

// placedPackage is a package of a tree and where it goes.
type placedPackage struct {
	Package
	version string
	path    string // below the tree's folder
}

func parseNpmLock(text string) (npmLock, error) {
	var lock npmLock
	if err := json.Unmarshal([]byte(text), &lock); err != nil {
		return npmLock{}, fmt.Errorf("reading the lock of an npm tree: %w", err)
	}
	if lock.LockfileVersion != 3 {
		return npmLock{}, fmt.Errorf("reading the lock of an npm tree: version %d, not 3", lock.LockfileVersion)
	}
	for p, item := range lock.Packages {
		if !strings.HasPrefix(p, "node_modules/") || !filepath.IsLocal(p) || path.Clean(p) != p {
			return npmLock{}, fmt.Errorf("reading the lock of an npm tree: path %q", p)
		}
		if _, err := decodeIntegrity(item.Integrity); err != nil && !item.Bundled {
			return npmLock{}, fmt.Errorf("reading the lock of an npm tree: %q: %w", p, err)
		}
	}
	return lock, nil
}

// npmCPU is npm's word for a GOARCH.
func npmCPU(arch string) string {
	if arch == "amd64" {
		return "x64"
	}
	return arch
}

// wanted returns what of a lock is installed on Debian on that architecture, by
// path: not what is for other systems, nor what is optional and would run a
// program of its own to be installed (to compile something, mostly).
func (l npmLock) wanted(arch string) []placedPackage {
	var list []placedPackage
	for _, p := range slices.Sorted(maps.Keys(l.Packages)) {
		item := l.Packages[p]
		fits := allowed(item.OS, "linux") && allowed(item.CPU, npmCPU(arch)) && allowed(item.Libc, "glibc")
		if !fits || item.Bundled || item.Optional && item.Script {
			continue
		}
		name := item.Name
		if name == "" {
			name = p[strings.LastIndex(p, "node_modules/")+len("node_modules/"):]
		}
		list = append(list, placedPackage{Package{Name: name, Integrity: item.Integrity}, item.Version, p})
	}
	return list
}

// allowed reads npm's lists of systems: those named, or all but those with a !.
func allowed(list []string, have string) bool {
	named := false
	for _, word := range list {
		if word == "!"+have {
			return false
		}
		named = named || !strings.HasPrefix(word, "!")
	}
	return !named || slices.Contains(list, have)
}

// buildTree puts an npm package with all that it depends on, as its lock says,
// on top of the parent. Nothing of it runs.
func (b *Builder) buildTree(ctx context.Context, s site, job cliJob) (id string, err error) {
	lock, err := npmLockOf(job.name)
	if err != nil {
		return "", err
	}
	dir, err := b.temporary(job.layer)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	list := lock.wanted(b.arch)
	files, err := b.fetchAll(ctx, list, dir)
	if err != nil {
		return "", err
	}
	var adds []string
	for _, p := range list {
		adds = append(adds, fmt.Sprintf("npm:%s=%s", p.Name, p.version))
	}
	slices.Sort(adds)
	return b.stack(ctx, s, stacked{
		parent: job.parent, digest: job.layer.digest,
		write:   func(w io.Writer) error { return writeTree(w, job.CLI, list, files) },
		adds:    strings.Join(slices.Compact(adds), " "),
		explain: fmt.Sprintf("%s %s with %d packages (checked)", job.Npm, job.Version, len(list)-1),
	})
}

// fetchAll fetches packages into dir and returns their files, in the same order.
func (b *Builder) fetchAll(ctx context.Context, list []placedPackage, dir string) ([]string, error) {
	reg, err := newRegistry(npmBase(b.getenv), b.bundle)
	if err != nil {
		return nil, err
	}
	files := make([]string, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fetchers)
	for i, p := range list {
		g.Go(func() (err error) {
			files[i], err = reg.fetch(ctx, p.Package, p.version, dir)
			return err
		})
	}
	return files, g.Wait()
}

// writeTree writes the packages of a tree as one tar.
func writeTree(w io.Writer, cli CLI, list []placedPackage, files []string) error {
	u := newUnpacker(w)
	for i, p := range list {
		if err := addFile(u, files[i], part{dir: path.Join(cli.Dir, p.path), drop: cli.Drop}); err != nil {
			return fmt.Errorf("package %s %s: %w", p.Name, p.version, err)
		}
	}
	if err := writeTexts(u.out, cli.Dir, cli.Files); err != nil {
		return err
	}
	return u.out.Close()
}

func addFile(u *unpacker, file string, p part) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return u.pack(f, p)
}
