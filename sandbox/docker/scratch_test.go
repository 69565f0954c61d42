package docker_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// What a box writes into its home shows in the next reading, so that a session
// file that grows is a sign of work.
func TestScratchUsage(t *testing.T) {
	e := sandboxtest.RealEngineWith(t, docker.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	spec := catSpec(testImage(t))
	spec.Guest, spec.Home = true, true
	b, err := e.Create(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Remove(ctx)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	before, err := b.Usage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if before.ScratchBytes < 0 {
		// Where control groups can be read here they tell it.
		v1, _ := filepath.Glob("/sys/fs/cgroup/memory/docker/" + b.ID() + "/memory.stat")
		v2, _ := filepath.Glob("/sys/fs/cgroup/system.slice/docker-" + b.ID() + ".scope/memory.stat")
		if len(v1)+len(v2) > 0 {
			t.Fatalf("unknown, and it stands in %v", append(v1, v2...))
		}
		t.Skip("the engine is elsewhere: it does not tell what lies in a box's memory file systems")
	}
	p, err := b.Exec(ctx, sandbox.Command{Args: []string{"/bin/sh", "-c", "head -c 3145728 /dev/zero >" + sandbox.HomeDir + "/session"}})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(ctx); code != 0 || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
	after, err := b.Usage(ctx)
	if grown := after.ScratchBytes - before.ScratchBytes; err != nil || grown < 2<<20 || grown > 4<<20 {
		t.Errorf("3 MiB written, %d bytes more, %v", grown, err)
	}
}
