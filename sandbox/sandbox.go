// Package sandbox is the contract between those who need a locked-down box (an
// attempt of an agent, a scorer worker) and the engines that provide one. It
// owns Engine, Box, Spec, the limits, the difference between an Exit (a result)
// and a Fault (the engine's failure), and the bounded reading of hostile file
// trees. It must not know any engine, task, agent or score.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Paths and uids that every box shares.
const (
	WorkspaceDir = "/workspace"
	HomeDir      = "/home/agent" // a tmpfs; no image contains it
	RelayPath    = "/opt/cabra/relay"
	InitUID      = 10000 // uid of PID 1
	FirstGuest   = 20000 // first uid that an engine allots to what runs beside PID 1
	GuestSlots   = 256   // images have passwd entries for this many
)

// Network is how a box is connected.
type Network string

// NetworkNone is the default. NetworkBridge exists for those who repeat the
// paper's original setting; it opens the host and the internet to the box.
const (
	NetworkNone   Network = "none"
	NetworkBridge Network = "bridge"
)

// Limits bound a box. A zero field means the default of DefaultLimits.
type Limits struct {
	MemoryBytes    int64   `json:"memory_bytes"` // without swap
	Pids           int64   `json:"pids"`
	CPUs           float64 `json:"cpus"`
	OpenFiles      int64   `json:"open_files"`
	TmpBytes       int64   `json:"tmp_bytes"`
	HomeBytes      int64   `json:"home_bytes"`
	ShmBytes       int64   `json:"shm_bytes"`
	WorkspaceBytes int64   `json:"workspace_bytes"` // file-size limit, and polled by the caller through Usage
}

// DefaultLimits returns the limits of an agent's box.
func DefaultLimits() Limits {
	return Limits{
		MemoryBytes: 2 << 30, Pids: 256, CPUs: 2, OpenFiles: 4096,
		TmpBytes: 256 << 20, HomeBytes: 512 << 20, ShmBytes: 16 << 20, WorkspaceBytes: 256 << 20,
	}
}

// OrDefaults returns l with every zero field taken from DefaultLimits.
func (l Limits) OrDefaults() Limits {
	d := DefaultLimits()
	fill := func(v *int64, def int64) {
		if *v == 0 {
			*v = def
		}
	}
	fill(&l.MemoryBytes, d.MemoryBytes)
	fill(&l.Pids, d.Pids)
	fill(&l.OpenFiles, d.OpenFiles)
	fill(&l.TmpBytes, d.TmpBytes)
	fill(&l.HomeBytes, d.HomeBytes)
	fill(&l.ShmBytes, d.ShmBytes)
	fill(&l.WorkspaceBytes, d.WorkspaceBytes)
	if l.CPUs == 0 {
		l.CPUs = d.CPUs
	}
	return l
}

// Labels tell people and the reaper what a box is for. Nothing of them can be
// seen from inside of it.
type Labels struct {
	Run      string
	Trial    string
	Attempt  int
	Deadline time.Time // a box older than this belongs to nobody
}

// Spec describes one box. The engine adds the lock-down: no capabilities, no
// new privileges, the seccomp profile, a read-only root, private /tmp and
// /dev/shm (none of them when NoScratch is set), a fixed host name and time zone.
type Spec struct {
	Image   string   // image ID, never a tag
	Command []string // argv of PID 1, which runs as InitUID
	Env     []string // environment of PID 1
	// Guest asks for a uid of its own, unique among the running boxes of the
	// engine, for commands started with Box.Exec; Home, /tmp and workspace
	// are that uid's. Without it they are InitUID's.
	Guest     bool
	Home      bool // a tmpfs on HomeDir, mode 0700
	NoScratch bool // nothing at all is writable
	// Workspace holds the files put into WorkspaceDir, by relative slash
	// path; nil means that the box has no workspace.
	Workspace map[string][]byte
	Network   Network // "" is NetworkNone
	Limits    Limits
	Labels    Labels
}

// Engine makes boxes. All methods may be called from several goroutines. Every
// error they return is a *Fault, except those of a cancelled context, which
// wrap the context's error.
type Engine interface {
	// Info asks the engine who it is; an error means that it cannot be reached.
	Info(ctx context.Context) (Info, error)
	// Create makes a box that does not run yet. When it fails nothing is left.
	Create(ctx context.Context, spec Spec) (Box, error)
	// Reap removes boxes, volumes and workspaces whose owner is dead, and nothing else.
	Reap(ctx context.Context) (Reaped, error)
	// Capacity says what is left for further boxes.
	Capacity(ctx context.Context) (Capacity, error)
	// Close gives up what the engine holds in this process; boxes must have
	// been removed before.
	Close() error
}

// Info describes an engine for lock files and doctor.
type Info struct {
	Name          string `json:"name"` // "docker", "podman", "fake"
	Version       string `json:"version"`
	Endpoint      string `json:"endpoint"`
	OS            string `json:"os"`
	Arch          string `json:"arch"` // as GOARCH
	Kernel        string `json:"kernel"`
	CgroupVersion string `json:"cgroup_version"`
	StorageDriver string `json:"storage_driver"`
	RootDir       string `json:"root_dir"`
	Rootless      bool   `json:"rootless"`
	CPUs          int    `json:"cpus"`
	MemoryBytes   int64  `json:"memory_bytes"`
	Transport     string `json:"transport"` // "bind" or "archive"
}

