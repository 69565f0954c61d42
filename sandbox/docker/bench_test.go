package docker_test

import (
	"context"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// BenchmarkBox is the life of a box: create, start, exec, kill, remove.
func BenchmarkBox(b *testing.B) {
	image := testImage(b)
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		b.Run(transport, func(b *testing.B) {
			e := sandboxtest.RealEngineWith(b, docker.Options{Transport: transport})
			for b.Loop() {
				lifeOfBox(b, e, catSpec(image))
			}
		})
	}
	b.Run("nothing writable", func(b *testing.B) {
		e := sandboxtest.RealEngine(b)
		for b.Loop() {
			lifeOfBox(b, e, sandbox.Spec{Image: image, Command: []string{"/bin/cat"}, NoScratch: true})
		}
	})
}

func lifeOfBox(b *testing.B, e sandbox.Engine, spec sandbox.Spec) {
	ctx := context.Background()
	box, err := e.Create(ctx, spec)
	if err != nil {
		b.Fatal(err)
	}
	must(b, box.Start(ctx))
	p, err := box.Exec(ctx, sandbox.Command{Args: []string{"/bin/true"}})
	must(b, err)
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		b.Fatalf("code %d, %v", code, err)
	}
	must(b, box.Kill(ctx))
	must(b, box.Remove(ctx))
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBare is what the engine itself takes: for the same calls, and for
// the shortest life of a container, without any of the lock-down.
func BenchmarkBare(b *testing.B) {
	image := testImage(b)
	ctx := context.Background()
	cli, _, err := docker.Connect(ctx, "")
	must(b, err)
	defer cli.Close()
	b.Run("same calls", func(b *testing.B) {
		for b.Loop() {
			sameCalls(b, cli, image)
		}
	})
	b.Run("create, start, wait, remove", func(b *testing.B) {
		for b.Loop() {
			shortestLife(b, cli, image)
		}
	})
}

func bareCreate(b *testing.B, cli *client.Client, image string, argv ...string) string {
	c, err := cli.ContainerCreate(context.Background(), &container.Config{
		Image: image, Entrypoint: argv, OpenStdin: true,
	}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	must(b, err)
	return c.ID
}

func sameCalls(b *testing.B, cli *client.Client, image string) {
	ctx := context.Background()
	id := bareCreate(b, cli, image, "/bin/cat")
	must(b, cli.ContainerStart(ctx, id, container.StartOptions{}))
	exec, err := cli.ContainerExecCreate(ctx, id, container.ExecOptions{
		Cmd: []string{"/bin/true"}, AttachStdout: true, AttachStderr: true,
	})
	must(b, err)
	conn, err := cli.ContainerExecAttach(ctx, exec.ID, container.ExecAttachOptions{})
	must(b, err)
	_, err = conn.Reader.WriteTo(discard{})
	must(b, err)
	conn.Close()
	must(b, cli.ContainerKill(ctx, id, "KILL"))
	waitBare(b, cli, id, container.WaitConditionNotRunning)
	must(b, cli.ContainerRemove(ctx, id, container.RemoveOptions{Force: true}))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func shortestLife(b *testing.B, cli *client.Client, image string) {
	ctx := context.Background()
	id := bareCreate(b, cli, image, "/bin/true")
	must(b, cli.ContainerStart(ctx, id, container.StartOptions{}))
	waitBare(b, cli, id, container.WaitConditionNotRunning)
	must(b, cli.ContainerRemove(ctx, id, container.RemoveOptions{}))
}

func waitBare(b *testing.B, cli *client.Client, id string, until container.WaitCondition) {
	result, failed := cli.ContainerWait(context.Background(), id, until)
	select {
	case <-result:
	case err := <-failed:
		b.Fatal(err)
	}
}
