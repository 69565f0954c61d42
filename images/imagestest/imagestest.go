// Package imagestest gives tests that need a real engine the images that they
// run in. It must not know more than package images does.
package imagestest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"cabra-run/images"
)

// buildTime bounds a build from nothing.
const buildTime = 20 * time.Minute

// Ensure returns an image, built if need be. Without CABRA_TEST_REAL=1 the test
// is skipped; with it, a missing engine is a failure.
func Ensure(t testing.TB, name string) images.Image {
	t.Helper()
	if os.Getenv("CABRA_TEST_REAL") != "1" {
		t.Skip("needs a real engine: set CABRA_TEST_REAL=1")
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	b, err := images.New(images.Options{Log: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	img, err := b.Ensure(ctx, name)
	var failed *images.Error
	if errors.As(err, &failed) {
		t.Fatalf("image %s: %v\n%s\n%s", name, err, failed.Hint, failed.Log)
	}
	if err != nil {
		t.Fatalf("image %s: %v", name, err)
	}
	return img
}
