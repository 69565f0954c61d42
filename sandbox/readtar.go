package sandbox

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"strings"
)

// maxStream bounds the bytes of a stream, kept and skipped ones together. It is
// generous, because a sparse file of a box is small there and full-length in
// the stream; the time that a stream may take is the caller's to bound.
const maxStream = 4 << 30

// ReadTar copies the regular files of a hostile tar stream into dst, an empty
// folder, under the rules of ReadTree. A broken or overlong stream ends the
// reading early (Collection.Truncated); what was complete until then is kept.
// The error is one of the destination.
func ReadTar(r io.Reader, dst *os.Root, limits CollectLimits) (Collection, error) {
	c := newCollector(dst, limits)
	tr := tar.NewReader(io.LimitReader(r, maxStream))
	for {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return c.result, nil
		}
		if err != nil {
			c.result.Truncated = true
			return c.result, nil
		}
		if !c.entry() {
			if len(c.first) == 0 {
				return c.result, nil
			}
			if !c.first[tarName(hdr)] {
				continue // only the first files are still looked for
			}
		}
		if err := c.tarEntry(hdr, tr); err != nil {
			return c.result, err
		}
	}
}

// tarEntry deals with one header and its body.
func (c *collector) tarEntry(hdr *tar.Header, body io.Reader) error {
	name := tarName(hdr)
	defer delete(c.first, name)
	if hdr.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
		if name != "" && name != "." && !plainPath(name) {
			c.refuse(name, RefusedName)
		}
		return nil // folders come to be with their files
	}
	reason := tarRefusal(hdr)
	if reason == "" {
		reason = c.admit(name, hdr.Size)
	}
	if reason != "" {
		c.refuse(name, reason)
		return nil
	}
	return c.keep(name, hdr.FileInfo().Mode(), hdr.Size, body)
}

func tarName(hdr *tar.Header) string { return strings.TrimPrefix(hdr.Name, "./") }

// tarRefusal is the reason against everything but a regular file.
func tarRefusal(hdr *tar.Header) string {
	switch hdr.Typeflag {
	case tar.TypeReg:
		return ""
	case tar.TypeLink:
		return RefusedHardLink
	case tar.TypeSymlink:
		return RefusedLink
	case tar.TypeFifo:
		return RefusedFIFO
	case tar.TypeChar, tar.TypeBlock:
		return RefusedDevice
	default:
		return RefusedUnread // sparse in a way we do not read, or unknown
	}
}
