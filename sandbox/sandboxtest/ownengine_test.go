package sandboxtest_test

import (
	"testing"

	"cabra-run/images/imagestest"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// TestOwnEngine starts, stops, kills and starts a second engine.
func TestOwnEngine(t *testing.T) {
	image := imagestest.Ensure(t, "scorer").ID
	o := sandboxtest.OwnEngine(t, image)
	e := o.Engine(docker.Options{})
	before, err := e.Info(t.Context())
	if err != nil || before.Endpoint != o.Endpoint() {
		t.Fatalf("info %+v, %v", before, err)
	}
	for _, end := range []struct {
		name string
		end  func()
	}{{"stop", o.Stop}, {"kill", o.Kill}, {"second kill", o.Kill}} {
		name := end.name
		end.end()
		if _, err := e.Info(t.Context()); err == nil {
			t.Errorf("after %s the engine still answers", name)
		}
		o.Start()
		if _, err := e.Info(t.Context()); err != nil {
			t.Errorf("after %s and start: %v", name, err)
		}
	}
}
