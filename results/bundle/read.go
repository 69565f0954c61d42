package bundle

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cabra-run/results"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Read unpacks a bundle to a run at dst, which must not exist. Nothing is there
// and no image is handed out before every member was compared with its digest.
// What is not intact, or not a bundle, is an *Error.
func Read(ctx context.Context, r io.Reader, dst string, opts ReadOptions) (*Report, error) {
	dst = filepath.Clean(dst)
	if _, err := os.Lstat(dst); err == nil {
		_, err := os.Lstat(filepath.Join(dst, "run.json"))
		return nil, &results.ExistsError{Dir: dst, IsRun: err == nil}
	}
	s, err := openStaging(filepath.Join(filepath.Dir(dst), "."+filepath.Base(dst)+".unpacking"))
	if err != nil {
		return nil, fmt.Errorf("unpacking to %q: %w", dst, err)
	}
	u := &unpacker{ctx: ctx, opts: opts, root: s.root}
	err = u.all(r)
	if err == nil {
		err = u.finish(s.dir, dst)
	}
	if err = errors.Join(err, s.remove()); err != nil {
		return nil, fmt.Errorf("unpacking to %q: %w", dst, err)
	}
	return &u.report, nil
}

// staging is the folder into which a bundle is unpacked, held by a lock.
type staging struct {
	dir  string
	root *os.Root
	lock *os.File
}

// openStaging makes the folder; that of an unpacking that was killed is removed.
func openStaging(dir string) (*staging, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another unpacking works in %q: %w", dir, err), lock.Close())
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &staging{dir, root, lock}
	for _, old := range []string{runDir, imagesDir, manifestFile, infoFile} {
		if err := root.RemoveAll(old); err != nil {
			return nil, errors.Join(err, s.remove())
		}
	}
	return s, nil
}

func (s *staging) remove() error {
	return errors.Join(os.RemoveAll(s.dir), s.root.Close(), s.lock.Close())
}

// unpacker takes members one by one.
type unpacker struct {
	ctx      context.Context
	opts     ReadOptions
	root     *os.Root
	manifest *bufio.Writer // the lines that there should be, in a file
	report   Report
}

func (u *unpacker) all(r io.Reader) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(2))
	if err != nil {
		return err
	}
	defer z.Close()
	f, err := u.root.OpenFile(manifestFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	u.manifest = bufio.NewWriter(f)
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if err != nil {
			return u.broken("", err)
		}
		if err := u.allowed(h); err != nil {
			return err
		}
		if h.Name == manifestFile {
			if err := u.compare(t, f); err != nil {
				return err
			}
			return u.end(t, z)
		}
		if err := u.member(h, t); err != nil {
			return err
		}
	}
}

// end makes sure that nothing follows the manifest.
func (u *unpacker) end(t *tar.Reader, z io.Reader) error {
	if h, err := t.Next(); err == nil {
		return &Error{Member: h.Name, Reason: "it stands behind the end"}
	} else if !errors.Is(err, io.EOF) {
		return u.broken("", err)
	}
	const padding = 1 << 20
	n, err := io.Copy(io.Discard, io.LimitReader(z, padding+1))
	if err != nil {
		return u.broken("", err)
	}
	if n > padding {
		return &Error{Reason: "something stands behind its end"}
	}
	return nil
}

// broken is what a failure to read means; a context that ended is none of the
// bundle's.
func (u *unpacker) broken(member string, err error) error {
	if u.ctx.Err() != nil {
		return u.ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Member: member, Reason: "the file ends too early"}
	}
	return &Error{Member: member, Reason: err.Error()}
}

// allowed refuses members that no bundle has, and too many or too large ones.
func (u *unpacker) allowed(h *tar.Header) error {
	refuse := func(reason string) error { return &Error{Member: h.Name, Reason: reason} }
	name := strings.TrimSuffix(h.Name, "/")
	if err := checkName(name); err != nil {
		return refuse(err.Error())
	}
	maxBytes, maxMembers := u.opts.MaxBytes, u.opts.MaxMembers
	if maxBytes <= 0 {
		maxBytes = 256 << 30
	}
	if maxMembers <= 0 {
		maxMembers = 20_000_000
	}
	switch {
	case u.report.Members == 0 && h.Name != infoFile:
		return refuse("it stands at the beginning, where a bundle has its description")
	case h.Typeflag == tar.TypeDir && (h.Size != 0 || name == h.Name):
		return refuse("a folder with content")
	case h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg:
		return refuse("neither a file nor a folder")
	case h.Typeflag == tar.TypeReg && name != h.Name:
		return refuse("a file with the name of a folder")
	case h.Size > readWhole(name):
		return refuse("it is larger than any")
	case h.Size < 0 || h.Size > maxBytes-u.report.Bytes:
		return refuse(fmt.Sprintf("unpacked the bundle has more than %d bytes", maxBytes))
	case u.report.Members >= maxMembers:
		return refuse(fmt.Sprintf("the bundle has more than %d members", maxMembers))
	}
	u.report.Members++
	u.report.Bytes += h.Size
	return u.ctx.Err()
}

