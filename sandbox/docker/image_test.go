package docker_test

import (
	"os"
	"testing"
)

func testImage(t testing.TB) string {
	return os.Getenv("IMG")
}
