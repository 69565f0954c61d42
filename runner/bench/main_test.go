package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
)

// TestMain is also the program of the simulated boxes.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "boxes" {
		os.Exit(m.Run())
	}
	streams := struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout}
	if err := ServeBoxes(context.Background(), streams, os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
