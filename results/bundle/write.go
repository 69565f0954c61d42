package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"cabra-run/results"

	"github.com/klauspost/compress/zstd"
)

// Write packs the run at dir, also while it is being written: its database as of
// one moment, and the artefacts of the attempts that are recorded in it.
func Write(ctx context.Context, w io.Writer, dir string, opts WriteOptions) (*Report, error) {
	report, err := write(ctx, w, dir, opts)
	if err != nil {
		return nil, fmt.Errorf("packing run %q: %w", dir, err)
	}
	return report, nil
}

func write(ctx context.Context, w io.Writer, dir string, opts WriteOptions) (*Report, error) {
	store, err := results.Open(dir, results.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	tmp, err := os.MkdirTemp("", "cabra-bundle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	snapshot := filepath.Join(tmp, "run.db")
	if err := store.Snapshot(ctx, snapshot); err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(w)
	if err != nil {
		return nil, err
	}
	lines, err := os.Create(filepath.Join(tmp, manifestFile)) // of a large run it is large
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	p := &packer{ctx: ctx, tar: tar.NewWriter(z), lines: lines, manifest: bufio.NewWriter(lines)}
	err = p.all(store, snapshot, opts)
	if err == nil {
		err = p.tar.Close()
	}
	return &p.report, errors.Join(err, z.Close())
}

// packer writes members and remembers their digests.
type packer struct {
	ctx      context.Context
	tar      *tar.Writer
	lines    *os.File // of the manifest
	manifest *bufio.Writer
	report   Report
}

func (p *packer) all(store *results.Store, snapshot string, opts WriteOptions) error {
	lock := store.Lock()
	info := Info{Format: format, Run: lock.Run, Program: lock.Program, Packed: opts.Now.UTC(), Images: []Image{}}
	for _, image := range opts.Images {
		info.Images = append(info.Images, image.Image)
	}
	p.report.Info = info
	if err := p.json(infoFile, info); err != nil {
		return err
	}
	if err := p.run(store, snapshot); err != nil {
		return err
	}
	for i, image := range opts.Images {
		if err := p.image(i, image); err != nil {
			return fmt.Errorf("packing image %s: %w", image.Name, err)
		}
	}
	if err := p.manifest.Flush(); err != nil {
		return err
	}
	if _, err := p.lines.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return p.file(manifestFile, p.lines)
}

func (p *packer) run(store *results.Store, snapshot string) error {
	if err := p.path(path.Join(runDir, "run.json"), filepath.Join(store.Dir(), "run.json")); err != nil {
		return err
	}
	if err := p.path(path.Join(runDir, "run.db"), snapshot); err != nil {
		return err
	}
	return results.ArtefactFolders(p.ctx, snapshot, func(folder string) error {
		root, err := store.OpenAttempt(results.Attempt{Path: folder})
		if errors.Is(err, fs.ErrNotExist) {
			p.report.Missing = append(p.report.Missing, folder)
			return nil
		}
		if err != nil {
			return err
		}
		defer root.Close()
		return p.folder(path.Join(runDir, folder), root)
	})
}

// folder packs folders and regular files; no link is followed or packed.
func (p *packer) folder(to string, root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p.ctx.Err() != nil:
			return p.ctx.Err()
		case d.IsDir():
			return p.entry(&tar.Header{Typeflag: tar.TypeDir, Name: path.Join(to, name) + "/", Mode: 0o755}, nil)
		case !d.Type().IsRegular():
			return nil
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return p.file(path.Join(to, name), f)
	})
}

func (p *packer) path(name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.file(name, f)
}

func (p *packer) file(name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is no file any more", name)
	}
	return p.member(name, info.Size(), f)
}

func (p *packer) json(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return p.bytes(name, append(data, '\n'))
}

func (p *packer) bytes(name string, data []byte) error {
	return p.member(name, int64(len(data)), bytes.NewReader(data))
}

func (p *packer) member(name string, size int64, r io.Reader) error {
	return p.entry(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size}, r)
}

// entry writes a member and its line of the manifest.
func (p *packer) entry(h *tar.Header, r io.Reader) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	h.ModTime = time.Unix(0, 0)
	if err := p.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("packing %q: %w", h.Name, err)
	}
	sum := sha256.New()
	if r != nil {
		if _, err := io.CopyN(io.MultiWriter(p.tar, sum), r, h.Size); err != nil {
			return fmt.Errorf("packing %q: %w", h.Name, err)
		}
	}
	p.report.Members++
	p.report.Bytes += h.Size
	_, err := p.manifest.WriteString(manifestLine(h, sum))
	return err
}

func manifestLine(h *tar.Header, sum hash.Hash) string {
	return fmt.Sprintf("%x %d %s\n", sum.Sum(nil), h.Size, strconv.Quote(h.Name))
}

// image packs an image in parts, because its size is not known beforehand.
func (p *packer) image(i int, image ImageSource) error {
	dir := path.Join(imagesDir, strconv.Itoa(i))
	if err := p.json(path.Join(dir, imageInfo), image.Image); err != nil {
		return err
	}
	parts := &partWriter{p: p, dir: dir}
	if err := image.Write(p.ctx, parts); err != nil {
		return err
	}
	return parts.flush()
}

// partWriter makes a member of every 16 MiB.
type partWriter struct {
	p   *packer
	dir string
	buf []byte
	n   int
}

func (w *partWriter) Write(data []byte) (int, error) {
	took := 0
	for len(data) > 0 {
		n := min(len(data), partSize-len(w.buf))
		w.buf = append(w.buf, data[:n]...)
		data, took = data[n:], took+n
		if len(w.buf) == partSize {
			if err := w.flush(); err != nil {
				return took, err
			}
		}
	}
	return took, nil
}

func (w *partWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	err := w.p.bytes(partName(w.dir, w.n), w.buf)
	w.buf, w.n = w.buf[:0], w.n+1
	return err
}

func partName(dir string, n int) string { return path.Join(dir, fmt.Sprintf("part-%06d", n)) }
