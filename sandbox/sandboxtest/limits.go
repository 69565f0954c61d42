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
