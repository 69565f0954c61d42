package sandbox

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"strings"
)

// skipFactor bounds the bytes of a stream, kept and skipped ones together, as
// a multiple of CollectLimits.Bytes: a sparse file of a box is small there and
// full-length here.
const skipFactor = 8

// ReadTar copies the regular files of a hostile tar stream into dst, an empty
// folder, under the rules of ReadTree. A broken or overlong stream ends the
// reading early (Collection.Truncated); what was complete until then is kept.
// The error is one of the destination.
func ReadTar(r io.Reader, dst *os.Root, limits CollectLimits) (Collection, error) {
	c := newCollector(dst, limits)
	bounded := io.LimitReader(r, c.limits.Bytes*skipFactor)
	tr := tar.NewReader(bounded)
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
			return c.result, nil
		}
		if err := c.tarEntry(hdr, tr); err != nil {
			return c.result, err
		}
	}
}

// tarEntry deals with one header and its body.
func (c *collector) tarEntry(hdr *tar.Header, body io.Reader) error {
	name := strings.TrimPrefix(hdr.Name, "./")
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
