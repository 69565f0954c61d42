package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"cabra-run/sandbox"
)

// killedCode is the exit code of what was killed by signal 9.
const killedCode = 137

func testKill(s *suite) {
	b := s.create(s.spec(idle))
	s.must("killing before the start", b.Kill(s.ctx))
	s.must("starting", b.Start(s.ctx))
	s.must("killing", b.Kill(s.ctx))
	s.wantExit(b, killedCode)
	s.must("killing again", b.Kill(s.ctx))
	s.wantExit(b, killedCode)
}

// testKillFlood kills a box whose output nobody reads.
func testKillFlood(s *suite) {
	b := s.start(s.spec(yes))
	var two [2]byte
	_, err := io.ReadFull(b.Stdio(), two[:])
	s.must("reading", err)
	s.must("killing", b.Kill(s.ctx))
	s.wantExit(b, killedCode)
}

func testKillEndsCommands(s *suite) {
	b := s.start(s.spec(idle))
	in, input := io.Pipe()
	defer input.Close()
	output, out := io.Pipe()
	p, err := b.Exec(s.ctx, sandbox.Command{Args: echo.args(), Env: path, Stdin: in, Stdout: out})
	s.must("starting command", err)
	_, err = io.WriteString(input, "runs\n")
	s.must("writing", err)
	_, err = io.ReadFull(output, make([]byte, len("runs\n")))
	s.must("reading", err)
	s.must("killing", b.Kill(s.ctx))
	if code, err := p.Wait(s.ctx); err != nil || code != killedCode {
		s.Errorf("command of a killed box: code %d, %v; want %d", code, err, killedCode)
	}
}

// testKillBlockedWriter kills while a command writes and its output goes nowhere.
func testKillBlockedWriter(s *suite) {
	b := s.start(s.spec(idle))
	output, out := io.Pipe()
	p, err := b.Exec(s.ctx, sandbox.Command{Args: yes.args(), Env: path, Stdout: out})
	s.must("starting command", err)
	_, err = io.ReadFull(output, make([]byte, 2))
	s.must("reading", err)
	s.must("killing", b.Kill(s.ctx))
	s.wantExit(b, killedCode)
	output.Close()
	if code, err := p.Wait(s.ctx); err != nil || code != killedCode {
		s.Errorf("command of a killed box: code %d, %v; want %d", code, err, killedCode)
	}
}

func testRemove(s *suite) {
	b := s.start(s.spec(fastExit))
	s.wantExit(b, 7)
	s.must("removing", b.Remove(s.ctx))
	s.must("removing again", b.Remove(s.ctx))
	_, err := b.Wait(s.ctx)
	s.wantFault("wait", err, sandbox.FaultGone)
	_, err = b.Exec(s.ctx, sandbox.Command{Args: fail.args(), Env: path})
	s.wantFault("exec", err, sandbox.FaultGone)
	_, err = b.Usage(s.ctx)
	s.wantFault("usage", err, sandbox.FaultGone)
	s.wantFault("start", b.Start(s.ctx), sandbox.FaultGone)
	s.wantFault("kill", b.Kill(s.ctx), sandbox.FaultGone)
	s.wantFault("set pids", b.SetPids(s.ctx, 10), sandbox.FaultGone)
	dst, err := os.OpenRoot(s.TempDir())
	s.must("opening folder", err)
	defer dst.Close()
	_, err = b.Collect(s.ctx, dst, sandbox.CollectLimits{})
	s.wantFault("collect", err, sandbox.FaultGone)
	CheckRemains(s.T, s.engine)
}

func testRemoveRunning(s *suite) {
	b := s.start(s.spec(idle))
	// The caller's own context has ended, as at the end of an interrupted run.
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.must("removing", b.Remove(ctx))
	CheckRemains(s.T, s.engine)

	s.must("removing what was never started", s.create(s.spec(idle)).Remove(s.ctx))
	CheckRemains(s.T, s.engine)
}

