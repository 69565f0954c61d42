package sandbox

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest path and longest part of it that are kept, in bytes, and longest
// text of a refused one.
const (
	maxPath    = 1024
	maxName    = 255
	maxRefPath = 256
)

// OrDefaults returns l with every zero field taken from DefaultCollectLimits.
func (l CollectLimits) OrDefaults() CollectLimits {
	d := DefaultCollectLimits()
	if l.Files == 0 {
		l.Files = d.Files
	}
	if l.Entries == 0 {
		l.Entries = d.Entries
	}
	if l.FileBytes == 0 {
		l.FileBytes = d.FileBytes
	}
	if l.Bytes == 0 {
		l.Bytes = d.Bytes
	}
	if l.Depth == 0 {
		l.Depth = d.Depth
	}
	return l
}

// collector keeps the accounts of one reading and writes what is kept.
type collector struct {
	dst     *os.Root
	limits  CollectLimits
	result  Collection
	entries int
	bytes   int64
	made    map[string]bool // folders made in dst
	kept    map[string]bool // files made in dst
	first   map[string]bool // of CollectLimits.First, those not met yet
}

func newCollector(dst *os.Root, limits CollectLimits) *collector {
	c := &collector{
		dst: dst, limits: limits.OrDefaults(),
		made: map[string]bool{}, kept: map[string]bool{}, first: map[string]bool{},
	}
	for _, name := range c.limits.First {
		if len(c.first) < c.limits.Files && plainPath(name) {
			c.first[name] = true
		}
	}
	return c
}

// entry counts one more entry and reports whether it may be looked at.
func (c *collector) entry() bool {
	c.entries++
	if c.entries > c.limits.Entries {
		c.result.Truncated = true
		return false
	}
	return true
}

func (c *collector) refuse(name, reason string) {
	if len(c.result.Refused) >= MaxRefused {
		c.result.Dropped++
		return
	}
	c.result.Refused = append(c.result.Refused, Refused{Path: printable(name), Reason: reason})
}

// admit decides by name and size alone, before a byte is read. It returns the
// reason against the file, "" when it is welcome.
func (c *collector) admit(name string, size int64) string {
	files, bytes := c.room(name)
	switch {
	case !plainPath(name) || c.made[name] || c.underFile(name):
		return RefusedName
	case depth(name) > c.limits.Depth:
		return RefusedTooDeep
	case size < 0 || size > c.limits.FileBytes || size > bytes:
		return RefusedTooLarge
	case files <= 0:
		return RefusedTooMany
	}
	return ""
}

// room is what is left for a file. Until the first files have all been met, a
// place for each and half of the bytes are kept free of others.
func (c *collector) room(name string) (files int, bytes int64) {
	files, bytes = c.limits.Files-len(c.result.Files), c.limits.Bytes-c.bytes
	if len(c.first) > 0 && !c.first[name] {
		files -= len(c.first)
		bytes -= c.limits.Bytes / 2
	}
	return files, bytes
}

// keep copies a file that admit has welcomed. A source that fails or is longer
// than announced is refused; the error is one of dst.
func (c *collector) keep(name string, mode os.FileMode, size int64, src io.Reader) error {
	if err := c.makeParents(name); err != nil {
		return err
	}
	file, err := c.dst.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing collected file %q: %w", name, err)
	}
	in := &sourceReader{r: io.LimitReader(src, size+1)}
	n, err := io.Copy(file, in)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	switch {
	case in.err == nil && err == nil && n <= size:
		c.bytes += n
		c.kept[name] = true
		c.result.Files = append(c.result.Files,
			CollectedFile{Path: name, Bytes: n, Mode: uint32(mode.Perm())})
		return nil
	case in.err != nil:
		c.refuse(name, RefusedUnread)
	case err == nil:
		c.refuse(name, RefusedTooLarge)
	}
	if rerr := c.dst.Remove(name); rerr != nil {
		return fmt.Errorf("removing half-written file %q: %w", name, rerr)
	}
	if in.err == nil && err != nil {
		return fmt.Errorf("writing collected file %q: %w", name, err)
	}
	return nil
}

func (c *collector) makeParents(name string) error {
	dir := path.Dir(name)
	if dir == "." || c.made[dir] {
		return nil
	}
	if err := c.makeParents(dir); err != nil {
		return err
	}
	if err := c.dst.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("making collected folder %q: %w", dir, err)
	}
	c.made[dir] = true
	return nil
}

// underFile reports whether name or a folder above it is the name of a kept
// file; a stream can say so, a file system cannot.
func (c *collector) underFile(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if c.kept[name] {
			return true
		}
	}
	return false
}

// sourceReader remembers an error of the source, so that it can be told from
// one of the destination.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// plainPath reports whether name can be kept: a clean relative path of valid
// UTF-8 without control characters.
func plainPath(name string) bool {
	if name == "" || name == "." || len(name) > maxPath || !filepath.IsLocal(name) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return false
		}
	}
	return path.Clean(name) == name && plainText(name)
}

func plainText(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) || r == '\u2028' || r == '\u2029'
	})
}

// printable makes a name fit for a report: quoted unless it is plain, and short.
func printable(name string) string {
	cut := name
	if len(cut) > maxRefPath {
		cut = cut[:maxRefPath]
	}
	if !plainText(cut) || len(cut) < len(name) {
		cut = fmt.Sprintf("%q", cut)
	}
	if len(name) > maxRefPath {
		cut += "…"
	}
	return cut
}

// depth is the number of folders above a file.
func depth(name string) int { return strings.Count(name, "/") }

// ValidPath reports whether name can be the path of a workspace file: relative,
// clean, slashes, valid UTF-8 without control characters.
func ValidPath(name string) bool { return plainPath(name) }
