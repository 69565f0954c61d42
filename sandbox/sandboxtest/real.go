// Package sandboxtest helps to test engines and what is built on them: a real
// engine for tests that need one, and the conformance suite that every engine
// passes. It must not be imported by anything but tests.
package sandboxtest

import (
	"context"
	"os"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
)

// RealEnv is the variable that asks for tests on a real engine.
const RealEnv = "CABRA_TEST_REAL"

// deadline of the clean-up after a test.
const deadline = time.Minute

// RealEngine returns the engine on the default endpoint. It skips the test
// unless CABRA_TEST_REAL=1, and fails it when that is set and none answers. At
// the end of the test it fails when boxes, volumes or workspaces are left.
func RealEngine(t testing.TB) sandbox.Engine {
	return RealEngineWith(t, docker.Options{})
}

// RealEngineWith is RealEngine with options. An empty StateDir is a folder of
// the test.
func RealEngineWith(t testing.TB, o docker.Options) *docker.Engine {
	t.Helper()
	RequireReal(t)
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	e, err := docker.New(ctx, o)
	if err != nil {
		t.Fatalf("%s is set, but there is no engine: %v", RealEnv, err)
	}
	t.Cleanup(func() {
		CheckRemains(t, e)
		if err := e.Close(); err != nil {
			t.Errorf("closing engine: %v", err)
		}
	})
	return e
}

// RequireReal skips the test unless CABRA_TEST_REAL=1.
func RequireReal(t testing.TB) {
	t.Helper()
	if os.Getenv(RealEnv) != "1" {
		t.Skipf("needs a container engine; set %s=1 to run it", RealEnv)
	}
}

// CheckRemains fails the test when boxes of this engine have left something.
// Engines that cannot tell pass.
func CheckRemains(t testing.TB, e sandbox.Engine) {
	t.Helper()
	lister, ok := e.(interface {
		Remains(ctx context.Context) ([]string, error)
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	left, err := lister.Remains(ctx)
	if err != nil {
		t.Errorf("listing remains: %v", err)
	}
	for _, line := range left {
		t.Errorf("left over: %s", line)
	}
}
