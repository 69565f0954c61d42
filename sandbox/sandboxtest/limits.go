package sandboxtest

import (
	"io"

	"cabra-run/sandbox"
)

func testMemoryInit(s *suite) {
	spec := s.spec(hog)
	spec.Limits.MemoryBytes = 64 << 20
	b := s.start(spec)
	_, err := io.WriteString(b.Stdio(), "go\n")
	s.must("writing", err)
	exit, err := b.Wait(s.ctx)
	s.must("waiting", err)
	if exit.Code != killedCode || !exit.OOMKilled {
		s.Errorf("exit %+v, want code %d by the memory limit", exit, killedCode)
	}
}

func testMemoryExec(s *suite) {
	spec := s.spec(idle)
	spec.Limits.MemoryBytes = 64 << 20
	b := s.start(spec)
	if o := s.exec(b, hog, "go\n"); o.code != killedCode {
		s.Errorf("code %d, want %d", o.code, killedCode)
	}
	// The engine may hear of it a little later.
	for {
		u, err := b.Usage(s.ctx)
		s.must("reading usage", err)
		if u.OOMKills > 0 {
			break
		}
	}
	if o := s.exec(b, fail, ""); o.code != 1 {
		s.Errorf("the box should live on; code %d", o.code)
	}
}

func testPids(s *suite) {
	spec := s.spec(idle)
	spec.Limits.Pids = crowdSize / 2
	b := s.start(spec)
	if o := s.exec(b, crowd, ""); o.code == 0 {
		s.Errorf("%d processes under a limit of %d", crowdSize, spec.Limits.Pids)
	}
	u, err := b.Usage(s.ctx)
	s.must("reading usage", err)
	if u.Pids > spec.Limits.Pids {
		s.Errorf("%d processes under a limit of %d", u.Pids, spec.Limits.Pids)
	}
	s.must("raising the limit", b.SetPids(s.ctx, 4*crowdSize))
	if o := s.exec(b, crowd, ""); o.code != 0 {
		s.Errorf("code %d under a raised limit: %s", o.code, o.stderr)
	}
}

func testUsage(s *suite) {
	b := s.create(s.spec(idle))
	_, err := b.Usage(s.ctx)
	s.wantFault("usage before the start", err, sandbox.FaultNotRunning)
	s.must("starting", b.Start(s.ctx))
	s.run(b, megabyte)
	u, err := b.Usage(s.ctx)
	s.must("reading usage", err)
	if u.Pids < 1 || u.MemoryBytes < 1 || u.OOMKills != 0 {
		s.Errorf("usage %+v", u)
	}
	if u.WorkspaceBytes != -1 && (u.WorkspaceBytes < 1<<20 || u.WorkspaceBytes > 2<<20) {
		s.Errorf("%d bytes in a workspace with 1 MiB", u.WorkspaceBytes)
	}
	s.must("killing", b.Kill(s.ctx))
	_, err = b.Usage(s.ctx)
	s.wantFault("usage after the end", err, sandbox.FaultNotRunning)
}

// testEffective asks a box for its limits; those of an engine of this host are
// the kernel's, and none may be looser than wanted.
func testEffective(s *suite) {
	spec := s.spec(idle)
	spec.Limits = sandbox.Limits{
		MemoryBytes: 96 << 20, Pids: 77, CPUs: 0.5, OpenFiles: 555,
		TmpBytes: 3 << 20, HomeBytes: 5 << 20, ShmBytes: 2 << 20, WorkspaceBytes: 7 << 20,
	}
	b := s.create(spec)
	_, err := b.Effective(s.ctx)
	s.wantFault("limits before the start", err, sandbox.FaultNotRunning)
	s.must("starting", b.Start(s.ctx))
	e, err := b.Effective(s.ctx)
	s.must("reading limits", err)
	if e.Limits != spec.Limits || e.SwapBytes != 0 || e.Differences(spec.Limits) != nil {
		s.Errorf("in effect %+v, wanted %+v; differences %q", e, spec.Limits, e.Differences(spec.Limits))
	}
	s.must("changing the process limit", b.SetPids(s.ctx, 99))
	e, err = b.Effective(s.ctx)
	s.must("reading limits", err)
	if e.Source == sandbox.EffectiveKernel && e.Limits.Pids != 99 {
		s.Errorf("%d processes in effect, want 99", e.Limits.Pids)
	}
	s.must("removing", b.Remove(s.ctx))
	_, err = b.Effective(s.ctx)
	s.wantFault("limits after removal", err, sandbox.FaultGone)
}

// testCapacity counts boxes. Others may use the engine at the same time, so
// that only its own box is sure to be among them.
func testCapacity(s *suite) {
	before, err := s.engine.Capacity(s.ctx)
	s.must("asking", err)
	s.start(s.spec(idle))
	c, err := s.engine.Capacity(s.ctx)
	s.must("asking", err)
	if c.Boxes < 1 || c.Slots < 0 || c.Slots >= sandbox.GuestSlots {
		s.Errorf("with a box: %+v", c)
	}
	for what, n := range map[string]int64{
		"memory": before.MemoryBytes, "engine's disk": before.EngineBytes, "state disk": before.StateBytes,
	} {
		if n < 1<<20 && n != sandbox.NotTold {
			s.Errorf("%s: %d bytes free", what, n)
		}
	}
}
