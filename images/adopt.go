package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"cabra-run/sandbox"
)

// adoptLayer makes somebody's image fit for boxes: the accounts of their users
// and the folder of the workspace are added.
func (b *Builder) adoptLayer(from origin) layer {
	passwd, group := accounts(true)
	l := layer{
		digest:  digestOf("adopt/1", from.id, passwd, group),
		what:    "the accounts of boxes on image " + from.image,
		seconds: 5,
	}
	l.build = func(ctx context.Context, s site, _ string) (string, error) {
		return b.buildAdopted(ctx, s, from, l.digest)
	}
	return l
}

func (b *Builder) buildAdopted(ctx context.Context, s site, from origin, digest string) (id string, err error) {
	info, err := b.api.ImageInspect(ctx, from.id)
	if err != nil {
		return "", fmt.Errorf("looking at image %s: %w", from.image, err)
	}
	if info.Config != nil && len(info.Config.Volumes) > 0 {
		return "", &Error{
			What: fmt.Sprintf("image %s declares volumes, which would be writable in a box", from.image),
			Hint: "build it without VOLUME",
		}
	}
	bench, err := newBench(ctx, s, container.Config{Image: from.id, Cmd: []string{"/bin/sh"}}, container.HostConfig{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bench.remove(ctx)) }()
	if there, err := bench.has(ctx, sandbox.HomeDir); err != nil || there {
		return "", errors.Join(err, &Error{
			What: fmt.Sprintf("image %s has a %s, which a box mounts over", from.image, sandbox.HomeDir),
			Hint: "put what lies there somewhere else",
		})
	}
	files, err := accountFiles(ctx, bench)
	if err != nil {
		return "", err
	}
	if err := bench.put(ctx, func(w io.Writer) error { return writeAccounts(w, files) }); err != nil {
		return "", fmt.Errorf("copying files into the image: %w", err)
	}
	program, err := RelayBinary(b.arch)
	if err != nil {
		return "", err
	}
	made, err := b.api.ContainerCommit(ctx, bench.id, container.CommitOptions{Config: &container.Config{
		Labels: map[string]string{
			labelRecipe: digest, labelOwn: ownMark(program), labelBase: from.image, labelHow: "image " + from.image + " " + from.id,
		},
		User: fmt.Sprintf("%d:%d", sandbox.InitUID, sandbox.InitUID), WorkingDir: sandbox.WorkspaceDir,
	}})
	if err != nil {
		return "", fmt.Errorf("committing the image: %w", err)
	}
	return made.ID, nil
}

// has reports whether a path exists in the container.
func (b *bench) has(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := b.api.ContainerStatPath(ctx, b.id, name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// accountFiles returns the image's passwd and group with the boxes' lines added.
func accountFiles(ctx context.Context, bench *bench) (map[string]string, error) {
	passwd, group := accounts(true)
	files := map[string]string{}
	for name, lines := range map[string]string{"etc/passwd": passwd, "etc/group": group} {
		text, err := "", error(nil)
		there, err := bench.has(ctx, "/"+name)
		if there && err == nil {
			text, err = bench.read(ctx, "/"+name, maxInstalled)
		}
		if err != nil {
			return nil, err
		}
		files[name] = withAccounts(text, lines)
	}
	return files, nil
}

// withAccounts appends those lines whose names a passwd or group does not have.
func withAccounts(text, lines string) string {
	has := map[string]bool{}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, ":")
		has[name] = true
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(lines) {
		if name, _, _ := strings.Cut(line, ":"); !has[name] {
			text += line
		}
	}
	return text
}

// writeAccounts writes the files and the folder of the workspace as a tar.
func writeAccounts(w io.Writer, files map[string]string) error {
	out := tar.NewWriter(w)
	if err := out.WriteHeader(folderHeader(strings.TrimPrefix(sandbox.WorkspaceDir, "/"))); err != nil {
		return err
	}
	for _, name := range []string{"etc/group", "etc/passwd"} {
		if err := out.WriteHeader(fileHeader(name, 0o644, int64(len(files[name])))); err != nil {
			return err
		}
		if _, err := io.WriteString(out, files[name]); err != nil {
			return err
		}
	}
	return out.Close()
}
