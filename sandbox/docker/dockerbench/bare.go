// Package dockerbench makes the engine calls of an attempt without anything
// around them: what is left of an attempt's time beside these is ours. It owns
// bare containers and nothing else; only measurements may use it.
package dockerbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
)

// Bare makes bare containers in the likeness of a box.
type Bare struct {
	cli    *client.Client
	config *container.Config
	host   *container.HostConfig
	user   string // of commands
	image  string
}

// Like takes the configuration of a box that exists: image, command, limits,
// mounts, lock-down and all. The containers carry its labels, so that the
// reaper finds what a dead measurement leaves. Close it at the end.
func Like(ctx context.Context, endpoint, id string, guest int) (*Bare, error) {
	cli, _, err := docker.Connect(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	c, err := cli.ContainerInspect(ctx, id)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("looking at the box: %w", err), cli.Close())
	}
	return &Bare{cli: cli, config: c.Config, host: c.HostConfig, image: c.Config.Image,
		user: fmt.Sprintf("%d:%d", guest, guest)}, nil
}

// Close closes the connection to the engine.
func (b *Bare) Close() error { return b.cli.Close() }

// life is one container on its way.
type life struct {
	*Bare
	id       string
	commands []sandbox.Command // those still to be started
	exec     string            // the command under way
	folders  []string
	attached []io.Closer
	started  bool
}

// SameCalls makes the given calls, named as docker.Options.Observe names them,
// one after the other, with one container, and the given commands in their
// order. It returns after the last one; a call that it does not know is an error.
func (b *Bare) SameCalls(ctx context.Context, calls []string, commands []sandbox.Command) (err error) {
	l := &life{Bare: b, commands: slices.Clone(commands)}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		err = errors.Join(err, l.close())
		cancel()
	}()
	for _, call := range calls {
		if err := l.do(ctx, call); err != nil {
			return fmt.Errorf("%s: %w", call, err)
		}
	}
	return nil
}

// close removes what is left, also after a failure.
func (l *life) close() error {
	var errs []error
	for _, c := range l.attached {
		errs = append(errs, c.Close())
	}
	if l.id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		errs = append(errs, l.remove(ctx))
	}
	for _, dir := range l.folders {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

func (l *life) do(ctx context.Context, call string) error {
	switch call {
	case "create":
		return l.create(ctx)
	case "attach":
		return l.attach(ctx)
	case "start":
		l.started = true
		return l.cli.ContainerStart(ctx, l.id, container.StartOptions{})
	case "wait":
		return l.wait(ctx)
	case "exec create":
		return l.execCreate(ctx)
	case "exec attach":
		return l.execAttach(ctx)
	case "exec inspect":
		_, err := l.cli.ContainerExecInspect(ctx, l.exec)
		return err
	case "inspect":
		_, err := l.cli.ContainerInspect(ctx, l.id)
		return err
	case "kill":
		return l.cli.ContainerKill(ctx, l.id, "KILL")
	case "remove":
		return l.remove(ctx)
	case "image inspect":
		_, err := l.cli.ImageInspect(ctx, l.image)
		return err
	}
	return errors.New("not a call of an attempt that is known here")
}

// create gives the container folders of its own in place of the box's.
func (l *life) create(ctx context.Context) error {
	host := *l.host
	host.Mounts = slices.Clone(host.Mounts)
	for i, m := range host.Mounts {
		if m.Type != mount.TypeBind {
			continue
		}
		dir, err := os.MkdirTemp("", "cabra-bench-")
		if err != nil {
			return err
		}
		l.folders = append(l.folders, dir)
		host.Mounts[i].Source = dir
		if err := os.Chmod(dir, 0o777); err != nil {
			return err
		}
	}
	c, err := l.cli.ContainerCreate(ctx, l.config, &host, nil, nil, "")
	l.id = c.ID
	return err
}

func (l *life) attach(ctx context.Context) error {
	conn, err := l.cli.ContainerAttach(ctx, l.id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	l.attached = append(l.attached, conn.Conn)
	go func() { _, _ = io.Copy(io.Discard, conn.Reader) }() // ends with the connection
	return nil
}

// wait is the order to be told of the end, before the start; after it, the
// waiting for the end.
func (l *life) wait(ctx context.Context) error {
	until := container.WaitConditionNextExit
	if l.started {
		until = container.WaitConditionNotRunning
	}
	result, failed := l.cli.ContainerWait(ctx, l.id, until)
	if !l.started {
		go func() { // the client's own goroutine waits until somebody takes the answer
			select {
			case <-result:
			case <-failed:
			}
		}()
		return nil
	}
	select {
	case <-result:
		return nil
	case err := <-failed:
		return err
	}
}

func (l *life) execCreate(ctx context.Context) error {
	if len(l.commands) == 0 {
		return errors.New("more commands than an attempt has")
	}
	c := l.commands[0]
	made, err := l.cli.ContainerExecCreate(ctx, l.id, container.ExecOptions{User: l.user, Cmd: c.Args, Env: c.Env,
		WorkingDir: c.Dir, AttachStdin: c.Stdin != nil, AttachStdout: true, AttachStderr: true})
	l.exec = made.ID
	return err
}

// execAttach starts the command and reads all that it says.
func (l *life) execAttach(ctx context.Context) error {
	conn, err := l.cli.ContainerExecAttach(ctx, l.exec, container.ExecAttachOptions{})
	if err != nil {
		return err
	}
	defer conn.Close()
	if l.commands[0].Stdin != nil {
		var text bytes.Buffer
		if _, err := text.ReadFrom(l.commands[0].Stdin); err != nil {
			return err
		}
		if _, err := conn.Conn.Write(text.Bytes()); err != nil {
			return err
		}
		if err := conn.CloseWrite(); err != nil {
			return err
		}
	}
	l.commands = l.commands[1:]
	_, err = io.Copy(io.Discard, conn.Reader)
	return err
}

func (l *life) remove(ctx context.Context) error {
	err := l.cli.ContainerRemove(ctx, l.id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil {
		l.id = ""
	}
	return err
}

// Shortest is the shortest life of a container: create, start, wait, remove.
func (b *Bare) Shortest(ctx context.Context) (err error) {
	config := &container.Config{Image: b.image, Entrypoint: []string{"/bin/true"}, Labels: b.config.Labels}
	c, err := b.cli.ContainerCreate(ctx, config, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		return err
	}
	l := &life{Bare: b, id: c.ID}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := b.cli.ContainerStart(ctx, c.ID, container.StartOptions{}); err != nil {
		return err
	}
	result, failed := b.cli.ContainerWait(ctx, c.ID, container.WaitConditionNotRunning)
	select {
	case <-result:
	case err := <-failed:
		return err
	}
	return l.remove(ctx)
}
