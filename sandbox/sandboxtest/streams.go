package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"cabra-run/sandbox"
)

func testInfo(s *suite) {
	info, err := s.engine.Info(s.ctx)
	s.must("asking engine", err)
	if info.Name == "" || info.Version == "" || info.Arch == "" || info.CPUs < 1 || info.MemoryBytes < 1 {
		s.Errorf("incomplete info %+v", info)
	}
	if info.Transport != "bind" && info.Transport != "archive" {
		s.Errorf("transport %q", info.Transport)
	}
}

// testFastExit repeats: a lost first byte is a race.
func testFastExit(s *suite) {
	for range 3 {
		b := s.start(s.spec(fastExit))
		if got := s.readAll(b.Stdio()); got != "out\n" {
			s.Errorf("output %q", got)
		}
		s.wantExit(b, 7)
		if got := string(b.Stderr()); got != "err\n" {
			s.Errorf("errors %q", got)
		}
		s.wantExit(b, 7) // a second time
		s.must("removing", b.Remove(s.ctx))
	}
}

func testStdinEnds(s *suite) {
	b := s.start(s.spec(echo))
	_, err := io.WriteString(b.Stdio(), "one\ntwo\n")
	s.must("writing", err)
	s.must("closing", b.Stdio().Close())
	if got := s.readAll(b.Stdio()); got != "one\ntwo\n" {
		s.Errorf("output %q", got)
	}
	s.wantExit(b, 4)
}

func testBigOutput(s *suite) {
	b := s.start(s.spec(zeros))
	n, err := io.Copy(io.Discard, b.Stdio())
	s.must("reading", err)
	if n != zerosBytes {
		s.Errorf("%d bytes of PID 1, want %d", n, zerosBytes)
	}
	s.wantExit(b, 0)

	b = s.start(s.spec(idle))
	o := s.exec(b, zeros, "")
	if o.code != 0 || len(o.stdout) != zerosBytes {
		s.Errorf("command: code %d with %d bytes, want %d", o.code, len(o.stdout), zerosBytes)
	}
}

func testOutputAfterExit(s *suite) {
	b := s.start(s.spec(lateRead))
	s.wantExit(b, 0)
	if got := len(s.readAll(b.Stdio())); got != 30_000 {
		s.Errorf("%d bytes after the exit, want 30000", got)
	}
}

func testExec(s *suite) {
	b := s.start(s.spec(idle))
	var out, errs bytes.Buffer
	p, err := b.Exec(s.ctx, sandbox.Command{
		Args: show.args(), Env: append([]string{"COLOUR=blue green"}, path...), Dir: sandbox.WorkspaceDir,
		Stdin: strings.NewReader("said\n"), Stdout: &out, Stderr: &errs,
	})
	s.must("starting command", err)
	code, err := p.Wait(s.ctx)
	s.must("waiting for command", err)
	want := fmt.Sprintf("%d\n%s\nblue green\nsaid\n", b.GuestUID(), sandbox.WorkspaceDir)
	if code != 3 || out.String() != want || errs.String() != "problem\n" {
		s.Errorf("code %d, output %q, errors %q; want 3, %q", code, out.String(), errs.String(), want)
	}
	if again, err := p.Wait(s.ctx); err != nil || again != 3 {
		s.Errorf("second wait: %d, %v", again, err)
	}
	// Without a reader, standard input is empty; two commands do not mix.
	if o := s.exec(b, echo, ""); o.code != 4 || o.stdout != "" {
		s.Errorf("command without input: %+v", o)
	}
	if o := s.exec(b, echo, strings.Repeat("long line\n", 100_000)); len(o.stdout) != 1_000_000 {
		s.Errorf("%d bytes through a command, want 1000000", len(o.stdout))
	}
}

func testExecMissing(s *suite) {
	b := s.start(s.spec(idle))
	p, err := b.Exec(s.ctx, sandbox.Command{Args: []string{"/no/such/program"}, Env: path})
	s.must("starting command", err)
	code, err := p.Wait(s.ctx)
	s.must("waiting for command", err)
	if code != 126 && code != 127 {
		s.Errorf("code %d of a missing program, want 126 or 127", code)
	}
}

// brokenWriter fails after its first bytes.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func testExecFailingWriter(s *suite) {
	b := s.start(s.spec(idle))
	p, err := b.Exec(s.ctx, sandbox.Command{Args: zeros.args(), Env: path, Stdout: brokenWriter{}})
	s.must("starting command", err)
	if code, err := p.Wait(s.ctx); err != nil || code != 0 {
		s.Errorf("code %d, %v; the command should not notice", code, err)
	}
}

func testExecOrphan(s *suite) {
	b := s.start(s.spec(idle))
	if o := s.exec(b, orphan, ""); o.code != 5 || o.stdout != "started\n" {
		s.Errorf("%+v, want code 5 and \"started\"", o)
	}
}

func testExecCancelled(s *suite) {
	b := s.start(s.spec(idle))
	r, w := io.Pipe()
	p, err := b.Exec(s.ctx, sandbox.Command{Args: echo.args(), Env: path, Stdin: r})
	s.must("starting command", err)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled wait: %v", err)
	}
	s.must("closing input", w.Close())
	if code, err := p.Wait(s.ctx); err != nil || code != 4 {
		s.Errorf("after a cancelled wait: code %d, %v", code, err)
	}
}

func testExecNotRunning(s *suite) {
	cmd := sandbox.Command{Args: fail.args(), Env: path}
	b := s.create(s.spec(fastExit))
	_, err := b.Exec(s.ctx, cmd)
	s.wantFault("exec before start", err, sandbox.FaultNotRunning)
	_, err = b.Wait(s.ctx)
	s.wantFault("wait before start", err, sandbox.FaultNotRunning)
	s.must("starting", b.Start(s.ctx))
	s.wantExit(b, 7)
	_, err = b.Exec(s.ctx, cmd)
	s.wantFault("exec after exit", err, sandbox.FaultNotRunning)
}

func testWaitCancelled(s *suite) {
	b := s.start(s.spec(echo))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := b.Wait(ctx); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled wait: %v", err)
	}
	s.must("closing", b.Stdio().Close())
	s.wantExit(b, 4)
}
