// Package docker is the sandbox contract on a Docker engine, or on Podman
// through its Docker-compatible socket. It owns the lock-down of a box, the two
// ways of getting a workspace in and out, the reading of the engine's streams,
// the mapping of its errors to Faults, and the reaper. It must not know what
// runs in a box, nor tasks, agents or scores.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"cabra-run/sandbox"
)

// The transports of a workspace.
const (
	TransportBind    = "bind"    // a folder of this host, mounted; needs root and a local engine
	TransportArchive = "archive" // a volume of the engine, filled and read through its API
)

// podmanName is Info.Name of Podman.
const podmanName = "podman"

// Deadlines of single engine calls.
const (
	defaultCallTimeout = 30 * time.Second
	createTimeouts     = 2 // of CallTimeout
	collectTimeouts    = 2 // of CallTimeout, for a stream; what came until then is kept
)

// Options are the settings of an Engine.
type Options struct {
	Host string // "" is DOCKER_HOST, the default socket, Podman's sockets
	// StateDir holds lock files and workspaces; private to the user. "" is
	// cabra-run in the user's cache folder.
	StateDir    string
	Transport   string        // "", TransportBind or TransportArchive; "" chooses
	CallTimeout time.Duration // deadline of one engine call, and half of a creation's; 0 is 30 s
	// Observe is told of every engine call when its answer is there; it must
	// return soon and may be called from several goroutines. nil tells nobody.
	Observe func(call string, took time.Duration, err error)
}

// api is what this package asks of the engine's client.
type api interface {
	// Close closes the connections that are idle. The client makes new ones
	// when it is used again.
	Close() error
	Info(ctx context.Context) (system.Info, error)
	ServerVersion(ctx context.Context) (types.Version, error)
	Events(ctx context.Context, o events.ListOptions) (<-chan events.Message, <-chan error)
	ImageInspect(ctx context.Context, id string, opts ...client.ImageInspectOption) (
		image.InspectResponse, error)

	ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig,
		net *network.NetworkingConfig, platform *ocispec.Platform, name string) (container.CreateResponse, error)
	ContainerAttach(ctx context.Context, id string, o container.AttachOptions) (
		types.HijackedResponse, error)
	ContainerStart(ctx context.Context, id string, o container.StartOptions) error
	ContainerWait(ctx context.Context, id string, cond container.WaitCondition) (
		<-chan container.WaitResponse, <-chan error)
	ContainerKill(ctx context.Context, id, signal string) error
	ContainerRemove(ctx context.Context, id string, o container.RemoveOptions) error
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	ContainerList(ctx context.Context, o container.ListOptions) ([]container.Summary, error)
	ContainerUpdate(ctx context.Context, id string, o container.UpdateConfig) (
		container.UpdateResponse, error)
	ContainerStatsOneShot(ctx context.Context, id string) (container.StatsResponseReader, error)
	ContainerExecCreate(ctx context.Context, id string, o container.ExecOptions) (
		container.ExecCreateResponse, error)
	ContainerExecAttach(ctx context.Context, id string, o container.ExecAttachOptions) (
		types.HijackedResponse, error)
	ContainerExecInspect(ctx context.Context, id string) (container.ExecInspect, error)
	ContainerExecResize(ctx context.Context, id string, o container.ResizeOptions) error
	CopyToContainer(ctx context.Context, id, path string, r io.Reader, o container.CopyToContainerOptions) error
	CopyFromContainer(ctx context.Context, id, path string) (io.ReadCloser, container.PathStat, error)

	VolumeCreate(ctx context.Context, o volume.CreateOptions) (volume.Volume, error)
	VolumeRemove(ctx context.Context, id string, force bool) error
	VolumeList(ctx context.Context, o volume.ListOptions) (volume.ListResponse, error)
}

// Engine makes boxes on one container engine.
type Engine struct {
	api      api
	endpoint string
	opts     Options
	owner    *sandbox.Owner
	seccomp  string // the profile as the engine wants to have it
	podman   bool
	cpus     int  // of the engine's host, 0 when it does not tell
	here     bool // the engine runs on the kernel of this process
	rootDir  string
	enforced enforced
	mounts   bool // workspaces of the bind transport are file systems of their own

	mu        sync.Mutex
	transport string
	images    map[string]imageFacts // by ID, which never changes its meaning
	boxes     map[*Box]struct{}     // not yet removed
	lost      map[string]struct{}   // creations that may have left something, for the next one to remove
}

// New connects to an engine and registers this process as an owner of boxes.
func New(ctx context.Context, opts Options) (*Engine, error) {
	cli, endpoint, err := Connect(ctx, opts.Host)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(ctx, cli, endpoint, opts)
	if err != nil {
		cli.Close()
		return nil, err
	}
	return e, nil
}

func newEngine(ctx context.Context, cli api, endpoint string, opts Options) (*Engine, error) {
	const op = "preparing engine"
	opts, err := opts.orDefaults()
	if err != nil {
		return nil, &sandbox.Fault{Op: op, Kind: sandbox.FaultBadSpec, Err: err}
	}
	e := &Engine{
		api: observed{cli, opts.Observe}, endpoint: endpoint, opts: opts,
		images: map[string]imageFacts{}, boxes: map[*Box]struct{}{}, lost: map[string]struct{}{},
	}
	info, facts, err := e.ask(ctx)
	if err != nil {
		return nil, err
	}
	e.transport, e.podman, e.cpus = info.Transport, info.Name == podmanName, info.CPUs
	e.here, e.rootDir, e.enforced = onThisHost(endpoint, facts), info.RootDir, enforcedBy(facts)
	e.mounts = e.transport == TransportBind && os.Geteuid() == 0 && sharesMounts(ctx, endpoint)
	if e.seccomp, err = seccompOption(e.podman, opts.StateDir); err != nil {
		return nil, fault(ctx, op, err)
	}
	if e.owner, err = sandbox.AcquireOwner(opts.StateDir); err != nil {
		return nil, fault(ctx, op, err)
	}
	return e, nil
}

