package images

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/jsonmessage"
	"github.com/klauspost/compress/zstd"
)

// Bounds of a file of images.
const (
	maxMoved   = 64       // images
	maxMoveRAM = 64 << 20 // of the decompression's window
)

// tagForm is what a tag of ours may look like behind the namespace.
var tagForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}:[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Import reads a file that Export wrote and gives its images their tags again.
// Nothing in the file is believed: an image has to have the ID that it is listed
// with, which is a digest of all that it consists of, and only tags of ours are
// given. Whether the IDs are the wanted ones is for the caller to compare.
// Images that were not there before are removed again when anything is wrong.
func (b *Builder) Import(ctx context.Context, r io.Reader) (list []Image, err error) {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxMoveRAM), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	in := bufio.NewReader(dec)
	header, err := b.readHeader(in)
	if err != nil {
		return nil, &Error{What: "this is no file of images", Err: err, Hint: "make one: cabra-run images export"}
	}
	before, err := b.presentIDs(ctx)
	if err != nil {
		return nil, err
	}
	loaded, err := b.load(ctx, in)
	if err == nil {
		list, err = b.adopt(ctx, header)
	}
	// What came along unlisted, or with a file that is not as it says.
	for _, id := range loaded {
		if !before[id] && (err != nil || !header.lists(id)) {
			err = errors.Join(err, removeImage(ctx, b.api, id))
		}
	}
	if err != nil {
		return nil, explain("importing images", err, "")
	}
	return list, nil
}

func (h moveHeader) lists(id string) bool {
	return slices.ContainsFunc(h.Images, func(m moved) bool { return m.ID == id })
}

// readHeader reads and checks what stands before the archive.
func (b *Builder) readHeader(in *bufio.Reader) (moveHeader, error) {
	var h moveHeader
	magic := make([]byte, len(moveMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != moveMagic {
		return h, errors.Join(errors.New("it does not begin as one"), err)
	}
	line, err := readLine(in, maxMoveHeader)
	if err != nil {
		return h, fmt.Errorf("reading its list: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return h, fmt.Errorf("reading its list: %w", err)
	}
	if h.Arch != b.arch {
		return h, fmt.Errorf("its images are for %.20q, the engine's machine is %s", h.Arch, b.arch)
	}
	if len(h.Images) == 0 || len(h.Images) > maxMoved {
		return h, fmt.Errorf("it lists %d images", len(h.Images))
	}
	for _, m := range h.Images {
		short, ours := strings.CutPrefix(m.Tag, b.namespace+"/")
		if !ours || !tagForm.MatchString(short) || b.nameOf(m.Tag) == layerName || !idForm.MatchString(m.ID) {
			return h, fmt.Errorf("it lists an image %.100q with the ID %.100q", m.Tag, m.ID)
		}
	}
	return h, nil
}

// readLine reads a line of at most limit bytes, without its end.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, errors.New("it is too long")
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// presentIDs are the IDs of all images of the engine.
func (b *Builder) presentIDs(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := b.api.ImageList(ctx, image.ListOptions{All: true})
	if err != nil {
		return nil, explain("listing images", err, "")
	}
	ids := map[string]bool{}
	for _, i := range list {
		ids[i.ID] = true
	}
	return ids, nil
}

// load gives the archive to the engine, cleaned, and returns the IDs of the
// images that it found in there.
func (b *Builder) load(ctx context.Context, archive io.Reader) (ids []string, err error) {
	r, w := io.Pipe()
	cleaned := make(chan error, 1)
	go func() {
		err := cleanArchive(w, archive)
		w.CloseWithError(err)
		cleaned <- err
	}()
	answer, err := b.api.ImageLoad(ctx, r, client.ImageLoadWithQuiet(true))
	if err == nil {
		err = messages(answer.Body, func(m jsonmessage.JSONMessage) {
			if _, id, ok := strings.Cut(strings.TrimSpace(m.Stream), "Loaded image ID: "); ok && idForm.MatchString(id) {
				ids = append(ids, id)
			}
		})
		answer.Body.Close()
	}
	r.CloseWithError(errStoppedReading)
	if cerr := <-cleaned; cerr != nil && !errors.Is(cerr, errStoppedReading) {
		return ids, cerr
	}
	return ids, err
}

// adopt checks the images of the list and gives them their tags.
func (b *Builder) adopt(ctx context.Context, h moveHeader) ([]Image, error) {
	var list []Image
	for _, m := range h.Images {
		info, err := b.api.ImageInspect(ctx, m.ID)
		if err != nil {
			return nil, fmt.Errorf("the file does not hold image %s with the ID %s that it lists: %w", m.Tag, m.ID, err)
		}
		if img := describe(m.Name, m.Tag, info); info.ID != m.ID || img.Recipe == "" || img.Recipe != m.Recipe {
			return nil, fmt.Errorf("image %s in the file is not what it is listed as", m.Tag)
		}
		if info.Architecture != b.arch {
			return nil, fmt.Errorf("image %s in the file is for %.20q", m.Tag, info.Architecture)
		}
	}
	for _, m := range h.Images {
		if err := b.tagMoved(ctx, m); err != nil {
			return nil, err
		}
		img, _, err := b.inspect(ctx, b.nameOf(m.Tag), m.Tag)
		if err != nil {
			return nil, err
		}
		list = append(list, img)
	}
	return list, nil
}

// tagMoved gives an image its tag. A tag that another image has is taken over:
// both were made by the same recipe, and the run that the file belongs to names
// this one.
func (b *Builder) tagMoved(ctx context.Context, m moved) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := b.api.ImageTag(ctx, m.ID, m.Tag); err != nil {
		return fmt.Errorf("tagging %s: %w", m.Tag, err)
	}
	return nil
}
