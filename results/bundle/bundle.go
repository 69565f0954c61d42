// Package bundle packs a run into one file and unpacks it, images included if
// wanted: a tar in zstd, with the digest of each member. It knows how a run lies
// on disk, and takes images for streams of bytes. It must not look for keys in
// what it packs; who calls it does.
//
// The members are, in this order: bundle.json (Info), run/run.json, run/run.db,
// run/trials/…, images/<n>/info.json and images/<n>/part-<k> of 16 MiB at most,
// and last manifest.txt, a line "SHA-256 size quoted-name" for each member
// before it.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// format is the version of the above.
const format = 1

const (
	infoFile     = "bundle.json"
	manifestFile = "manifest.txt"
	runDir       = "run"
	imagesDir    = "images"
	imageInfo    = "info.json"
	partSize     = 16 << 20
)

// Info says what a bundle holds.
type Info struct {
	Format  int       `json:"format"`
	Run     string    `json:"run"`
	Program string    `json:"program"` // version of cabra-run that made the run
	Packed  time.Time `json:"packed"`
	Images  []Image   `json:"images"`
}

// Image names an image that a bundle holds.
type Image struct {
	Name string `json:"name"`
	ID   string `json:"id"` // as the engine names its content
}

// ImageSource is an image to pack.
type ImageSource struct {
	Image
	// Write writes the image as the engine saves it.
	Write func(ctx context.Context, w io.Writer) error
}

// WriteOptions say what to pack beside the run.
type WriteOptions struct {
	Images []ImageSource
	Now    time.Time // stands in Info
}

// ReadOptions bound what is unpacked and take the images.
type ReadOptions struct {
	// Image takes an image as it was saved, after the whole bundle was found
	// intact; nil leaves images out. It need not read to the end.
	Image func(ctx context.Context, image Image, r io.Reader) error
	// MaxBytes and MaxMembers bound the unpacked bundle; 0 stands for 256 GiB
	// and 20 million.
	MaxBytes   int64
	MaxMembers int
}

// Report says what was packed or unpacked.
type Report struct {
	Info
	Members int   `json:"members"`
	Bytes   int64 `json:"bytes"` // unpacked
	// Missing are attempts' folders that the run should have and has not.
	Missing []string `json:"missing,omitempty"`
}

// Error says that a bundle is not one, or not intact.
type Error struct {
	Member string // "" for the whole
	Reason string
}

func (e *Error) Error() string {
	if e.Member == "" {
		return "the bundle is not intact: " + e.Reason
	}
	return fmt.Sprintf("the bundle is not intact: member %q: %s", e.Member, e.Reason)
}

// Hint says what to do about it.
func (e *Error) Hint() string {
	return "get the file again from where it was made; nothing of it was taken over"
}

// checkName says why a name cannot be that of a member, nil if it can.
func checkName(name string) error {
	const maxName = 4096
	switch {
	case !fs.ValidPath(strings.ToValidUTF8(name, "_")) || strings.ContainsRune(name, 0):
		return errors.New("its name is not a plain path")
	case len(name) > maxName:
		return errors.New("its name is too long")
	}
	top, _, _ := strings.Cut(name, "/")
	second, _, _ := strings.Cut(strings.TrimPrefix(name, runDir+"/"), "/")
	switch {
	case name == infoFile || name == manifestFile, top == imagesDir && name != top:
		return nil
	case top == runDir && (name == path.Join(runDir, "run.json") || name == path.Join(runDir, "run.db") ||
		second == "trials"):
		return nil
	}
	return errors.New("no bundle has such a member")
}
