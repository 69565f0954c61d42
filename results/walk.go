package results

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

var attemptName = regexp.MustCompile(`^attempt-([1-9][0-9]{0,8})$`)

// walkersAtOnce is how many folders are listed at the same time.
const walkersAtOnce = 4

// attemptFolders lists trials/**/attempt-N of a run, in ascending order, without
// looking into them. Each folder is opened within its parent and no link is
// followed: a walk by whole paths takes the eightfold time in a run of a hundred
// thousand trials.
func attemptFolders(dir string) ([]string, error) {
	top, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(top)
	trials, err := openFolder(top, "trials", dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := &walk{found: make(chan []string)}
	w.group.SetLimit(walkersAtOnce)
	var all []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for list := range w.found {
			all = append(all, list...)
		}
	}()
	var list []string
	err = w.folder(trials, "trials", &list)
	w.found <- list
	err = errors.Join(err, w.group.Wait())
	close(w.found)
	<-done
	slices.Sort(all)
	return all, err
}

type walk struct {
	group errgroup.Group
	found chan []string
}

// folder lists a folder, closes it, and walks what is in it: with another
// walker where one is free.
func (w *walk) folder(f *os.File, name string, list *[]string) error {
	entries, err := f.ReadDir(-1)
	defer f.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner := path.Join(name, e.Name())
		switch {
		case !e.IsDir():
			continue
		case attemptName.MatchString(e.Name()):
			*list = append(*list, inner)
			continue
		}
		sub, err := openFolder(int(f.Fd()), e.Name(), f.Name())
		if err != nil {
			return err
		}
		started := w.group.TryGo(func() error {
			var own []string
			err := w.folder(sub, inner, &own)
			w.found <- own
			return err
		})
		if started {
			continue
		}
		if err := w.folder(sub, inner, list); err != nil {
			return err
		}
	}
	return nil
}

// openFolder opens a folder within its parent, of which the path is given too:
// where the file system does not tell what an entry is, it is looked up by path.
func openFolder(parent int, name, parentPath string) (*os.File, error) {
	full := filepath.Join(parentPath, name)
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: full, Err: err}
	}
	return os.NewFile(uintptr(fd), full), nil
}
