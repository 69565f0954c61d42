package images

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// part says which files of an npm package go where.
type part struct {
	dir   string   // absolute path in the image
	strip string   // only what lies in this folder of the package, or empty
	keep  []string // patterns of files and folders in there; none: all
	drop  []string // patterns of files' names, wherever they lie
}

// place returns where a file of the package goes, and whether it goes at all.
func (p part) place(rel string) (string, bool) {
	if p.strip != "" {
		below, ok := strings.CutPrefix(rel, p.strip+"/")
		if !ok {
			return "", false
		}
		rel = below
	}
	kept := len(p.keep) == 0
	for above := rel; above != "." && !kept; above = path.Dir(above) {
		kept = matches(p.keep, above)
	}
	return path.Join(strings.Trim(p.dir, "/"), rel), kept && !matches(p.drop, path.Base(rel))
}

// matches reports whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// unpack turns one npm tarball into a tar of root-owned, read-only files.
func unpack(dst io.Writer, tgz io.Reader, p part) error {
	u := newUnpacker(dst)
	if err := u.pack(tgz, p); err != nil {
		return err
	}
	return u.out.Close()
}

// unpacker writes the files of npm packages as one tar.
type unpacker struct {
	out     *tar.Writer
	seen    map[string]byte // names written, with their type
	bytes   int64
	entries int
}

func newUnpacker(dst io.Writer) *unpacker {
	return &unpacker{out: tar.NewWriter(dst), seen: map[string]byte{}}
}

// pack adds a package. Anything but plain files under its one folder is refused.
// Of a file that comes twice the last one counts, as with npm.
func (u *unpacker) pack(tgz io.Reader, p part) error {
	zr, err := gzip.NewReader(tgz)
	if err != nil {
		return fmt.Errorf("reading the package: %w", err)
	}
	if err := u.folder(strings.Trim(p.dir, "/")); err != nil {
		return err
	}
	in, top := tar.NewReader(zr), ""
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the package: %w", err)
		}
		if top == "" {
			top, _, _ = strings.Cut(h.Name, "/")
		}
		if err := u.add(h, in, top, p); err != nil {
			return fmt.Errorf("package file %q: %w", h.Name, err)
		}
	}
}

// add writes a file of a package whose one folder is top.
func (u *unpacker) add(h *tar.Header, body io.Reader, top string, p part) error {
	u.entries++
	u.bytes += h.Size
	if u.entries > maxEntries || u.bytes > maxUnpacked {
		return errors.New("the package is too large")
	}
	rel, ok := strings.CutPrefix(h.Name, top+"/")
	rel = strings.TrimSuffix(strings.TrimPrefix(rel, "./"), "/") // some packers write ./ behind the folder
	switch {
	case h.Typeflag == tar.TypeDir && ok == (rel == "") && strings.TrimSuffix(h.Name, "/") == top:
		return nil
	case top == "." || !filepath.IsLocal(top) || !ok || !filepath.IsLocal(rel) || rel != path.Clean(rel) || strings.ContainsAny(rel, "\\\x00"):
		return errors.New("the name leads out of the package")
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return errors.New("neither a file nor a folder")
	}
	name, wanted := p.place(rel)
	switch {
	case !wanted:
		return nil
	case h.Typeflag == tar.TypeDir:
		return u.folder(name)
	}
	if u.seen[name] == tar.TypeDir {
		return errors.New("a folder becomes a file")
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	u.seen[name] = tar.TypeReg
	mode := int64(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	if err := u.out.WriteHeader(fileHeader(name, mode, h.Size)); err != nil {
		return err
	}
	_, err := io.Copy(u.out, body)
	return err
}

// folder writes a folder and those above it, each once.
func (u *unpacker) folder(name string) error {
	switch {
	case name == "." || u.seen[name] == tar.TypeDir:
		return nil
	case u.seen[name] != 0:
		return errors.New("a file is used as a folder")
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	u.seen[name] = tar.TypeDir
	return u.out.WriteHeader(folderHeader(name))
}

func fileHeader(name string, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: fixedTime}
}

func folderHeader(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: fixedTime}
}
