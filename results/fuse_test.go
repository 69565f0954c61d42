package results_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// fuseFS is a file system of the test's own: it keeps its files in a folder, and
// fails where it is told to. A process of its own serves it: one that uses a
// file system and serves it too can stand still in a page fault.
type fuseFS struct {
	fd    int
	under string
	kind  fuseKind
	// faults is a file that says what fails, in lines of operation, part of a
	// path ("*" for any) and errno. It is read before each request.
	faults string

	mu    sync.Mutex
	paths map[uint64]string
	nodes map[string]uint64
	files map[uint64]*os.File
	last  uint64
}

// fuseKind says what the file system is like.
type fuseKind string

const (
	fuseLocal   fuseKind = "local"    // shared memory maps work
	fuseNoMap   fuseKind = "no maps"  // as on network file systems
	fuseNoLocks fuseKind = "no locks" // locks are asked of it, not kept by the kernel
)

// The requests that are answered.
const (
	opLookup = 1 + iota
	opForget
	opGetattr
	opSetattr
	opMkdir       = 9
	opUnlink      = 10
	opRmdir       = 11
	opRename      = 12
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opFsyncdir    = 30
	opSetlk       = 32
	opCreate      = 35
	opInterrupt   = 36
	opBatchForget = 42
	opRename2     = 45
)

const maxWrite = 128 << 10

// fuseMount is a mounted fuseFS, seen from where it is used.
type fuseMount struct {
	dir    string
	faults string
	server *exec.Cmd
}

// mountFuse mounts a file system below dir, in a mount namespace of the process.
func mountFuse(dir string, kind fuseKind) (*fuseMount, error) {
	dir, err := os.MkdirTemp(dir, "fuse")
	if err != nil {
		return nil, err
	}
	m := &fuseMount{dir: filepath.Join(dir, "mnt"), faults: filepath.Join(dir, "faults")}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "under"), 0o755), os.Mkdir(m.dir, 0o755), m.fails()); err != nil {
		return nil, err
	}
	dev, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", noMount, err)
	}
	defer dev.Close()
	err = unix.Mount("cabra-test", m.dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", dev.Fd()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", noMount, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m.server = exec.Command(self, dir)
	m.server.Env = append(os.Environ(), helperVar+"=fuse", "CABRA_TEST_FUSE="+string(kind))
	m.server.ExtraFiles = []*os.File{dev}
	m.server.Stderr = os.Stderr
	return m, m.server.Start()
}

// fails makes the file system fail as the lines say; none ends it.
func (m *fuseMount) fails(lines ...string) error {
	next := m.faults + ".next"
	if err := os.WriteFile(next, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return err
	}
	return os.Rename(next, m.faults)
}

func (m *fuseMount) close() error {
	err := unix.Unmount(m.dir, unix.MNT_DETACH)
	err = errors.Join(err, m.server.Process.Kill())
	m.server.Wait() // it was killed
	return err
}

// runFuse is the process that serves.
func runFuse(dir string) error {
	f := &fuseFS{fd: 3, under: filepath.Join(dir, "under"), kind: fuseKind(os.Getenv("CABRA_TEST_FUSE")),
		faults: filepath.Join(dir, "faults"), paths: map[uint64]string{1: "."}, nodes: map[string]uint64{".": 1},
		files: map[uint64]*os.File{}, last: 1}
	for range 3 {
		go f.serve()
	}
	f.serve()
	return nil
}
