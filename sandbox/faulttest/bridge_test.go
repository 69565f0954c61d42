package faulttest

import (
	"net"
	"slices"
	"testing"

	"cabra-run/sandbox/sandboxtest"
)

// An engine of a test's own leaves the network of the host as it was: one
// without a bridge removes that of the engine that people use.
func TestOwnEngineLeavesTheNetwork(t *testing.T) {
	sandboxtest.RequireReal(t)
	before := interfaces(t)
	own := sandboxtest.OwnEngine(t)
	own.Stop()
	own.Start()
	for _, name := range before {
		if name == "docker0" && !slices.Contains(interfaces(t), name) {
			t.Errorf("%s is gone", name)
		}
	}
}

func interfaces(t *testing.T) []string {
	t.Helper()
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}
