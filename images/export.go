package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/klauspost/compress/zstd"
)

// moveTime bounds the writing or reading of one file of images.
const moveTime = 2 * time.Hour

// A file of images is one zstd stream: a line that says what it is, a line of
// JSON that lists the images, and the engine's own archive of them.
const (
	moveMagic     = "cabra-run images 1\n"
	maxMoveHeader = 1 << 20
)

// moved is an image in a file of images. What it consists of is for people; the
// ID alone decides what it is.
type moved struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"`
	Tag      string   `json:"tag"`
	Recipe   string   `json:"recipe"`
	Packages []string `json:"packages,omitempty"`
	How      string   `json:"how,omitempty"`
}

// moveHeader is the list at the head of the file.
type moveHeader struct {
	Arch   string  `json:"arch"` // as GOARCH
	Images []moved `json:"images"`
}

var idForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Export writes images into one file that Import reads on another machine. They
// are named as for Ensure, by ID or by tag, and must be there; it builds none.
// Layers that images share are written once.
func (b *Builder) Export(ctx context.Context, w io.Writer, names ...string) ([]Image, error) {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	list, err := b.present(ctx, names)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &Error{What: "no images to export were named"}
	}
	if err := b.writeImages(ctx, w, list); err != nil {
		return nil, explain("exporting images", err, "")
	}
	return list, nil
}

// present finds the images of those names.
func (b *Builder) present(ctx context.Context, names []string) ([]Image, error) {
	var list []Image
	seen := map[string]bool{}
	for _, name := range names {
		img, ok, err := b.find(ctx, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &Error{What: fmt.Sprintf("image %s is not there", name),
				Hint: "cabra-run images list shows those that are; cabra-run images build makes them"}
		}
		if !seen[img.ID] {
			seen[img.ID] = true
			list = append(list, img)
		}
	}
	return list, nil
}

// find looks an image up by its name, its tag or its ID.
func (b *Builder) find(ctx context.Context, name string) (Image, bool, error) {
	switch {
	case idForm.MatchString(name):
		return b.findID(ctx, name)
	case strings.HasPrefix(name, b.namespace+"/"):
		return b.inspect(ctx, b.nameOf(name), name)
	}
	return b.Lookup(ctx, name)
}

// findID looks an image up by its ID and takes its name from our tag on it.
func (b *Builder) findID(ctx context.Context, id string) (Image, bool, error) {
	tags, err := b.tagsOf(ctx, id)
	if err != nil {
		return Image{}, false, err
	}
	for _, tag := range tags {
		if name := b.nameOf(tag); strings.HasPrefix(tag, b.namespace+"/") && name != layerName {
			return b.inspect(ctx, name, tag)
		}
	}
	return Image{}, false, nil
}

func (b *Builder) tagsOf(ctx context.Context, id string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := b.api.ImageInspect(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("looking for image "+id, err, "")
	}
	return info.RepoTags, nil
}

func (b *Builder) writeImages(ctx context.Context, w io.Writer, list []Image) error {
	header := moveHeader{Arch: b.arch}
	var ids []string
	for _, img := range list {
		ids = append(ids, img.ID)
		header.Images = append(header.Images, moved{
			Name: img.Name, ID: img.ID, Tag: img.Tag, Recipe: img.Recipe, Packages: img.Packages, How: img.How,
		})
	}
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if len(head) > maxMoveHeader {
		return errors.New("too many images for one file")
	}
	files, err := b.api.ImageSave(ctx, ids)
	if err != nil {
		return err
	}
	defer files.Close()
	out, err := zstd.NewWriter(w)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, moveMagic+string(head)+"\n"); err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = io.Copy(out, files)
	return errors.Join(err, out.Close())
}
