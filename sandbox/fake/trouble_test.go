package fake_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
)

// programs are PID 1 and a command that writes to the workspace.
var programs = map[string]fake.Program{
	"init": func(_ context.Context, p *fake.Proc) int {
		io.Copy(io.Discard, p.Stdin)
		return 0
	},
	"write": func(_ context.Context, p *fake.Proc) int {
		if os.WriteFile(filepath.Join(p.Box.Workspace(), "out"), []byte("x"), 0o644) != nil {
			return 1
		}
		return 0
	},
	"stay": func(ctx context.Context, _ *fake.Proc) int {
		<-ctx.Done()
		return 0
	},
}

func newHost(t *testing.T, o fake.Options) *fake.Host {
	o.Dir, o.Programs = t.TempDir(), programs
	return fake.NewHost(o)
}

func spec() sandbox.Spec {
	return sandbox.Spec{Image: image, Command: []string{"init"}, Guest: true, Workspace: map[string][]byte{"in": nil}}
}

func started(t *testing.T, e *fake.Engine) sandbox.Box {
	t.Helper()
	b, err := e.Create(t.Context(), spec())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Remove(context.Background()) })
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestScriptedFaults(t *testing.T) {
	h := newHost(t, fake.Options{})
	h.Script(
		fake.Trouble{Op: fake.OpCreate, Nth: 2, Kind: sandbox.FaultNoSpace},
		fake.Trouble{Op: fake.OpCreate, Nth: 3, Kind: sandbox.FaultTimeout, Done: true},
		fake.Trouble{Op: fake.OpExec, Kind: sandbox.FaultEngine},
		fake.Trouble{Op: fake.OpKill, Nth: 1, Kind: sandbox.FaultTimeout, Done: true},
	)
	e := h.Connect()
	b := started(t, e)
	for _, kind := range []sandbox.FaultKind{sandbox.FaultNoSpace, sandbox.FaultTimeout} {
		if _, err := e.Create(t.Context(), spec()); !sandbox.IsFault(err, kind) {
			t.Errorf("create: %v, want %q", err, kind)
		}
	}
	if n := len(h.Boxes()); n != 1 {
		t.Errorf("%d boxes after failed creations, want 1", n)
	}
	for range 2 {
		if _, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"write"}}); !sandbox.IsFault(err, sandbox.FaultEngine) {
			t.Errorf("exec: %v", err)
		}
	}
	// The answer was lost, the work was done.
	if err := b.Kill(t.Context()); !sandbox.IsFault(err, sandbox.FaultTimeout) {
		t.Errorf("kill: %v", err)
	}
	if exit, err := b.Wait(t.Context()); err != nil || exit.Code != 137 {
		t.Errorf("after a kill with a lost answer: %+v, %v", exit, err)
	}
	if n := h.Calls(fake.OpExec); n != 2 {
		t.Errorf("%d calls of exec, want 2", n)
	}
}

func TestHangAndDelay(t *testing.T) {
	h := newHost(t, fake.Options{})
	gate := make(chan struct{})
	h.Script(
		fake.Trouble{Op: fake.OpUsage, Nth: 1, Hang: true},
		fake.Trouble{Op: fake.OpUsage, Nth: 2, Until: gate},
	)
	b := started(t, h.Connect())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Usage(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("hanging call: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := b.Usage(t.Context())
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("the call did not wait: %v", err)
	default:
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOutOfMemoryAndVanishing(t *testing.T) {
	h := newHost(t, fake.Options{})
	e := h.Connect()
	b := started(t, e)
	p, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"stay"}})
	if err != nil {
		t.Fatal(err)
	}
	h.Boxes()[0].OutOfMemory()
	if code, err := p.Wait(t.Context()); err != nil || code != 137 {
		t.Errorf("command: %d, %v", code, err)
	}
	if exit, err := b.Wait(t.Context()); err != nil || exit.Code != 137 || !exit.OOMKilled {
		t.Errorf("box: %+v, %v", exit, err)
	}
	if err := b.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}

	b = started(t, e)
	h.Script(fake.Trouble{Op: fake.OpUsage, Do: func(b *fake.Box) { b.Vanish() }})
	if _, err := b.Usage(t.Context()); !sandbox.IsFault(err, sandbox.FaultGone) {
		t.Errorf("usage of a box that vanishes: %v", err)
	}
	if _, err := b.Wait(t.Context()); !sandbox.IsFault(err, sandbox.FaultGone) {
		t.Errorf("wait for a box that vanished: %v", err)
	}
}

// TestDeathOfOwner plays kill -9 of an orchestrator and the next one's start.
func TestDeathOfOwner(t *testing.T) {
	h := newHost(t, fake.Options{})
	for range 100 {
		first, second := h.Connect(), h.Connect()
		dying, living := started(t, first), started(t, second)
		p, err := dying.Exec(t.Context(), sandbox.Command{Args: []string{"stay"}})
		if err != nil {
			t.Fatal(err)
		}
		first.Die()
		if _, err := p.Wait(t.Context()); !sandbox.IsFault(err, sandbox.FaultUnreachable) {
			t.Errorf("wait of a dead orchestrator: %v", err)
		}
		if err := dying.Remove(t.Context()); !sandbox.IsFault(err, sandbox.FaultUnreachable) {
			t.Errorf("remove of a dead orchestrator: %v", err)
		}
		reaped, err := second.Reap(t.Context())
		if err != nil || reaped.Boxes != 1 || reaped.Workspaces != 1 {
			t.Errorf("reaped %+v, %v", reaped, err)
		}
		if boxes := h.Boxes(); len(boxes) != 1 || boxes[0].ID() != living.ID() {
			t.Errorf("%d boxes left", len(boxes))
		}
		if err := living.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCapacity(t *testing.T) {
	h := newHost(t, fake.Options{Slots: 2})
	e := h.Connect()
	a, _ := started(t, e), started(t, e)
	if _, err := e.Create(t.Context(), spec()); !sandbox.IsFault(err, sandbox.FaultNoCapacity) {
		t.Errorf("third box of two: %v", err)
	}
	if err := a.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b := started(t, e); b.GuestUID() != a.GuestUID() {
		t.Errorf("uid %d, want the freed %d", b.GuestUID(), a.GuestUID())
	}
}
