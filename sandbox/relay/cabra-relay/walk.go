//go:build linux

package main

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

// A walker goes through a hostile tree: in the order of names, never through a
// link, no deeper and no longer than allowed.
type walker struct {
	entries int64 // that may still be looked at
	depth   int   // nested folders that are entered
	visit   func(e entry) error
	cut     bool // not everything was looked at
}

// entry is one name in an open folder.
type entry struct {
	dir  int    // descriptor of the folder
	name string // in it
	path string // from the top
	stat unix.Stat_t
	// deep is set for a folder that is too deep to be entered, unread for one
	// that cannot be.
	deep, unread bool
}

const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// openDir opens a folder, not a link to one.
func openDir(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, openFlags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, fmt.Errorf("opening folder %q: %w", name, err)
	}
	return fd, nil
}

// folder visits all entries of the folder fd, which it closes. prefix is its
// path from the top.
func (w *walker) folder(fd int, prefix string, depth int) error {
	dir := os.NewFile(uintptr(fd), prefix)
	defer dir.Close()
	for _, name := range w.names(dir) {
		if err := w.one(fd, name, prefix, depth); err != nil {
			return err
		}
	}
	return nil
}

// names reads the names of a folder, as many as may still be looked at and can be read.
func (w *walker) names(dir *os.File) []string {
	var names []string
	for w.entries > int64(len(names)) {
		some, err := dir.Readdirnames(int(min(1024, w.entries-int64(len(names)))))
		names = append(names, some...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.cut = true
			break
		}
	}
	if w.entries == int64(len(names)) { // perhaps there was exactly one too many
		if _, err := dir.Readdirnames(1); !errors.Is(err, io.EOF) {
			w.cut = true
		}
	}
	w.entries -= int64(len(names))
	slices.Sort(names)
	return names
}

// one visits one name and, when it is a folder, what is below it.
func (w *walker) one(fd int, name, prefix string, depth int) error {
	e := entry{dir: fd, name: name, path: path.Join(prefix, name)}
	if err := unix.Fstatat(fd, name, &e.stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil // gone since its name was read
	}
	sub := -1
	if e.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		var err error
		if e.deep = depth >= w.depth; !e.deep {
			sub, err = openDir(fd, name)
		}
		e.unread = err != nil
	}
	if err := w.visit(e); err != nil {
		if sub >= 0 {
			unix.Close(sub)
		}
		return err
	}
	if sub < 0 {
		return nil
	}
	return w.folder(sub, e.path, depth+1)
}

// only visits one path below the folder fd, without following a link on the
// way. One that does not exist is left out.
func (w *walker) only(fd int, rel string) error {
	parts := strings.Split(path.Clean(rel), "/")
	at, err := unix.Dup(fd)
	if err != nil {
		return fmt.Errorf("duplicating a descriptor: %w", err)
	}
	defer func() { unix.Close(at) }()
	for _, part := range parts[:len(parts)-1] {
		next, err := openDir(at, part)
		if err != nil {
			return nil // it does not exist, or is a link
		}
		unix.Close(at)
		at = next
	}
	return w.one(at, parts[len(parts)-1], strings.Join(parts[:len(parts)-1], "/"), len(parts)-1)
}
