package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/jsonmessage"

	"cabra-run/sandbox"
)

const (
	workDir      = "/tmp/cabra-build" // in the build container; flatten drops it
	maxInstalled = 1 << 20            // bytes of a package list
	networkVar   = "CABRA_BUILD_NETWORK"
	defaultPath  = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// systemJob is what buildSystem needs to know.
type systemJob struct {
	System
	layer  layer
	from   origin
	keptCA string
}

// buildSystem installs the packages in a container of the base and imports its
// files as one flat layer.
func (b *Builder) buildSystem(ctx context.Context, s site, job systemJob) (id string, err error) {
	base, release, err := b.base(ctx, job)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	bench, err := newBench(ctx, s, container.Config{
		Image: base.id, User: "0:0", WorkingDir: "/", Env: b.proxies(),
		Entrypoint: []string{"/bin/sh"}, Cmd: []string{workDir + "/install.sh", workDir},
	}, container.HostConfig{NetworkMode: container.NetworkMode(b.getenv(networkVar))})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bench.remove(ctx)) }()
	installed, err := b.install(ctx, bench, job)
	if err != nil {
		return "", err
	}
	files, err := b.api.ContainerExport(ctx, bench.id)
	if err != nil {
		return "", fmt.Errorf("exporting the build container: %w", err)
	}
	defer files.Close()
	return b.importFlat(ctx, files, imageChanges(map[string]string{
		labelRecipe: job.layer.digest, labelBase: job.from.name(), labelHow: base.how,
		labelPackages: strings.Join(installed, " "),
	}))
}

// install runs install.sh in the container and returns the packages that are
// there afterwards.
func (b *Builder) install(ctx context.Context, bench *bench, job systemJob) ([]string, error) {
	files, err := b.installFiles(job)
	if err != nil {
		return nil, err
	}
	if err := bench.put(ctx, folderOf(workDir, files)); err != nil {
		return nil, fmt.Errorf("copying the build's files: %w", err)
	}
	var log tail
	if err := bench.run(ctx, &log, &log); err != nil {
		return nil, explain("installing the packages of Debian "+job.Release, err, log.String())
	}
	installed, err := bench.read(ctx, workDir+"/installed", maxInstalled)
	return strings.Fields(installed), err
}

// installFiles are the files that install.sh works with.
func (b *Builder) installFiles(job systemJob) (map[string]string, error) {
	passwd, group := accounts(job.Guests)
	files := map[string]string{
		"install.sh": installScript,
		"packages":   strings.Join(job.Packages, "\n") + "\n",
		"passwd":     passwd,
		"group":      group,
	}
	if job.from.kind != fromImage { // which may be of another release
		files["sources.list"] = sourcesList(b.mirror(), job.Release)
	}
	if job.from.kind == BaseBootstrap {
		files["image-sources.list"] = sourcesList(defaultMirror, job.Release)
	}
	if b.bundle != "" {
		pem, err := os.ReadFile(b.bundle)
		if err != nil {
			return nil, &Error{What: "reading the CA bundle", Hint: "name a readable PEM file", Err: err}
		}
		files["ca.crt"] = string(pem)
	}
	if job.keptCA != "" {
		files["keep-ca.crt"] = job.keptCA
	}
	return files, nil
}

// imageChanges are the settings of an imported image, as Dockerfile lines.
func imageChanges(labels map[string]string) []string {
	changes := []string{
		"ENV " + defaultPath, "ENV TZ=UTC", `CMD ["/bin/bash"]`, "WORKDIR " + sandbox.WorkspaceDir,
		fmt.Sprintf("USER %d:%d", sandbox.InitUID, sandbox.InitUID),
	}
	for _, name := range []string{labelRecipe, labelBase, labelHow, labelPackages} {
		if v, ok := labels[name]; ok {
			changes = append(changes, fmt.Sprintf("LABEL %s=%s", name, quoteLabel(v)))
		}
	}
	return changes
}

// quoteLabel quotes a value for a Dockerfile, where $ would be expanded.
func quoteLabel(v string) string { return strings.ReplaceAll(strconv.Quote(v), "$", `\$`) }

// importFlat makes an untagged image from a container's files.
func (b *Builder) importFlat(ctx context.Context, files io.Reader, changes []string) (string, error) {
	r, w := io.Pipe()
	flattened := make(chan error, 1)
	go func() {
		err := flatten(w, files)
		w.CloseWithError(err)
		flattened <- err
	}()
	id, err := b.importTar(ctx, r, changes)
	r.CloseWithError(errStoppedReading)
	ferr := <-flattened
	switch {
	case ferr == nil || errors.Is(ferr, errStoppedReading):
		return id, err
	case err != nil:
		return "", ferr
	}
	return "", errors.Join(ferr, removeImage(ctx, b.api, id))
}

// importTar makes an untagged image from a tar.
func (b *Builder) importTar(ctx context.Context, files io.Reader, changes []string) (string, error) {
	answer, err := b.api.ImageImport(ctx, image.ImportSource{Source: files, SourceName: "-"}, "",
		image.ImportOptions{Changes: changes, Platform: "linux/" + b.arch})
	if err != nil {
		return "", fmt.Errorf("importing the files as an image: %w", err)
	}
	defer answer.Close()
	id := ""
	err = messages(answer, func(m jsonmessage.JSONMessage) {
		if strings.HasPrefix(m.Status, "sha256:") {
			id = m.Status
		}
	})
	if err != nil {
		return "", fmt.Errorf("importing the files as an image: %w", err)
	}
	if id == "" {
		return "", errors.New("importing the files as an image: the engine names no image")
	}
	return id, nil
}

// writeRelay writes the relay and its folders as a tar.
func writeRelay(w io.Writer, program []byte) error {
	out := tar.NewWriter(w)
	name := strings.TrimPrefix(sandbox.RelayPath, "/")
	for _, h := range []*tar.Header{
		folderHeader(path.Dir(path.Dir(name))), folderHeader(path.Dir(name)),
		fileHeader(name, 0o755, int64(len(program))),
	} {
		if err := out.WriteHeader(h); err != nil {
			return err
		}
	}
	if _, err := out.Write(program); err != nil {
		return err
	}
	return out.Close()
}

// stacked is a layer of files on top of a parent image.
type stacked struct {
	parent, digest string
	write          func(io.Writer) error // writes the files as a tar
	adds           string                // for the package list, or empty
	explain        string                // for the label "how", or empty
	labels         map[string]string     // beside those that every layer has
}

// stack commits a never started container of the parent, with files added.
func (b *Builder) stack(ctx context.Context, s site, what stacked) (id string, err error) {
	parent, err := b.api.ImageInspect(ctx, what.parent)
	if err != nil {
		return "", fmt.Errorf("looking at the layer below: %w", err)
	}
	labels := map[string]string{labelRecipe: what.digest}
	maps.Copy(labels, what.labels)
	below := describe("", "", parent)
	if what.adds != "" {
		labels[labelPackages] = strings.Join(append(below.Packages, what.adds), " ")
		labels[labelHow] = below.How + "; " + what.explain
	}
	bench, err := newBench(ctx, s, container.Config{Image: what.parent}, container.HostConfig{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bench.remove(ctx)) }()
	if err := bench.put(ctx, what.write); err != nil {
		return "", fmt.Errorf("copying files into the image: %w", err)
	}
	made, err := b.api.ContainerCommit(ctx, bench.id, container.CommitOptions{
		Config: &container.Config{Labels: labels},
	})
	if err != nil {
		return "", fmt.Errorf("committing the image: %w", err)
	}
	return made.ID, nil
}
