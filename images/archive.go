package images

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Bounds of an engine's archive of images.
const (
	maxArchive        = 64 << 30 // bytes
	maxArchiveEntries = 20_000
	maxManifest       = 4 << 20
)

// archiveImage is an image in an archive's manifest.json.
type archiveImage struct {
	Config   string
	RepoTags []string // always empty in what we pass on
	Layers   []string
}

// cleanArchive copies an engine's archive of images without the names that it
// would give them: an archive can call its images whatever it likes, also as
// one that people rely on. Only plain entries below the top pass.
func cleanArchive(w io.Writer, r io.Reader) error {
	in, out := tar.NewReader(r), tar.NewWriter(w)
	var bytes int64
	manifest := false
	for entries := 0; ; entries++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		bytes += h.Size
		if entries >= maxArchiveEntries || bytes > maxArchive {
			return errors.New("the archive is too large")
		}
		if err := checkEntry(h); err != nil {
			return err
		}
		switch path.Clean(h.Name) {
		case "repositories", "index.json", "oci-layout": // where names are, beside the manifest
			continue
		case "manifest.json":
			if manifest {
				return errors.New("the archive has two manifests")
			}
			manifest = true
			err = cleanManifest(out, in, h)
		default:
			err = copyEntry(out, in, h)
		}
		if err != nil {
			return err
		}
	}
	if !manifest {
		return errors.New("the archive has no manifest")
	}
	return out.Close()
}

// checkEntry refuses what no engine writes.
func checkEntry(h *tar.Header) error {
	name := path.Clean(h.Name)
	local := !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../") && !strings.Contains(name, "\\")
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink: // of a layer that two images share, to its other place
		to := path.Join(path.Dir(name), h.Linkname)
		local = local && !path.IsAbs(h.Linkname) && to != ".." && !strings.HasPrefix(to, "../")
	default:
		local = false
	}
	if !local {
		return fmt.Errorf("the archive has an entry %.100q that no engine writes", h.Name)
	}
	return nil
}

func copyEntry(out *tar.Writer, in io.Reader, h *tar.Header) error {
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(out, in)
	return err
}

// cleanManifest writes the manifest again without any names.
func cleanManifest(out *tar.Writer, in io.Reader, h *tar.Header) error {
	if h.Size > maxManifest {
		return errors.New("the archive's manifest is too large")
	}
	var list []archiveImage
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return fmt.Errorf("reading the archive's manifest: %w", err)
	}
	for i := range list {
		list[i].RepoTags = nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := out.WriteHeader(fileHeader("manifest.json", 0o644, int64(len(text)))); err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
