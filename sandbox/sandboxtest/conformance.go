package sandboxtest

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"cabra-run/sandbox"
)

// patience bounds everything in one test of the suite; it is never reached
// unless something hangs.
const patience = 2 * time.Minute

// Conformance checks that an engine keeps the contract of sandbox.Engine.
// newEngine is called once per test. image is the ID of an image with a shell,
// the usual small tools and python3 (a fake engine takes any). Fake engines get their
// programs from Program.
func Conformance(t *testing.T, newEngine func(t *testing.T) sandbox.Engine, image string) {
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"info", testInfo},
		{"first byte and fast exit", testFastExit},
		{"standard input ends", testStdinEnds},
		{"big output", testBigOutput},
		{"output after exit", testOutputAfterExit},
		{"exec", testExec},
		{"exec without a program", testExecMissing},
		{"exec with a failing writer", testExecFailingWriter},
		{"exec with an orphan", testExecOrphan},
		{"exec cancelled", testExecCancelled},
		{"exec outside of running", testExecNotRunning},
		{"wait cancelled", testWaitCancelled},
		{"kill", testKill},
		{"kill of a flood", testKillFlood},
		{"kill ends commands", testKillEndsCommands},
		{"kill with a blocked writer", testKillBlockedWriter},
		{"remove", testRemove},
		{"remove while running", testRemoveRunning},
		{"remove of a locked tree", testRemoveLocked},
		{"deep tree", testDeepTree},
		{"collect a nasty tree", testCollectNasty},
		{"collect with limits", testCollectLimits},
		{"collect without workspace", testCollectNothing},
		{"uids", testUIDs},
		{"bad specs", testBadSpecs},
		{"no image", testNoImage},
		{"start faults", testStartFaults},
		{"cancelled create", testCancelledCreate},
		{"memory limit of PID 1", testMemoryInit},
		{"memory limit of a command", testMemoryExec},
		{"process limit", testPids},
		{"usage", testUsage},
		{"limits in effect", testEffective},
		{"capacity", testCapacity},
		{"terminal", testTerminal},
		{"several boxes at once", testParallel},
		{"reap spares the living", testReapSpares},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e := newEngine(t)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			s := &suite{T: t, ctx: ctx, engine: e, image: image}
			t.Cleanup(func() { CheckRemains(t, e) })
			tc.run(s)
		})
	}
}

// suite is one test with its engine.
type suite struct {
	*testing.T
	ctx    context.Context
	engine sandbox.Engine
	image  string
}

// spec is a box with everything whose PID 1 runs a script.
func (s *suite) spec(init script) sandbox.Spec {
	return sandbox.Spec{
		Image: s.image, Command: init.args(), Env: path, Guest: true, Home: true,
		Workspace: map[string][]byte{"solution.py": []byte("start\n"), "lib/help.py": []byte("help\n")},
		Labels:    sandbox.Labels{Run: "conformance", Trial: s.Name(), Attempt: 1},
	}
}

// create makes a box that is removed at the end of the test.
func (s *suite) create(spec sandbox.Spec) sandbox.Box {
	s.Helper()
	b, err := s.engine.Create(s.ctx, spec)
	if err != nil {
		s.Fatalf("creating box: %v", err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := b.Remove(ctx); err != nil {
			s.Errorf("removing box: %v", err)
		}
	})
	return b
}

// start makes and starts a box.
func (s *suite) start(spec sandbox.Spec) sandbox.Box {
	s.Helper()
	b := s.create(spec)
	s.must("starting box", b.Start(s.ctx))
	return b
}

func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// wantFault fails unless err is a Fault of the kind.
func (s *suite) wantFault(what string, err error, kind sandbox.FaultKind) {
	s.Helper()
	if !sandbox.IsFault(err, kind) {
		s.Errorf("%s: error %v, want a fault %q", what, err, kind)
	}
}

func (s *suite) wantExit(b sandbox.Box, code int) {
	s.Helper()
	exit, err := b.Wait(s.ctx)
	s.must("waiting for box", err)
	if exit.Code != code {
		s.Errorf("exit code %d, want %d (stderr %q)", exit.Code, code, b.Stderr())
	}
}

// output is what a command left.
type output struct {
	code           int
	stdout, stderr string
}

// exec runs a script as a command to its end, with env beside the usual.
func (s *suite) exec(b sandbox.Box, c script, stdin string, env ...string) output {
	s.Helper()
	var out, errs bytes.Buffer
	cmd := sandbox.Command{Args: c.args(), Env: append(env, path...), Stdout: &out, Stderr: &errs}
	if stdin != "" {
		cmd.Stdin = bytes.NewReader([]byte(stdin))
	}
	p, err := b.Exec(s.ctx, cmd)
	s.must("starting command", err)
	code, err := p.Wait(s.ctx)
	s.must("waiting for command", err)
	return output{code, out.String(), errs.String()}
}

// run is exec for a script that has to succeed.
func (s *suite) run(b sandbox.Box, c script) {
	s.Helper()
	if o := s.exec(b, c, ""); o.code != 0 {
		s.Fatalf("%s: code %d, output %q, errors %q", c.name, o.code, o.stdout, o.stderr)
	}
}

func (s *suite) readAll(r io.Reader) string {
	s.Helper()
	text, err := io.ReadAll(r)
	s.must("reading output", err)
	return string(text)
}
