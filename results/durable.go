package results

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// A file is safe once it and the folder that names it are synced. The helpers
// below keep that order; none of them tries a failed sync again, because the
// kernel reports a lost page only once.

func syncPath(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncIn(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// writeFileDurably puts a file into root so that it is there whole or not at all.
func writeFileDurably(root *os.Root, name string, data []byte) error {
	tmp := path.Join(path.Dir(name), "."+path.Base(name)+".tmp")
	err := writeSynced(root, tmp, data)
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		root.Remove(tmp)
		return err
	}
	return syncIn(root, path.Dir(name))
}

func writeSynced(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncTree syncs every file and folder below root, files first.
func syncTree(root *os.Root) error {
	var folders []string
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			folders = append(folders, name)
			return nil
		case d.Type().IsRegular():
			return syncIn(root, name)
		}
		return nil // links and the like hold no data of their own
	})
	if err != nil {
		return err
	}
	for i := len(folders) - 1; i >= 0; i-- {
		if err := syncIn(root, folders[i]); err != nil {
			return err
		}
	}
	return nil
}

// makeFolders makes name with its parents below root, and syncs each parent in
// which something is new. Callers hold a lock around it: whoever finds a folder
// made by another must be able to rely on its being synced.
func makeFolders(root *os.Root, name string) error {
	parent := "."
	for _, part := range strings.Split(name, "/") {
		next := path.Join(parent, part)
		err := root.Mkdir(next, 0o777)
		if err == nil {
			err = syncIn(root, parent)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		parent = next
	}
	return nil
}
