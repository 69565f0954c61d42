package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// longest is how long the path of a socket may be: what the kernel takes, less
// its end. Longer ones are gone through a descriptor of their folder.
const longest = 107

// reach calls use with a path of the socket that the kernel takes. What use
// makes or finds there is in the folder, by whatever path.
func reach(dir, name string, use func(path string) error) error {
	path := filepath.Join(dir, name)
	if len(path) <= longest {
		return use(path)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", fd, name))
}

func dial(ctx context.Context, dir, name string) (conn net.Conn, err error) {
	err = reach(dir, name, func(path string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

// listen makes the socket, in place of whatever has its name.
func listen(dir, name string) (*net.UnixListener, error) {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var l *net.UnixListener
	err := reach(dir, name, func(path string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // its path may be one of a descriptor that is closed by now
	if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// isRefused reports whether nobody listens on a socket that is there.
func isRefused(err error) bool { return errors.Is(err, unix.ECONNREFUSED) }

// peer is the uid of the process at the other end, as the kernel noted it when
// that one connected.
func peer(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// mayAsk reports whether a user may steer a sweep of this process.
func mayAsk(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }
