package docker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-units"

	"cabra-run/sandbox"
)

// The labels on what we make. The box cannot see them.
const (
	labelRun      = "cabra.run"
	labelTrial    = "cabra.trial"
	labelAttempt  = "cabra.attempt"
	labelDeadline = "cabra.deadline" // seconds since 1970
	labelOwner    = "cabra.owner"
	labelImage    = "cabra.image"    // of the box that a volume belongs to
	labelCreation = "cabra.creation" // one per Create, to find what a lost answer left
)

// defaultLife is the claim of a box whose Spec has no deadline.
const defaultLife = 24 * time.Hour

// tmpfsInodes bounds the number of files on a tmpfs, which the kernel accounts
// less strictly than their bytes.
const tmpfsInodes = 100_000

// plan is a checked spec with everything decided but the uid.
type plan struct {
	spec     sandbox.Spec
	limits   sandbox.Limits
	image    imageFacts
	seccomp  string
	podman   bool
	creation string
	labels   map[string]string
}

// config is the container's part that is about its program.
func (p *plan) config() *container.Config {
	return &container.Config{
		Image: p.spec.Image,
		// The entry point alone: an image's own one and its arguments must
		// not mix with ours.
		Entrypoint: p.spec.Command,
		Env:        exactEnv(withZone(p.spec.Env), p.image.env, p.podman),
		User:       userOf(sandbox.InitUID),
		WorkingDir: "/",
		Hostname:   "box",
		Labels:     p.labels,
		// PID 1's streams go to us and nowhere else. StdinOnce makes it read
		// an end of file when our connection ends, however it ends.
		OpenStdin: true, StdinOnce: true,
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Healthcheck: p.image.noHealthcheck,
	}
}

// hostConfig is the container's part that locks it down, with the mount of its
// workspace (nil without one).
func (p *plan) hostConfig(uid int, workspace *mount.Mount) *container.HostConfig {
	noInit := false
	h := &container.HostConfig{
		NetworkMode:    container.NetworkMode(sandbox.NetworkNone),
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges", "seccomp=" + p.seccomp},
		ReadonlyRootfs: true,
		CgroupnsMode:   container.CgroupnsModePrivate,
		IpcMode:        container.IPCModePrivate,
		ShmSize:        p.limits.ShmBytes,
		Tmpfs:          map[string]string{"/tmp": p.tmpfs(p.limits.TmpBytes, "1777", uid)},
		LogConfig:      container.LogConfig{Type: "none"},
		Init:           &noInit,
		MaskedPaths:    maskedPaths(),
		ReadonlyPaths:  []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		Resources:      p.resources(),
		// Names cannot be resolved without a network. A server that refuses
		// at once spares programs the time-outs, and nothing of the host's
		// own settings is seen.
		DNS: []string{"127.0.0.1"}, DNSSearch: []string{"."},
		DNSOptions: []string{"timeout:1", "attempts:1"},
	}
	if p.spec.Network == sandbox.NetworkBridge {
		h.NetworkMode = container.NetworkMode(sandbox.NetworkBridge)
		h.DNS, h.DNSSearch, h.DNSOptions = nil, nil, nil
	}
	if p.spec.Home {
		h.Tmpfs[sandbox.HomeDir] = p.tmpfs(p.limits.HomeBytes, "0700", uid)
	}
	if p.spec.NoScratch {
		h.Tmpfs, h.ShmSize, h.IpcMode = nil, 0, container.IPCModeNone
	}
	if workspace != nil {
		h.Mounts = []mount.Mount{*workspace}
	}
	return h
}

// maskedPaths are the engine's own defaults of today, whatever the age of the
// engine, and the pressure files, which anybody could write to.
func maskedPaths() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/pressure", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
}

func (p *plan) resources() container.Resources {
	l := p.limits
	return container.Resources{
		Memory: l.MemoryBytes, MemorySwap: l.MemoryBytes, // equal: no swap
		PidsLimit: &l.Pids,
		NanoCPUs:  int64(l.CPUs * 1e9),
		Ulimits: []*units.Ulimit{
			ulimit("nofile", l.OpenFiles),
			ulimit("fsize", l.WorkspaceBytes),
			ulimit("core", 0),
			ulimit("msgqueue", 0), // message queues are files outside of every bound
		},
	}
}

func ulimit(name string, n int64) *units.Ulimit {
	return &units.Ulimit{Name: name, Soft: n, Hard: n}
}

// tmpfs is the mount option text; exec because agents compile and run there.
// Podman can neither bound the number of files nor give the place to a uid;
// there it is open to the two uids of the box, and nothing is copied into it
// from the image.
func (p *plan) tmpfs(size int64, mode string, uid int) string {
	const common = "rw,exec,nosuid,nodev"
	if p.podman {
		return fmt.Sprintf("%s,size=%d,mode=1777,notmpcopyup", common, size)
	}
	return fmt.Sprintf("%s,size=%d,nr_inodes=%d,mode=%s,uid=%d,gid=%d",
		common, size, tmpfsInodes, mode, uid, uid)
}

func userOf(uid int) string { return strconv.Itoa(uid) + ":" + strconv.Itoa(uid) }

// withZone adds the fixed time zone unless env sets one.
func withZone(env []string) []string {
	for _, e := range env {
		if strings.HasPrefix(e, "TZ=") {
			return env
		}
	}
	return append(slices.Clone(env), "TZ=UTC")
}

// exactEnv returns env followed by orders to leave out those inherited variables
// that env does not set, so that env is the whole environment. The order is a
// bare name; Podman does not know it and gets an empty value instead.
func exactEnv(env, inherited []string, podman bool) []string {
	set := map[string]bool{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		set[name] = true
	}
	out := slices.Clone(env)
	for _, name := range inherited {
		if set[name] {
			continue
		}
		set[name] = true
		if podman {
			name += "="
		}
		out = append(out, name)
	}
	return out
}

// boxLabels are the labels of everything that belongs to one box.
func boxLabels(l sandbox.Labels, owner sandbox.OwnerLabel, creation string) map[string]string {
	deadline := l.Deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(defaultLife)
	}
	return map[string]string{
		labelRun: l.Run, labelTrial: l.Trial, labelAttempt: strconv.Itoa(l.Attempt),
		labelDeadline: strconv.FormatInt(deadline.Unix(), 10),
		labelOwner:    owner.String(), labelCreation: creation,
	}
}

// envNames returns the sorted names of an environment and of those variables
// that the engine adds by itself.
func envNames(env []string) []string {
	names := map[string]bool{"PATH": true, "HOSTNAME": true}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
