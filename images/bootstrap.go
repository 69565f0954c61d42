package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

const (
	defaultMirror = "http://deb.debian.org/debian"
	mirrorVar     = "CABRA_DEBIAN_MIRROR"
	debianKeys    = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

func (b *Builder) mirror() string {
	if m := b.getenv(mirrorVar); m != "" {
		return strings.TrimRight(m, "/")
	}
	return defaultMirror
}

// sourcesList names a mirror's suites; the security suite where the mirror lies
// at the usual place beside it.
func sourcesList(mirror, release string) string {
	s := fmt.Sprintf("deb %s %s main\ndeb %s %s-updates main\n", mirror, release, mirror, release)
	if root, ok := strings.CutSuffix(mirror, "/debian"); ok {
		s += fmt.Sprintf("deb %s/debian-security %s-security main\n", root, release)
	}
	return s
}

// proxies returns the proxy settings that the build container needs as well.
func (b *Builder) proxies() []string {
	var env []string
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		for _, n := range []string{name, strings.ToUpper(name)} {
			if v := b.getenv(n); v != "" {
				env = append(env, n+"="+v)
			}
		}
	}
	return env
}

// host is what bootstrapping needs to know of this machine.
type host struct {
	uid         int
	arch        string // GOARCH
	debootstrap bool   // installed, with Debian's keys
}

func thisHost() host {
	_, err := exec.LookPath("debootstrap")
	return host{os.Geteuid(), runtime.GOARCH, err == nil && isFile(debianKeys)}
}

// canBootstrap says what is missing for a bootstrap for an engine of that architecture.
func (h host) canBootstrap(arch string) error {
	switch {
	case h.arch != arch:
		return &Error{
			What: fmt.Sprintf("a Debian for a %s engine cannot be bootstrapped on %s", arch, h.arch),
			Hint: "give the engine a registry that it reaches, or name a Debian image that it has: --base IMAGE",
		}
	case h.uid != 0:
		return &Error{
			What: "bootstrapping a Debian needs root",
			Hint: "run `cabra-run images build` once as root, or give the engine a registry that it reaches",
		}
	case !h.debootstrap:
		return &Error{
			What: "debootstrap, or the keys of Debian's archive, are not installed",
			Hint: "apt-get install debootstrap debian-archive-keyring",
		}
	}
	return nil
}

// bootstrap makes a minimal Debian in a temporary folder and imports it as an
// untagged image, which the caller removes.
func (b *Builder) bootstrap(ctx context.Context, job systemJob) (id string, err error) {
	if err := thisHost().canBootstrap(b.arch); err != nil {
		return "", err
	}
	dir, err := b.temporary(job.layer)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root := filepath.Join(dir, "root")
	if err := b.debootstrap(ctx, root, job.Release); err != nil {
		return "", err
	}
	return b.importFolder(ctx, root)
}

// debootstrap runs the program of that name in a mount and a process namespace
// of its own, so that nothing stays mounted or running when it is killed.
func (b *Builder) debootstrap(ctx context.Context, root, release string) error {
	args := []string{"--variant=minbase", "--arch=" + b.arch, "--force-check-gpg", "--keyring=" + debianKeys}
	if b.bundle != "" {
		args = append(args, "--certificate="+b.bundle)
	}
	cmd := exec.CommandContext(ctx, "debootstrap", append(args, release, root, b.mirror())...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	var log tail
	cmd.Stdout, cmd.Stderr = &log, &log
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return explain("bootstrapping Debian "+release, err, log.String())
}

// importFolder makes an untagged image from a folder.
func (b *Builder) importFolder(ctx context.Context, root string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tar", "--numeric-owner", "--one-file-system", "-c", "-C", root, ".")
	var log tail
	cmd.Stderr = &log
	files, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("starting tar: %w", err)
	}
	id, err := b.importTar(ctx, files, []string{"LABEL " + labelRecipe + "=temporary"})
	_, _ = io.Copy(io.Discard, files) // what the engine did not want
	if werr := cmd.Wait(); werr != nil && err == nil {
		werr = explain("packing the bootstrapped files", werr, log.String())
		return "", errors.Join(werr, removeImage(ctx, b.api, id))
	}
	return id, err
}
