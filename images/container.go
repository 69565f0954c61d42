package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/google/uuid"

	"cabra-run/sandbox"
)

// Deadlines of engine calls.
const (
	callTime    = time.Minute // calls that move no data
	cleanupTime = time.Minute
	layerTime   = 30 * time.Minute // one layer, with everything that it takes
	checkTime   = 2 * time.Minute
)

// bench is a container that a layer is made in.
type bench struct {
	api *client.Client
	id  string
}

// newBench creates a container from an image, for the holder of a lock (see
// lockKey); zero host settings are the engine's defaults.
func newBench(ctx context.Context, s site, c container.Config, h container.HostConfig) (*bench, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	h.LogConfig = container.LogConfig{Type: "none"}
	made, err := s.api.ContainerCreate(ctx, &c, &h, nil, nil, benchName(s.key, time.Now()))
	if err != nil {
		return nil, fmt.Errorf("creating the build container: %w", err)
	}
	return &bench{api: s.api, id: made.ID}, nil
}

// site is where a layer is built: an engine, and the lock under which it happens.
type site struct {
	api *client.Client
	key string // names the lock among all hosts, states and layers
}

const benchPrefix = "cabra-build-"

// benchName says whose a build container is: the lock's holder's, and nobody's
// after a time that no build takes.
func benchName(key string, now time.Time) string {
	deadline := now.Add(layerTime + cleanupTime).Unix()
	return fmt.Sprintf("%s%s-%d-%s", benchPrefix, key, deadline, uuid.NewString()[:8])
}

// abandoned reports whether a container of that name was left by a build that
// died, seen by the holder of the lock called key.
func abandoned(name, key string, now time.Time) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "/"), benchPrefix)
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 3 {
		return false
	}
	deadline, err := strconv.ParseInt(parts[1], 10, 64)
	return err == nil && (parts[0] == key || now.Unix() > deadline)
}

// sweep removes what builds that died have left.
func (s site) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := s.api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("name", benchPrefix)),
	})
	if err != nil {
		return fmt.Errorf("looking for abandoned build containers: %w", err)
	}
	now := time.Now()
	for _, c := range list {
		if slices.ContainsFunc(c.Names, func(n string) bool { return abandoned(n, s.key, now) }) {
			err = errors.Join(err, (&bench{api: s.api, id: c.ID}).remove(ctx))
		}
	}
	return err
}

// remove removes the container, also after ctx was cancelled.
func (b *bench) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	err := b.api.ContainerRemove(ctx, b.id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil {
		return fmt.Errorf("removing the build container %.12s: %w", b.id, err)
	}
	return nil
}

// put unpacks the tar that write makes into the container's root.
func (b *bench) put(ctx context.Context, write func(io.Writer) error) error {
	r, w := io.Pipe()
	made := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		made <- err
	}()
	sent := b.api.CopyToContainer(ctx, b.id, "/", r, container.CopyToContainerOptions{})
	r.CloseWithError(errStoppedReading)
	if err := <-made; err != nil && !errors.Is(err, errStoppedReading) {
		return err
	}
	return sent
}

// errStoppedReading is what the writer of a tar sees when the engine has what it
// wants, or does not want more; which of them it is, the engine's answer says.
var errStoppedReading = errors.New("the engine stopped reading")

// run starts the container and waits for its end; its output goes to log.
func (b *bench) run(ctx context.Context, stdout, stderr io.Writer) error {
	conn, err := b.api.ContainerAttach(ctx, b.id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return fmt.Errorf("attaching to the build container: %w", err)
	}
	defer conn.Close()
	copied := make(chan error, 1)
	go func() {
		_, err := stdcopy.StdCopy(stdout, stderr, conn.Reader)
		copied <- err
	}()
	ended, failed := b.api.ContainerWait(ctx, b.id, container.WaitConditionNextExit)
	if err := b.api.ContainerStart(ctx, b.id, container.StartOptions{}); err != nil {
		return fmt.Errorf("starting the build container: %w", err)
	}
	select {
	case end := <-ended:
		err := <-copied
		if end.StatusCode != 0 {
			return fmt.Errorf("the command in the container ended with code %d", end.StatusCode)
		}
		return err
	case err := <-failed:
		return fmt.Errorf("waiting for the build container: %w", err)
	}
}

// read returns a file of the container, at most limit bytes of it.
func (b *bench) read(ctx context.Context, name string, limit int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	body, _, err := b.api.CopyFromContainer(ctx, b.id, name)
	if err != nil {
		return "", fmt.Errorf("reading %s from the build container: %w", name, err)
	}
	defer body.Close()
	in := tar.NewReader(body)
	if h, err := in.Next(); err != nil || h.Typeflag != tar.TypeReg {
		return "", fmt.Errorf("reading %s from the build container: not a file (%v)", name, err)
	}
	data, err := io.ReadAll(io.LimitReader(in, limit))
	return string(data), err
}

// check runs a recipe's check on an image the way boxes run: a guest's uid, no
// network, no capability, a read-only root.
func check(ctx context.Context, s site, image string, c Check, env []string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	uid := sandbox.FirstGuest + 3
	config := container.Config{
		Image: image, Entrypoint: c.Run[:1], Cmd: c.Run[1:], User: fmt.Sprintf("%d:%d", uid, uid),
		Env: append([]string{"HOME=" + sandbox.HomeDir}, env...), WorkingDir: sandbox.WorkspaceDir,
	}
	host := container.HostConfig{
		NetworkMode: "none", ReadonlyRootfs: true, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"},
		Tmpfs:       map[string]string{"/tmp": "", sandbox.HomeDir: fmt.Sprintf("mode=0700,uid=%d,gid=%d", uid, uid)},
	}
	b, err := newBench(ctx, s, config, host)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.remove(ctx)) }()
	var stdout, stderr tail
	what := fmt.Sprintf("checking that %q works in the new image", strings.Join(c.Run, " "))
	if err := b.run(ctx, &stdout, &stderr); err != nil {
		return fmt.Errorf("%s: %w: %s%s", what, err, stdout.String(), stderr.String())
	}
	if !strings.Contains(stdout.String(), c.Prints) {
		return fmt.Errorf("%s: it prints %q without %q", what, stdout.String(), c.Prints)
	}
	return nil
}

// tail is a writer that keeps the last lines of what it is given. It may be
// used from several goroutines.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const (
	tailBytes = 64 << 10
	tailLines = 60
)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(p), nil
}

// String returns the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimRight(t.buf, "\n"), []byte("\n"))
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return string(bytes.ToValidUTF8(bytes.Join(lines, []byte("\n")), []byte("?")))
}

// folderOf returns a tar writer's function for a few files of our own in dir.
func folderOf(dir string, files map[string]string) func(io.Writer) error {
	return func(w io.Writer) error {
		out := tar.NewWriter(w)
		if err := out.WriteHeader(folderHeader(strings.Trim(dir, "/"))); err != nil {
			return err
		}
		if err := writeTexts(out, dir, files); err != nil {
			return err
		}
		return out.Close()
	}
}

// writeTexts writes files into a folder that the tar has already.
func writeTexts(out *tar.Writer, dir string, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := fileHeader(path.Join(strings.Trim(dir, "/"), name), 0o644, int64(len(files[name])))
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.WriteString(out, files[name]); err != nil {
			return err
		}
	}
	return nil
}