// Reaped says what Reap removed.
type Reaped struct {
	Boxes      int `json:"boxes"`
	Volumes    int `json:"volumes"`
	Workspaces int `json:"workspaces"`
}

// Box is one sandbox, used by one owner. After Remove every method fails.
type Box interface {
	// ID is the engine's name of the box.
	ID() string
	// GuestUID is the uid of Exec'd commands; InitUID without Spec.Guest.
	GuestUID() int
	// Start starts PID 1, whose standard streams were attached before, so
	// that no byte and no fast exit is lost.
	Start(ctx context.Context) error
	// Stdio is PID 1's standard input (Write, Close) and output (Read). When
	// it is closed, or this process dies, PID 1 reads an end of file.
	Stdio() io.ReadWriteCloser
	// Stderr returns what PID 1 has written to standard error, at most its
	// last 64 KiB.
	Stderr() []byte
	// Exec starts a command in the running box under the guest's uid.
	Exec(ctx context.Context, cmd Command) (Process, error)
	// SetPids changes the process limit of the running box.
	SetPids(ctx context.Context, pids int64) error
	// Usage reads what the box uses now.
	Usage(ctx context.Context) (Usage, error)
	// Effective reads which limits are in force in the running box.
	Effective(ctx context.Context) (Effective, error)
	// Kill ends every process of the box at once; it returns when they are
	// gone. Killing a stopped or never started box is not an error.
	Kill(ctx context.Context) error
	// Wait returns when PID 1 has ended. One that was killed from outside,
	// as by an engine that shuts down, is a Fault of kind FaultKilled.
	Wait(ctx context.Context) (Exit, error)
	// Collect reads the workspace of a killed box from outside into dst, an
	// empty folder: regular files only, bounded, no link followed. What was
	// left out is listed in the result.
	Collect(ctx context.Context, dst *os.Root, limits CollectLimits) (Collection, error)
	// Remove removes the box with everything that belongs to it, whatever
	// owner and mode its files have. It may be called in any state and more
	// than once.
	Remove(ctx context.Context) error
}

// Command is a program started beside PID 1.
type Command struct {
	Args []string // a program that does not exist ends with code 126 or 127
	// Env is the whole environment, KEY=VALUE; an engine may add HOME. Without
	// a PATH, Args[0] has to be a path.
	Env    []string
	Dir    string
	Stdin  io.Reader // nil: end of file at once
	Stdout io.Writer // nil: dropped; a failing Write ends the copying, not the command
	Stderr io.Writer
	// Terminal, when not nil, is what the command's streams are connected to;
	// Stdout then gets all output.
	Terminal *Terminal
}

// Terminal is a terminal for a command that talks to a person.
type Terminal struct {
	Size   TerminalSize
	Resize <-chan TerminalSize // further sizes, or nil; closed or given up by the sender
}

// TerminalSize is counted in characters.
type TerminalSize struct{ Rows, Cols uint }

// Process is a started Command.
type Process interface {
	// Wait returns the exit code once the command has ended and its output
	// was copied. An error means that the code is unknown.
	Wait(ctx context.Context) (code int, err error)
}

// Usage is a reading of a box's consumption.
type Usage struct {
	MemoryBytes     int64 `json:"memory_bytes"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"` // 0 when the engine does not tell
	OOMKills        int64 `json:"oom_kills"`         // counted where the engine tells, else 0 or 1
	Pids            int64 `json:"pids"`
	PidsLimitHits   int64 `json:"pids_limit_hits"`
	WorkspaceBytes  int64 `json:"workspace_bytes"` // -1 when unknown
	// ScratchBytes is what the box's home, /tmp and /dev/shm hold, with
	// whatever else of it lies in memory file systems; -1 when unknown.
	ScratchBytes int64 `json:"scratch_bytes"`
}

// Exit is how PID 1 ended: a result, not an error.
type Exit struct {
	Code      int
	OOMKilled bool
}

// FaultKind says what a caller can do about a Fault.
type FaultKind string

// The kinds of faults.
const (
	FaultUnreachable FaultKind = "unreachable"  // no engine answers; wait and try again
	FaultTimeout     FaultKind = "timeout"      // a call took longer than its deadline
	FaultNoImage     FaultKind = "no image"     // the image is not there; build it
	FaultNoSpace     FaultKind = "no space"     // disk full
	FaultNoCapacity  FaultKind = "no capacity"  // all guest slots are taken; wait
	FaultGone        FaultKind = "gone"         // the box was removed behind our back
	FaultNotRunning  FaultKind = "not running"  // the box has stopped
	FaultKilled      FaultKind = "killed"       // the box was killed, by nobody in it, no limit and not by its owner
	FaultBadSpec     FaultKind = "bad spec"     // the request cannot work
	FaultEngine      FaultKind = "engine error" // anything else
)

// Fault is a failure of the engine or the host, never of what runs in a box.
type Fault struct {
	Op   string // what was being done, "creating box"
	Kind FaultKind
	Err  error
}

func (f *Fault) Error() string { return fmt.Sprintf("%s: %s: %v", f.Op, f.Kind, f.Err) }

func (f *Fault) Unwrap() error { return f.Err }

// IsFault reports whether err is or wraps a Fault of that kind.
func IsFault(err error, kind FaultKind) bool {
	var f *Fault
	return errors.As(err, &f) && f.Kind == kind
}
