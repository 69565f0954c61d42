package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxCopied bounds what a recipe copies from this host.
const maxCopied = 1 << 30

// copied is a recipe's files of this host.
type copied struct {
	list   []Copy
	digest string // of names, modes and contents; "" without files
}

// readCopies reads the files once, for the digest.
func readCopies(list []Copy) (copied, error) {
	if len(list) == 0 {
		return copied{}, nil
	}
	sum := sha256.New()
	if err := writeCopies(io.Discard, list, sum); err != nil {
		return copied{}, &Error{What: "reading the files that the recipe copies", Err: err}
	}
	return copied{list, hex.EncodeToString(sum.Sum(nil))}, nil
}

// write writes the files as a tar, if they are still those of the digest.
func (c copied) write(w io.Writer) error {
	sum := sha256.New()
	if err := writeCopies(w, c.list, sum); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != c.digest {
		return errors.New("a file that the recipe copies has changed just now")
	}
	return nil
}

// writeCopies writes the files of the host as a tar of root's files, and what
// decides on them to sum as well.
func writeCopies(w io.Writer, list []Copy, sum hash.Hash) error {
	c := &copier{u: newUnpacker(io.MultiWriter(w, sum))}
	for _, cp := range list {
		if err := c.add(cp); err != nil {
			return fmt.Errorf("copying %s: %w", cp.From, err)
		}
	}
	return c.u.out.Close()
}

type copier struct{ u *unpacker }

// add writes a file, or a folder with all that lies in it.
func (c *copier) add(cp Copy) error {
	info, err := os.Stat(cp.From)
	if err != nil {
		return err
	}
	to := strings.TrimPrefix(cp.To, "/")
	if info.Mode().IsRegular() {
		return c.file(os.DirFS(filepath.Dir(cp.From)), filepath.Base(cp.From), to)
	}
	if !info.IsDir() {
		return errors.New("neither a file nor a folder")
	}
	root, err := os.OpenRoot(cp.From)
	if err != nil {
		return err
	}
	defer root.Close()
	files := root.FS()
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return c.u.folder(path.Join(to, name))
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		return c.file(files, name, path.Join(to, name))
	})
}

func (c *copier) file(files fs.FS, name, to string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c.u.entries++
	c.u.bytes += info.Size()
	if c.u.entries > maxEntries || c.u.bytes > maxCopied {
		return errors.New("that is too much for an image")
	}
	if err := c.u.folder(path.Dir(to)); err != nil {
		return err
	}
	if c.u.seen[to] == tar.TypeDir {
		return errors.New("a folder becomes a file")
	}
	c.u.seen[to] = tar.TypeReg
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := c.u.out.WriteHeader(fileHeader(to, mode, info.Size())); err != nil {
		return err
	}
	_, err = io.CopyN(c.u.out, f, info.Size())
	return err
}
