package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"cabra-run/sandbox"
)

// steps is what steps.sh does in a container of the layer below.
type steps struct {
	dir     string            // of npm's and pip's packages
	apt     []string          // Debian packages
	npm     []string          // NAME@VERSION
	scripts bool              // of npm's packages run when they are installed
	pip     string            // a requirements file
	pinned  bool              // the requirements file has the sums of all files
	copies  copied            // files of the host
	files   map[string]string // texts for dir
	run     []string          // lines for the shell
}

const stepsVersion = "steps/1"

// digest covers what decides on the layer.
func (s steps) digest(parent string) string {
	parts := []string{
		stepsVersion, parent, stepsScript, s.dir, strings.Join(s.apt, "\n"), strings.Join(s.npm, "\n"),
		fmt.Sprint(s.scripts, s.pinned), s.pip, s.copies.digest, strings.Join(s.run, "\n"),
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		parts = append(parts, name, s.files[name])
	}
	return digestOf(parts...)
}

// stepsJob is what buildSteps needs to know.
type stepsJob struct {
	steps
	layer  layer
	parent string
	adds   []string // for the package list
	how    string   // for the label of that name

	// Of somebody's own recipe:
	own     bool
	from    origin // of the system
	release string // of Debian
}

// buildSteps runs the steps in a container of the parent and commits it.
func (b *Builder) buildSteps(ctx context.Context, s site, job stepsJob) (id string, err error) {
	bench, err := newBench(ctx, s, container.Config{
		Image: job.parent, User: "0:0", WorkingDir: "/",
		Entrypoint: []string{"/bin/sh"}, Cmd: []string{workDir + "/steps.sh", workDir, job.dir},
	}, container.HostConfig{
		NetworkMode: container.NetworkMode(b.getenv(networkVar)),
		// A volume is no part of what is committed.
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Target: workDir}},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bench.remove(ctx)) }()
	if err := b.prepare(ctx, bench, job); err != nil {
		return "", err
	}
	var log tail
	if err := bench.run(ctx, &log, &log); err != nil {
		return "", explain("carrying out the steps of "+job.layer.what, err, log.String())
	}
	adds := job.adds
	if job.pip != "" {
		added, err := bench.read(ctx, workDir+"/added", maxInstalled)
		if err != nil {
			return "", err
		}
		adds = append(adds, strings.Fields(added)...)
	}
	return b.commit(ctx, bench, job, adds)
}

// prepare copies what the steps work with into the container.
func (b *Builder) prepare(ctx context.Context, bench *bench, job stepsJob) error {
	files, err := b.stepsFiles(job)
	if err != nil {
		return err
	}
	writers := []func(io.Writer) error{folderOf(workDir, files)}
	if len(job.npm) > 0 {
		tool, done, err := b.npmTool(ctx, job.layer)
		if err != nil {
			return err
		}
		defer done()
		writers = append(writers, tool)
	}
	if len(job.files) > 0 {
		writers = append(writers, folderOf(job.dir, job.files))
	}
	if job.copies.digest != "" {
		writers = append(writers, job.copies.write)
	}
	for _, write := range writers {
		if err := bench.put(ctx, write); err != nil {
			return fmt.Errorf("copying the build's files: %w", err)
		}
	}
	return nil
}

// stepsFiles are the files that steps.sh works with.
func (b *Builder) stepsFiles(job stepsJob) (map[string]string, error) {
	files := map[string]string{"steps.sh": stepsScript}
	for name, text := range map[string]string{
		"apt": strings.Join(job.apt, "\n"), "npm": strings.Join(job.npm, "\n"), "pip": job.pip,
		"run": strings.Join(job.run, "\n"),
	} {
		if text != "" {
			files[name] = text + "\n"
		}
	}
	if job.scripts {
		files["npm-scripts"] = ""
	}
	if job.pinned {
		files["pip-pinned"] = ""
	}
	if job.own && job.from.kind != fromImage {
		files["sources.list"] = sourcesList(b.mirror(), job.release)
	}
	env := append(b.proxies(), "npm_config_registry="+npmBase(b.getenv), "pip_index="+pipIndex(b.getenv))
	if b.bundle != "" {
		pem, err := os.ReadFile(b.bundle)
		if err != nil {
			return nil, &Error{What: "reading the CA bundle", Hint: "name a readable PEM file", Err: err}
		}
		files["ca.crt"] = string(pem)
		for _, name := range []string{"npm_config_cafile", "PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
			env = append(env, name+"="+workDir+"/ca.crt")
		}
	}
	files["env"] = exports(env)
	return files, nil
}

// exports writes settings as lines of a shell.
func exports(env []string) string {
	var lines strings.Builder
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&lines, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return lines.String()
}

// npmTool fetches npm itself, which is used in the build and is no part of the
// image; done removes what was fetched.
func (b *Builder) npmTool(ctx context.Context, l layer) (write func(io.Writer) error, done func(), err error) {
	dir, err := b.temporary(l)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // else the next build of the layer removes it
	defer func() {
		if err != nil {
			done()
		}
	}()
	reg, err := newRegistry(npmBase(b.getenv), b.bundle)
	if err != nil {
		return nil, nil, err
	}
	npm := b.recipes.CLIs["npm"]
	file, err := reg.fetch(ctx, npm.Packages[b.arch], npm.Version, dir)
	return func(w io.Writer) error {
		u := newUnpacker(w)
		return errors.Join(addFile(u, file, part{dir: npm.Dir}), u.out.Close())
	}, done, err
}

// commit makes an image of the container as its steps have left it.
func (b *Builder) commit(ctx context.Context, bench *bench, job stepsJob, adds []string) (string, error) {
	parent, err := b.api.ImageInspect(ctx, job.parent)
	if err != nil {
		return "", fmt.Errorf("looking at the layer below: %w", err)
	}
	below := describe("", "", parent)
	labels := map[string]string{
		labelRecipe:   job.layer.digest,
		labelPackages: strings.Join(append(below.Packages, adds...), " "),
		labelHow:      strings.TrimPrefix(below.How+"; "+job.how, "; "),
	}
	if job.own {
		program, err := RelayBinary(b.arch)
		if err != nil {
			return "", err
		}
		labels[labelOwn] = ownMark(program)
	}
	made, err := b.api.ContainerCommit(ctx, bench.id, container.CommitOptions{
		Config: &container.Config{ // what is not set here would be the build container's
			Labels: labels, User: fmt.Sprintf("%d:%d", sandbox.InitUID, sandbox.InitUID),
			WorkingDir: sandbox.WorkspaceDir, Cmd: []string{"/bin/bash"}, Entrypoint: []string{},
		},
	})
	if err != nil {
		return "", fmt.Errorf("committing the image: %w", err)
	}
	return made.ID, nil
}
