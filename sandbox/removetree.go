package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flattenLevel is how many levels of a tree are left standing before what is
// below is moved to the top. It bounds the files that are open at once.
const flattenLevel = 128

// RemoveTree removes name within parent, whatever owners, modes and nesting its
// files have; as root, that is. It is not an error when it is not there.
func RemoveTree(parent *os.Root, name string) error {
	for {
		err := parent.RemoveAll(name)
		if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) {
			return err
		}
		// So deep that a descent takes more open files than there are.
		moved, ferr := flatten(parent, name)
		if ferr != nil {
			return errors.Join(err, ferr)
		}
		if moved == 0 {
			return err
		}
	}
}

// flatten moves what lies deeper than flattenLevel to the top of the tree and
// returns the number of moved folders. One call makes each of them a tree that
// may need flattening itself.
func flatten(parent *os.Root, name string) (int, error) {
	top, err := parent.Open(name)
	if err != nil {
		return 0, err
	}
	defer top.Close()
	f := flattening{top: int(top.Fd())}
	fd, err := openFolder(f.top, ".")
	if err != nil {
		return 0, err
	}
	f.folder(os.NewFile(uintptr(fd), name), 0)
	return f.moved, nil
}

type flattening struct {
	top   int
	moved int
}

// folder goes through dir and closes it. What it cannot open or move is left
// to the removal, which reports it.
func (f *flattening) folder(dir *os.File, level int) {
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		fd, err := openFolder(int(dir.Fd()), name)
		if err != nil {
			continue // not a folder
		}
		if level < flattenLevel {
			f.folder(os.NewFile(uintptr(fd), name), level+1)
			continue
		}
		unix.Close(fd)
		if unix.Renameat(int(dir.Fd()), name, f.top, RandomName()) == nil {
			f.moved++
		}
	}
}
