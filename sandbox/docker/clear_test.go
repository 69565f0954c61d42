package docker_test

import (
	"context"
	"os"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// nest makes folders deeper than engines may have files open.
const nest = `
import os
for _ in range(30_000):
    os.mkdir("d")
    os.chdir("d")
os.chmod(".", 0)
`

// A volume that a box has nested too deep for the engine is removed all the
// same, whether or not it was read before.
func TestDeepVolume(t *testing.T) {
	for _, read := range []bool{true, false} {
		t.Run(map[bool]string{true: "read", false: "unread"}[read], func(t *testing.T) {
			e := sandboxtest.RealEngineWith(t, docker.Options{Transport: docker.TransportArchive})
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			b := agentBox(ctx, t, e, testImage(t))
			p, err := b.Exec(ctx, sandbox.Command{Args: []string{"python3", "-c", nest}, Env: agentEnv, Dir: sandbox.WorkspaceDir})
			if err != nil {
				t.Fatal(err)
			}
			if code, err := p.Wait(ctx); err != nil || code != 0 {
				t.Fatalf("nesting: exit code %d, %v", code, err)
			}
			if err := b.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			if read {
				collect(ctx, t, b)
			}
			if err := b.Remove(ctx); err != nil {
				t.Error(err)
			}
			sandboxtest.CheckRemains(t, e)
		})
	}
}

func collect(ctx context.Context, t *testing.T, b sandbox.Box) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := b.Collect(ctx, root, sandbox.CollectLimits{}); err != nil {
		t.Error(err)
	}
}
