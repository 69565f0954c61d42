//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cabra-run/sandbox/relay/internal/wire"
)

// maxRefused is the longest list of refusals; what is beyond is counted.
const maxRefused = 200

// The reasons of refusals that tar has no type for; they are those of package
// sandbox, which reads them.
const (
	tooLarge = "too large"
	tooMany  = "too many files"
	tooDeep  = "too deep"
	socket   = "socket"
	unread   = "not readable"
	changed  = "changed while it was read"
)

// archiver writes one tar stream.
type archiver struct {
	tar       *tar.Writer
	files     int64 // that may still be written
	bytes     int64 // likewise
	fileBytes int64 // of one file
	refused   []tar.Header
	dropped   int
}

// archiveCommand writes the regular files of a tree to standard output.
func archiveCommand(args []string) (int, error) {
	a := &archiver{files: 2000, bytes: 64 << 20, fileBytes: 16 << 20}
	entries, depth, only := int64(20000), int64(32), []string(nil)
	options := arguments{
		numbers: map[string]*int64{
			"--files": &a.files, "--bytes": &a.bytes, "--file-bytes": &a.fileBytes,
			"--entries": &entries, "--depth": &depth,
		},
		lists: map[string]*[]string{"--only": &only},
	}
	words, err := options.parse(args)
	if err != nil {
		return exitUsage, err
	}
	dir, err := one(words, "folder")
	if err != nil {
		return exitUsage, err
	}
	for _, rel := range only {
		if !filepath.IsLocal(rel) || path.Clean(rel) == "." {
			return exitUsage, fmt.Errorf("%w: %q is no path below the folder", errUsage, rel)
		}
	}
	w := &walker{entries: entries, depth: int(depth), visit: a.visit}
	if err := a.write(os.Stdout, w, dir, only); err != nil {
		return exitFailed, err
	}
	return exitDone, nil
}

func (a *archiver) write(out io.Writer, w *walker, dir string, only []string) error {
	fd, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 64<<10)
	a.tar = tar.NewWriter(buffered)
	if len(only) == 0 {
		err = w.folder(fd, "", 0)
	} else {
		defer unix.Close(fd)
	}
	for i := 0; i < len(only) && err == nil; i++ {
		err = w.only(fd, only[i])
	}
	if err == nil {
		err = a.finish(w.cut)
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	return nil
}

// finish writes the refusals and the end of the archive.
func (a *archiver) finish(cut bool) error {
	if cut || a.dropped > 0 {
		text := fmt.Sprintf("%d more refused", a.dropped)
		if cut {
			text += ", and not everything was looked at"
		}
		a.refused = append(a.refused, refusal(".", text))
	}
	for i := range a.refused {
		if err := a.tar.WriteHeader(&a.refused[i]); err != nil {
			return err
		}
	}
	return a.tar.Close()
}

func refusal(path, reason string) tar.Header {
	return tar.Header{
		Typeflag: wire.RefusedType, Name: path, Format: tar.FormatPAX,
		PAXRecords: map[string]string{wire.RefusedRecord: reason},
	}
}

func (a *archiver) refuse(h tar.Header) {
	if len(a.refused) >= maxRefused {
		a.dropped++
		return
	}
	a.refused = append(a.refused, h)
}

// visit writes a regular file, and notes everything else but folders.
func (a *archiver) visit(e entry) error {
	types := map[uint32]byte{
		unix.S_IFLNK: tar.TypeSymlink, unix.S_IFIFO: tar.TypeFifo,
		unix.S_IFCHR: tar.TypeChar, unix.S_IFBLK: tar.TypeBlock,
	}
	kind := e.stat.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFREG:
		return a.regular(e)
	case kind == unix.S_IFSOCK:
		a.refuse(refusal(e.path, socket))
	case e.deep:
		a.refuse(refusal(e.path, tooDeep))
	case e.unread:
		a.refuse(refusal(e.path, unread))
	case types[kind] != 0: // with no target: it is the box's text, and nobody needs it
		a.refuse(tar.Header{Typeflag: types[kind], Name: e.path, Format: tar.FormatPAX})
	}
	return nil
}

// regular writes a regular file, if it still is one and within the bounds.
func (a *archiver) regular(e entry) error {
	fd, err := unix.Openat(e.dir, e.name, openFlags, 0)
	if err != nil {
		a.refuse(refusal(e.path, unread))
		return nil
	}
	file := os.NewFile(uintptr(fd), e.path)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		a.refuse(refusal(e.path, unread))
		return nil
	}
	switch {
	case st.Size > a.fileBytes || st.Size > a.bytes:
		a.refuse(refusal(e.path, tooLarge))
		return nil
	case a.files == 0:
		a.refuse(refusal(e.path, tooMany))
		return nil
	}
	a.files--
	a.bytes -= st.Size
	header := tar.Header{
		Typeflag: tar.TypeReg, Name: e.path, Size: st.Size, Mode: int64(st.Mode & 0o777),
		ModTime: time.Unix(st.Mtim.Sec, 0), Format: tar.FormatPAX,
	}
	if err := a.tar.WriteHeader(&header); err != nil {
		return err
	}
	return a.contents(file, e.path, st.Size)
}

// contents writes exactly size bytes, as the header has promised: a file that
// shrinks meanwhile is filled up with zeros, one that grows is cut.
func (a *archiver) contents(file io.Reader, path string, size int64) error {
	source := &sizedReader{r: file, left: size}
	if _, err := io.Copy(a.tar, source); err != nil {
		return err
	}
	if source.short {
		a.refuse(refusal(path, changed))
	}
	return nil
}

// sizedReader gives exactly left bytes: zeros after the end of r.
type sizedReader struct {
	r     io.Reader
	left  int64
	short bool
}

func (s *sizedReader) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), s.left)]
	if !s.short {
		n, err := s.r.Read(p)
		if n > 0 || err == nil {
			s.left -= int64(n)
			return n, nil
		}
		s.short = true
	}
	clear(p)
	s.left -= int64(len(p))
	return len(p), nil
}
