//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// clearCommand empties a folder that may be nested deeper than a process can
// have files open, as its owner.
func clearCommand(args []string) (int, error) {
	var options arguments
	words, err := options.parse(args)
	if err != nil {
		return exitUsage, err
	}
	dir, err := one(words, "folder")
	if err != nil {
		return exitUsage, err
	}
	fd, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return exitFailed, err
	}
	c := &clearer{top: os.NewFile(uintptr(fd), dir)}
	defer c.top.Close()
	if err := c.empty(c.top, c.dropTop); err != nil {
		return exitFailed, fmt.Errorf("clearing: %w", err)
	}
	return exitDone, nil
}

// clearer empties the folder top. A folder below it has its own folders moved
// up into top before it goes, so that no tree is ever walked down.
type clearer struct {
	top   *os.File
	moved int
}

// empty drops all entries of a folder. Entries that go while it is read may
// hide others, so the end is a reading that sees none.
func (c *clearer) empty(dir *os.File, drop func(name string) error) error {
	for seen := true; seen; {
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		seen = false
		for {
			names, err := dir.Readdirnames(1024)
			for _, name := range names {
				seen = true
				if err := drop(name); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *clearer) dropTop(name string) error {
	full, err := drop(c.top, name)
	if err != nil || !full {
		return err
	}
	fd, err := openDir(int(c.top.Fd()), name)
	if err != nil {
		return err
	}
	sub := os.NewFile(uintptr(fd), name)
	defer sub.Close()
	if err := c.empty(sub, func(below string) error { return c.dropBelow(sub, below) }); err != nil {
		return err
	}
	return unix.Unlinkat(int(c.top.Fd()), name, unix.AT_REMOVEDIR)
}

// dropBelow removes an entry of a folder of top, or moves it up.
func (c *clearer) dropBelow(dir *os.File, name string) error {
	full, err := drop(dir, name)
	if err != nil || !full {
		return err
	}
	for {
		c.moved++
		free := fmt.Sprintf("cleared-%d", c.moved)
		err := unix.Renameat2(int(dir.Fd()), name, int(c.top.Fd()), free, unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}

// drop removes what is not a folder, or an empty one. Of a full one it takes
// care that its owner can read, empty and move it.
func drop(dir *os.File, name string) (full bool, err error) {
	at := int(dir.Fd())
	err = unix.Unlinkat(at, name, 0)
	if !errors.Is(err, unix.EISDIR) {
		return false, err
	}
	err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	if !errors.Is(err, unix.ENOTEMPTY) {
		return false, err
	}
	return true, unix.Fchmodat(at, name, 0o700, 0)
}
