package faulttest

import (
	"context"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
	"cabra-run/sandbox/sandboxtest/engineproxy"
)

// short is the deadline of single engine calls in tests where one hangs. The
// real engine answers the others within it.
const short = 3 * time.Second

// TestEveryCallHasADeadline lets one engine call after the other hang: what
// needs it fails with a time-out, and once the engine answers again everything
// can be removed.
func TestEveryCallHasADeadline(t *testing.T) {
	image := testImage(t)
	host := quiet(t, image)
	newBox := func(ctx context.Context, e *docker.Engine) error { // calls of a creation
		b, err := e.Create(ctx, spec(image))
		if err == nil {
			b.Remove(ctx)
		}
		return err
	}
	for _, tc := range []struct {
		call      string
		transport string
		engine    func(context.Context, *docker.Engine) error
		box       func(context.Context, *testing.T, sandbox.Box) error // on a started one
		fresh     func(context.Context, sandbox.Box) error             // on a created one
	}{
		{call: "info", engine: func(ctx context.Context, e *docker.Engine) error { _, err := e.Info(ctx); return err }},
		{call: "version", engine: func(ctx context.Context, e *docker.Engine) error { _, err := e.Info(ctx); return err }},
		{call: "list", engine: func(ctx context.Context, e *docker.Engine) error { _, err := e.Reap(ctx); return err }},
		{call: "list", engine: func(ctx context.Context, e *docker.Engine) error { _, err := e.Capacity(ctx); return err }},
		{call: "volume list", engine: func(ctx context.Context, e *docker.Engine) error { _, err := e.Reap(ctx); return err }},
		{call: "image inspect", engine: newBox},
		{call: "create", engine: newBox},
		{call: "volume create", transport: docker.TransportArchive, engine: newBox},
		{call: "archive put", transport: docker.TransportArchive, engine: newBox},
		{call: "attach", fresh: func(ctx context.Context, b sandbox.Box) error { return b.Start(ctx) }},
		{call: "start", fresh: func(ctx context.Context, b sandbox.Box) error { return b.Start(ctx) }},
		{call: "exec create", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error {
			_, err := run(ctx, b, "true")
			return err
		}},
		{call: "exec attach", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error {
			_, err := run(ctx, b, "true")
			return err
		}},
		{call: "exec inspect", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error {
			_, err := run(ctx, b, "true")
			return err
		}},
		{call: "update", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error { return b.SetPids(ctx, 50) }},
		{call: "kill", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error { return b.Kill(ctx) }},
		{call: "wait", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error { return b.Kill(ctx) }},
		{call: "remove", box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error { return b.Remove(ctx) }},
		{call: "volume remove", transport: docker.TransportArchive,
			box: func(ctx context.Context, _ *testing.T, b sandbox.Box) error { return b.Remove(ctx) }},
		{call: "inspect", box: func(ctx context.Context, t *testing.T, b sandbox.Box) error {
			if err := b.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			_, err := b.Usage(ctx)
			return err
		}},
		{call: "archive get", transport: docker.TransportArchive, box: func(ctx context.Context, t *testing.T, b sandbox.Box) error {
			if err := b.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			return collect(ctx, t, b)
		}},
	} {
		name := tc.call
		if tc.transport != "" {
			name += " by " + tc.transport
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, p := troubled(t, docker.Options{Host: host, CallTimeout: short, Transport: tc.transport}, 1)
			ctx := patient(t)
			var err error
			switch {
			case tc.engine != nil:
				p.Script(engineproxy.Rule{Call: tc.call, Most: 1, Fate: engineproxy.Hang})
				err = tc.engine(ctx, e)
			case tc.fresh != nil:
				b, cerr := e.Create(ctx, spec(image))
				if cerr != nil {
					t.Fatal(cerr)
				}
				defer b.Remove(ctx)
				p.Script(engineproxy.Rule{Call: tc.call, Most: 1, Fate: engineproxy.Hang})
				err = tc.fresh(ctx, b)
			default:
				b := started(t, e, image)
				p.Script(engineproxy.Rule{Call: tc.call, Fate: engineproxy.Hang})
				err = tc.box(ctx, t, b)
				p.Clear()
			}
			wantFault(t, tc.call, err, sandbox.FaultTimeout)
			if len(p.Struck()) == 0 {
				t.Errorf("%s was never called", tc.call)
			}
		})
	}
}

// TestLostCreation loses the answers of creations that were carried out: the
// containers, whose IDs nobody has heard of, are found by their labels.
func TestLostCreation(t *testing.T) {
	image := testImage(t)
	host := quiet(t, image)
	t.Run("later", func(t *testing.T) { testLostCreationLater(t, host, image) })
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		for fate, kind := range map[engineproxy.Fate]sandbox.FaultKind{
			engineproxy.Lose: sandbox.FaultUnreachable, engineproxy.Stall: sandbox.FaultTimeout,
		} {
			t.Run(transport+" "+string(fate), func(t *testing.T) {
				e, p := troubled(t, docker.Options{Host: host, CallTimeout: short, Transport: transport}, 1)
				ctx := patient(t)
				p.Script(engineproxy.Rule{Call: "create", Most: 1, Fate: fate})
				_, err := e.Create(ctx, spec(image))
				wantFault(t, "create", err, kind)
				wantNothing(t, e)
				if n := p.Counts()["remove"]; n != 1 {
					t.Errorf("%d removals, want the one of the lost container", n)
				}
			})
		}
	}
}

// testLostCreationLater has an engine that neither answers a creation nor is
// there for the look afterwards. The next creation makes up for it; where none
// comes, a later process does.
func testLostCreationLater(t *testing.T, host, image string) {
	lose := func(t *testing.T, e *docker.Engine, p *engineproxy.Proxy) {
		t.Helper()
		p.Script(
			engineproxy.Rule{Call: "create", Most: 1, Fate: engineproxy.Lose},
			engineproxy.Rule{Call: "list", Fate: engineproxy.Drop},
		)
		_, err := e.Create(patient(t), spec(image))
		wantFault(t, "create", err, sandbox.FaultUnreachable)
	}
	t.Run("next creation", func(t *testing.T) {
		e, p := troubled(t, docker.Options{Host: host}, 1)
		lose(t, e, p)
		p.Clear()
		if left, err := e.Remains(patient(t)); err != nil || len(left) == 0 {
			t.Fatalf("remains %q, %v: the loss was not played", left, err)
		}
		b, err := e.Create(patient(t), spec(image))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(patient(t)); err != nil {
			t.Fatal(err)
		}
		wantNothing(t, e)
	})
	t.Run("next process", func(t *testing.T) {
		dir := t.TempDir()
		_, p := troubled(t, docker.Options{Host: host}, 1)
		e, err := docker.New(t.Context(), docker.Options{StateDir: dir, Host: p.Endpoint()})
		if err != nil {
			t.Fatal(err)
		}
		lose(t, e, p)
		heir := sandboxtest.RealEngineWith(t, docker.Options{StateDir: dir, Host: host})
		if r, err := heir.Reap(patient(t)); err != nil || r.Boxes != 0 {
			t.Errorf("of a living owner %+v was reaped, %v", r, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := heir.Reap(patient(t)); err != nil || r.Boxes != 1 {
			t.Errorf("reaped %+v, %v; want the lost box", r, err)
		}
	})
}

func wantNothing(t *testing.T, e *docker.Engine) {
	t.Helper()
	left, err := e.Remains(patient(t))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}
