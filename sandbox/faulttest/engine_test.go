package faulttest

import (
	"context"
	"io"
	"testing"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// TestOwnEngine troubles one engine of the test's own in every way, one after
// the other, since starting it is what takes time.
func TestOwnEngine(t *testing.T) {
	image := testImage(t)
	own := sandboxtest.OwnEngine(t, image)
	for _, tc := range []struct {
		name string
		run  func(*testing.T, *sandboxtest.Own, string)
	}{
		{"stopped and started", func(t *testing.T, o *sandboxtest.Own, image string) { testGone(t, o, image, o.Stop) }},
		{"killed and started", func(t *testing.T, o *sandboxtest.Own, image string) { testGone(t, o, image, o.Kill) }},
		{"back before anybody looks", testBack},
		{"frozen", testFrozen},
		{"box killed from outside", testKilledOutside},
		{"box removed from outside", testRemovedOutside},
		{"start that fails", testStartFails},
		{"image removed", testImageRemoved}, // the last one
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Cleanup(func() { // after the test's own clean-ups
				if left := own.Containers(); len(left) > 0 {
					t.Errorf("containers left: %q", left)
				}
				if left := own.Volumes(); len(left) > 0 {
					t.Errorf("volumes left: %q", left)
				}
			})
			tc.run(t, own, image)
		})
	}
}

func each(t *testing.T, f func(t *testing.T, transport string)) {
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		t.Run(transport, func(t *testing.T) { f(t, transport) })
	}
}

