package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/relay"
)

const unpackTimeout = time.Minute

// unpack writes the files that the agent's launch asks for, under the uid that
// the agent will have.
func (a *attempt) unpack(ctx context.Context) error {
	for _, place := range []struct {
		dir     string
		files   map[string]string
		mode    int64
		replace bool
	}{
		{sandbox.HomeDir, a.launch.Files, 0o600, false},
		{sandbox.WorkspaceDir, a.launch.Workspace, 0o644, true},
	} {
		if len(place.files) == 0 {
			continue
		}
		archive, err := packed(place.files, place.mode)
		if err == nil {
			err = a.unpackInto(ctx, relay.UnpackCommand(place.dir, place.replace), archive)
		}
		if err != nil {
			return fmt.Errorf("writing files of the agent into %s: %w", place.dir, err)
		}
	}
	return nil
}

func (a *attempt) unpackInto(ctx context.Context, argv []string, archive []byte) error {
	ctx, cancel := context.WithTimeout(ctx, unpackTimeout)
	defer cancel()
	var said bytes.Buffer
	p, err := a.box.Exec(ctx, sandbox.Command{Args: argv, Dir: "/", Stdin: bytes.NewReader(archive), Stderr: &said})
	if err != nil {
		return err
	}
	code, err := p.Wait(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %.300q", code, said.String())
	}
	return err
}

// packed makes a tar stream of files by their paths; a path that ends in "/" is
// an empty folder.
func packed(files map[string]string, mode int64) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(files[name]))}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode, h.Size = tar.TypeDir, 0o700, 0
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(files[name])); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