// readWhole bounds the members that are read into memory.
func readWhole(name string) int64 {
	switch name {
	case infoFile:
		return 1 << 20
	case path.Join(runDir, "run.json"):
		return 64 << 20
	}
	return math.MaxInt64
}

// member unpacks one file or folder and notes its digest.
func (u *unpacker) member(h *tar.Header, r io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	sum := sha256.New()
	if h.Typeflag == tar.TypeDir {
		if err := u.root.MkdirAll(name, 0o777); err != nil {
			return u.notWritten(h.Name, err)
		}
	} else {
		if err := u.root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return u.notWritten(h.Name, err)
		}
		f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return u.notWritten(h.Name, err)
		}
		if err := u.copy(h, io.MultiWriter(f, sum), r); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	_, err := u.manifest.WriteString(manifestLine(h, sum))
	return err
}

// notWritten tells a bundle that names a member twice, or one below a file,
// from a disk that fails.
func (u *unpacker) notWritten(name string, err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR) {
		return &Error{Member: name, Reason: "another member has its place"}
	}
	return err
}

func (u *unpacker) copy(h *tar.Header, w io.Writer, r io.Reader) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := r.Read(buf)
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return u.broken(h.Name, err)
		case u.ctx.Err() != nil:
			return u.ctx.Err()
		}
	}
}

// compare holds the manifest against what was unpacked, line by line.
func (u *unpacker) compare(r io.Reader, seen *os.File) error {
	if err := u.manifest.Flush(); err != nil {
		return err
	}
	if _, err := seen.Seek(0, io.SeekStart); err != nil {
		return err
	}
	want, have := lines(r), lines(seen)
	for {
		wanted, has := want.Scan(), have.Scan()
		if err := errors.Join(want.Err(), have.Err()); err != nil {
			return u.broken(manifestFile, err)
		}
		switch {
		case !wanted && !has:
			return nil
		case want.Text() != have.Text():
			line := want.Text()
			if !wanted {
				line = have.Text()
			}
			return &Error{Member: memberOf(line), Reason: "it is not what was packed"}
		}
	}
}

func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<10)
	return s
}

// memberOf is the name in a line of the manifest, as it stands there if it is
// not one.
func memberOf(line string) string {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) < 3 {
		return line
	}
	return strings.Trim(fields[2], `"`)
}

// finish reads the description, looks whether the run is one, puts it into its
// place and hands the images out.
func (u *unpacker) finish(dir, dst string) error {
	info, err := u.root.ReadFile(infoFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(info, &u.report.Info); err != nil {
		return &Error{Member: infoFile, Reason: err.Error()}
	}
	if u.report.Format != format {
		return &Error{Member: infoFile, Reason: fmt.Sprintf("it has form %d, this version of cabra-run knows %d",
			u.report.Format, format)}
	}
	from := filepath.Join(dir, runDir)
	store, err := results.Open(from, results.ReadOnly)
	if err != nil {
		return err
	}
	if err := errors.Join(store.CheckSound(u.ctx), store.Close()); err != nil {
		return err
	}
	if err := u.syncAll(); err != nil {
		return err
	}
	if err := os.Rename(from, dst); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(dst)); err != nil {
		return err
	}
	return u.images()
}

func (u *unpacker) syncAll() error {
	f, err := u.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (u *unpacker) images() error {
	if u.opts.Image == nil {
		return nil
	}
	for i, image := range u.report.Images {
		parts := &partReader{root: u.root, dir: path.Join(imagesDir, fmt.Sprint(i))}
		err := u.opts.Image(u.ctx, image, parts)
		if err = errors.Join(err, parts.close()); err != nil {
			return fmt.Errorf("the run is unpacked, image %s is not loaded: %w", image.Name, err)
		}
	}
	return nil
}

// partReader reads the parts of an image one after the other.
type partReader struct {
	root *os.Root
	dir  string
	n    int
	f    *os.File
}

func (r *partReader) Read(p []byte) (int, error) {
	for {
		if r.f == nil {
			f, err := r.root.Open(partName(r.dir, r.n))
			if errors.Is(err, fs.ErrNotExist) {
				return 0, io.EOF
			}
			if err != nil {
				return 0, err
			}
			r.f, r.n = f, r.n+1
		}
		n, err := r.f.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := r.close(); err != nil {
			return 0, err
		}
	}
}

func (r *partReader) close() error {
	if r.f == nil {
		return nil
	}
	err := r.f.Close()
	r.f = nil
	return err
}
