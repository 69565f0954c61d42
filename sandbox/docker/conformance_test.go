package docker_test

import (
	"testing"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.RequireReal(t)
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		t.Run(transport, func(t *testing.T) {
			sandboxtest.Conformance(t, func(t *testing.T) sandbox.Engine {
				return sandboxtest.RealEngineWith(t, docker.Options{Transport: transport})
			}, testImage(t))
		})
	}
}
