package docker_test

import (
	"testing"

	"cabra-run/images/imagestest"
)

// testImage is the ID of the image that the tests of this package run.
func testImage(t testing.TB) string { return imagestest.Ensure(t, "base").ID }
