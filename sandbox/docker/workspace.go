package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"cabra-run/sandbox"
)

// workspace is one way of getting files into a box and out of it.
type workspace interface {
	// prepare makes the place before the container and says how to mount it.
	// It is called again with the next uid when the first one was taken.
	prepare(ctx context.Context, uid int) (*mount.Mount, error)
	// fill puts the files in, once container and uid are known.
	fill(ctx context.Context, id string, uid int) error
	// usage returns the bytes in use, -1 when unknown.
	usage(ctx context.Context, b *Box) (int64, error)
	// collect reads the files of a stopped container.
	collect(ctx context.Context, id string, dst *os.Root, l sandbox.CollectLimits) (sandbox.Collection, error)
	// remove removes the place; more than once is not an error.
	remove(ctx context.Context) error
}

func (e *Engine) newWorkspace(p *plan) workspace {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.transport == TransportBind {
		return &bindWorkspace{
			parent: filepath.Join(e.opts.StateDir, workDir), name: p.creation,
			files: p.spec.Workspace, labels: p.labels,
			mount: e.mounts, limit: p.spec.Limits.OrDefaults().WorkspaceBytes,
		}
	}
	labels := maps.Clone(p.labels)
	labels[labelImage] = p.spec.Image
	return &volumeWorkspace{e: e, name: volumeName(p.creation), files: p.spec.Workspace, labels: labels}
}

func volumeName(creation string) string { return "cabra-" + creation }

// workDir is where bind workspaces lie within the state folder, each in a
// folder with a random name beside a file with its labels.
const workDir = "work"

const labelsSuffix = ".labels"

// bindWorkspace is a folder of this host. Set-uid bits and device files in it
// are harmless: the box has no-new-privileges and no right to devices, and on
// the host nobody but root passes the parent.
type bindWorkspace struct {
	parent string
	name   string
	files  map[string][]byte
	labels map[string]string
	mount  bool // as a file system of its own, of limit bytes
	limit  int64
	made   bool
}

func (w *bindWorkspace) dir() string { return filepath.Join(w.parent, w.name) }

func (w *bindWorkspace) prepare(context.Context, int) (*mount.Mount, error) {
	m := &mount.Mount{
		Type: mount.TypeBind, Source: w.dir(), Target: sandbox.WorkspaceDir,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
	}
	if w.made {
		return m, nil
	}
	if err := sandbox.PrivateDir(w.parent); err != nil {
		return nil, err
	}
	text, err := json.Marshal(w.labels)
	if err != nil {
		return nil, err
	}
	// The labels first: a folder without them would belong to nobody.
	if err := os.WriteFile(w.dir()+labelsSuffix, text, 0o600); err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.dir(), 0o700); err != nil {
		return nil, err
	}
	w.made = true
	if w.mount {
		return m, mountWorkspace(w.dir(), w.limit)
	}
	return m, nil
}

func (w *bindWorkspace) fill(_ context.Context, _ string, uid int) error {
	root, err := os.OpenRoot(w.dir())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if err := fillFile(root, name, w.files[name], uid); err != nil {
			return fmt.Errorf("filling workspace: %w", err)
		}
	}
	return root.Chown(".", uid, uid)
}

