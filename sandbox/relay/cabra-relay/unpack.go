//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unpacker writes what a tar stream holds below a folder.
type unpacker struct {
	root    *os.Root
	files   int64 // files and folders that may still be made
	bytes   int64 // likewise, of all contents
	replace bool  // a file that is there already makes room
}

// unpackCommand writes the files and folders of a tar stream on standard input
// below a folder: nothing outside of it, nothing through a link, no links.
func unpackCommand(args []string) (int, error) {
	u := &unpacker{files: 2000, bytes: 64 << 20}
	replace := int64(0)
	options := arguments{numbers: map[string]*int64{
		"--files": &u.files, "--bytes": &u.bytes, "--replace": &replace,
	}}
	words, err := options.parse(args)
	if err != nil {
		return exitUsage, err
	}
	dir, err := one(words, "folder")
	if err != nil {
		return exitUsage, err
	}
	u.replace = replace != 0
	if u.root, err = os.OpenRoot(dir); err != nil {
		return exitFailed, fmt.Errorf("opening folder %q: %w", dir, err)
	}
	defer u.root.Close()
	if err := u.read(os.Stdin); err != nil {
		return exitFailed, fmt.Errorf("unpacking: %w", err)
	}
	return exitDone, nil
}

func (u *unpacker) read(in io.Reader) error {
	archive := tar.NewReader(bufio.NewReaderSize(in, 64<<10))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := u.entry(h, archive); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
}

func (u *unpacker) entry(h *tar.Header, contents io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	if !filepath.IsLocal(name) || path.Clean(name) == "." {
		return errors.New("no path below the folder")
	}
	if u.files == 0 {
		return errors.New(tooMany)
	}
	u.files--
	switch h.Typeflag {
	case tar.TypeDir:
		return u.root.MkdirAll(name, 0o700)
	case tar.TypeReg:
		return u.regular(name, h, contents)
	}
	return fmt.Errorf("neither a file nor a folder (type %q)", h.Typeflag)
}

// regular makes a file. What is there under its name is never written to: it
// could be a link.
func (u *unpacker) regular(name string, h *tar.Header, contents io.Reader) error {
	if h.Size > u.bytes {
		return errors.New(tooLarge)
	}
	u.bytes -= h.Size
	if err := u.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if u.replace {
		if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode)&0o777)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	return errors.Join(err, f.Close())
}
