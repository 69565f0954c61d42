package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// RemoveTree removes one entry of parent with everything below it; one that is
// not there is no error. Unlike os.RemoveAll it needs three descriptors and no
// stack whatever the depth: a box can nest folders deeper than a process may
// have files open, and such a tree must not be there for ever.
func RemoveTree(parent *os.Root, name string) error {
	dir, err := parent.Open(".")
	if err != nil {
		return fmt.Errorf("removing %q: %w", name, err)
	}
	defer dir.Close()
	full, err := removeEntry(dir, name)
	if err == nil && full {
		err = removeFolder(dir, name)
	}
	if err != nil {
		return fmt.Errorf("removing %q: %w", name, err)
	}
	return nil
}

func removeFolder(dir *os.File, name string) error {
	r := &treeRemover{prefix: RandomName()}
	fd, err := openFolder(int(dir.Fd()), name)
	if err != nil {
		return err
	}
	r.top = os.NewFile(uintptr(fd), name)
	defer r.top.Close()
	if err := r.empty(r.top, r.dropTop); err != nil {
		return err
	}
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}

// treeRemover empties the folder top. A folder below it has its own folders
// moved up into top before it goes, so that no tree is deeper than two.
type treeRemover struct {
	top    *os.File
	prefix string // of the names of moved folders; nobody can have guessed it
	moved  int
}

// empty drops all entries of a folder. Entries that are removed while a folder
// is read may hide others, so the end is a reading that sees none.
func (r *treeRemover) empty(dir *os.File, drop func(name string) error) error {
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

// dropTop removes an entry of top.
func (r *treeRemover) dropTop(name string) error {
	full, err := removeEntry(r.top, name)
	if err != nil || !full {
		return err
	}
	fd, err := openFolder(int(r.top.Fd()), name)
	if err != nil {
		return err
	}
	sub := os.NewFile(uintptr(fd), name)
	defer sub.Close()
	err = r.empty(sub, func(below string) error { return r.dropBelow(sub, below) })
	if err != nil {
		return err
	}
	return unix.Unlinkat(int(r.top.Fd()), name, unix.AT_REMOVEDIR)
}

// dropBelow removes an entry of a folder of top, or moves it up.
func (r *treeRemover) dropBelow(dir *os.File, name string) error {
	full, err := removeEntry(dir, name)
	if err != nil || !full {
		return err
	}
	r.moved++
	return unix.Renameat(int(dir.Fd()), name, int(r.top.Fd()), fmt.Sprintf("%s-%d", r.prefix, r.moved))
}

// removeEntry removes what is not a folder, or an empty one; full says that
// name is a folder that has entries.
func removeEntry(dir *os.File, name string) (full bool, err error) {
	at := int(dir.Fd())
	err = unix.Unlinkat(at, name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return true, nil
	}
	return false, err
}
