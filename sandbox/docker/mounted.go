package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A bind workspace is a file system of its own in memory where this host lets
// us make one: a hard bound that deleted, sparse and moved files cannot evade,
// no set-id files and no devices. Its pages count as the box's memory.
const (
	// slackBytes lie beyond the workspace's limit, so that a box that goes
	// over it is seen to do so.
	slackBytes = 32 << 20
	maxInodes  = 100_000
)

// mountWorkspace mounts the file system on dir.
func mountWorkspace(dir string, limit int64) error {
	data := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", limit+slackBytes, maxInodes)
	if err := unix.Mount("cabra-workspace", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return fmt.Errorf("mounting workspace: %w", err)
	}
	return nil
}

// unmountWorkspace takes away what is mounted on a workspace's folder. It is
// detached, whoever still holds it; a folder without a mount is no error.
func unmountWorkspace(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
		return nil // not a mount, not there, or one that we could not have made
	}
	return err
}

// mountedBytes is what a mounted workspace takes, deleted files that are still
// open included.
func mountedBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return -1, err
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, nil
}

// sharesMounts reports whether the engine behind a unix socket sees the mounts
// of this process: whether both are in one mount namespace. Elsewhere a mount
// of ours would be an empty folder to the engine.
func sharesMounts(ctx context.Context, endpoint string) bool {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		return false
	}
	d := net.Dialer{Timeout: probeTimeout}
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return false
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return false
	}
	theirs, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(cred.Pid), "ns", "mnt"))
	if err != nil {
		return false
	}
	ours, err := os.Readlink("/proc/self/ns/mnt")
	return err == nil && ours == theirs
}
