package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// emptied are the folders that stay, without what is in them: caches, traces of
// the build, and what a box mounts over anyway.
var emptied = []string{
	"dev", "proc", "run", "sys", "tmp", "var/cache/apt", "var/lib/apt/lists", "var/log", "var/tmp",
	"usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man",
}

// blanked are files that an engine fills in for a running container; whatever
// the building host put there is not for the image.
var blanked = []string{"etc/hostname", "etc/hosts", "etc/machine-id", "etc/resolv.conf"}

const setIDs = 0o6000 // setuid and setgid

// flatten copies the file system of a build container from src to dst as it
// belongs into an image: without caches, devices, extended attributes (which
// carry file capabilities), setuid and setgid bits, and the host's settings.
func flatten(dst io.Writer, src io.Reader) error {
	in, out := tar.NewReader(src), tar.NewWriter(dst)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return fmt.Errorf("reading the container's files: %w", err)
		}
		keep, err := tidy(h)
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("writing %q: %w", h.Name, err)
		}
		if h.Size == 0 {
			continue
		}
		if _, err := io.Copy(out, in); err != nil {
			return fmt.Errorf("copying %q: %w", h.Name, err)
		}
	}
}

// tidy changes a header to what the image gets, and says whether it gets it.
func tidy(h *tar.Header) (bool, error) {
	name := path.Clean(strings.TrimPrefix(h.Name, "/"))
	if name == ".." || strings.HasPrefix(name, "../") {
		return false, fmt.Errorf("the container's files hold the name %q", h.Name)
	}
	if name == "." || name == ".dockerenv" || isEmptied(name) {
		return false, nil
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
	case tar.TypeLink:
		if target := path.Clean(strings.TrimPrefix(h.Linkname, "/")); isEmptied(target) {
			return false, fmt.Errorf("%q is a hard link to %q, which the image does not get", name, target)
		}
	default: // devices, FIFOs
		return false, nil
	}
	if slices.Contains(blanked, name) {
		h.Typeflag, h.Size, h.Linkname, h.Mode = tar.TypeReg, 0, "", 0o644
	}
	h.Name = name
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	h.Mode &^= setIDs
	h.Uname, h.Gname = "", ""
	h.PAXRecords, h.Xattrs = nil, nil //nolint:staticcheck // Xattrs wins over PAXRecords when set
	h.Format = tar.FormatUnknown
	return true, nil
}

func isEmptied(name string) bool {
	return slices.ContainsFunc(emptied, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
}