func (o Options) orDefaults() (Options, error) {
	if o.CallTimeout == 0 {
		o.CallTimeout = defaultCallTimeout
	}
	switch o.Transport {
	case "", TransportBind, TransportArchive:
	default:
		return o, fmt.Errorf("unknown transport %q (bind, archive)", o.Transport)
	}
	if o.StateDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("finding a state folder: %w", err)
		}
		o.StateDir = filepath.Join(dir, "cabra-run")
	}
	var err error
	o.StateDir, err = filepath.Abs(o.StateDir)
	return o, err
}

// Info asks the engine who it is, on a new connection: one that shuts down
// still answers on those that it has, and takes no other.
func (e *Engine) Info(ctx context.Context) (sandbox.Info, error) {
	if err := e.api.Close(); err != nil {
		return sandbox.Info{}, fault(ctx, "asking engine", err)
	}
	info, _, err := e.ask(ctx)
	if err == nil {
		e.mu.Lock()
		info.Transport = e.transport
		e.mu.Unlock()
	}
	return info, err
}

func (e *Engine) ask(ctx context.Context) (sandbox.Info, system.Info, error) {
	const op = "asking engine"
	cctx, cancel := context.WithTimeout(ctx, e.opts.CallTimeout)
	defer cancel()
	facts, err := e.api.Info(cctx)
	if err != nil {
		return sandbox.Info{}, facts, fault(ctx, op, err)
	}
	version, err := e.api.ServerVersion(cctx)
	if err != nil {
		return sandbox.Info{}, facts, fault(ctx, op, err)
	}
	info := sandbox.Info{
		Name: "docker", Version: version.Version, Endpoint: e.endpoint,
		OS: facts.OperatingSystem, Arch: version.Arch, Kernel: facts.KernelVersion,
		CgroupVersion: facts.CgroupVersion, StorageDriver: facts.Driver, RootDir: facts.DockerRootDir,
		CPUs: facts.NCPU, MemoryBytes: facts.MemTotal,
	}
	for _, c := range version.Components {
		if strings.Contains(c.Name, "Podman") {
			info.Name = podmanName
		}
	}
	remapped := false
	for _, o := range facts.SecurityOptions {
		info.Rootless = info.Rootless || strings.HasPrefix(o, "name=rootless")
		remapped = remapped || strings.HasPrefix(o, "name=userns")
	}
	info.Transport = e.chooseTransport(info, remapped)
	return info, facts, nil
}

// chooseTransport picks the bind mount where this process may give files to
// other users and the engine seems to see the same files. Whether it does is
// known for certain when the first bind mount is made; see Engine.demote.
func (e *Engine) chooseTransport(info sandbox.Info, remapped bool) string {
	if e.opts.Transport != "" {
		return e.opts.Transport
	}
	local := strings.HasPrefix(e.endpoint, "unix://") && os.Geteuid() == 0
	if !local || info.Rootless || remapped {
		return TransportArchive
	}
	if _, err := os.Stat(info.RootDir); err != nil {
		return TransportArchive
	}
	return TransportBind
}

// Close gives up the ownership lock and the connections. The lock's file stays
// when boxes were left behind, so that a later Reap knows them to be ownerless.
func (e *Engine) Close() error {
	e.findLost(context.Background())
	e.mu.Lock()
	left := len(e.boxes) + len(e.lost)
	e.mu.Unlock()
	err := errors.Join(e.owner.Close(left > 0), e.api.Close())
	if err != nil {
		return &sandbox.Fault{Op: "closing engine", Kind: sandbox.FaultEngine, Err: err}
	}
	return nil
}

// call runs one engine call under the call deadline.
func (e *Engine) call(ctx context.Context, op string, f func(context.Context) error) error {
	cctx, cancel := context.WithTimeout(ctx, e.opts.CallTimeout)
	defer cancel()
	return fault(ctx, op, f(cctx))
}

// finish runs one engine call that must happen even when the caller has given
// up: under the call deadline alone.
func (e *Engine) finish(ctx context.Context, op string, f func(context.Context) error) error {
	return e.call(context.WithoutCancel(ctx), op, f)
}

// insistTries is how often a call that may be made again is made: one in a
// hundred that fails must not leave anything behind.
const insistTries = 5

// insist is finish for a call that does no harm when it is made twice: it is
// made again when its connection broke or the engine failed. One that timed
// out is not, since the next would take as long.
func (e *Engine) insist(ctx context.Context, op string, f func(context.Context) error) error {
	var err error
	for range insistTries {
		err = e.finish(ctx, op, f)
		again := sandbox.IsFault(err, sandbox.FaultUnreachable) || sandbox.IsFault(err, sandbox.FaultEngine)
		if !again || removalRuns(err) {
			return err
		}
	}
	return err
}

// listOwned is the filter for everything that carries our labels.
func listOwned() filters.Args {
	return filters.NewArgs(filters.Arg("label", labelOwner))
}
