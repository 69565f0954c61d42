package fake_test

import (
	"testing"

	"go.uber.org/goleak"

	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
	"cabra-run/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// image is the one image of the fake.
const image = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, func(t *testing.T) sandbox.Engine {
		return fake.New(fake.Options{
			Dir: t.TempDir(), Images: []string{image}, Program: sandboxtest.Program,
		})
	}, image)
}