func fillFile(root *os.Root, name string, text []byte, uid int) error {
	for _, dir := range parents(name) {
		err := root.Mkdir(dir, 0o755)
		if err == nil {
			err = root.Chown(dir, uid, uid)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := root.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	return root.Chown(name, uid, uid)
}

// parents lists the folders above name, the outermost first.
func parents(name string) []string {
	var dirs []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

func (w *bindWorkspace) usage(context.Context, *Box) (int64, error) {
	root, err := os.OpenRoot(w.dir())
	if err != nil {
		return -1, err
	}
	defer root.Close()
	sum, err := sandbox.TreeBytes(root)
	if err != nil || !w.mount {
		return sum, err
	}
	taken, err := mountedBytes(w.dir())
	return max(sum, taken), err
}

func (w *bindWorkspace) collect(
	_ context.Context, _ string, dst *os.Root, l sandbox.CollectLimits,
) (sandbox.Collection, error) {
	root, err := os.OpenRoot(w.dir())
	if err != nil {
		return sandbox.Collection{}, err
	}
	defer root.Close()
	return sandbox.ReadTree(root, dst, l)
}

func (w *bindWorkspace) remove(context.Context) error {
	return removeWork(w.parent, w.name)
}

// removeWork removes a workspace folder and then its labels.
func removeWork(parent, name string) error {
	root, err := os.OpenRoot(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if err := unmountWorkspace(filepath.Join(parent, name)); err != nil {
		return err
	}
	if err := sandbox.RemoveTree(root, name); err != nil {
		return err
	}
	if err := root.Remove(name + labelsSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// volumeWorkspace is a volume of the engine. Its files are put in before the
// start and read after the end through the engine's archive calls, which work
// on a container that does not run.
type volumeWorkspace struct {
	e      *Engine
	name   string
	files  map[string][]byte
	labels map[string]string
	made   bool
	deep   bool // what was read of it may be nested deeper than the engine can remove
}

func (w *volumeWorkspace) prepare(ctx context.Context, uid int) (*mount.Mount, error) {
	m := &mount.Mount{
		Type: mount.TypeVolume, Source: w.name, Target: sandbox.WorkspaceDir,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
	if w.made && !w.e.podman {
		return m, nil
	}
	o := volume.CreateOptions{Name: w.name, Labels: w.labels}
	if w.e.podman {
		// Its archive call does not change the owner of the folder itself.
		o.DriverOpts = map[string]string{"o": fmt.Sprintf("uid=%d,gid=%d", uid, uid)}
		if w.made {
			if err := w.remove(ctx); err != nil {
				return nil, err
			}
		}
	}
	w.made = true
	return m, w.e.call(ctx, "making volume", func(ctx context.Context) error {
		_, err := w.e.api.VolumeCreate(ctx, o)
		return err
	})
}

func (w *volumeWorkspace) fill(ctx context.Context, id string, uid int) error {
	archive, err := w.archive(uid)
	if err != nil {
		return err
	}
	return w.e.call(ctx, "filling workspace", func(ctx context.Context) error {
		return w.e.api.CopyToContainer(ctx, id, sandbox.WorkspaceDir, archive, container.CopyToContainerOptions{})
	})
}

// archive is the tar of the files with their owner. Its first entry is "/":
// Docker skips one called "." and then leaves the folder itself to root.
func (w *volumeWorkspace) archive(uid int) (*bytes.Buffer, error) {
	var buf bytes.Buffer
	tw, now := tar.NewWriter(&buf), time.Now()
	put := func(h tar.Header, text []byte) error {
		h.Uid, h.Gid, h.Size, h.ModTime = uid, uid, int64(len(text)), now
		if err := tw.WriteHeader(&h); err != nil {
			return err
		}
		_, err := tw.Write(text)
		return err
	}
	errs := []error{put(tar.Header{Typeflag: tar.TypeDir, Name: "/", Mode: 0o700}, nil)}
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		for _, dir := range parents(name) {
			if !made[dir] {
				made[dir] = true
				errs = append(errs, put(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}, nil))
			}
		}
		errs = append(errs, put(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, w.files[name]))
	}
	return &buf, errors.Join(append(errs, tw.Close())...)
}

func (w *volumeWorkspace) collect(
	ctx context.Context, id string, dst *os.Root, l sandbox.CollectLimits,
) (c sandbox.Collection, err error) {
	ctx, cancel := context.WithTimeout(ctx, collectTimeouts*w.e.opts.CallTimeout)
	defer cancel()
	r, _, err := w.e.api.CopyFromContainer(ctx, id, sandbox.WorkspaceDir+"/.")
	if err != nil {
		return c, err
	}
	defer r.Close()
	c, err = sandbox.ReadTar(r, dst, l)
	w.deep = c.Truncated || slices.ContainsFunc(c.Refused, func(r sandbox.Refused) bool {
		return r.Reason == sandbox.RefusedTooDeep || r.Reason == sandbox.RefusedName // a path too long
	})
	return c, err
}

func (w *volumeWorkspace) remove(ctx context.Context) error {
	if w.deep {
		// The engine would try in vain, and have no file left to open meanwhile.
		// If this goes wrong, it has to show whether it can.
		_ = w.e.clearVolume(ctx, w.name)
		w.deep = false
	}
	return w.e.removeVolume(ctx, w.name)
}
