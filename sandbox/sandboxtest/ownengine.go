package sandboxtest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cabra-run/sandbox/docker"
)

// Bounds of an engine's start and end; never reached unless something hangs.
const (
	ownStart = time.Minute
	ownStop  = time.Minute
)

// Own is an engine that belongs to one test, with everything of its own: data,
// sockets, containerd. Stopping and killing it troubles nobody else.
type Own struct {
	t    testing.TB
	dir  string
	log  *os.File
	cmd  *exec.Cmd // nil while it does not run
	done chan struct{}
}

// OwnEngine starts an engine and copies images of the default one into it, by
// ID, which stay the same. It is stopped and removed at the end of the test. The
// test is skipped without CABRA_TEST_REAL=1, and where no second engine can be
// started.
func OwnEngine(t testing.TB, images ...string) *Own {
	t.Helper()
	RequireReal(t)
	if os.Geteuid() != 0 {
		t.Skip("a second engine needs root")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		t.Skipf("a second engine needs dockerd: %v", err)
	}
	dir, err := os.MkdirTemp("", "own") // short: socket paths are
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	o := &Own{t: t, dir: dir, log: log}
	t.Cleanup(o.cleanUp)
	o.Start()
	o.copyImages(images)
	return o
}

// Endpoint is where the engine listens, running or not.
func (o *Own) Endpoint() string { return "unix://" + filepath.Join(o.dir, "s") }

// Engine connects to it. At the end of the test it fails when anything of this
// owner is left.
func (o *Own) Engine(opts docker.Options) *docker.Engine {
	o.t.Helper()
	if opts.Host == "" {
		opts.Host = o.Endpoint()
	}
	return RealEngineWith(o.t, opts)
}

// Start starts the engine and waits for its first answer.
func (o *Own) Start() {
	o.t.Helper()
	if o.cmd != nil {
		o.t.Fatal("the test's own engine runs already")
	}
	at := func(name string) string { return filepath.Join(o.dir, name) }
	cmd := exec.Command("dockerd", "--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"),
		"--host", o.Endpoint(), "--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
		"--userland-proxy=false", "--shutdown-timeout", "5", "--log-level", "warn", "--config-file", at("none.json"))
	cmd.Stdout, cmd.Stderr = o.log, o.log
	// A network namespace of its own: an engine without a bridge removes the
	// host's docker0, which is the bridge of the engine that people use.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := os.WriteFile(at("none.json"), []byte("{}"), 0o600); err != nil {
		o.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		o.t.Fatalf("starting the test's own engine: %v", err)
	}
	o.cmd, o.done = cmd, make(chan struct{})
	go func(done chan struct{}) {
		cmd.Wait()
		close(done)
	}(o.done)
	o.await()
}

// await asks until the engine answers; it tells nobody of it.
func (o *Own) await() {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ownStart)
	defer cancel()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		cli, _, err := docker.Connect(ctx, o.Endpoint())
		if err == nil {
			cli.Close()
			return
		}
		select {
		case <-retry.C:
		case <-o.done:
			o.t.Fatalf("the test's own engine ended: %s", o.lastLog())
		case <-ctx.Done():
			o.t.Fatalf("the test's own engine does not answer: %v: %s", err, o.lastLog())
		}
	}
}

// Stop ends the engine as its host would at a shutdown, its containers first.
func (o *Own) Stop() { o.end(unix.SIGTERM) }

// Kill ends the engine at once. Its containers run on until it starts again.
func (o *Own) Kill() { o.end(unix.SIGKILL) }

func (o *Own) end(signal syscall.Signal) {
	o.t.Helper()
	if o.cmd == nil {
		return
	}
	below := o.containerd()
	// Without its file the next start does not take a dead one that nobody has
	// waited for yet for a living one.
	defer os.Remove(o.containerdFile())
	defer below.awaitDeath()
	if err := o.cmd.Process.Signal(signal); err != nil {
		o.t.Errorf("ending the test's own engine: %v", err)
	}
	timer := time.NewTimer(ownStop)
	defer timer.Stop()
	select {
	case <-o.done:
	case <-timer.C:
		o.t.Errorf("the test's own engine does not stop: %s", o.lastLog())
		o.cmd.Process.Kill()
		<-o.done
	}
	o.cmd = nil
}