func testRemoveLocked(s *suite) {
	b := s.start(s.spec(idle))
	s.run(b, lockedTree)
	s.must("removing", b.Remove(s.ctx))
	CheckRemains(s.T, s.engine)
}

func testUIDs(s *suite) {
	seen := map[int]bool{}
	for range 3 {
		uid := s.create(s.spec(idle)).GuestUID()
		if uid < sandbox.FirstGuest || uid >= sandbox.FirstGuest+sandbox.GuestSlots || seen[uid] {
			s.Errorf("uid %d after %v", uid, seen)
		}
		seen[uid] = true
	}
	spec := s.spec(idle)
	spec.Guest = false
	for range 2 {
		if uid := s.create(spec).GuestUID(); uid != sandbox.InitUID {
			s.Errorf("uid %d without a guest", uid)
		}
	}
}

func testBadSpecs(s *suite) {
	for what, change := range map[string]func(*sandbox.Spec){
		"tag as image":     func(p *sandbox.Spec) { p.Image = "debian:bookworm" },
		"no command":       func(p *sandbox.Spec) { p.Command = nil },
		"bad network":      func(p *sandbox.Spec) { p.Network = "host" },
		"absolute path":    func(p *sandbox.Spec) { p.Workspace = map[string][]byte{"/etc/x": nil} },
		"path outside":     func(p *sandbox.Spec) { p.Workspace = map[string][]byte{"a/../../x": nil} },
		"home, no scratch": func(p *sandbox.Spec) { p.NoScratch = true },
	} {
		spec := s.spec(idle)
		change(&spec)
		_, err := s.engine.Create(s.ctx, spec)
		s.wantFault(what, err, sandbox.FaultBadSpec)
	}
}

func testNoImage(s *suite) {
	spec := s.spec(idle)
	spec.Image = "sha256:" + fmt.Sprintf("%064x", 1)
	_, err := s.engine.Create(s.ctx, spec)
	s.wantFault("create", err, sandbox.FaultNoImage)
}

func testStartFaults(s *suite) {
	b := s.start(s.spec(idle))
	s.wantFault("second start", b.Start(s.ctx), sandbox.FaultBadSpec)

	spec := s.spec(idle)
	spec.Command = []string{"/no/such/program"}
	s.wantFault("missing program", s.create(spec).Start(s.ctx), sandbox.FaultBadSpec)
}

// testCancelledCreate gives up at various moments of a creation.
func testCancelledCreate(s *suite) {
	for _, after := range []time.Duration{0, time.Millisecond, 4 * time.Millisecond, 20 * time.Millisecond,
		60 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(s.ctx, after)
		b, err := s.engine.Create(ctx, s.spec(idle))
		cancel()
		switch {
		case err == nil:
			s.must("removing", b.Remove(s.ctx))
		case !errors.Is(err, context.DeadlineExceeded):
			s.Errorf("cancelled create: %v", err)
		}
		CheckRemains(s.T, s.engine)
	}
}

func testParallel(s *suite) {
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			b, err := s.engine.Create(s.ctx, s.spec(idle))
			if err != nil {
				s.Errorf("creating: %v", err)
				return
			}
			defer func() {
				if err := b.Remove(s.ctx); err != nil {
					s.Errorf("removing: %v", err)
				}
			}()
			if err := b.Start(s.ctx); err != nil {
				s.Errorf("starting: %v", err)
				return
			}
			p, err := b.Exec(s.ctx, sandbox.Command{Args: fail.args(), Env: path})
			if err != nil {
				s.Errorf("starting command: %v", err)
				return
			}
			if code, err := p.Wait(s.ctx); err != nil || code != 1 {
				s.Errorf("command: code %d, %v", code, err)
			}
			if err := b.Kill(s.ctx); err != nil {
				s.Errorf("killing: %v", err)
			}
		})
	}
	group.Wait()
}

func testReapSpares(s *suite) {
	b := s.start(s.spec(echo))
	_, err := s.engine.Reap(s.ctx)
	s.must("reaping", err)
	s.must("closing", b.Stdio().Close())
	s.wantExit(b, 4)
}
