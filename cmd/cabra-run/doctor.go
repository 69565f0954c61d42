package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"cabra-run/images"
	"cabra-run/sandbox/docker"
)

// minFree is the room on a disk below which doctor warns: images take about
// 2 GB and every box some hundred MiB.
const minFree = 5 << 30

func newDoctor(a *app) *cobra.Command {
	var fix bool
	var base string
	var check modelCheck
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "check this machine, and with --fix set up what is missing",
		Long: `Checks engine, images, disk and folders. With --fix it builds missing images and,
as root on a Debian-like system where no engine answers, installs and starts the
distribution's engine. Every step is said before it is taken.

With --model PROVIDER/NAME it also checks that the provider is defined, that its
key is there, what the model costs, and (without --no-preflight) that it gives one
tiny answer, in the wire format of --agent.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check.agent != "" && check.model == "" {
				return usagef("--agent says how --model is asked, and there is none")
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			if check.model == "" {
				return doctor(ctx, a, host{}, fix, base)
			}
			return doctorBoth(ctx, a, check, func() error { return doctor(ctx, a, host{}, fix, base) })
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "set up what is missing")
	cmd.Flags().StringVar(&base, "base", "", "base image: pull, bootstrap or an image (default: pull, else bootstrap)")
	check.addFlags(cmd)
	return cmd
}

// doctorBoth checks a model, and then the machine whatever came of the model.
func doctorBoth(ctx context.Context, a *app, check modelCheck, machine func() error) error {
	err := a.checkModel(ctx, check)
	if err == nil {
		return machine()
	}
	if _, code := explain(err); code == exitUsage || ctx.Err() != nil {
		return err
	}
	code := printError(a.stderr, err)
	if err := machine(); err != nil {
		return err
	}
	return silent(code)
}

func doctor(ctx context.Context, a *app, m machine, fix bool, base string) error {
	ping := func(ctx context.Context) error {
		api, _, err := docker.Connect(ctx, a.engineHost)
		if err != nil {
			return err
		}
		return api.Close()
	}
	if fix {
		if err := setUpEngine(ctx, m, a.say, ping); err != nil {
			return err
		}
	}
	e, err := a.engine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	info, err := e.Info(ctx)
	if err != nil {
		return err
	}
	a.say(fmt.Sprintf("engine   %s %s at %s, %d CPUs, %s, workspaces by %s", info.Name, info.Version, info.Endpoint,
		info.CPUs, units.BytesSize(float64(info.MemoryBytes)), info.Transport))
	if err := a.checkFolders(info.RootDir); err != nil {
		return err
	}
	if err := a.checkStorage(); err != nil {
		return err
	}
	return a.checkImages(ctx, m, fix, base)
}

func (a *app) checkFolders(engineDir string) error {
	for _, dir := range []string{a.stateDir, a.runsDir} {
		if err := writable(dir); err != nil {
			return hinted(fmt.Errorf("folder %q: %w", dir, err), "choose others by --runs and --state-dir, or change the permissions")
		}
	}
	for _, dir := range []string{a.runsDir, engineDir} {
		var st unix.Statfs_t
		if unix.Statfs(existing(dir), &st) != nil {
			continue // the engine may be elsewhere
		}
		free := st.Bavail * uint64(st.Bsize)
		line := fmt.Sprintf("disk     %s free for %s", units.BytesSize(float64(free)), dir)
		if free < minFree {
			line += "  LOW: images need about 2 GiB, boxes some hundred MiB each"
		}
		a.say(line)
	}
	return nil
}

// existing returns dir or its nearest parent that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// writable checks that a folder can be made or written, leaving nothing behind.
func writable(dir string) error {
	return unix.Access(existing(dir), unix.W_OK)
}

func (a *app) checkImages(ctx context.Context, m machine, fix bool, base string) error {
	b, err := a.images(base)
	if err != nil {
		return err
	}
	defer b.Close()
	var missing []string
	for _, name := range imageNames() {
		img, built, err := b.Lookup(ctx, name)
		switch {
		case err != nil:
			return err
		case built:
			a.say(fmt.Sprintf("image    %-8s %s  %s", name, img.Tag, units.HumanSize(float64(img.Bytes))))
		default:
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if !fix {
		return hinted(fmt.Errorf("images not built yet: %v", missing), "build them: cabra-run images build (or cabra-run doctor --fix)")
	}
	err = buildImages(ctx, a, b, missing)
	if !errors.Is(err, images.ErrNoDebootstrap) {
		return err
	}
	if err := installBootstrap(ctx, m, a.say); err != nil {
		return err
	}
	return buildImages(ctx, a, b, missing)
}