// testGone takes the engine away under a box, and gives it back.
func testGone(t *testing.T, own *sandboxtest.Own, image string, end func()) {
	e := own.Engine(docker.Options{})
	ctx := patient(t)
	b := started(t, e, image)
	p, err := b.Exec(ctx, shell("sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	end()
	_, _ = io.ReadAll(b.Stdio()) // ends, in order or not
	_, err = b.Wait(ctx)
	wantFault(t, "wait", err, sandbox.FaultUnreachable, sandbox.FaultKilled)
	_, err = p.Wait(ctx)
	wantFault(t, "command", err, sandbox.FaultUnreachable)
	_, err = e.Create(ctx, spec(image))
	wantFault(t, "create", err, sandbox.FaultUnreachable)
	_, err = e.Info(ctx)
	wantFault(t, "info", err, sandbox.FaultUnreachable)
	_, err = e.Capacity(ctx)
	wantFault(t, "capacity", err, sandbox.FaultUnreachable)
	wantFault(t, "kill", b.Kill(ctx), sandbox.FaultUnreachable)
	wantFault(t, "remove", b.Remove(ctx), sandbox.FaultUnreachable)
	own.Start()
	if err := b.Remove(ctx); err != nil {
		t.Errorf("removing what the engine ended: %v", err)
	}
	second := started(t, e, image)
	if code, err := run(ctx, second, "exit 5"); err != nil || code != 5 {
		t.Errorf("after the engine came back: code %d, %v", code, err)
	}
}

// testBack has the engine back before anybody asks: the box has ended with a
// code that looks like its own, and that must not be believed.
func testBack(t *testing.T, own *sandboxtest.Own, image string) {
	for name, end := range map[string]func(){"stop": own.Stop, "kill": own.Kill} {
		t.Run(name, func(t *testing.T) {
			e := own.Engine(docker.Options{})
			ctx := patient(t)
			b := started(t, e, image)
			p, err := b.Exec(ctx, shell("trap '' TERM; while :; do sleep 1; done"))
			if err != nil {
				t.Fatal(err)
			}
			end()
			own.Start()
			_, err = b.Wait(ctx)
			wantFault(t, "wait", err, sandbox.FaultKilled)
			_, err = p.Wait(ctx)
			wantFault(t, "command", err, sandbox.FaultGone, sandbox.FaultUnreachable, sandbox.FaultEngine)
			_, err = run(ctx, b, "true")
			wantFault(t, "second command", err, sandbox.FaultNotRunning)
			if err := collect(ctx, t, b); err != nil {
				t.Errorf("the workspace should have survived: %v", err)
			}
		})
	}
}

// testFrozen has an engine that takes calls and does not answer.
func testFrozen(t *testing.T, own *sandboxtest.Own, image string) {
	e := own.Engine(docker.Options{CallTimeout: short})
	ctx := patient(t)
	b := started(t, e, image)
	own.Pause()
	_, err := e.Info(ctx)
	wantFault(t, "info", err, sandbox.FaultTimeout)
	_, err = run(ctx, b, "true")
	wantFault(t, "command", err, sandbox.FaultTimeout)
	if _, err := b.Usage(ctx); err != nil {
		t.Errorf("usage, which the kernel tells: %v", err)
	}
	wantFault(t, "kill", b.Kill(ctx), sandbox.FaultTimeout)
	own.Resume()
	// The kill was taken and is carried out now, or never.
	if err := b.Remove(ctx); err != nil {
		t.Errorf("removing after the thaw: %v", err)
	}
}

// testKilledOutside has somebody else kill the box.
func testKilledOutside(t *testing.T, own *sandboxtest.Own, image string) {
	e := own.Engine(docker.Options{})
	b := started(t, e, image)
	own.KillContainer(b.ID())
	_, err := b.Wait(patient(t))
	wantFault(t, "wait", err, sandbox.FaultKilled)
	_, err = b.Wait(patient(t))
	wantFault(t, "second wait", err, sandbox.FaultKilled)
}

func testRemovedOutside(t *testing.T, own *sandboxtest.Own, image string) {
	each(t, func(t *testing.T, transport string) {
		e := own.Engine(docker.Options{Transport: transport})
		ctx := patient(t)
		b := started(t, e, image)
		p, err := b.Exec(ctx, shell("sleep 1000"))
		if err != nil {
			t.Fatal(err)
		}
		own.RemoveContainer(b.ID())
		_, err = b.Wait(ctx)
		wantFault(t, "wait", err, sandbox.FaultGone, sandbox.FaultKilled)
		_, err = p.Wait(ctx)
		wantFault(t, "command", err, sandbox.FaultGone)
		_, err = run(ctx, b, "true")
		wantFault(t, "second command", err, sandbox.FaultGone)
		_, err = b.Usage(ctx)
		wantFault(t, "usage", err, sandbox.FaultGone)
		_, err = b.Effective(ctx)
		wantFault(t, "limits", err, sandbox.FaultGone)
		wantFault(t, "kill", b.Kill(ctx), sandbox.FaultGone)
		if err := b.Remove(ctx); err != nil {
			t.Errorf("removing: %v", err)
		}
	})
}

func testStartFails(t *testing.T, own *sandboxtest.Own, image string) {
	e := own.Engine(docker.Options{})
	ctx := patient(t)
	for name, change := range map[string]func(*sandbox.Spec){
		"no program": func(s *sandbox.Spec) { s.Command = []string{"/no/such/program"} },
		"no file":    func(s *sandbox.Spec) { s.Command = []string{"/etc"} },
	} {
		s := spec(image)
		change(&s)
		b, err := e.Create(ctx, s)
		if err != nil {
			t.Errorf("%s: create: %v", name, err)
			continue
		}
		err = b.Start(ctx)
		if err == nil {
			t.Errorf("%s: starts", name)
		}
		anyFault(t, name, err)
		if _, err := b.Wait(ctx); !sandbox.IsFault(err, sandbox.FaultNotRunning) {
			t.Errorf("%s: wait: %v", name, err)
		}
		if err := b.Remove(ctx); err != nil {
			t.Errorf("%s: remove: %v", name, err)
		}
	}
}

// testImageRemoved removes the image that boxes were made from a moment ago.
func testImageRemoved(t *testing.T, own *sandboxtest.Own, image string) {
	e := own.Engine(docker.Options{})
	ctx := context.Background()
	b := started(t, e, image)
	if err := b.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	own.RemoveImage(image)
	for range 2 {
		_, err := e.Create(ctx, spec(image))
		wantFault(t, "create", err, sandbox.FaultNoImage)
	}
	if left, err := e.Remains(ctx); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