// owned is a process of ours that is no child of this one; -1 is none.
type owned int

// containerd is the process that the engine has started below itself. It dies
// with the engine, but later; an engine that starts in between takes it for a
// living one.
func (o *Own) containerd() owned {
	text, err := os.ReadFile(o.containerdFile())
	if err != nil {
		return -1
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	return owned(fd)
}

func (o *Own) containerdFile() string {
	return filepath.Join(o.dir, "exec", "containerd", "containerd.pid")
}

func (p owned) awaitDeath() {
	if p < 0 {
		return
	}
	defer unix.Close(int(p))
	unix.PidfdSendSignal(int(p), unix.SIGKILL, nil, 0)
	unix.Poll([]unix.PollFd{{Fd: int32(p), Events: unix.POLLIN}}, int(ownStop.Milliseconds()))
}

// Pause stops the engine's process without ending it: calls are taken by the
// kernel and nobody answers. Resume lets it go on.
func (o *Own) Pause() { o.signal(unix.SIGSTOP) }

// Resume ends Pause.
func (o *Own) Resume() { o.signal(unix.SIGCONT) }

func (o *Own) signal(s syscall.Signal) {
	o.t.Helper()
	if err := o.cmd.Process.Signal(s); err != nil {
		o.t.Fatalf("signalling the test's own engine: %v", err)
	}
}

// RemoveContainer removes a container by force, behind its owner's back.
func (o *Own) RemoveContainer(id string) { o.do("rm", "--force", "--volumes", id) }

// KillContainer kills a container's PID 1, behind its owner's back.
func (o *Own) KillContainer(id string) { o.do("kill", id) }

// RemoveImage removes an image by ID, whatever its tags.
func (o *Own) RemoveImage(id string) { o.do("rmi", "--force", id) }

// Containers lists the IDs of all containers, running or not.
func (o *Own) Containers() []string {
	return strings.Fields(o.do("ps", "--all", "--quiet", "--no-trunc"))
}

// ContainersOf lists the IDs of the containers whose trial begins so.
func (o *Own) ContainersOf(trial string) []string {
	var ids []string
	lines := o.do("ps", "--all", "--no-trunc", "--filter", "label=cabra.trial", "--format", `{{.ID}} {{.Label "cabra.trial"}}`)
	for line := range strings.Lines(lines) {
		id, of, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(of, trial) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Volumes lists the names of all volumes.
func (o *Own) Volumes() []string { return strings.Fields(o.do("volume", "ls", "--quiet")) }

// do runs the engine's own command line.
func (o *Own) do(args ...string) string {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", o.Endpoint()}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// copyImages copies images of the default engine.
func (o *Own) copyImages(ids []string) {
	o.t.Helper()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	from, _, err := docker.Connect(ctx, "")
	if err != nil {
		o.t.Fatalf("%s is set, but there is no engine: %v", RealEnv, err)
	}
	defer from.Close()
	to, _, err := docker.Connect(ctx, o.Endpoint())
	if err != nil {
		o.t.Fatal(err)
	}
	defer to.Close()
	images, err := from.ImageSave(ctx, ids)
	if err != nil {
		o.t.Fatalf("saving images: %v", err)
	}
	defer images.Close()
	answer, err := to.ImageLoad(ctx, images)
	if err != nil {
		o.t.Fatalf("loading images: %v", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		o.t.Fatalf("loading images: %v", err)
	}
}

// cleanUp ends the engine in order, which ends what it left when it was killed,
// and removes its folder.
func (o *Own) cleanUp() {
	defer o.log.Close()
	if o.cmd == nil && !o.t.Failed() {
		o.Start()
	}
	if o.cmd != nil {
		o.cmd.Process.Signal(unix.SIGCONT)
		o.Stop()
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		o.t.Error(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], o.dir+"/") {
			unix.Unmount(f[4], unix.MNT_DETACH)
		}
	}
	if err := os.RemoveAll(o.dir); err != nil {
		o.t.Errorf("removing the test's own engine: %v", err)
	}
}

// lastLog is the end of the engine's log.
func (o *Own) lastLog() string {
	text, err := os.ReadFile(o.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
