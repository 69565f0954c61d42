package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadTree copies the regular files of a hostile tree into dst, an empty
// folder. Nothing is followed, opened for writing or waited for: each name is
// looked at first, opened without following and without blocking relative to
// its already opened folder, and looked at again. Shallow files come before
// deeper ones, so that a swollen subfolder cannot crowd out the files beside
// it. What is left out is listed in the Collection; the error is one of the
// destination or of opening src itself.
func ReadTree(src, dst *os.Root, limits CollectLimits) (Collection, error) {
	c := newCollector(dst, limits)
	top, err := src.Open(".")
	if err != nil {
		return c.result, fmt.Errorf("opening tree: %w", err)
	}
	defer top.Close()
	w := &treeWalk{c: c, top: top, met: map[string]bool{}}
	for _, name := range c.limits.First {
		if err := w.firstFile(name); err != nil {
			return c.result, err
		}
	}
	clear(c.first)
	for queue := []string{"."}; len(queue) > 0 && !c.result.Truncated; queue = queue[1:] {
		below, err := w.folder(queue[0])
		if err != nil {
			return c.result, err
		}
		queue = append(queue, below...)
	}
	return c.result, nil
}

// treeWalk reads folders breadth first. Only one folder is open at a time
// beside the top, whatever the shape of the tree.
type treeWalk struct {
	c   *collector
	top *os.File
	met map[string]bool // first files, dealt with before the walk
}

// firstFile keeps one of CollectLimits.First, if it is there.
func (w *treeWalk) firstFile(name string) error {
	if !w.c.first[name] || w.met[name] {
		return nil
	}
	dir, err := w.open(path.Dir(name))
	if err != nil {
		return nil // the walk meets what there is
	}
	defer dir.Close()
	if isDir, err := w.entry(dir, path.Base(name), name); isDir || err != nil {
		return err
	}
	w.met[name] = true
	return nil
}

// folder keeps the files of one folder and returns the folders below it.
func (w *treeWalk) folder(name string) ([]string, error) {
	dir, err := w.open(name)
	if err != nil {
		w.c.refuse(name, RefusedUnread)
		return nil, nil
	}
	defer dir.Close()
	names, err := w.names(dir)
	if err != nil {
		w.c.refuse(name, RefusedUnread)
	}
	var below []string
	for _, base := range names {
		full := base
		if name != "." {
			full = name + "/" + base
		}
		isDir, err := w.entry(dir, base, full)
		if err != nil {
			return nil, err
		}
		if isDir {
			below = append(below, full)
		}
	}
	return below, nil
}

// open opens a folder step by step from the top. One openat per step, because
// a link anywhere on the way must not be followed.
func (w *treeWalk) open(name string) (*os.File, error) {
	fd, err := openFolder(int(w.top.Fd()), ".")
	if err != nil {
		return nil, err
	}
	if name != "." {
		for step := range strings.SplitSeq(name, "/") {
			next, err := openFolder(fd, step)
			unix.Close(fd)
			if err != nil {
				return nil, err
			}
			fd = next
		}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openFolder(at int, name string) (int, error) {
	return retryEINTR(func() (int, error) {
		return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
}

// names lists a folder in ascending order, never more than the entries that
// are left to look at plus the one that ends the reading.
func (w *treeWalk) names(dir *os.File) ([]string, error) {
	left := w.c.limits.Entries - w.c.entries + 1
	names, err := dir.Readdirnames(left)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// entry deals with one name of a folder and reports whether it is a folder.
func (w *treeWalk) entry(dir *os.File, base, full string) (isDir bool, err error) {
	if w.met[full] || !w.c.entry() {
		return false, nil
	}
	var st unix.Stat_t
	err = unix.Fstatat(int(dir.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW)
	if w.c.first[full] && errors.Is(err, unix.ENOENT) {
		return false, nil // a first file that is not there any more
	}
	if err != nil {
		w.c.refuse(full, RefusedUnread)
		return false, nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if !plainPath(full) {
			w.c.refuse(full, RefusedName)
			return false, nil
		}
		if depth(full) >= w.c.limits.Depth {
			w.c.refuse(full, RefusedTooDeep)
			return false, nil
		}
		return true, nil
	}
	if reason := refusal(&st); reason != "" {
		w.c.refuse(full, reason)
		return false, nil
	}
	return false, w.file(dir, base, full, st.Size)
}

// file opens a regular file and keeps it.
func (w *treeWalk) file(dir *os.File, base, full string, size int64) error {
	if reason := w.c.admit(full, size); reason != "" {
		w.c.refuse(full, reason)
		return nil
	}
	fd, err := retryEINTR(func() (int, error) {
		return unix.Openat(int(dir.Fd()), base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		w.c.refuse(full, RefusedUnread)
		return nil
	}
	f := os.NewFile(uintptr(fd), full)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		w.c.refuse(full, RefusedUnread)
		return nil
	}
	// The name may have been given to something else since it was looked at.
	reason := refusal(&st)
	if reason == "" {
		reason = w.c.admit(full, st.Size)
	}
	if reason != "" {
		w.c.refuse(full, reason)
		return nil
	}
	return w.c.keep(full, os.FileMode(st.Mode&0o777), st.Size, f)
}

// refusal is the reason against everything but a regular file with one name.
func refusal(st *unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Nlink > 1 {
			return RefusedHardLink
		}
		return ""
	case unix.S_IFLNK:
		return RefusedLink
	case unix.S_IFIFO:
		return RefusedFIFO
	case unix.S_IFSOCK:
		return RefusedSocket
	default:
		return RefusedDevice
	}
}

func retryEINTR(call func() (int, error)) (int, error) {
	for {
		fd, err := call()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
