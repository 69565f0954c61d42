package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// machine is what setting up an engine needs of the machine; tests replace it.
type machine interface {
	Root() bool
	Debian() bool
	Systemd() bool
	Has(program string) bool
	// Run runs a command to its end; the error holds the end of its output.
	Run(ctx context.Context, name string, args ...string) error
	// Spawn starts a program that outlives this process, its output in a file.
	Spawn(logFile, name string, args ...string) error
}

// engineHelp is what a person must type where we may not do it ourselves.
const engineHelp = `sudo apt-get install -y docker.io
sudo usermod -aG docker "$USER" && newgrp docker`

const engineLog = "/var/log/cabra-run-dockerd.log"

// setUpEngine installs and starts the distribution's engine where none answers.
// Each step is said before it is taken; say must not return early.
func setUpEngine(ctx context.Context, m machine, say func(string), ping func(context.Context) error) error {
	cause := ping(ctx)
	if cause == nil {
		return nil
	}
	if !m.Root() || !m.Debian() {
		return hinted(fmt.Errorf("no container engine answers, and this is not root on a Debian-like system: %w", cause),
			"type these two lines, then try again:\n"+engineHelp)
	}
	if !m.Has("dockerd") {
		say("no container engine answers: installing the distribution's one (apt-get install docker.io)")
		if err := aptInstall(ctx, m, "docker.io"); err != nil {
			return err
		}
		if waitFor(ctx, 5*time.Second, ping) == nil {
			return nil // the package's service came up by itself
		}
	}
	return startEngine(ctx, m, say, ping)
}

func startEngine(ctx context.Context, m machine, say func(string), ping func(context.Context) error) error {
	if m.Systemd() {
		say("no container engine answers: starting it (systemctl start docker)")
		if err := m.Run(ctx, "systemctl", "start", "docker"); err != nil {
			return err
		}
	} else {
		say("no container engine answers: starting it (dockerd, log in " + engineLog + ")")
		if err := m.Spawn(engineLog, "dockerd"); err != nil {
			return err
		}
	}
	if err := waitFor(ctx, time.Minute, ping); err != nil {
		return hinted(fmt.Errorf("the engine was started but does not answer: %w", err), "see "+engineLog+" or: journalctl -u docker")
	}
	return nil
}

// installBootstrap installs what a base image is bootstrapped with.
func installBootstrap(ctx context.Context, m machine, say func(string)) error {
	packages := []string{"debootstrap", "debian-archive-keyring"}
	if !m.Root() || !m.Debian() {
		return hinted(fmt.Errorf("no base image can be pulled, and debootstrap is missing"),
			"as root: apt-get install -y "+strings.Join(packages, " ")+" && cabra-run images build")
	}
	say("no base image can be pulled: installing what bootstraps one (apt-get install " + strings.Join(packages, " ") + ")")
	return aptInstall(ctx, m, packages...)
}

func aptInstall(ctx context.Context, m machine, packages ...string) error {
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	// The package lists of a new machine are often missing or old; asking for
	// new ones first costs seconds and saves a second failure.
	if err := m.Run(ctx, "apt-get", "update"); err != nil {
		return err
	}
	return m.Run(ctx, "apt-get", install...)
}

// waitFor polls until ping succeeds or the time is up; there is no event to wait for.
func waitFor(ctx context.Context, limit time.Duration, ping func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// host is the real machine.
type host struct{}

func (host) Root() bool { return os.Geteuid() == 0 }

func (host) Debian() bool {
	_, err := os.Stat("/etc/debian_version")
	return err == nil
}

func (host) Systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

func (host) Has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func (host) Run(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		tail := out.Bytes()
		if len(tail) > 2000 {
			tail = tail[len(tail)-2000:]
		}
		return fmt.Errorf("%s: %w\n%s", cmd.String(), err, tail)
	}
	return nil
}

func (host) Spawn(logFile, name string, args ...string) error {
	log, err := os.OpenFile(filepath.Clean(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a closed terminal must not end it
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
