package faulttest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cabra-run/images/imagestest"
	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/sandbox/sandboxtest/engineproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a test; it is reached only when something hangs.
const patience = 3 * time.Minute

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// testImage is a small image with a shell.
func testImage(t testing.TB) string { return imagestest.Ensure(t, "scorer").ID }

func spec(image string) sandbox.Spec {
	return sandbox.Spec{
		Image: image, Command: []string{"/bin/cat"}, Guest: true, Home: true,
		Workspace: map[string][]byte{"solution.py": []byte("x\n")},
		Labels:    sandbox.Labels{Run: "faults", Trial: "t", Attempt: 1},
	}
}

var env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}

func shell(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"/bin/sh", "-c", script}, Env: env}
}

// quiet is an engine that nobody else uses, where one can be had: deadlines of
// seconds and counts of remains do not go together with other people's load.
func quiet(t *testing.T, image string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return ""
	}
	return sandboxtest.OwnEngine(t, image).Endpoint()
}

// troubled is an engine behind a proxy.
func troubled(t *testing.T, o docker.Options, seed uint64) (*docker.Engine, *engineproxy.Proxy) {
	t.Helper()
	sandboxtest.RequireReal(t)
	target := o.Host
	if target == "" {
		cli, endpoint, err := docker.Connect(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		cli.Close()
		target = endpoint
	}
	p, err := engineproxy.New(target, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Host = p.Endpoint()
	e := sandboxtest.RealEngineWith(t, o) // its checks at the end come before the proxy's close
	t.Cleanup(func() {
		p.Clear()
		p.Release()
	})
	return e, p
}

// started makes a running box that is removed at the end of the test.
func started(t *testing.T, e sandbox.Engine, image string) sandbox.Box {
	t.Helper()
	ctx := patient(t)
	b, err := e.Create(ctx, spec(image))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Remove(context.Background()); err != nil {
			t.Errorf("removing: %v", err)
		}
	})
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

// run runs a command to its end.
func run(ctx context.Context, b sandbox.Box, script string) (int, error) {
	p, err := b.Exec(ctx, shell(script))
	if err != nil {
		return -1, err
	}
	return p.Wait(ctx)
}

func collect(ctx context.Context, t *testing.T, b sandbox.Box) error {
	t.Helper()
	dst, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	_, err = b.Collect(ctx, dst, sandbox.CollectLimits{})
	return err
}

func wantFault(t *testing.T, what string, err error, kinds ...sandbox.FaultKind) {
	t.Helper()
	for _, kind := range kinds {
		if sandbox.IsFault(err, kind) {
			return
		}
	}
	t.Errorf("%s: error %v, want a fault %q", what, err, kinds)
}

// anyFault fails unless err is nil or a Fault: what a caller sees of a bad
// engine must never look like anything else.
func anyFault(t *testing.T, what string, err error) {
	t.Helper()
	var f *sandbox.Fault
	if err != nil && !errors.As(err, &f) {
		t.Errorf("%s: %v is no fault", what, err)
	}
}
